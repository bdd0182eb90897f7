"""Rows of lists: what is shown of a Cluster, a binding or a template. Objects in, plain data out."""

from typing import Any

from karmada.api.counting import counted
from karmada.explain.events import last_seen
from karmada.policies.claims import read_claim

JSONObject = dict[str, Any]
Ref = dict[str, str]
POLICY_VERSION = "policy.karmada.io/v1alpha1"
CLUSTER_VERSION = "cluster.karmada.io/v1alpha1"


def ref(api_version: str, kind: str, namespace: str, name: str) -> Ref:
    """A reference to an object."""
    return {"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name}


def ref_of(tree: JSONObject) -> Ref:
    """A reference to an object that is there."""
    about = tree.get("metadata") or {}
    return ref(tree.get("apiVersion", ""), tree.get("kind", ""), about.get("namespace") or "", about.get("name", ""))


def key_of(reference: Ref) -> str:
    """A reference as one word: `apps/v1/Deployment/default/nginx`."""
    return f"{reference['apiVersion']}/{reference['kind']}/{reference['namespace']}/{reference['name']}"


def cluster_row(tree: JSONObject) -> JSONObject:
    """A Cluster, without the number of its workloads."""
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    ready = _condition(status, "Ready")
    state = {"True": True, "False": False}.get(ready.get("status", ""))
    zones = spec.get("zones") or ([spec["zone"]] if spec.get("zone") else [])
    summary, nodes = status.get("resourceSummary") or {}, status.get("nodeSummary") or {}
    allocatable, allocated = summary.get("allocatable") or {}, summary.get("allocated") or {}
    return {
        "name": tree["metadata"]["name"],
        "ready": state,
        "reason": ready.get("reason", ""),
        "message": ready.get("message", "") if ready else "it has never reported",
        "mode": spec.get("syncMode", ""),
        "version": status.get("kubernetesVersion", ""),
        "region": spec.get("region", ""),
        "zone": ", ".join(zones),
        "provider": spec.get("provider", ""),
        "taints": [_taint(taint) for taint in spec.get("taints") or ()],
        "capacity": {
            name: {"allocatable": str(amount), "allocated": str(allocated.get(name, "0"))}
            for name, amount in allocatable.items()
        },
        "nodes": {"ready": nodes.get("readyNum", 0), "total": nodes.get("totalNum", 0)},
    }


def binding_row(tree: JSONObject) -> JSONObject:
    """What a binding says of its template: where it goes, its state, and one sentence about that."""
    spec, status, about = tree.get("spec") or {}, tree.get("status") or {}, tree["metadata"]
    resource = spec.get("resource") or {}
    reported = {item.get("clusterName", ""): item for item in status.get("aggregatedStatus") or ()}
    shares = {one["name"]: one.get("replicas") for one in spec.get("clusters") or ()}
    for required in spec.get("requiredBy") or ():
        for one in required.get("clusters") or ():
            shares.setdefault(one["name"], None)
    clusters = [_share(name, replicas, reported.get(name) or {}) for name, replicas in sorted(shares.items())]
    desired = spec.get("replicas") or None
    counts = [one["ready"] for one in clusters if one["ready"] is not None]
    state, sentence = _judged(spec, status, clusters, reported)
    return {
        "ref": ref(
            resource.get("apiVersion", ""),
            resource.get("kind", ""),
            resource.get("namespace") or "",
            resource.get("name", ""),
        ),
        "policy": policy_of(about),
        "clusters": clusters,
        "desired": desired,
        "ready": sum(counts) if counts else None,
        "status": state,
        "sentence": sentence,
    }


def template_row(tree: JSONObject) -> JSONObject:
    """A template that nothing propagates."""
    return {
        "ref": ref_of(tree),
        "policy": None,
        "clusters": [],
        "desired": (tree.get("spec") or {}).get("replicas"),
        "ready": None,
        "status": "NoPolicy",
        "sentence": "no policy propagates it",
        "labels": (tree.get("metadata") or {}).get("labels") or {},
    }


def event_row(event: JSONObject, cluster: str = "") -> JSONObject:
    """An event."""
    about = event.get("involvedObject") or {}
    row: JSONObject = {
        "id": (event.get("metadata") or {}).get("uid", ""),
        "time": last_seen(event) or (event.get("metadata") or {}).get("creationTimestamp", ""),
        "type": event.get("type", ""),
        "reason": event.get("reason", ""),
        "object": ref_of({**about, "metadata": about}),
        "message": event.get("message", ""),
        "count": (event.get("series") or {}).get("count") or event.get("count") or 1,
    }
    return {**row, "cluster": cluster} if cluster else row


def work_row(tree: JSONObject) -> JSONObject:
    """What of a Work decides whether a member holds what was wanted."""
    applied = _condition(tree.get("status") or {}, "Applied")
    generation = (tree.get("metadata") or {}).get("generation", 0)
    return {"generation": generation, "applied": applied.get("status", ""), "message": applied.get("message", "")}


def policy_of(about: JSONObject) -> Ref | None:
    """The policy that metadata names."""
    claim = read_claim(about.get("labels") or {}, about.get("annotations") or {})
    if claim is None:
        return None
    kind = "ClusterPropagationPolicy" if claim.is_cluster_wide else "PropagationPolicy"
    return ref(POLICY_VERSION, kind, claim.namespace, claim.name)


def _share(name: str, replicas: int | None, item: JSONObject) -> JSONObject:
    status = item.get("status")
    ready = status.get("readyReplicas") if isinstance(status, dict) else None
    if isinstance(ready, bool) or not isinstance(ready, int | float):
        ready = None  # of kinds that nobody interprets, members say what they like
    if ready is None and replicas and item:
        ready = 0
    return {"name": name, "replicas": replicas, "ready": ready, "health": item.get("health") or "Unknown"}


def _judged(
    spec: JSONObject, status: JSONObject, clusters: list[JSONObject], reported: dict[str, JSONObject]
) -> tuple[str, str]:
    scheduled = _condition(status, "Scheduled")
    if not clusters:
        if scheduled.get("status") == "False":
            return "Unscheduled", scheduled.get("message") or "the scheduler found no place for it"
        return "Unscheduled", "the scheduler has not decided yet"
    for name, item in sorted(reported.items()):
        if not item.get("applied") and item.get("appliedMessage"):
            return "Unhealthy", f"{name} refuses it: {item['appliedMessage']}"
    sick = [one["name"] for one in clusters if one["health"] == "Unhealthy"]
    if sick:
        return "Unhealthy", f"it is not healthy in {', '.join(sick)}"
    if scheduled.get("status") == "False":
        return "Progressing", scheduled.get("message") or "it is to be scheduled again"
    waiting = [one["name"] for one in clusters if not (reported.get(one["name"]) or {}).get("applied")]
    if waiting:
        return "Progressing", f"it is on its way to {', '.join(waiting)}"
    late = [one["name"] for one in clusters if one["health"] != "Healthy"]
    if late:
        return "Progressing", f"waiting for {', '.join(late)}"
    leaving = [task.get("fromCluster", "") for task in spec.get("gracefulEvictionTasks") or ()]
    if leaving:
        return "Progressing", f"it is leaving {', '.join(leaving)}"
    return "Healthy", f"healthy in {counted(len(clusters), 'cluster')}"


def _condition(status: JSONObject, name: str) -> JSONObject:
    return next((one for one in status.get("conditions") or () if one.get("type") == name), {})


def _taint(taint: JSONObject) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"
