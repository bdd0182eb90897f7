"""What a federated quota says is used is what its bindings use, whatever was booked."""

from dataclasses import replace

import pytest
from tests.controllers.plane import on_a_plane

from karmada.api.annotations import QUOTA_NAMESPACES
from karmada.api.feature_gates import DEFAULTS
from karmada.controllers.quota_enforcement import SETTLING, STEP, QuotaEnforcementController
from karmada.machinery.transport import GroupVersionResource, Verb

QUOTAS = GroupVersionResource("policy.karmada.io", "v1alpha1", "federatedresourcequotas")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
TWO = {"cpu": "2"}


async def begin(plane):
    """A quota, and a binding that uses two CPUs; both are known to the controller."""
    quota = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"overall": {"cpu": "9"}}}
    await plane.client.resource(QUOTAS).create(quota)
    spec = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
        "replicaRequirements": {"resourceRequest": {"cpu": "1", "memory": "1Gi"}},
        "clusters": [{"name": "member1", "replicas": 2}],
    }
    await plane.client.resource(BINDINGS).create({"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
    plane.start(QuotaEnforcementController(plane.context).controller)
    await plane.clock.sleep(1)


async def book(plane, cpu):
    """Have the webhook book something whose binding is not written."""
    status = {"status": {"overallUsed": {"cpu": cpu}}}
    await plane.client.resource(QUOTAS).patch("q", status, "default", subresource="status")


async def status(plane):
    quota = await plane.client.resource(QUOTAS).get("q", "default")
    return quota.get("status")


def test_a_new_quota_counts_what_is_used_already():
    async def scenario(plane):
        await begin(plane)
        assert await status(plane) == {"overall": {"cpu": "9"}, "overallUsed": TWO}

    on_a_plane(scenario)


def test_a_booking_whose_binding_was_never_written_does_not_stay():
    async def scenario(plane):
        await begin(plane)
        await book(plane, "7")
        await plane.clock.sleep(SETTLING / 2)
        assert (await status(plane))["overallUsed"] == {"cpu": "7"}
        await plane.clock.sleep(SETTLING)
        assert (await status(plane))["overallUsed"] == TWO

    on_a_plane(scenario)


def test_a_booking_that_comes_while_others_are_counted_is_not_undone():
    async def scenario(plane):
        await begin(plane)

        async def before(request):
            if request.resource == QUOTAS and request.verb is Verb.PATCH:
                plane.transport.before = None
                await book(plane, "8")

        plane.transport.before = before
        await book(plane, "7")
        await plane.clock.sleep(SETTLING + 1)
        assert plane.transport.before is None
        assert (await status(plane))["overallUsed"] == {"cpu": "8"}

    on_a_plane(scenario)


def test_what_a_binding_used_is_free_once_it_is_gone():
    async def scenario(plane):
        await begin(plane)
        await plane.client.resource(BINDINGS).delete("web", "default")
        await plane.clock.sleep(1)
        assert not (await status(plane)).get("overallUsed")

    on_a_plane(scenario)


def test_what_a_binding_no_longer_uses_is_free_soon():
    async def scenario(plane):
        await begin(plane)
        less = {"spec": {"clusters": [{"name": "member1", "replicas": 1}]}}
        await plane.client.resource(BINDINGS).patch("web", less, "default")
        await plane.clock.sleep(2)
        assert (await status(plane))["overallUsed"] == {"cpu": "1"}

    on_a_plane(scenario)


def test_bindings_that_go_one_after_another_are_not_counted_anew_for_each():
    async def scenario(plane):
        await begin(plane)
        bindings = plane.client.resource(BINDINGS)
        web = await bindings.get("web", "default")
        for number in range(2 * STEP):
            await bindings.create({"metadata": {"name": f"w{number}", "namespace": "default"}, "spec": web["spec"]})
        await plane.clock.sleep(2 * SETTLING)
        assert (await status(plane))["overallUsed"] == {"cpu": str(2 + 4 * STEP)}
        (controller,) = plane._started
        before = sum(controller.results.values())
        for number in range(STEP // 2):
            await bindings.delete(f"w{number}", "default")
            await plane.clock.sleep(0.001)
        await plane.clock.sleep(1)
        assert (await status(plane))["overallUsed"] == {"cpu": str(2 + 3 * STEP)}
        assert sum(controller.results.values()) - before < STEP // 10

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("overall", "used"),
    [({"cpu": "20"}, TWO), ({"memory": "8Gi"}, {"memory": "2Gi"})],
    ids=["raised", "of something else"],
)
def test_new_limits_are_in_force_and_counted_at_once(overall, used):
    async def scenario(plane):
        await begin(plane)
        quota = await plane.client.resource(QUOTAS).get("q", "default")
        await plane.client.resource(QUOTAS).update(quota | {"spec": {"overall": overall}})
        await plane.clock.sleep(1)
        assert await status(plane) == {"overall": overall, "overallUsed": used}

    on_a_plane(scenario)


def bound(namespace, name="web"):
    spec = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": name},
        "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
        "clusters": [{"name": "member1", "replicas": 2}],
    }
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


async def tree(plane, enabled=True):
    """A quota over the namespaces of an organisation, and a binding in one of them."""
    for namespace in ("karmada-system", "shop", "bank"):
        labels = {"org": "a"} if namespace == "shop" else {}
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": namespace, "labels": labels}})
    meta = {"name": "q", "namespace": "karmada-system", "annotations": {QUOTA_NAMESPACES: "org=a"}}
    await plane.client.resource(QUOTAS).create({"metadata": meta, "spec": {"overall": {"cpu": "9"}}})
    for namespace in ("shop", "bank"):
        await plane.client.resource(BINDINGS).create(bound(namespace))
    gates = DEFAULTS.with_overrides({"FederatedQuotaTree": enabled})
    plane.start(QuotaEnforcementController(replace(plane.context, gates=gates)).controller)
    await plane.clock.sleep(1)


async def used(plane):
    quota = await plane.client.resource(QUOTAS).get("q", "karmada-system")
    return (quota["status"].get("overallUsed") or {}).get("cpu", "0")


def test_a_quota_counts_the_namespaces_that_it_selects_and_their_labels_may_change():
    async def scenario(plane):
        await tree(plane)
        assert await used(plane) == "2"
        await plane.client.resource(NAMESPACES).patch("bank", {"metadata": {"labels": {"org": "a"}}})
        await plane.clock.sleep(1)
        assert await used(plane) == "4"
        await plane.client.resource(NAMESPACES).patch("shop", {"metadata": {"labels": {"org": "b"}}})
        await plane.clock.sleep(1)
        assert await used(plane) == "2"

    on_a_plane(scenario)


def test_a_quota_is_counted_again_when_a_binding_that_it_counts_changes_or_it_selects_others():
    async def scenario(plane):
        await tree(plane)
        await plane.client.resource(BINDINGS).create(bound("shop", "more"))
        await plane.clock.sleep(SETTLING + 1)
        assert await used(plane) == "4"
        await plane.client.resource(BINDINGS).delete("web", "shop")
        await plane.clock.sleep(1)
        assert await used(plane) == "2"
        patch = {"metadata": {"annotations": {QUOTA_NAMESPACES: "!org"}}}
        await plane.client.resource(QUOTAS).patch("q", patch, "karmada-system")
        await plane.clock.sleep(1)
        assert await used(plane) == "2"
        await plane.client.resource(BINDINGS).delete("web", "bank")
        await plane.clock.sleep(1)
        assert await used(plane) == "0"

    on_a_plane(scenario)


def test_without_the_gate_a_quota_counts_its_own_namespace():
    async def scenario(plane):
        await tree(plane, enabled=False)
        assert await used(plane) == "0"

    on_a_plane(scenario)


def test_bindings_that_go_from_many_small_namespaces_are_not_counted_anew_for_each():
    async def scenario(plane):
        await tree(plane)
        spaces = [f"shop{number}" for number in range(10)]
        for space in spaces:
            await plane.client.resource(NAMESPACES).create({"metadata": {"name": space, "labels": {"org": "a"}}})
            for number in range(STEP // 5):
                await plane.client.resource(BINDINGS).create(bound(space, f"w{number}"))
        await plane.clock.sleep(2 * SETTLING)
        assert await used(plane) == str(2 + 4 * STEP)
        (controller,) = plane._started
        before = sum(controller.results.values())
        for number in range(STEP // 20):
            for space in spaces:
                await plane.client.resource(BINDINGS).delete(f"w{number}", space)
                await plane.clock.sleep(0.001)
        await plane.clock.sleep(1)
        assert await used(plane) == str(2 + 3 * STEP)
        assert sum(controller.results.values()) - before < STEP // 10

    on_a_plane(scenario)
