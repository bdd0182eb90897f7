"""Rules of Services. Addresses and node ports are handed out at admission."""

import ipaddress
from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    ip_address,
    one_of,
    port_number,
    port_or_name,
    qualified_name,
    strategy,
)
from karmada.apiserver.schema.metadata import labels
from karmada.apiserver.selectable import fields

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_OUTSIDE = ("NodePort", "LoadBalancer")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


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


def _prepare_create(obj: JSONObject) -> None:
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        return
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif spec.get("clusterIPs") and not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0]
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _prepare_update(obj: JSONObject, old: JSONObject) -> None:
    """An update that does not mention addresses keeps them; a change of type releases what the new one cannot have."""
    spec, before = obj["spec"], old["spec"]
    if spec["type"] == "ExternalName":
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field) == before.get(field):
                spec.pop(field, None)
        return
    if before["type"] != "ExternalName":
        if not spec.get("clusterIP"):
            for field in ("clusterIP", "clusterIPs"):
                if field in before:
                    spec[field] = before[field]
        elif spec.get("clusterIP") != before.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        for field in ("ipFamilies", "ipFamilyPolicy"):
            if field in before:
                spec.setdefault(field, before[field])
    _prepare_create(obj)
    _keep_node_ports(spec, before)


def _keep_node_ports(spec: JSONObject, before: JSONObject) -> None:
    if spec["type"] in _OUTSIDE and before["type"] in _OUTSIDE:
        known = {_port_key(port): port.get("nodePort") for port in before.get("ports") or ()}
        taken = {port.get("nodePort") for port in spec.get("ports") or ()}
        for port in spec.get("ports") or ():
            number = known.get(_port_key(port))
            if not port.get("nodePort") and number and number not in taken:
                port["nodePort"] = number
        if before.get("healthCheckNodePort") and spec.get("externalTrafficPolicy") == "Local":
            spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])
    elif spec["type"] == "ClusterIP" and before["type"] in _OUTSIDE:
        old_ports = {port.get("nodePort") for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            if port.get("nodePort") in old_ports:
                port.pop("nodePort", None)
        for field in ("healthCheckNodePort", "externalTrafficPolicy", "allocateLoadBalancerNodePorts"):
            if spec.get(field) == before.get(field) and not spec.get("externalIPs"):
                spec.pop(field, None)


def _port_key(port: JSONObject) -> tuple[Any, Any]:
    return (port.get("protocol"), port.get("port"))


def _validate(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    kind = spec["type"]
    errors: Errors = []
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        errors.append(required("spec.ports"))
    errors += _ports(ports, kind)
    if spec.get("selector"):
        errors += labels(spec["selector"], "spec.selector")
    errors += one_of("spec.sessionAffinity", spec["sessionAffinity"], ("ClientIP", "None"))
    errors += one_of("spec.type", kind, _TYPES)
    if kind == "LoadBalancer" and spec.get("clusterIP") == "None":
        errors.append(invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for LoadBalancer services"))
    if kind == "ExternalName":
        errors += _external_name(spec)
    else:
        errors += _cluster_ips(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        errors += _external_ip(f"spec.externalIPs[{index}]", address)
    if spec.get("externalTrafficPolicy") is not None:
        errors += one_of("spec.externalTrafficPolicy", spec["externalTrafficPolicy"], ("Cluster", "Local"))
    if spec.get("internalTrafficPolicy") is not None:
        errors += one_of("spec.internalTrafficPolicy", spec["internalTrafficPolicy"], ("Cluster", "Local"))
    timeout = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds")
    if timeout is not None and not 0 < timeout <= 86400:
        place = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        errors.append(invalid(place, timeout, "must be greater than 0 and less than 86400"))
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        text = "may only be used when `type` is 'LoadBalancer'"
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", text))
    if (policy := spec.get("externalTrafficPolicy")) and kind not in _OUTSIDE and not spec.get("externalIPs"):
        text = "may only be set for externally-accessible services"
        errors.append(invalid("spec.externalTrafficPolicy", policy, text))
    if (name := spec.get("loadBalancerClass")) is not None:
        if kind == "LoadBalancer":
            errors += qualified_name("spec.loadBalancerClass", name)
        else:
            errors.append(forbidden("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'"))
    health = spec.get("healthCheckNodePort") or 0
    if health and (kind != "LoadBalancer" or spec.get("externalTrafficPolicy") != "Local"):
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(invalid("spec.healthCheckNodePort", health, text))
    if (policy := spec.get("ipFamilyPolicy")) is not None:
        errors += one_of("spec.ipFamilyPolicy", policy, ("PreferDualStack", "RequireDualStack", "SingleStack"))
    if old is not None:
        errors += _update(spec, old["spec"])
    return errors


def _ports(ports: list[JSONObject], kind: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    numbers: set[tuple[Any, Any]] = set()
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
        key = _port_key(port)
        if key in numbers:
            errors.append(duplicate(place, {"port": port["port"], "protocol": port["protocol"]}))
        numbers.add(key)
    return errors


def _external_name(spec: JSONObject) -> Errors:
    errors: Errors = []
    if spec.get("clusterIPs") or spec.get("clusterIP"):
        errors.append(forbidden("spec.clusterIPs", "may not be set when type is 'ExternalName'"))
    name = spec.get("externalName") or ""
    if not name:
        return [*errors, required("spec.externalName")]
    return errors + dns_subdomain("spec.externalName", name.removesuffix("."))


def _cluster_ips(spec: JSONObject) -> Errors:
    errors: Errors = []
    if spec.get("clusterIPs") and not spec.get("clusterIP"):
        text = "must be empty when `clusterIP` is not specified"
        errors.append(invalid("spec.clusterIPs", spec["clusterIPs"], text))
    addresses = spec.get("clusterIPs") or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
    for index, address in enumerate(addresses):
        if address != "None":
            errors += ip_address(f"spec.clusterIPs[{index}]", address)
    if spec.get("clusterIP") and addresses and addresses[0] != spec["clusterIP"]:
        text = "first value must match `clusterIP`"
        errors.append(invalid("spec.clusterIPs", addresses, text))
    return errors


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
    if spec["type"] == "ExternalName" or old["type"] == "ExternalName":
        return []
    if old.get("clusterIPs") and spec.get("clusterIPs") != old.get("clusterIPs"):
        return [invalid("spec.clusterIPs[0]", spec.get("clusterIPs"), "may not change once set")]
    return []


def _validate_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    ingress = (obj["status"].get("loadBalancer") or {}).get("ingress")
    if ingress and obj["spec"]["type"] != "LoadBalancer":
        text = "may only be used when `spec.type` is 'LoadBalancer'"
        return [forbidden("status.loadBalancer.ingress", text)]
    errors: Errors = []
    for index, point in enumerate(ingress or ()):
        if point.get("ip"):
            errors += ip_address(f"status.loadBalancer.ingress[{index}].ip", point["ip"])
    return errors


STRATEGY = strategy(
    _default,
    _validate,
    name=name_rules.dns_label,
    create_on_update=True,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_status=_validate_status,
    selectable=fields("spec.clusterIP", "spec.type"),
)
