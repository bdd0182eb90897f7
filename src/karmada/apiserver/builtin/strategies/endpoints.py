"""Rules of Endpoints and EndpointSlices."""

from karmada.api.field_errors import invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    immutable,
    ip_address,
    one_of,
    port_number,
    strategy,
    unsupported,
)

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")


def _default_endpoints(obj: JSONObject) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _validate_endpoints(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors: Errors = []
    for index, subset in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{index}]"
        ports = subset.get("ports") or []
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(subset.get(field) or ()):
                place = f"{path}.{field}[{at}].ip"
                found = ip_address(place, address.get("ip") or "")
                errors += found
                if found:
                    errors.append(invalid(place, address.get("ip") or "", "must be a valid IP address"))
        for at, port in enumerate(ports):
            place = f"{path}.ports[{at}]"
            if len(ports) > 1 and not port.get("name"):
                errors.append(required(f"{place}.name"))
            elif port.get("name"):
                errors += dns_label(f"{place}.name", port["name"])
            errors += port_number(f"{place}.port", port.get("port") or 0)
            errors += one_of(f"{place}.protocol", port.get("protocol") or "", _PROTOCOLS)
    return errors


def _default_slice(obj: JSONObject) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _validate_slice(obj: JSONObject, old: JSONObject | None) -> Errors:
    kind = obj.get("addressType") or ""
    errors: Errors = []
    if not kind:
        errors.append(required("addressType"))
    elif kind not in _ADDRESS_TYPES:
        errors.append(unsupported("addressType", kind, _ADDRESS_TYPES))
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        path = f"endpoints[{index}].addresses"
        addresses = endpoint.get("addresses") or []
        if not addresses:
            errors.append(required(path, "must contain at least 1 address"))
        for at, address in enumerate(addresses):
            errors += _address(f"{path}[{at}]", address, kind)
    for index, port in enumerate(obj.get("ports") or ()):
        if port.get("name"):
            errors += dns_label(f"ports[{index}].name", port["name"])
        if port.get("protocol") is not None:
            errors += one_of(f"ports[{index}].protocol", port["protocol"], _PROTOCOLS)
    if old is not None:
        errors += immutable("addressType", kind, old.get("addressType"))
    return errors


def _address(field: str, address: str, kind: str) -> Errors:
    if kind == "FQDN":
        return dns_subdomain(field, address)
    errors = ip_address(field, address)
    if not errors and kind in ("IPv4", "IPv6") and (":" in address) != (kind == "IPv6"):
        errors.append(invalid(field, address, f"must be an {kind} address"))
    return errors


ENDPOINTS = strategy(_default_endpoints, _validate_endpoints)
ENDPOINT_SLICE = strategy(_default_slice, _validate_slice, generation=True)
