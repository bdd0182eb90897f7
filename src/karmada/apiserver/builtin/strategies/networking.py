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
    immutable,
    one_of,
    port_number,
    port_or_name,
    selector,
    strategy,
    unsupported,
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


def _validate_ingress(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors: Errors = []
    if not spec.get("rules") and not spec.get("defaultBackend"):
        errors.append(invalid("spec", spec or None, "either `defaultBackend` or `rules` must be specified"))
    if spec.get("defaultBackend") is not None:
        errors += _backend(spec["defaultBackend"], "spec.defaultBackend")
    for index, rule in enumerate(spec.get("rules") or ()):
        path = f"spec.rules[{index}]"
        if rule.get("host"):
            errors += _host(f"{path}.host", rule["host"])
        http = rule.get("http")
        if http is not None and not http.get("paths"):
            errors.append(required(f"{path}.http.paths"))
        for at, item in enumerate((http or {}).get("paths") or ()):
            errors += _path(item, f"{path}.http.paths[{at}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for at, host in enumerate(tls.get("hosts") or ()):
            errors += _host(f"spec.tls[{index}].hosts[{at}]", host)
        if tls.get("secretName"):
            errors += dns_subdomain(f"spec.tls[{index}].secretName", tls["secretName"])
    if spec.get("ingressClassName"):
        errors += dns_subdomain("spec.ingressClassName", spec["ingressClassName"])
    return errors


def _path(item: JSONObject, path: str) -> Errors:
    kind, text = item.get("pathType"), item.get("path") or ""
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: Errors = []
    if kind in ("Exact", "Prefix"):
        if not text.startswith("/"):
            errors.append(invalid(f"{path}.path", text, "must be an absolute path"))
        errors += [invalid(f"{path}.path", text, f"must not contain '{part}'") for part in _BAD_PARTS if part in text]
    elif kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            errors.append(invalid(f"{path}.path", text, "must be an absolute path"))
    else:
        errors.append(unsupported(f"{path}.pathType", kind, _PATH_TYPES))
    return errors + _backend(item.get("backend") or {}, f"{path}.backend")


def _backend(backend: JSONObject, path: str) -> Errors:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return [required(f"{path}.resource.{field}") for field in ("kind", "name") if not resource.get(field)]
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    errors: Errors = []
    name = service.get("name") or ""
    if not name:
        errors.append(required(f"{path}.service.name"))
    else:
        errors += dns_label(f"{path}.service.name", name)
    port = service.get("port") or {}
    if port.get("name") and port.get("number"):
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif port.get("name"):
        errors += port_or_name(f"{path}.service.port.name", port["name"])
    elif port.get("number"):
        errors += port_number(f"{path}.service.port.number", port["number"])
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _default_ingress_class(obj: JSONObject) -> None:
    parameters = obj["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def _validate_ingress_class(obj: JSONObject, old: JSONObject | None) -> Errors:
    controller = obj["spec"].get("controller") or ""
    errors: Errors = []
    if len(controller) > 250:
        errors.append(invalid("spec.controller", controller, "must be no more than 250 characters"))
    if not controller:
        errors.append(required("spec.controller"))
    elif "/" not in controller:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        errors.append(invalid("spec.controller", controller, text))
    if (parameters := obj["spec"].get("parameters")) is not None:
        errors += _class_parameters(parameters, "spec.parameters")
    if old is not None:
        errors += immutable("spec.controller", controller, old["spec"].get("controller"))
    return errors


def _class_parameters(parameters: JSONObject, path: str) -> Errors:
    group = parameters.get("apiGroup")
    errors = dns_subdomain(f"{path}.apiGroup", group) if group is not None else []
    for field in ("kind", "name"):
        if text := parameters.get(field) or "":
            errors += [invalid(f"{path}.{field}", text, problem) for problem in path_segment(text)]
        else:
            errors.append(required(f"{path}.{field}", f"{field} is required"))
    scope, namespace = parameters.get("scope") or "", parameters.get("namespace")
    if not scope:
        errors.append(required(f"{path}.scope"))
    elif scope not in ("Cluster", "Namespace"):
        errors.append(unsupported(f"{path}.scope", scope, ("Cluster", "Namespace")))
    elif scope == "Cluster" and namespace is not None:
        errors.append(forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif scope == "Namespace" and namespace is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    elif scope == "Namespace":
        errors += dns_label(f"{path}.namespace", namespace or "")
    return errors


def _default_policy(obj: JSONObject) -> None:
    spec = obj["spec"]
    for word in ("ingress", "egress"):
        for rule in spec.get(word) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _validate_policy(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = selector("spec.podSelector", spec.get("podSelector"))
    for word, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(word) or ()):
            path = f"spec.{word}[{index}]"
            for at, port in enumerate(rule.get("ports") or ()):
                errors += _policy_port(port, f"{path}.ports[{at}]")
            for at, peer in enumerate(rule.get(peers) or ()):
                errors += _peer(peer, f"{path}.{peers}[{at}]")
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        errors.append(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
        return errors
    for index, kind in enumerate(types):
        if kind not in ("Ingress", "Egress"):
            errors.append(unsupported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress")))
    return errors


def _policy_port(port: JSONObject, path: str) -> Errors:
    errors = one_of(f"{path}.protocol", port.get("protocol"), ("SCTP", "TCP", "UDP"))
    number, end = port.get("port"), port.get("endPort")
    if number is not None:
        errors += port_or_name(f"{path}.port", number)
    if end is None:
        return errors
    if number is None:
        errors.append(required(f"{path}.port", "must be specified when `endPort` is specified"))
    elif isinstance(number, str):
        errors.append(invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric"))
    elif end < number:
        errors.append(invalid(f"{path}.endPort", end, "must be greater than or equal to `port`"))
    return errors


def _peer(peer: JSONObject, path: str) -> Errors:
    if not peer:
        return [required(path, "must specify a peer")]
    errors = selector(f"{path}.podSelector", peer.get("podSelector"))
    errors += selector(f"{path}.namespaceSelector", peer.get("namespaceSelector"))
    block = peer.get("ipBlock")
    if block is None:
        return errors
    errors += _ip_block(block, path)
    if len(peer) > 1:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _ip_block(block: JSONObject, path: str) -> Errors:
    errors: Errors = []
    if not block.get("cidr"):
        return [required(f"{path}.ipBlock.cidr")]
    found = cidr(f"{path}.ipBlock.cidr", block["cidr"])
    if found:
        return found
    network = ipaddress.ip_network(block["cidr"], strict=False)
    for index, text in enumerate(block.get("except") or ()):
        place = f"{path}.ipBlock.except[{index}]"
        wrong = cidr(place, text)
        errors += wrong
        if not wrong:
            inner = ipaddress.ip_network(text, strict=False)
            within = inner.version == network.version and inner.network_address in network
            if not within or inner.prefixlen <= network.prefixlen:
                why = "must be a strict subset of `cidr`"
                errors.append(invalid(place, text, why))
    return errors


def _ip_name(text: str) -> list[str]:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return [] if str(address) == text else [f'must be in canonical form ("{address}")']


def _validate_ip(obj: JSONObject, old: JSONObject | None) -> Errors:
    parent = obj["spec"].get("parentRef")
    if parent is None:
        fixed = immutable("spec.parentRef", parent, old["spec"].get("parentRef")) if old is not None else []
        return [required("spec.parentRef"), *fixed]
    errors = dns_subdomain("spec.parentRef.group", parent["group"]) if parent.get("group") else []
    for field in ("resource", "name", "namespace"):
        if text := parent.get(field) or "":
            errors += [invalid(f"spec.parentRef.{field}", text, problem) for problem in path_segment(text)]
        elif field != "namespace":
            errors.append(required(f"spec.parentRef.{field}"))
    if old is not None:
        errors += immutable("spec.parentRef", parent, old["spec"].get("parentRef"))
    return errors


def _validate_cidrs(obj: JSONObject, old: JSONObject | None) -> Errors:
    found = obj["spec"].get("cidrs") or []
    if old is not None:
        return _changed_cidrs(obj["spec"].get("cidrs"), old["spec"].get("cidrs") or [])
    if not found:
        return [required("spec.cidrs", "at least one CIDR required")]
    return [error for index, text in enumerate(found) for error in cidr(f"spec.cidrs[{index}]", text)]


def _changed_cidrs(found: list[str] | None, before: list[str]) -> Errors:
    """A range may only get a second one, of the other family."""
    errors: Errors = []
    for index, text in enumerate(before):
        if not found or index >= len(found):
            return [invalid("spec.cidrs", found, IMMUTABLE)]
        if found[index] != text:
            errors.append(invalid(f"spec.cidrs[{index}]", found[index], IMMUTABLE))
    if len(found or ()) > len(before):
        errors += [error for index, text in enumerate(found or ()) for error in cidr(f"spec.cidrs[{index}]", text)]
    return errors


INGRESS = strategy(validate=_validate_ingress, generation=True)
INGRESS_CLASS = strategy(_default_ingress_class, _validate_ingress_class, namespaced=False, generation=True)
NETWORK_POLICY = strategy(_default_policy, _validate_policy, generation=True)
IP_ADDRESS = strategy(validate=_validate_ip, name=_ip_name, namespaced=False)
SERVICE_CIDR = strategy(validate=_validate_cidrs, namespaced=False)
