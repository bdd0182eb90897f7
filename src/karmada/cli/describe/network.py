"""Services, where they lead to, and how they are reached from outside."""

from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Query, Related

JSONObject = dict[str, Any]
_SHOWN = 3


def slices_of(item: JSONObject) -> dict[str, Query]:
    """Where a service leads to."""
    return {"slices": _slices(item["metadata"].get("namespace", ""), item["metadata"]["name"])}


def _slices(namespace: str, service: str) -> Query:
    labels = f"kubernetes.io/service-name={service}"
    return Query("discovery.k8s.io", "v1", "endpointslices", namespace, labels=labels)


def service(page: Page, item: JSONObject, related: Related) -> None:
    """A Service."""
    spec = item.get("spec") or {}
    metadata.head(page, item)
    page.field(0, "Selector", ",".join(metadata.pairs(spec.get("selector"))) or "<none>")
    page.field(0, "Type", spec.get("type", ""))
    if spec.get("ipFamilyPolicy"):
        page.field(0, "IP Family Policy", spec["ipFamilyPolicy"])
    page.field(0, "IP Families", ",".join(spec.get("ipFamilies") or ()) or "<none>")
    page.field(0, "IP", spec.get("clusterIP", ""))
    page.field(0, "IPs", ",".join(spec.get("clusterIPs") or ()) or "<none>")
    if spec.get("externalIPs"):
        page.field(0, "External IPs", ",".join(spec["externalIPs"]))
    if spec.get("loadBalancerIP"):
        page.field(0, "Desired LoadBalancer IP", spec["loadBalancerIP"])
    if spec.get("externalName"):
        page.field(0, "External Name", spec["externalName"])
    if (item.get("status") or {}).get("loadBalancer", {}).get("ingress"):
        page.field(0, "LoadBalancer Ingress", addresses(item))
    for port in spec.get("ports") or ():
        _port(page, port, related["slices"])
    page.field(0, "Session Affinity", spec.get("sessionAffinity", ""))
    for title, key in (
        ("External Traffic Policy", "externalTrafficPolicy"),
        ("Internal Traffic Policy", "internalTrafficPolicy"),
        ("HealthCheck NodePort", "healthCheckNodePort"),
    ):
        if spec.get(key):
            page.field(0, title, spec[key])
    if spec.get("loadBalancerSourceRanges"):
        page.field(0, "LoadBalancer Source Ranges", ",".join(spec["loadBalancerSourceRanges"]))


def addresses(item: JSONObject) -> str:
    """Where a load balancer listens."""
    found = ((item.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return ", ".join(_address(one) for one in found)


def _address(one: JSONObject) -> str:
    if not one.get("ip"):
        return str(one.get("hostname", ""))
    return f"{one['ip']} ({one['ipMode']})" if one.get("ipMode") else str(one["ip"])


def _port(page: Page, port: JSONObject, slices: list[JSONObject]) -> None:
    name, protocol = port.get("name") or "<unset>", port.get("protocol", "TCP")
    page.line(0, "Port:", name, f"{port['port']}/{protocol}")
    page.field(0, "TargetPort", f"{port.get('targetPort', port['port'])}/{protocol}")
    if port.get("nodePort"):
        page.line(0, "NodePort:", name, f"{port['nodePort']}/{protocol}")
    page.field(0, "Endpoints", endpoints_behind(slices, port.get("name", "")))


def endpoints_behind(slices: list[JSONObject], name: str) -> str:
    """Where a port leads to; only the first few."""
    found: list[str] = []
    for one in slices:
        ports = [port for port in one.get("ports") or () if (port.get("name") or "") == name]
        for endpoint in one.get("endpoints") or ():
            if ports and (endpoint.get("conditions") or {}).get("ready") is not False:
                number = ports[0].get("port")
                found += [f"[{ip}]:{number}" if ":" in ip else f"{ip}:{number}" for ip in endpoint["addresses"]]
    more = f" + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else ""
    return ",".join(found[:_SHOWN]) + more or "<none>"


def endpoints(page: Page, item: JSONObject, _: Related) -> None:
    """Endpoints."""
    metadata.head(page, item)
    page.line(0, "Subsets:")
    for subset in item.get("subsets") or ():
        ready, others = (
            ",".join(one["ip"] for one in subset.get(key) or ()) or "<none>"
            for key in ("addresses", "notReadyAddresses")
        )
        page.field(1, "Addresses", ready)
        page.field(1, "NotReadyAddresses", others)
        if subset.get("ports"):
            page.line(1, "Ports:")
            page.table(2, ("Name", "Port", "Protocol"), _port_rows(subset["ports"]))
        page.line(0, "")


def _port_rows(ports: list[JSONObject]) -> list[tuple[object, ...]]:
    return [(one.get("name") or "<unset>", one.get("port", ""), one.get("protocol", "")) for one in ports]


def endpoint_slice(page: Page, item: JSONObject, _: Related) -> None:
    """An EndpointSlice."""
    metadata.head(page, item)
    page.field(0, "AddressType", item.get("addressType", ""))
    ports = item.get("ports") or []
    page.line(0, *(("Ports:",) if ports else ("Ports:", "<unset>")))
    if ports:
        page.table(1, ("Name", "Port", "Protocol"), _port_rows(ports))
    found = item.get("endpoints") or ()
    page.line(0, *(("Endpoints:",) if found else ("Endpoints:", "<none>")))
    for one in found:
        page.field(1, "- Addresses", ", ".join(one.get("addresses") or ()))
        page.line(2, "Conditions:")
        ready = (one.get("conditions") or {}).get("ready")
        page.field(3, "Ready", "<unset>" if ready is None else str(ready).lower())
        page.field(2, "Hostname", one.get("hostname", "<unset>"))
        if target := one.get("targetRef"):
            page.field(2, "TargetRef", f"{target['kind']}/{target['name']}")
        page.field(2, "NodeName", one.get("nodeName", "<unset>"))
        page.field(2, "Zone", one.get("zone", "<unset>"))


def backends_of(item: JSONObject) -> dict[str, Query]:
    """The services an ingress leads to, and where those lead to."""
    namespace = item["metadata"].get("namespace", "")
    spec = item.get("spec") or {}
    found = [spec.get("defaultBackend") or {}]
    found += [path.get("backend") or {} for rule in spec.get("rules") or () for path in _paths(rule)]
    queries: dict[str, Query] = {}
    for name in {one["service"]["name"] for one in found if one.get("service")}:
        queries[f"service {name}"] = Query("", "v1", "services", namespace, name)
        queries[f"slices {name}"] = _slices(namespace, name)
    return queries


def _paths(rule: JSONObject) -> list[JSONObject]:
    return list((rule.get("http") or {}).get("paths") or ())


def ingress(page: Page, item: JSONObject, related: Related) -> None:
    """An Ingress."""
    spec = item.get("spec") or {}
    page.field(0, "Name", item["metadata"]["name"])
    metadata.labels(page, item["metadata"].get("labels"))
    page.field(0, "Namespace", item["metadata"].get("namespace", ""))
    found = ((item.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    page.field(0, "Address", ",".join(one.get("ip") or one.get("hostname", "") for one in found))
    page.field(0, "Ingress Class", spec.get("ingressClassName", "<none>"))
    default = spec.get("defaultBackend")
    page.field(0, "Default backend", _backend(default, related) if default else "<default>")
    if spec.get("tls"):
        page.line(0, "TLS:")
        for one in spec["tls"]:
            hosts = ",".join(one.get("hosts") or ())
            name = one.get("secretName", "")
            page.line(1, f"{name} terminates {hosts}" if name else f"SNI routes {hosts}")
    page.line(0, "Rules:")
    page.table(1, ("Host", "Path", "Backends"), [])
    rules = [rule for rule in spec.get("rules") or () if rule.get("http")]
    for rule in rules:
        page.line(1, rule.get("host") or "*", "")
        for path in _paths(rule):
            page.line(1, "", f"{path.get('path', '')} ", _backend(path.get("backend") or {}, related))
    if not rules:
        page.line(1, "*", "*", _backend(default, related) if default else "<default>")
    metadata.annotations(page, item["metadata"].get("annotations"))


def _backend(found: JSONObject, related: Related) -> str:
    if resource := found.get("resource"):
        return f"APIGroup: {resource.get('apiGroup') or '<none>'}, Kind: {resource['kind']}, Name: {resource['name']}"
    target = found.get("service") or {}
    name, port = target.get("name", ""), target.get("port") or {}
    word = port.get("number") or port.get("name", "")
    known = related.get(f"service {name}")
    if not known:
        return f'{name}:{word} (<error: services "{name}" not found>)'
    ports = (known[0].get("spec") or {}).get("ports") or ()
    chosen: JSONObject = next((one for one in ports if word in (one.get("port"), one.get("name"))), {})
    return f"{name}:{word} ({endpoints_behind(related[f'slices {name}'], chosen.get('name', ''))})"


def ingress_class(page: Page, item: JSONObject, _: Related) -> None:
    """An IngressClass."""
    spec = item.get("spec") or {}
    page.field(0, "Name", item["metadata"]["name"])
    metadata.marks(page, item)
    page.field(0, "Controller", spec.get("controller", ""))
    if found := spec.get("parameters"):
        page.line(0, "Parameters:")
        if found.get("apiGroup"):
            page.field(1, "APIGroup", found["apiGroup"])
        page.field(1, "Kind", found["kind"])
        page.field(1, "Name", found["name"])
