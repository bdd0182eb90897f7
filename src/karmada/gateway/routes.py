"""Which backend answers a request: MultiClusterIngresses and HTTPRoutes in, a table out. Pure.

- The most specific host decides: the name itself, then `*.` and the rest of it, then rules without a host.
- In it an Exact path wins over the longest Prefix, compared part by part; ImplementationSpecific is read as Prefix.
- Of the rules of HTTPRoutes at one path, those with a method go first, then those with more headers, then with more
  query parameters, then the older.
- What matches no path goes to a default backend: one of the ingresses of that host first, then the oldest there is,
  unless the host belongs to another namespace.
- A host belongs to the namespace of the oldest ingress that names it; within it the oldest ingress has a path. Who
  comes later gets a condition and keeps its other routes: nobody takes over the traffic of others.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from karmada.api.networking.v1alpha1 import IngressBackend, IngressSpec, MultiClusterIngress
from karmada.gateway.httproutes import KIND, LONGEST_PATH, HttpRoute
from karmada.gateway.rules import Backend, Conditions, Rule, backends
from karmada.machinery.httpserver.model import HttpRequest

HOST_TAKEN, PATH_TAKEN, UNSUPPORTED = "HostTaken", "PathTaken", "UnsupportedBackend"
PATH_TOO_LONG, HOST_FULL = "PathTooLong", "HostFull"
MOST_CONDITIONS = 4096
"""Routes of one host with conditions: a request may have to be compared with each."""


class IngressKey(NamedTuple):
    """An ingress, or an HTTPRoute."""

    namespace: str
    name: str
    kind: str = ""
    """Empty for a MultiClusterIngress."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}".lstrip()


class Route(NamedTuple):
    """Where requests go, and whose wish that is."""

    ingress: IngressKey
    backend: Backend | None
    """None where the rule has them."""
    rule: Rule | None = None
    """Of an HTTPRoute."""

    @property
    def conditions(self) -> Conditions | None:
        """What requests must have besides host and path."""
        return self.rule.conditions if self.rule is not None else None

    def backends(self) -> Iterable[Backend]:
        """All backends that it may lead to."""
        if self.backend is not None:
            yield self.backend
        if self.rule is not None:
            yield from backends([self.rule])


Routes = tuple[Route, ...]
"""Those of one path, the most specific first; at most one, the last, is for every request."""


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
    exact: dict[str, Routes] = field(default_factory=dict)
    prefixes: dict[str, Routes] = field(default_factory=dict)
    """Without a slash at the end; the root is empty."""
    depth: int = 0
    """Parts of the longest prefix: more need not be looked at."""
    default: Route | None = None
    placed: dict[tuple[bool, str], dict[Conditions | None, Route]] = field(default_factory=dict)
    """While the table is made: what is at an exact path, or at a prefix."""
    conditions: int = 0
    """How many routes have some."""

    def sort(self) -> None:
        """Put the most specific route of each path first; of those that are alike, the older."""
        for (exact, path), found in self.placed.items():
            places = self.exact if exact else self.prefixes
            places[path] = tuple(sorted(found.values(), key=_specific, reverse=True))
        self.placed = {}

    def match(self, path: str, request: HttpRequest | None = None) -> Route | None:
        """The route of a path; None when the host has none for it."""
        if (found := self.exact.get(path)) and (route := _first(found, request)):
            return route
        prefixes, prefix = self.prefixes, path
        if path.count("/") > self.depth:
            prefix = "/".join(path.split("/", self.depth + 1)[: self.depth + 1])
        while True:
            if (found := prefixes.get(prefix)) and (route := _first(found, request)):
                return route
            if not prefix:
                return self.default
            prefix = prefix[: prefix.rfind("/")] if "/" in prefix else ""


@dataclass(slots=True)
class Table:
    """All routes."""

    hosts: dict[str, Host] = field(default_factory=dict)
    """By name; wildcards with their star, rules without a host under the empty name."""
    certificates: dict[str, Certificate] = field(default_factory=dict)
    """By host; under the empty name the one for all others."""
    default: Route | None = None
    problems: dict[IngressKey, list[Problem]] = field(default_factory=dict)
    services: dict[IngressKey, dict[tuple[str, str], None]] = field(default_factory=dict)
    """Namespaces and names of the Services that each ingress leads to."""

    def match(self, host: str, path: str, request: HttpRequest | None = None) -> Route | None:
        """The route of a request; None when nobody answers it."""
        found = named(self.hosts, host)
        if found is not None and (route := found.match(path, request)) is not None:
            return route
        default = self.default
        if found is None or default is None or found is self.hosts.get(""):
            return default
        # One of another namespace would answer in the name of the host, and be sent its cookies.
        return default if default.ingress.namespace == found.owner.namespace else None

    def backends(self) -> dict[Backend, list[IngressKey]]:
        """Every backend with the ingresses that lead to it."""
        found: dict[Backend, dict[IngressKey, None]] = {}
        routes = [self.default] if self.default else []
        for host in self.hosts.values():
            for at in (*host.exact.values(), *host.prefixes.values()):
                routes += at
            routes += [host.default] if host.default else []
        for route in routes:
            for backend in route.backends():
                found.setdefault(backend, {})[route.ingress] = None
        return {backend: list(users) for backend, users in found.items()}


def _first(routes: Routes, request: HttpRequest | None) -> Route | None:
    """The first route whose conditions a request meets."""
    for route in routes:
        if route.rule is None or route.rule.conditions is None or route.rule.conditions.hold(request):
            return route
    return None


def named(hosts: "dict[str, Host]", host: str) -> Host | None:
    """The entry of a host: its own, a wildcard's, or that of all hosts."""
    host = host.lower()
    return hosts.get(host) or hosts.get(wildcard(host)) or hosts.get("")


def wildcard(host: str) -> str:
    """The wildcard that covers a host: exactly its first part is left open."""
    first, dot, rest = host.partition(".")
    return f"*.{rest}" if first and dot else "*"


def build(ingresses: Iterable[MultiClusterIngress], class_name: str = "", routes: Iterable[HttpRoute] = ()) -> Table:
    """The table of all ingresses of a class, with those that name none, and of HTTPRoutes; older ones come first."""
    table = Table()
    chosen: list[tuple[IngressKey, IngressSpec]] = []
    given: list[MultiClusterIngress | HttpRoute] = [*ingresses, *routes]
    for each in sorted(given, key=_age):
        if isinstance(each, HttpRoute):
            _add_route(table, each)
            continue
        spec = spec_of(each)
        if each.metadata.deletion_timestamp is None and spec.ingress_class_name in (None, "", class_name):
            key = IngressKey(each.metadata.namespace, each.metadata.name)
            _add(table, key, spec)
            chosen.append((key, spec))
    for host in table.hosts.values():
        host.sort()
    for backend, users in table.backends().items():
        for user in users:
            table.services.setdefault(user, {})[backend.namespace, backend.service] = None
    # Not before all hosts have an owner: who asks first for a certificate need not be who names the host.
    covered = {(host.owner.namespace, wildcard(name)) for name, host in table.hosts.items()}
    for key, spec in chosen:
        _add_certificates(table, key, spec, covered)
    return table


def spec_of(ingress: MultiClusterIngress) -> IngressSpec:
    """The rules of an ingress, in either of its forms."""
    return ingress.spec.template.spec if ingress.spec.template is not None else ingress.spec


def _age(given: MultiClusterIngress | HttpRoute) -> tuple[str, str, str]:
    if isinstance(given, HttpRoute):
        return given.created, given.namespace, given.name
    metadata = given.metadata
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
            if len(item.path) > LONGEST_PATH:
                text = f"{where}.path: it has {len(item.path)} characters; at most {LONGEST_PATH} are served"
                problems.append(Problem(PATH_TOO_LONG, text))
                continue
            known = _place(host, item.path, item.path_type, Route(key, backend))
            if known is not None and known.ingress != key:
                text = f"{where}.path: {name or 'any host'}{item.path or '/'} is routed by {known.ingress} already"
                problems.append(Problem(PATH_TAKEN, text))


def _add_route(table: Table, route: HttpRoute) -> None:
    key = IngressKey(route.namespace, route.name, KIND)
    problems = table.problems.setdefault(key, [])
    for name in route.hosts if route.refused is None else ():
        host = table.hosts.setdefault(name, Host(key))
        if host.owner.namespace != key.namespace:
            text = f"spec.hostnames: {name or 'any host'} belongs to {host.owner}; choose another host"
            problems.append(Problem(HOST_TAKEN, text))
            continue
        for placed in route.places:
            known = _place(host, placed.path, "Exact" if placed.exact else "Prefix", Route(key, None, placed.rule))
            if known is None:
                text = f"{name or 'any host'} has {MOST_CONDITIONS} routes with conditions already"
                problems.append(Problem(HOST_FULL, text))
                break
            if known.ingress != key:
                text = f"{name or 'any host'}{placed.path} is routed by {known.ingress} already"
                problems.append(Problem(PATH_TAKEN, text))


def _place(host: Host, path: str, path_type: str, route: Route) -> Route | None:
    """Note a route unless there is one for the same requests; the one that counts, None when the host is full."""
    exact = path_type == "Exact"
    if not exact:
        path = path.rstrip("/")
        host.depth = max(host.depth, path.count("/"))
    known = host.placed.setdefault((exact, path), {})
    if route.conditions is not None and route.conditions not in known:
        if host.conditions >= MOST_CONDITIONS:
            return None
        host.conditions += 1
    return known.setdefault(route.conditions, route)


def _specific(route: Route) -> tuple[bool, int, int]:
    return (route.conditions or Conditions()).specific


def _add_certificates(table: Table, key: IngressKey, spec: IngressSpec, covered: Container[tuple[str, str]]) -> None:
    """Note certificates for hosts of the ingress's namespace, `covered` names the wildcards that have some; what nobody
    names is answered by the default backend."""
    for entry in spec.tls:
        names: Sequence[str] = entry.hosts or [rule.host for rule in spec.rules] or [""]
        for name in (name.lower() for name in names):
            owner = table.hosts[name].owner if name in table.hosts else table.default and table.default.ingress
            is_own = owner is not None and owner.namespace == key.namespace
            if entry.secret_name and (is_own or (name not in table.hosts and (key.namespace, name) in covered)):
                table.certificates.setdefault(name, Certificate(key, entry.secret_name))


def _backend(key: IngressKey, given: IngressBackend | None, path: str, problems: list[Problem]) -> Backend | None:
    if given is None:
        return None
    if given.service is None:
        problems.append(Problem(UNSUPPORTED, f"{path}.resource: only services are supported"))
        return None
    return Backend(key.namespace, given.service.name, given.service.port.name or given.service.port.number)
