"""Rules of Services. Addresses and node ports are handed out at admission."""

import ipaddress
from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    cidr,
    dns_label,
    dns_subdomain,
    ip_address,
    one_of,
    port_number,
    port_or_name,
    qualified_name,
    strategy,
)
from karmada.apiserver.builtin.strategies.service_families import keep_addresses, link_addresses, settle
from karmada.apiserver.builtin.strategies.service_ips import FIXED, change_errors, cluster_ip_errors, is_headless
from karmada.apiserver.builtin.strategies.service_status import status_errors, warnings
from karmada.apiserver.schema.metadata import labels
from karmada.apiserver.selectable import fields

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_OUTSIDE = ("NodePort", "LoadBalancer")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_BALANCED = "may only be used when `type` is 'LoadBalancer'"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def _default(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.setdefault("sessionAffinity", "None")
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (0, "", None):
            port["targetPort"] = port["port"]
    if spec["sessionAffinity"] == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", 10800)
    elif spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    if kind in _OUTSIDE or spec.get("externalIPs"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for point in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
            if point.get("ip"):
                point.setdefault("ipMode", "VIP")


def _prepare_create(obj: JSONObject) -> None:
    """Admission settles families by the network of the server; whoever creates without it is given the usual one."""
    spec = obj["spec"]
    if spec["type"] != "ExternalName" and not spec.get("ipFamilies"):
        link_addresses(spec)
        settle(spec, None, "IPv4")


def _prepare_update(obj: JSONObject, old: JSONObject) -> None:
    """A change of type releases what the new one cannot have, unless the client changed it too."""
    spec, before = obj["spec"], old["spec"]
    keep_addresses(spec, before)
    if spec["type"] == "ExternalName" != before["type"]:
        if spec.get("clusterIPs") == before.get("clusterIPs"):
            for field in ("clusterIP", "clusterIPs"):
                spec.pop(field, None)
        _release(spec, before, "ipFamilies", "ipFamilyPolicy")
    if before["type"] in _OUTSIDE and spec["type"] not in _OUTSIDE:
        known = {port.get("nodePort") for port in before.get("ports") or ()}
        ports = spec.get("ports") or ()
        if all(not port.get("nodePort") or port["nodePort"] in known for port in ports):
            for port in ports:
                port.pop("nodePort", None)
    if _checks_health(before) and not _checks_health(spec):
        _release(spec, before, "healthCheckNodePort")
    if before["type"] == "LoadBalancer" != spec["type"]:
        _release(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if _is_reachable(before) and not _is_reachable(spec):
        _release(spec, before, "externalTrafficPolicy")
    if spec["type"] != "LoadBalancer" and obj.get("status"):
        obj["status"] = {**obj["status"], "loadBalancer": {}}


def _release(spec: JSONObject, before: JSONObject, *names: str) -> None:
    for name in names:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)


def _checks_health(spec: JSONObject) -> bool:
    return bool(spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def _is_reachable(spec: JSONObject) -> bool:
    """Whether the service can be reached from outside."""
    return bool(spec["type"] in _OUTSIDE or (spec["type"] == "ClusterIP" and spec.get("externalIPs")))


def _port_key(port: JSONObject) -> tuple[Any, Any]:
    return (port.get("protocol"), port.get("port"))


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    kind = spec["type"]
    errors: Errors = []
    ports = spec.get("ports") or []
    if not ports and not is_headless(spec) and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind in _OUTSIDE and is_headless(spec):
        errors.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    if kind == "ExternalName":
        errors += _external_name(spec)
    errors += _ports(ports, kind)
    if spec.get("selector"):
        errors += labels(spec["selector"], "spec.selector")
    errors += _affinity(spec)
    if kind != "ExternalName":
        errors += cluster_ip_errors(spec, old["spec"] if old is not None else None)
    known = {*(old["spec"].get("externalIPs") or ())} if old is not None else set()
    for index, address in enumerate(spec.get("externalIPs") or ()):
        if address not in known or not ip_address("", address):
            errors += _external_ip(f"spec.externalIPs[{index}]", address)
    errors += one_of("spec.type", kind, _TYPES)
    errors += _source_ranges(obj, old) + _balancer(spec) + _traffic(spec)
    if old is not None:
        errors += _update(spec, old["spec"])
    return errors


def _affinity(spec: JSONObject) -> Errors:
    errors = one_of("spec.sessionAffinity", spec["sessionAffinity"], ("ClientIP", "None"))
    timeout = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds")
    if timeout is not None and not 0 < timeout <= 86400:
        place = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        errors.append(invalid(place, timeout, "must be greater than 0 and less than 86400"))
    return errors


def _source_ranges(obj: JSONObject, old: JSONObject | None) -> Errors:
    """Networks that may use a load balancer; padding is part of the API, and so is the spelling of the field."""
    ranges = obj["spec"].get("loadBalancerSourceRanges") or []
    wrong = obj["spec"]["type"] != "LoadBalancer"
    if ranges:
        before = (old["spec"].get("loadBalancerSourceRanges") or []) if old is not None else []
        known = {one.strip() for one in before}
        errors = [forbidden("spec.LoadBalancerSourceRanges", _BALANCED)] if wrong else []
        for index, one in enumerate(ranges):
            if one.strip() not in known:
                errors += cidr(f"spec.LoadBalancerSourceRanges[{index}]", one.strip())
        return errors
    value = (obj["metadata"].get("annotations") or {}).get(_SOURCE_RANGES)
    if value is None:
        return []
    place = f"metadata.annotations[{_SOURCE_RANGES}]"
    errors = [forbidden(place, _BALANCED)] if wrong else []
    unchanged = old is not None and (old["metadata"].get("annotations") or {}).get(_SOURCE_RANGES) == value
    if value.strip() and not unchanged:
        for one in value.split(","):
            errors += cidr(place, one.strip())
    return errors


def _balancer(spec: JSONObject) -> Errors:
    errors: Errors = []
    if spec.get("allocateLoadBalancerNodePorts") is not None and spec["type"] != "LoadBalancer":
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _BALANCED))
    return errors + _class(spec)


def _class(spec: JSONObject) -> Errors:
    name = spec.get("loadBalancerClass")
    if name is None:
        return []
    if spec["type"] == "LoadBalancer":
        return qualified_name("spec.loadBalancerClass", name)
    return [forbidden("spec.loadBalancerClass", _BALANCED)]


def _traffic(spec: JSONObject) -> Errors:
    errors: Errors = []
    policy = spec.get("externalTrafficPolicy") or ""
    if _is_reachable(spec):
        errors += one_of("spec.externalTrafficPolicy", policy, ("Cluster", "Local"))
    elif policy:
        text = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", policy, text))
    health = spec.get("healthCheckNodePort") or 0
    if _checks_health(spec):
        errors += port_number("spec.healthCheckNodePort", health) if health else []
    elif health:
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(invalid("spec.healthCheckNodePort", health, text))
    if spec.get("internalTrafficPolicy") is not None:
        errors += one_of("spec.internalTrafficPolicy", spec["internalTrafficPolicy"], ("Cluster", "Local"))
    wanted = spec.get("trafficDistribution")
    if wanted is not None and wanted not in _DISTRIBUTIONS:
        choices = ", ".join(f'"{name}"' for name in _DISTRIBUTIONS)
        text = f'Unsupported value: "{wanted}": supported values: {choices}'
        errors.append(FieldError("FieldValueNotSupported", "spec.trafficDistribution", text))
    return errors


def _ports(ports: list[JSONObject], kind: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    numbers: set[tuple[Any, Any]] = set()
    nodes: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        place = f"spec.ports[{index}]"
        name = port.get("name") or ""
        if len(ports) > 1 and not name:
            errors.append(required(f"{place}.name"))
        elif name:
            errors += dns_label(f"{place}.name", name)
            if name in names:
                errors.append(duplicate(f"{place}.name", name))
            names.add(name)
        errors += port_number(f"{place}.port", port.get("port") or 0)
        errors += one_of(f"{place}.protocol", port.get("protocol") or "", _PROTOCOLS)
        errors += port_or_name(f"{place}.targetPort", port.get("targetPort", 0))
        if port.get("appProtocol") is not None:
            errors += qualified_name(f"{place}.appProtocol", port["appProtocol"])
        if kind == "ClusterIP" and port.get("nodePort"):
            errors.append(forbidden(f"{place}.nodePort", "may not be used when `type` is 'ClusterIP'"))
        node = (port.get("protocol"), port.get("nodePort"))
        if node[1] and node in nodes:
            errors.append(duplicate(f"{place}.nodePort", node[1]))
        nodes.add(node)
        key = _port_key(port)
        if key in numbers:
            shown = {"Name": "", "Protocol": port["protocol"], "AppProtocol": None, "Port": port["port"]}
            errors.append(duplicate(place, {**shown, "TargetPort": 0, "NodePort": 0}))
        numbers.add(key)
    return errors


def _external_name(spec: JSONObject) -> Errors:
    text = "may not be set for ExternalName services"
    errors = [
        forbidden(f"spec.{field}", text) for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(field)
    ]
    name = (spec.get("externalName") or "").removesuffix(".")
    return errors + (dns_subdomain("spec.externalName", name) if name else [required("spec.externalName")])


def _external_ip(field: str, text: str) -> Errors:
    errors = ip_address(field, text)
    if errors:
        return errors
    address = ipaddress.ip_address(text)
    for wrong, why in (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
    ):
        if wrong:
            errors.append(invalid(field, text, why))
    return errors


def _update(spec: JSONObject, old: JSONObject) -> Errors:
    errors = change_errors(spec, old)
    name = spec.get("loadBalancerClass")
    if spec["type"] == old["type"] == "LoadBalancer" and name != old.get("loadBalancerClass"):
        errors.append(invalid("spec.loadBalancerClass", name, FIXED))
    errors += _class(spec)
    ports = {one.get("healthCheckNodePort") for one in (spec, old)}
    if _checks_health(spec) and _checks_health(old) and len(ports) > 1:
        errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
    return errors


STRATEGY = strategy(
    _default,
    _validate,
    name=name_rules.dns_label,
    create_on_update=True,
    create_by_status=True,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_status=status_errors,
    warnings=warnings,
    reads_annotations=True,
    selectable=fields("spec.clusterIP", "spec.type"),
)
