"""Rules of the status of Services, and warnings about what is allowed in their spec, but hardly meant."""

import ipaddress
from typing import Any

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, dns_subdomain, ip_address, one_of
from karmada.apiserver.builtin.strategies.service_ips import is_headless

_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"


def status_errors(obj: JSONObject, old: JSONObject | None) -> Errors:
    """What is wrong with a reported status."""
    balancer = obj["status"].get("loadBalancer") or {}
    ingress = balancer.get("ingress")
    if ingress and obj["spec"]["type"] != "LoadBalancer":
        text = "may only be used when `spec.type` is 'LoadBalancer'"
        return [forbidden("status.loadBalancer.ingress", text)]
    before = (((old or {}).get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    known = {point.get("ip") for point in before}
    errors: Errors = []
    for index, point in enumerate(ingress or ()):
        errors += _point(point, f"status.loadBalancer.ingress[{index}]", known)
    return errors


def _point(point: JSONObject, path: str, known: set[Any]) -> Errors:
    address, mode = point.get("ip") or "", point.get("ipMode")
    errors = address_and_name(point, path, known)
    if mode is None and address:
        errors.append(required(f"{path}.ipMode", "must be specified when `ip` is set"))
    elif mode is not None and not address:
        errors.append(forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set"))
    elif mode is not None:
        errors += one_of(f"{path}.ipMode", mode, ("Proxy", "VIP"))
    return errors


def address_and_name(point: JSONObject, path: str, known: set[Any]) -> Errors:
    """Where a load balancer can be reached: an address, unless it was there before, and a name."""
    address, host = point.get("ip") or "", point.get("hostname") or ""
    errors = ip_address(f"{path}.ip", address) if address and address not in known else []
    if host:
        errors += dns_subdomain(f"{path}.hostname", host)
        if not ip_address("", host):
            errors.append(invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address"))
    return errors


def warnings(obj: JSONObject, old: JSONObject | None) -> list[str]:
    """What clients are warned of."""
    spec = obj["spec"]
    outside = spec.get("externalIPs") or []
    named = spec["type"] == "ExternalName"
    texts = []
    if _HINTS in (obj["metadata"].get("annotations") or {}):
        texts.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        texts += _unusual(f"spec.clusterIPs[{index}]", address)
    if is_headless(spec):
        if spec.get("loadBalancerIP"):
            texts.append("spec.loadBalancerIP is ignored for headless services")
        if outside:
            texts.append("spec.externalIPs is ignored for headless services")
        if spec["sessionAffinity"] != "None":
            texts.append("spec.SessionAffinity is ignored for headless services")
    for index, address in enumerate(outside):
        texts += _unusual(f"spec.externalIPs[{index}]", address)
    if outside and not is_headless(spec) and not named:
        texts.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        texts += _unusual("spec.loadBalancerIP", spec["loadBalancerIP"])
    if named and outside:
        texts.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not named and spec.get("externalName"):
        texts.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        texts.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return texts


def _unusual(field: str, address: str) -> list[str]:
    """IPv6 addresses that are not spelled in the shortest way."""
    if address == "None" or ip_address("", address):
        return []
    usual = str(ipaddress.ip_address(address))
    if usual == address:
        return []
    return [f'{field}: IPv6 address "{address}" should be in RFC 5952 canonical format ("{usual}")']
