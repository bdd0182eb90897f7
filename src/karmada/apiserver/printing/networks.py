"""Rows of services, endpoints, ingresses and the other kinds of networking."""

from typing import Any

from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns, table


def _cluster_ip(obj: JSONObject) -> str:
    spec = cells.part(obj, "spec")
    return str((spec.get("clusterIPs") or [spec.get("clusterIP") or cells.NONE])[0])


def _service_ports(obj: JSONObject) -> str:
    return ",".join(map(_port, cells.part(obj, "spec").get("ports") or ())) or cells.NONE


def _external_address(obj: JSONObject) -> str:
    spec = cells.part(obj, "spec")
    addresses = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            return ",".join([*_balancer(obj), *addresses]) or "<pending>"
        case "ClusterIP" | "NodePort":
            return ",".join(addresses) or cells.NONE
        case _:
            return "<unknown>"


def _balancer(obj: JSONObject) -> list[str]:
    """Addresses of a load balancer, each once and in order."""
    points = cells.part(obj, "status", "loadBalancer").get("ingress") or ()
    return sorted({point.get("ip") or point.get("hostname") or "" for point in points})


def _port(port: JSONObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _endpoints(obj: JSONObject) -> str:
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [_host_port(address, port.get("port")) for port in ports for address in addresses]
        if not ports:
            found += addresses
    return cells.limited(found) if obj.get("subsets") else cells.NONE


def _host_port(address: str, port: Any) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _slice_ports(obj: JSONObject) -> str:
    ports = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or ()]
    return cells.limited(ports) or cells.UNSET


def _slice_addresses(obj: JSONObject) -> str:
    addresses = [address for point in obj.get("endpoints") or () for address in point.get("addresses") or ()]
    return cells.limited(addresses) or cells.UNSET


def _hosts(obj: JSONObject) -> str:
    rules = cells.part(obj, "spec").get("rules") or ()
    return cells.limited([rule["host"] for rule in rules if rule.get("host")]) or "*"


def _ingress_ports(obj: JSONObject) -> str:
    return "80, 443" if cells.part(obj, "spec").get("tls") else "80"


def _class_parameters(obj: JSONObject) -> str:
    parameters = cells.part(obj, "spec", "parameters")
    if not parameters:
        return cells.NONE
    group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
    return f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"


def _parent(obj: JSONObject) -> str:
    parent = cells.part(obj, "spec", "parentRef")
    if not parent:
        return cells.NONE
    group = f".{parent['group']}" if parent.get("group") else ""
    parts = [f"{parent.get('resource', '')}{group}".lower(), parent.get("namespace"), parent.get("name", "")]
    return "/".join(filter(None, parts))


PRINTERS: Printers = {
    ("", "services"): table(
        "Name",
        ("Type", "spec.type"),
        ("Cluster-IP", _cluster_ip),
        ("External-IP", _external_address),
        ("Port(s)", _service_ports),
        "Age",
        ("+Selector", lambda obj: cells.labels(cells.part(obj, "spec").get("selector"))),
    ),
    ("", "endpoints"): table("Name", ("Endpoints", _endpoints), "Age"),
    ("discovery.k8s.io", "endpointslices"): table(
        "Name", ("AddressType", "addressType"), ("Ports", _slice_ports), ("Endpoints", _slice_addresses), "Age"
    ),
    ("networking.k8s.io", "ingresses"): table(
        "Name",
        ("Class", "spec.ingressClassName", cells.NONE),
        ("Hosts", _hosts),
        ("Address", lambda obj: ",".join(_balancer(obj))),
        ("Ports", _ingress_ports),
        "Age",
    ),
    ("networking.k8s.io", "ingressclasses"): table(
        "Name", ("Controller", "spec.controller"), ("Parameters", _class_parameters), "Age"
    ),
    ("networking.k8s.io", "networkpolicies"): table(
        "Name", ("Pod-Selector", lambda obj: cells.selector(cells.part(obj, "spec").get("podSelector"))), "Age"
    ),
    ("networking.k8s.io", "servicecidrs"): table(
        "Name", ("CIDRs", lambda obj: ",".join(cells.part(obj, "spec").get("cidrs") or ())), "Age"
    ),
    ("networking.k8s.io", "ipaddresses"): Printer(
        columns("Name", "ParentRef"), lambda obj, now: [cells.name_of(obj), _parent(obj), cells.age(obj, now)]
    ),
}
