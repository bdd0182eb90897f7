"""Rules of Endpoints and EndpointSlices."""

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    ip_address,
    one_of,
    port_number,
    qualified_name,
    strategy,
    unsupported,
    usual_ip,
)
from karmada.apiserver.schema.metadata import labels

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
                else:
                    errors += usual_ip(place, address["ip"])
                if address.get("hostname"):
                    errors += dns_label(f"{path}.{field}[{at}].hostname", address["hostname"])
                if address.get("nodeName") is not None:
                    errors += dns_subdomain(f"{path}.{field}[{at}].nodeName", address["nodeName"])
        for at, port in enumerate(ports):
            place = f"{path}.ports[{at}]"
            if len(ports) > 1 and not port.get("name"):
                errors.append(required(f"{place}.name"))
            elif port.get("name"):
                errors += dns_label(f"{place}.name", port["name"])
            errors += port_number(f"{place}.port", port.get("port") or 0)
            errors += one_of(f"{place}.protocol", port.get("protocol") or "", _PROTOCOLS)
            if port.get("appProtocol") is not None:
                errors += qualified_name(f"{place}.appProtocol", port["appProtocol"])
    return errors


def _default_slice(obj: JSONObject) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _validate_slice(obj: JSONObject, old: JSONObject | None) -> Errors:
    kind = obj.get("addressType") or ""
    if old is not None and kind != old.get("addressType"):
        return [invalid("addressType", kind, "field is immutable")]
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
        if endpoint.get("hostname") is not None:
            errors += dns_label(f"endpoints[{index}].hostname", endpoint["hostname"])
        if endpoint.get("nodeName") is not None:
            errors += dns_subdomain(f"endpoints[{index}].nodeName", endpoint["nodeName"])
        errors += labels(endpoint.get("deprecatedTopology"), f"endpoints[{index}].deprecatedTopology")
    names: set[str] = set()
    for index, port in enumerate(obj.get("ports") or ()):
        name = port.get("name") or ""
        if name in names:
            errors.append(duplicate(f"ports[{index}].name", name))
        names.add(name)
        if name:
            errors += dns_label(f"ports[{index}].name", name)
        if port.get("protocol") is not None:
            errors += one_of(f"ports[{index}].protocol", port["protocol"], _PROTOCOLS)
        if port.get("appProtocol") is not None:
            errors += qualified_name(f"ports[{index}].appProtocol", port["appProtocol"])
    return errors


def _address(field: str, address: str, kind: str) -> Errors:
    if kind == "FQDN":
        return dns_subdomain(field, address)
    errors = ip_address(field, address)
    if not errors and kind in ("IPv4", "IPv6") and (":" in address) != (kind == "IPv6"):
        errors.append(invalid(field, address, f"must be an {kind} address"))
    return errors or usual_ip(field, address)


ENDPOINTS = strategy(_default_endpoints, _validate_endpoints, create_on_update=True)
ENDPOINT_SLICE = strategy(_default_slice, _validate_slice, generation=True)
