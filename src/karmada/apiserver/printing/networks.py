"""Rows of services, endpoints, ingresses and the other kinds of networking."""

from typing import Any

from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns


def _service(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    addresses = spec.get("clusterIPs") or [spec.get("clusterIP") or cells.NONE]
    return [
        cells.name_of(obj),
        spec.get("type", ""),
        addresses[0],
        _external_address(obj),
        ",".join(map(_port, spec.get("ports") or ())) or cells.NONE,
        cells.age(obj, now),
        cells.labels(spec.get("selector")),
    ]


def _external_address(obj: JSONObject) -> str:
    spec = cells.part(obj, "spec")
    addresses = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            return ",".join([*_balancer(obj), *addresses]) or "<pending>"
        case _:
            return ",".join(addresses) or cells.NONE


def _balancer(obj: JSONObject) -> list[str]:
    """Addresses of a load balancer, each once."""
    points = cells.part(obj, "status", "loadBalancer").get("ingress") or ()
    return list(dict.fromkeys(point.get("ip") or point.get("hostname") or "" for point in points))


def _port(port: JSONObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _endpoints(obj: JSONObject, now: float) -> list[Any]:
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [_host_port(address, port.get("port")) for port in ports for address in addresses]
        if not ports:
            found += addresses
    return [cells.name_of(obj), cells.limited(found) if obj.get("subsets") else cells.NONE, cells.age(obj, now)]


def _host_port(address: str, port: Any) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoint_slice(obj: JSONObject, now: float) -> list[Any]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or ()]
    addresses = [address for point in obj.get("endpoints") or () for address in point.get("addresses") or ()]
    return [
        cells.name_of(obj),
        obj.get("addressType", ""),
        cells.limited(ports) or cells.UNSET,
        cells.limited(addresses) or cells.UNSET,
        cells.age(obj, now),
    ]


def _ingress(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    return [
        cells.name_of(obj),
        spec.get("ingressClassName") or cells.NONE,
        cells.limited(hosts) or "*",
        ",".join(_balancer(obj)),
        "80, 443" if spec.get("tls") else "80",
        cells.age(obj, now),
    ]


def _ingress_class(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    parameters = spec.get("parameters")
    shown = cells.NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        shown = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [cells.name_of(obj), spec.get("controller", ""), shown, cells.age(obj, now)]


def _network_policy(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), cells.selector(cells.part(obj, "spec").get("podSelector")), cells.age(obj, now)]


def _service_cidr(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), ",".join(cells.part(obj, "spec").get("cidrs") or ()), cells.age(obj, now)]


def _ip_address(obj: JSONObject, now: float) -> list[Any]:
    parent = cells.part(obj, "spec").get("parentRef")
    shown = cells.NONE
    if parent:
        group = f".{parent['group']}" if parent.get("group") else ""
        parts = [f"{parent.get('resource', '')}{group}".lower(), parent.get("namespace"), parent.get("name", "")]
        shown = "/".join(filter(None, parts))
    return [cells.name_of(obj), shown, cells.age(obj, now)]


PRINTERS: Printers = {
    ("", "services"): Printer(
        columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "+Selector"), _service
    ),
    ("", "endpoints"): Printer(columns("Name", "Endpoints", "Age"), _endpoints),
    ("discovery.k8s.io", "endpointslices"): Printer(
        columns("Name", "AddressType", "Ports", "Endpoints", "Age"), _endpoint_slice
    ),
    ("networking.k8s.io", "ingresses"): Printer(columns("Name", "Class", "Hosts", "Address", "Ports", "Age"), _ingress),
    ("networking.k8s.io", "ingressclasses"): Printer(
        columns("Name", "Controller", "Parameters", "Age"), _ingress_class
    ),
    ("networking.k8s.io", "networkpolicies"): Printer(columns("Name", "Pod-Selector", "Age"), _network_policy),
    ("networking.k8s.io", "servicecidrs"): Printer(columns("Name", "CIDRs", "Age"), _service_cidr),
    ("networking.k8s.io", "ipaddresses"): Printer(columns("Name", "ParentRef"), _ip_address),
}
