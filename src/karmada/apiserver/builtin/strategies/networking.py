"""Rules of Ingresses, IngressClasses, NetworkPolicies and IP addresses."""

import ipaddress
import re

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    IMMUTABLE,
    Errors,
    JSONObject,
    cidr,
    dns_label,
    dns_subdomain,
    port_number,
    port_or_name,
    selector,
    strategy,
)
from karmada.apiserver.builtin.strategies.service_status import address_and_name
from karmada.apiserver.builtin.strategies.tables import (
    choice,
    each,
    fields,
    filled,
    given,
    having,
    named,
    needed,
    optional,
    validated,
)
from karmada.apiserver.schema.metadata import path_segment

_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    "regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")


def _host(field: str, host: str) -> Errors:
    if "*" in host:
        return [] if _WILDCARD.fullmatch(host) else [invalid(field, host, _WILDCARD_RULE)]
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return dns_subdomain(field, host)
    return [invalid(field, host, "must be a DNS name, not an IP address")]


def _has_backend(path: str, spec: JSONObject) -> Errors:
    if spec.get("rules") or spec.get("defaultBackend"):
        return []
    return [invalid(path, spec or None, "either `defaultBackend` or `rules` must be specified")]


def _path(path: str, item: JSONObject) -> Errors:
    kind, text = item.get("pathType"), item.get("path") or ""
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors = choice(*_PATH_TYPES)(f"{path}.pathType", kind)
    if not text.startswith("/") and (kind in ("Exact", "Prefix") or (kind == "ImplementationSpecific" and text)):
        errors.append(invalid(f"{path}.path", text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        errors += [invalid(f"{path}.path", text, f"must not contain '{part}'") for part in _BAD_PARTS if part in text]
    return errors + _backend(f"{path}.backend", item.get("backend") or {})


def _backend(path: str, backend: JSONObject) -> Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return fields(("kind name", needed()))(f"{path}.resource", resource)
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    errors = needed(dns_label)(f"{path}.service.name", service.get("name"))
    return errors + _service_port(path, service.get("port") or {})


def _service_port(path: str, port: JSONObject) -> Errors:
    name, number = port.get("name"), port.get("number")
    if name and number:
        return [invalid(path, "", "cannot set both port name & port number")]
    if name:
        return port_or_name(f"{path}.service.port.name", name)
    if number:
        return port_number(f"{path}.service.port.number", number)
    return [required(path, "port name or number is required")]


_INGRESS = fields(
    _has_backend,
    ("defaultBackend", optional(_backend)),
    ("rules", each(fields(("host", filled(_host)), ("http", having("paths", needed(each(_path))))))),
    ("tls", each(fields(("hosts", each(_host)), ("secretName", filled(dns_subdomain))))),
    ("ingressClassName", optional(dns_subdomain)),
)


def _default_ingress_class(obj: JSONObject) -> None:
    parameters = obj["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def _controller(path: str, name: str | None) -> Errors:
    name = name or ""
    errors = [invalid(path, name, "must be no more than 250 characters")] if len(name) > 250 else []
    if not name:
        return [required(path)]
    if "/" not in name:
        errors.append(invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    return errors


def _parameters_scope(path: str, parameters: JSONObject) -> Errors:
    scope, namespace = parameters.get("scope") or "", parameters.get("namespace")
    if scope not in ("Cluster", "Namespace"):
        return needed(choice("Cluster", "Namespace"))(f"{path}.scope", scope)
    if scope == "Namespace":
        return given(dns_label, "`parameters.scope` is set to 'Namespace'")(f"{path}.namespace", namespace)
    return [] if namespace is None else [forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")]


_CLASS_PARAMETERS = fields(
    ("apiGroup", optional(dns_subdomain)),
    ("kind", needed(named(path_segment))),
    ("name", needed(named(path_segment))),
    _parameters_scope,
)


def _default_policy(obj: JSONObject) -> None:
    spec = obj["spec"]
    for word in ("ingress", "egress"):
        for rule in spec.get(word) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _policy_types(path: str, types: list[str]) -> Errors:
    if len(types) > 2:
        return [invalid(path, types, "may not specify more than two policyTypes")]
    return each(choice("Ingress", "Egress"))(path, types)


def _end_port(path: str, port: JSONObject) -> Errors:
    number, end = port.get("port"), port.get("endPort")
    if end is None:
        return []
    if number is None:
        return [required(f"{path}.port", "must be specified when `endPort` is specified")]
    if isinstance(number, str):
        return [invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")]
    low = [invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")] if end < number else []
    return [*low, *port_number(f"{path}.endPort", end)]


def _peer(path: str, peer: JSONObject) -> Errors:
    if not peer:
        return [required(path, "must specify a peer")]
    errors = _PEER(path, peer)
    if peer.get("ipBlock") is not None and len(peer) > 1:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _ip_block(path: str, block: JSONObject) -> Errors:
    if found := needed(cidr)(f"{path}.cidr", block.get("cidr")):
        return found
    network = ipaddress.ip_network(block["cidr"], strict=False)

    def subset(place: str, text: str) -> Errors:
        if wrong := cidr(place, text):
            return wrong
        inner = ipaddress.ip_network(text, strict=False)
        within = inner.version == network.version and inner.network_address in network
        fine = within and inner.prefixlen > network.prefixlen
        return [] if fine else [invalid(place, text, "must be a strict subset of `cidr`")]

    return each(subset)(f"{path}.except", block.get("except"))


_PEER = fields(("podSelector namespaceSelector", selector), ("ipBlock", optional(_ip_block)))
_POLICY_PORT = fields(("protocol", choice("SCTP", "TCP", "UDP")), ("port", optional(port_or_name)), _end_port)
_POLICY = fields(
    ("podSelector", selector),
    ("ingress", each(fields(("ports", each(_POLICY_PORT)), ("from", each(_peer))))),
    ("egress", each(fields(("ports", each(_POLICY_PORT)), ("to", each(_peer))))),
    ("policyTypes", filled(_policy_types)),
)


def _ip_name(text: str) -> list[str]:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return [] if str(address) == text else [f'must be in canonical form ("{address}")']


_PARENT = fields(
    ("group", filled(dns_subdomain)),
    ("resource name", needed(named(path_segment))),
    ("namespace", filled(named(path_segment))),
)


def _validate_cidrs(obj: JSONObject, old: JSONObject | None) -> Errors:
    found = obj["spec"].get("cidrs") or []
    if old is not None:
        return _changed_cidrs(obj["spec"].get("cidrs"), old["spec"].get("cidrs") or [])
    if not found:
        return [required("spec.cidrs", "at least one CIDR required")]
    return each(cidr)("spec.cidrs", found)


def _changed_cidrs(found: list[str] | None, before: list[str]) -> Errors:
    """A range may only get a second one, of the other family."""
    errors: Errors = []
    for index, text in enumerate(before):
        if not found or index >= len(found):
            return [invalid("spec.cidrs", found, IMMUTABLE)]
        if found[index] != text:
            errors.append(invalid(f"spec.cidrs[{index}]", found[index], IMMUTABLE))
    if len(found or ()) > len(before):
        errors += each(cidr)("spec.cidrs", found)
    return errors


def _validate_ingress_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    def points(one: JSONObject | None) -> list[JSONObject]:
        return (((one or {}).get("status") or {}).get("loadBalancer") or {}).get("ingress") or []

    known = {point.get("ip") for point in points(old)}
    errors: Errors = []
    for index, point in enumerate(points(obj)):
        errors += address_and_name(point, f"status.loadBalancer.ingress[{index}]", known)
    return errors


INGRESS = strategy(validate=validated(("spec", _INGRESS)), generation=True, validate_status=_validate_ingress_status)
INGRESS_CLASS = strategy(
    _default_ingress_class,
    validated(
        ("spec.controller", _controller),
        ("spec.parameters", optional(_CLASS_PARAMETERS)),
        fixed="spec.controller:",
    ),
    namespaced=False,
    generation=True,
)
NETWORK_POLICY = strategy(_default_policy, validated(("spec", _POLICY)), generation=True)
IP_ADDRESS = strategy(
    validate=validated(("spec.parentRef", given(_PARENT)), fixed="spec.parentRef"), name=_ip_name, namespaced=False
)
SERVICE_CIDR = strategy(validate=_validate_cidrs, namespaced=False)
