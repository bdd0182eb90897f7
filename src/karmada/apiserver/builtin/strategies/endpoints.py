"""Rules of Endpoints and EndpointSlices."""

from karmada.api.field_errors import duplicate, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    ip_address,
    label_map,
    port_number,
    qualified_name,
    repeated,
    strategy,
    usual_ip,
)
from karmada.apiserver.builtin.strategies.tables import choice, each, fields, filled, needed, optional, validated

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")


def _default_endpoints(obj: JSONObject) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _has_addresses(path: str, subset: JSONObject) -> Errors:
    if subset.get("addresses") or subset.get("notReadyAddresses"):
        return []
    return [required(path, "must specify `addresses` or `notReadyAddresses`")]


def _endpoint_ip(path: str, address: str | None) -> Errors:
    if errors := ip_address(path, address):
        return [*errors, invalid(path, address or "", "must be a valid IP address")]
    return usual_ip(path, address or "")


def _endpoint_ports(path: str, ports: list[JSONObject]) -> Errors:
    """Several ports have names."""
    return each(fields(("name", needed(dns_label) if len(ports) > 1 else filled(dns_label)), _PORT))(path, ports)


_PORT = fields(
    ("port", port_number),
    ("protocol", choice(*_PROTOCOLS)),
    ("appProtocol", optional(qualified_name)),
)
_ENDPOINT = fields(("ip", _endpoint_ip), ("hostname", filled(dns_label)), ("nodeName", optional(dns_subdomain)))
_SUBSET = fields(_has_addresses, ("addresses notReadyAddresses", each(_ENDPOINT)), ("ports", filled(_endpoint_ports)))


def _default_slice(obj: JSONObject) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _validate_slice(obj: JSONObject, old: JSONObject | None) -> Errors:
    kind = obj.get("addressType") or ""
    if old is not None and kind != old.get("addressType"):
        return [invalid("addressType", kind, "field is immutable")]

    def addresses(path: str, found: list[str] | None) -> Errors:
        if not found:
            return [required(path, "must contain at least 1 address")]
        return each(lambda place, address: _address(place, address, kind))(path, found)

    endpoint = fields(("addresses", addresses), _ENDPOINT_OF_SLICE)
    errors = needed(choice(*_ADDRESS_TYPES))("addressType", kind) + each(endpoint)("endpoints", obj.get("endpoints"))
    ports = obj.get("ports") or []
    again = set(repeated(port.get("name") or "" for port in ports))
    for index, port in enumerate(ports):
        path = f"ports[{index}]"
        errors += [duplicate(f"{path}.name", port.get("name") or "")] if index in again else []
        errors += _PORT_OF_SLICE(path, port)
    return errors


_ENDPOINT_OF_SLICE = fields(
    ("hostname", optional(dns_label)), ("nodeName", optional(dns_subdomain)), ("deprecatedTopology", label_map)
)
_PORT_OF_SLICE = fields(
    ("name", filled(dns_label)),
    ("protocol", optional(choice(*_PROTOCOLS))),
    ("appProtocol", optional(qualified_name)),
)


def _address(field: str, address: str, kind: str) -> Errors:
    if kind == "FQDN":
        return dns_subdomain(field, address)
    errors = ip_address(field, address)
    if not errors and kind in ("IPv4", "IPv6") and (":" in address) != (kind == "IPv6"):
        errors.append(invalid(field, address, f"must be an {kind} address"))
    return errors or usual_ip(field, address)


ENDPOINTS = strategy(_default_endpoints, validated(("subsets", each(_SUBSET))), create_on_update=True)
ENDPOINT_SLICE = strategy(_default_slice, _validate_slice, generation=True)
