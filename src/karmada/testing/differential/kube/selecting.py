"""Random transcripts of what clients read in other ways than it was written: fields, versions, scales, collections."""

import copy
from random import Random
from typing import Any
from urllib.parse import urlencode

from karmada.testing.differential.kube.scenarios import PARTIAL, PARTIALS, TABLE, Kind, Step, kinds

_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_FIELDS: dict[str, tuple[str, ...]] = {
    "Pod": (
        *("spec.nodeName=n", "spec.nodeName=", "spec.nodeName!=n", "status.phase=Pending", "status.phase!=Running"),
        *("spec.restartPolicy=Always", "spec.schedulerName=default-scheduler", "spec.serviceAccountName=default"),
        *("spec.hostNetwork=false", "status.podIP=", "status.nominatedNodeName=", "spec.hostname=x"),
    ),
    "Secret": ("type=Opaque", "type!=Opaque", "type=x,metadata.name=o"),
    "Event": (
        *(
            "involvedObject.kind=Pod",
            "involvedObject.name=o",
            "involvedObject.namespace=${ns}",
            "reason=r",
            "type=Normal",
        ),
        *("involvedObject.uid=", "involvedObject.fieldPath=", "reportingComponent=c", "source=c", "regarding.kind=Pod"),
    ),
    "Namespace": ("status.phase=Active", "metadata.name=${ns}", "name=default"),
    "Node": ("spec.unschedulable=true", "spec.unschedulable=false", "metadata.name=o"),
    "Job": ("status.successful=0", "status.successful=1", "status.succeeded=1"),
    "ReplicaSet": ("status.replicas=0", "status.replicas!=0", "spec.replicas=1"),
    "ReplicationController": ("status.replicas=0", "status.replicas=1"),
    "Service": ("spec.clusterIP=None", "spec.type=ClusterIP", "spec.type!=ClusterIP", "type=ClusterIP"),
    "CertificateSigningRequest": ("spec.signerName=example.com/x", "spec.signerName!=x", "status.x=1"),
    "ConfigMap": ("metadata.name=o", "metadata.namespace=${ns}", "data.a=b"),
    "Deployment": ("metadata.name!=o", "spec.replicas=1"),
    "ResourceSlice": ("spec.driver=x", "spec.nodeName=n", "spec.driver=x,spec.nodeName=n"),
}
_SCALED = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
_TWINS = {
    "Event": (("/api/v1", "v1"), ("/apis/events.k8s.io/v1", "events.k8s.io/v1")),
    "HorizontalPodAutoscaler": (("/apis/autoscaling/v1", "autoscaling/v1"), ("/apis/autoscaling/v2", "autoscaling/v2")),
}
"""Kinds that are served in two forms."""


def select_scenario(dice: Random) -> list[Step]:
    """Two objects of a kind, and readers with selectors, or of the kind's other form, or of its scale."""
    sort = dice.choices((_by_fields, _as_twins, _as_scales), (5, 3, 3))[0]
    return sort(dice)


def _kind(dice: Random, names: tuple[str, ...]) -> Kind:
    return dice.choice([kind for kind in kinds() if kind.type.kind in names])


def _create(kind: Kind, name: str, changes: dict[str, Any]) -> Step:
    body = copy.deepcopy(kind.body)
    body["metadata"] = {**body.get("metadata", {}), "name": name, "labels": {"app": name}}
    body.update(changes)
    return {"method": "POST", "path": kind.collection, "body": body}


def _by_fields(dice: Random) -> list[Step]:
    kind = _kind(dice, tuple(_FIELDS))
    names = [f"o{number}-${{run}}" for number in range(2)]
    steps = [_create(kind, name, {}) for name in names]
    for _ in range(dice.randint(3, 6)):
        query: dict[str, str] = {"fieldSelector": dice.choice(_FIELDS[kind.type.kind])}
        if dice.random() < 0.3:
            query["labelSelector"] = f"app={dice.choice(names)}"
        if dice.random() < 0.2:
            query["limit"] = "1"
        accept = dice.choice(("", "", TABLE, PARTIALS))
        path = kind.collection if dice.random() < 0.7 else kind.collection.replace("/namespaces/${ns}", "")
        if path != kind.collection or not kind.type.namespaced:
            query["labelSelector"] = f"app={names[0]}"  # Nothing of other scenarios.
        method = "DELETE" if dice.random() < 0.2 and "${ns}" in path else "GET"
        headers = {"Accept": accept} if accept and method == "GET" else {}
        encoded = urlencode(query, safe="${}")
        steps.append({"method": method, "path": f"{path}?{encoded}", "headers": headers})
    return steps


def _as_twins(dice: Random) -> list[Step]:
    name = dice.choice(tuple(_TWINS))
    kind = _kind(dice, (name,))
    plural = kind.type.plural
    steps: list[Step] = []
    for place in dice.sample(range(2), 2):
        base, version = _TWINS[name][place]
        found = [one for one in kinds() if one.type.kind == name and one.collection.startswith(f"{base}/")]
        body = copy.deepcopy(found[0].body if found else kind.body)
        body = {**body, "apiVersion": version, "metadata": {"name": f"o{place}", "namespace": "${ns}"}}
        steps.append({"method": "POST", "path": f"{base}/namespaces/${{ns}}/{plural}", "body": body})
    for _ in range(dice.randint(3, 6)):
        base, version = dice.choice(_TWINS[name])
        path = f"{base}/namespaces/${{ns}}/{plural}/o{dice.randrange(2)}"
        match dice.randrange(5):
            case 0 | 1:
                accept = dice.choice(("", TABLE, PARTIAL))
                steps.append({"method": "GET", "path": path, "headers": {"Accept": accept} if accept else {}})
            case 2:
                change = {"metadata": {"annotations": {"a": dice.choice("xyz")}}}
                steps.append({"method": "PATCH", "path": path, "body": change, "headers": {"Content-Type": _MERGE}})
            case 3:
                steps.append({"method": "GET", "path": path})
                steps.append({"method": "PUT", "path": path, "changes": {"metadata": {"labels": {"b": "c"}}}})
            case _:
                steps.append({"method": "GET", "path": path.rpartition("/")[0]})
    return steps


def _as_scales(dice: Random) -> list[Step]:
    kind = _kind(dice, _SCALED)
    steps = [_create(kind, "o", {})]
    path = f"{kind.collection}/o/scale"
    for _ in range(dice.randint(3, 6)):
        replicas = dice.choice((0, 1, 3, -1, None, "2", 2147483648))
        body: dict[str, Any] = {
            "apiVersion": dice.choice(("autoscaling/v1", "autoscaling/v1", "autoscaling/v1", "autoscaling/v2", "")),
            "kind": dice.choice(("Scale", "Scale", "Scale", "Deployment")),
            "metadata": {"name": dice.choice(("o", "o", "o", "p", "")), "namespace": "${ns}"},
            "spec": {"replicas": replicas},
        }
        match dice.randrange(6):
            case 0:
                steps.append({"method": "GET", "path": path})
            case 1:
                body["metadata"]["resourceVersion"] = dice.choice(("${rv}", "1", ""))
                steps.append({"method": "PUT", "path": path + dice.choice(("", "?dryRun=All")), "body": body})
            case 2:
                change = {"spec": {"replicas": replicas}}
                steps.append({"method": "PATCH", "path": path, "body": change, "headers": {"Content-Type": _MERGE}})
            case 3:
                query = dice.choice(("?fieldManager=me", "?fieldManager=me&force=true", ""))
                body["metadata"] = {"name": "o", "namespace": "${ns}"}
                steps.append(
                    {"method": "PATCH", "path": path + query, "body": body, "headers": {"Content-Type": _APPLY}}
                )
            case 4:
                steps.append({"method": "GET", "path": f"{kind.collection}/o"})
            case _:
                steps.append({"method": "PUT", "path": path, "body": body})
    return steps
