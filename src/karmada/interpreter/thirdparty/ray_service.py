"""Ray RayService."""

from collections.abc import Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.quantity import Quantity
from karmada.api.work.v1alpha2 import AggregatedStatusItem, ReplicaRequirements
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import pods, ray
from karmada.interpreter.thirdparty.statuses import members, reported, total, with_status
from karmada.interpreter.thirdparty.tables import entries, find

_APPLICATION_STATES = ("UNHEALTHY", "DEPLOY_FAILED", "DELETING", "DEPLOYING", "NOT_STARTED")
"""From bad to good; of an application that several clusters run the worst state counts."""


def replicas(resource: JSONObject) -> ReplicaNeeds:
    """The head and all workers, each counted as needing what the largest of them needs."""
    cluster = find(resource, "spec", "rayClusterConfig")
    workers = sum(int(group.get("replicas") or 0) for group in ray.groups(cluster))
    head = 0 if find(cluster, "headGroupSpec") is None else 1
    needs = [found for template in ray.templates(cluster) if (found := pods.requirements(template)) is not None]
    if not needs:
        return ReplicaNeeds(head + workers)
    largest: dict[str, int | str] = {}
    for need in needs:
        for name, amount in need.resource_request.items():
            if name not in largest or Quantity.parse(amount) > Quantity.parse(largest[name]):
                largest[name] = amount
    claim = next((need.node_claim for need in needs if need.node_claim is not None), None)
    return ReplicaNeeds(head + workers, ReplicaRequirements(node_claim=claim, resource_request=largest))


def revise(resource: JSONObject, count: int) -> JSONObject:
    """One replica is the head; the others go to the groups in the proportions they have, the rest to the last."""
    groups = ray.groups(find(resource, "spec", "rayClusterConfig"))
    if not groups:
        return resource
    wanted = left = max(count - 1, 0)
    shares = [int(group.get("replicas") or 0) for group in groups]
    if not any(shares):
        shares = [1] * len(groups)
    for group, share in zip(groups[:-1], shares[:-1], strict=True):
        group["replicas"] = min((2 * wanted * share + sum(shares)) // (2 * sum(shares)), left)
        left -= group["replicas"]
    groups[-1]["replicas"] = left
    return resource


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    templates = ray.templates(find(resource, "spec", "rayClusterConfig"))
    return ray.dependencies(templates, find(resource, "metadata", "namespace"))


def is_healthy(observed: JSONObject) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in entries(find(observed, "status", "conditions"))
    )


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    if len(items) == 1:
        template["status"] = members(items)[0].status
        return template
    found = reported(items)
    status: JSONObject = {
        "conditions": [condition for member in found for condition in entries(member.get("conditions"))],
        "numServeEndpoints": total(found, "numServeEndpoints"),
        "observedGeneration": max((member.get("observedGeneration") or 0 for member in found), default=0),
        "serviceStatus": "Running",
    }
    if times := [member["lastUpdateTime"] for member in found if member.get("lastUpdateTime") is not None]:
        status["lastUpdateTime"] = max(times)
    for name in ("activeServiceStatus", "pendingServiceStatus"):
        if services := [member[name] for member in found if member.get(name) is not None]:
            status[name] = {**services[0], "applicationStatuses": _applications(services)}
    return with_status(template, status)


def _applications(services: Sequence[JSONObject]) -> JSONObject:
    merged: JSONObject = {}
    for service in services:
        for name, application in (service.get("applicationStatuses") or {}).items():
            if name not in merged or _rank(application) < _rank(merged[name]):
                merged[name] = application
    return merged


def _rank(application: JSONObject) -> int:
    state = find(application, "status")
    return _APPLICATION_STATES.index(state) if state in _APPLICATION_STATES else len(_APPLICATION_STATES)


RULES = KindRules(replicas=replicas, revise=revise, aggregate=aggregate, health=is_healthy, dependencies=dependencies)
