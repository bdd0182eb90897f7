"""The Endpoints object of a Service: the same as its EndpointSlices, in the older form. Pure."""

from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.views import Pod

MANAGER_LABEL = "endpoints.kubernetes.io/managed-by"
MANAGER = "endpoint-controller"
HEADLESS = "service.kubernetes.io/headless"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
LARGEST = 1000
"""Addresses in one object; those that serve come first, the others are left out."""

Groups = list[tuple[list[JSONObject], list[Pod]]]
"""Pods by the ports of a Service on them."""


def endpoints_of(service: JSONObject, groups: Groups) -> JSONObject:
    """The Endpoints of a Service."""
    metadata, spec = service["metadata"], service["spec"]
    headless = spec.get("clusterIP") == "None"
    lenient = bool(spec.get("publishNotReadyAddresses"))
    shown = [
        (ports, [pod for pod in pods if lenient or not pod.is_deleted])
        for ports, pods in groups
        if ports or (headless and not spec.get("ports"))
    ]
    ranked = sorted((pod for _, pods in shown for pod in pods), key=lambda pod: not (lenient or pod.is_ready))
    kept = {pod.metadata.uid for pod in ranked[:LARGEST]}
    subsets = []
    for ports, pods in shown:
        here = [pod for pod in pods if pod.metadata.uid in kept]
        parts = {
            "addresses": [_address(pod) for pod in here if lenient or pod.is_ready],
            "notReadyAddresses": [_address(pod) for pod in here if not (lenient or pod.is_ready)],
            "ports": [{name: value for name, value in port.items() if value != ""} for port in ports],
        }
        if here:
            subsets.append({name: value for name, value in parts.items() if value})
    labels = dict(metadata.get("labels") or {}) | {MANAGER_LABEL: MANAGER} | ({HEADLESS: ""} if headless else {})
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": {OVER_CAPACITY: "truncated"} if len(ranked) > LARGEST else {},
        },
        "subsets": subsets,
    }


def _address(pod: Pod) -> JSONObject:
    return {"ip": pod.status.pod_ip, "nodeName": pod.spec.node_name, "targetRef": target_of(pod)}


def target_of(pod: Pod) -> JSONObject:
    """How the pod behind an address is named."""
    metadata = pod.metadata
    return {"kind": "Pod", "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}


def renewed_endpoints(wanted: JSONObject, trigger: JSONObject, seen: JSONObject | None) -> JSONObject:
    """The object as it should be; `trigger` is when it last changed."""
    if seen is None:
        metadata = wanted["metadata"]
        return wanted | {"metadata": metadata | {"annotations": metadata["annotations"] | trigger}}
    metadata, labels = seen["metadata"], wanted["metadata"]["labels"]
    before, mark = metadata.get("annotations") or {}, wanted["metadata"]["annotations"]
    same_mark = before.get(OVER_CAPACITY) == mark.get(OVER_CAPACITY)
    if same_mark and metadata.get("labels") == labels and (seen.get("subsets") or []) == wanted["subsets"]:
        return seen
    kept = {name: value for name, value in before.items() if name != OVER_CAPACITY}
    return seen | {
        "metadata": metadata | {"labels": labels, "annotations": kept | mark | trigger},
        "subsets": wanted["subsets"],
    }
