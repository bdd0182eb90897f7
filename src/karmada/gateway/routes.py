"""Which backend answers a request: MultiClusterIngresses in, a table out. Pure.

- The most specific host decides: the name itself, then `*.` and the rest of it, then rules without a host.
- In it an Exact path wins over the longest Prefix, compared part by part; ImplementationSpecific is read as Prefix.
- What matches no path goes to a default backend: one of the ingresses of that host first, then the oldest there is.
- A host belongs to the namespace of the oldest ingress that names it; within it the oldest ingress has a path. Who
  comes later gets a condition and keeps its other routes: nobody takes over the traffic of others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from karmada.api.networking.v1alpha1 import IngressBackend, IngressSpec, MultiClusterIngress

HOST_TAKEN, PATH_TAKEN, UNSUPPORTED = "HostTaken", "PathTaken", "UnsupportedBackend"


class IngressKey(NamedTuple):
    """An ingress."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Backend(NamedTuple):
    """A port of a Service, by name or number."""

    namespace: str
    service: str
    port: str | int

    def __str__(self) -> str:
        return f"{self.namespace}/{self.service}:{self.port}"


class Route(NamedTuple):
    """Where requests go, and whose wish that is."""

    ingress: IngressKey
    backend: Backend


class Problem(NamedTuple):
    """Why a part of an ingress is not served."""

    reason: str
    message: str


class Certificate(NamedTuple):
    """The Secret with the certificate of a host, and who asks for it."""

    ingress: IngressKey
    secret: str


@dataclass(slots=True)
class Host:
    """The paths of one host."""

    owner: IngressKey
    exact: dict[str, Route] = field(default_factory=dict)
    prefixes: dict[str, Route] = field(default_factory=dict)
    """Without a slash at the end; the root is empty."""
    depth: int = 0
    """Parts of the longest prefix: more need not be looked at."""
    default: Route | None = None

    def match(self, path: str) -> Route | None:
        """The route of a path; None when the host has none for it."""
        if found := self.exact.get(path):
            return found
        parts = path.split("/", self.depth + 1)[1 : self.depth + 1]
        for count in range(len(parts), -1, -1):
            if found := self.prefixes.get("".join(f"/{part}" for part in parts[:count])):
                return found
        return self.default


@dataclass(slots=True)
class Table:
    """All routes."""

    hosts: dict[str, Host] = field(default_factory=dict)
    """By name; wildcards with their star, rules without a host under the empty name."""
    certificates: dict[str, Certificate] = field(default_factory=dict)
    """By host; under the empty name the one for all others."""
    default: Route | None = None
    problems: dict[IngressKey, list[Problem]] = field(default_factory=dict)

    def match(self, host: str, path: str) -> Route | None:
        """The route of a request; None when nobody answers it."""
        found = named(self.hosts, host)
        return (found.match(path) if found is not None else None) or self.default

    def backends(self) -> dict[Backend, list[IngressKey]]:
        """Every backend with the ingresses that lead to it."""
        found: dict[Backend, list[IngressKey]] = {}
        routes = [self.default] if self.default else []
        for host in self.hosts.values():
            routes += [*host.exact.values(), *host.prefixes.values(), *([host.default] if host.default else [])]
        for route in routes:
            users = found.setdefault(route.backend, [])
            if route.ingress not in users:
                users.append(route.ingress)
        return found


def named(hosts: "dict[str, Host]", host: str) -> Host | None:
    """The entry of a host: its own, a wildcard's, or that of all hosts."""
    host = host.lower()
    return hosts.get(host) or hosts.get(wildcard(host)) or hosts.get("")


def wildcard(host: str) -> str:
    """The wildcard that covers a host: exactly its first part is left open."""
    first, dot, rest = host.partition(".")
    return f"*.{rest}" if first and dot else "*"


def host_of(header: str) -> str:
    """The host of a Host header, without its port and a dot at the end."""
    if header.startswith("["):
        return header.partition("]")[0][1:]
    return header.partition(":")[0].rstrip(".").lower()


def build(ingresses: Iterable[MultiClusterIngress], class_name: str = "") -> Table:
    """The table of all ingresses of a class; those that name none belong to every class."""
    table = Table()
    for ingress in sorted(ingresses, key=_age):
        spec = spec_of(ingress)
        if ingress.metadata.deletion_timestamp is None and spec.ingress_class_name in (None, "", class_name):
            _add(table, IngressKey(ingress.metadata.namespace, ingress.metadata.name), spec)
    return table


def spec_of(ingress: MultiClusterIngress) -> IngressSpec:
    """The rules of an ingress, in either of its forms."""
    return ingress.spec.template.spec if ingress.spec.template is not None else ingress.spec


def _age(ingress: MultiClusterIngress) -> tuple[str, str, str]:
    metadata = ingress.metadata
    return metadata.creation_timestamp or "", metadata.namespace, metadata.name


def _add(table: Table, key: IngressKey, spec: IngressSpec) -> None:
    problems = table.problems.setdefault(key, [])
    default = _backend(key, spec.default_backend, "defaultBackend", problems)
    if default is not None:
        table.default = table.default or Route(key, default)
    refused: set[str] = set()
    for index, rule in enumerate(spec.rules):
        name = rule.host.lower()
        host = table.hosts.setdefault(name, Host(key))
        if host.owner.namespace != key.namespace:
            if name not in refused:
                text = f"rules[{index}].host: {name or 'any host'} belongs to {host.owner}; choose another host"
                problems.append(Problem(HOST_TAKEN, text))
            refused.add(name)
            continue
        if default is not None:
            host.default = host.default or Route(key, default)
        for number, item in enumerate(rule.http.paths if rule.http is not None else ()):
            where = f"rules[{index}].http.paths[{number}]"
            backend = _backend(key, item.backend, f"{where}.backend", problems)
            if backend is None:
                continue
            known = _place(host, item.path, item.path_type, Route(key, backend))
            if known.ingress != key:
                text = f"{where}.path: {name or 'any host'}{item.path or '/'} is routed by {known.ingress} already"
                problems.append(Problem(PATH_TAKEN, text))
    _add_certificates(table, key, spec, refused)


def _place(host: Host, path: str, path_type: str, route: Route) -> Route:
    """Note a route unless there is one; the one that counts."""
    if path_type == "Exact":
        return host.exact.setdefault(path, route)
    prefix = path.rstrip("/")
    host.depth = max(host.depth, prefix.count("/"))
    return host.prefixes.setdefault(prefix, route)


def _add_certificates(table: Table, key: IngressKey, spec: IngressSpec, refused: set[str]) -> None:
    for entry in spec.tls:
        names: Sequence[str] = entry.hosts or [rule.host for rule in spec.rules] or [""]
        for name in (name.lower() for name in names):
            owner = table.hosts.get(name)
            if entry.secret_name and name not in refused and (owner is None or owner.owner.namespace == key.namespace):
                table.certificates.setdefault(name, Certificate(key, entry.secret_name))


def _backend(key: IngressKey, given: IngressBackend | None, path: str, problems: list[Problem]) -> Backend | None:
    if given is None:
        return None
    if given.service is None:
        problems.append(Problem(UNSUPPORTED, f"{path}.resource: only services are supported"))
        return None
    return Backend(key.namespace, given.service.name, given.service.port.name or given.service.port.number)
