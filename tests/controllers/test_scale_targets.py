"""What a rule of a CronFederatedHPA does to its target, and what it refuses."""

import pytest
from tests.controllers.plane import on_a_plane
from tests.controllers.test_retained_replicas import DEPLOYMENTS, deployment

from karmada.api.autoscaling.v1alpha1 import CronFederatedHPARule, CrossVersionObjectReference
from karmada.controllers.scale_targets import ScaleError, ScaleTargets
from karmada.machinery.client import Client
from karmada.machinery.discovery import UnknownKind
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, Verb

HPAS = GroupVersionResource("autoscaling.karmada.io", "v1alpha1", "federatedhpas")
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def target(kind="Deployment", api_version="apps/v1", name="web"):
    return CrossVersionObjectReference(api_version=api_version, kind=kind, name=name)


def rule(**amounts):
    return CronFederatedHPARule(name="up", schedule="* * * * *", **amounts)


def autoscaler(name="web"):
    return target("FederatedHPA", "autoscaling.karmada.io/v1alpha1", name)


async def scaled(plane, *calls):
    """Scale targets one after the other; the result is how many writes it took."""
    writes = []

    async def before(request):
        if request.verb not in (Verb.GET, Verb.LIST, Verb.WATCH):
            writes.append(request)

    plane.transport.before = before
    targets = ScaleTargets(Client(plane.transport))
    for which, amounts in calls:
        await targets.scale(which, "default", rule(**amounts))
    return len(writes)


@pytest.mark.parametrize(
    ("amounts", "bounds", "writes"),
    [
        ({"target_max_replicas": 9}, (2, 9), 1),
        ({"target_min_replicas": 1}, (1, 4), 1),
        ({"target_min_replicas": 3, "target_max_replicas": 7}, (3, 7), 1),
        ({"target_min_replicas": 2, "target_max_replicas": 4}, (2, 4), 0),
        ({"target_replicas": 9}, (2, 4), 0),
    ],
)
def test_a_rule_sets_the_bounds_that_it_names(amounts, bounds, writes):
    async def test(plane):
        spec = {"scaleTargetRef": REFERENCE, "minReplicas": 2, "maxReplicas": 4}
        await plane.client.resource(HPAS).create({"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
        assert await scaled(plane, (autoscaler(), amounts)) == writes
        found = (await plane.client.resource(HPAS).get("web", "default"))["spec"]
        assert (found["minReplicas"], found["maxReplicas"]) == bounds

    on_a_plane(test)


def test_a_workload_is_scaled_once():
    async def test(plane):
        await deployment(plane)
        assert await scaled(plane, (target(), {"target_replicas": 6}), (target(), {"target_replicas": 6})) == 1
        found = await plane.client.resource(DEPLOYMENTS).get("web", "default")
        assert found["spec"]["replicas"] == 6

    on_a_plane(test)


@pytest.mark.parametrize(
    ("which", "amounts", "error", "words"),
    [
        (target("CronFederatedHPA", "autoscaling.karmada.io/v1alpha1"), {}, ScaleError, "has no replicas to scale"),
        (target(), {}, ScaleError, "targetReplicas is missing"),
        (target("ConfigMap", "v1"), {"target_replicas": 1}, ScaleError, "ConfigMap has no scale; name a kind"),
        (target("Namespace", "v1", "default"), {"target_replicas": 1}, ScaleError, "is cluster-scoped"),
        (target("Thing", "nowhere.example/v1"), {"target_replicas": 1}, UnknownKind, "Thing"),
        (autoscaler("gone"), {"target_max_replicas": 1}, NotFound, "gone"),
    ],
)
def test_what_cannot_be_scaled_is_refused(which, amounts, error, words):
    async def test(plane):
        with pytest.raises(error, match=words):
            await scaled(plane, (which, amounts))

    on_a_plane(test)


def test_an_autoscaler_that_goes_meanwhile_is_an_error():
    async def test(plane):
        spec = {"scaleTargetRef": REFERENCE, "minReplicas": 2, "maxReplicas": 4}
        await plane.client.resource(HPAS).create({"metadata": {"name": "web", "namespace": "default"}, "spec": spec})

        async def before(request):
            if request.verb is Verb.PATCH:
                await plane.client.resource(HPAS).delete("web", "default")

        plane.transport.before = before
        with pytest.raises(ScaleError, match="FederatedHPA default/web was deleted"):
            await ScaleTargets(Client(plane.transport)).scale(autoscaler(), "default", rule(target_max_replicas=9))

    on_a_plane(test)
