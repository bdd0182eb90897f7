"""Which changes have federated quotas looked at again, and what is said of them: each controller alone."""

from dataclasses import replace

import pytest
from tests.controllers.observing import does, events, reconciles, refused
from tests.controllers.plane import CLUSTERS, NAMESPACES, WORKS, on_a_plane
from tests.controllers.test_quota_enforcement import BINDINGS, SETTLING, bound
from tests.controllers.test_quota_status import QUOTAS, WORK, assign, limits, quota, report, status

from karmada.api.annotations import QUOTA_NAMESPACES
from karmada.api.feature_gates import DEFAULTS
from karmada.controllers.quota_enforcement import PERIOD, QuotaEnforcementController
from karmada.controllers.quota_status import QuotaStatusController
from karmada.controllers.quota_sync import QuotaSyncController
from karmada.machinery.errors import ServerError

BLUE = {"metadata": {"labels": {"color": "blue"}}}
HELD = {"metadata": {"finalizers": ["example.com/held"]}}
MARKS = {
    "federatedresourcequota.karmada.io/namespace": "default",
    "federatedresourcequota.karmada.io/name": "q",
}


def work(name=WORK, space="karmada-es-m1", **more):
    return {"metadata": {"name": name, "namespace": space, "labels": MARKS} | more, "spec": {}}


async def started(plane, controller):
    plane.start(controller)
    await plane.clock.sleep(1)
    return controller


async def going(plane):
    """Delete the quota, which stays for now."""
    await plane.client.resource(QUOTAS).patch("q", HELD, "default")
    await plane.client.resource(QUOTAS).delete("q", "default")
    await plane.clock.sleep(1)


def test_what_is_aggregated_again():
    async def test(plane):
        await plane.cluster("m1")
        controller = await started(plane, QuotaStatusController(plane.context).controller)
        quotas, works = plane.client.resource(QUOTAS), plane.client.resource(WORKS)
        steps = {
            quota(plane, m1="1"): 1,
            quotas.patch("q", BLUE, "default"): 0,
            assign(plane, m1="2"): 1,
            works.create(work()): 1,
            works.create(work("other")): 0,
            works.patch(WORK, BLUE, "karmada-es-m1"): 0,
            report(plane, "m1", {"used": {"cpu": "1"}}): 1,
            works.patch(WORK, HELD, "karmada-es-m1"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())
        assert (await status(plane))["overallUsed"] == {"cpu": "1"}
        await works.delete(WORK, "karmada-es-m1")
        await plane.clock.sleep(1)
        assert await status(plane) == {"overall": {"cpu": "9"}}, "the Work is going"
        last = {
            works.patch(WORK, {"metadata": {"finalizers": []}}, "karmada-es-m1"): 1,
            quotas.delete("q", "default"): 0,
        }
        assert await does(plane, controller, *last) == list(last.values())

    on_a_plane(test)


def test_a_work_without_a_report_has_no_row():
    async def test(plane):
        await plane.cluster("m1")
        await plane.client.resource(WORKS).create(work())
        await quota(plane, m1="1")
        await started(plane, QuotaStatusController(plane.context).controller)
        await report(plane, "m1", {})
        assert (await status(plane))["aggregatedStatus"] == [{"clusterName": "m1"}]
        which = {"ordinal": 0, "version": "v1", "kind": "ResourceQuota", "resource": "resourcequotas", "name": "q"}
        for left in ([{"identifier": which}], []):
            fields = {"status": {"manifestStatuses": left}}
            await plane.client.resource(WORKS).patch(WORK, fields, "karmada-es-m1", subresource="status")
            await plane.clock.sleep(1)
            assert await status(plane) == {"overall": {"cpu": "9"}}
        await going(plane)
        await report(plane, "m1", {"used": {"cpu": "1"}})
        assert await status(plane) == {"overall": {"cpu": "9"}}

    on_a_plane(test)


def test_works_are_written_again_when_assignments_clusters_or_works_change():
    async def test(plane):
        for name in ("m1", "m3"):
            await plane.cluster(name)
        controller = await started(plane, QuotaSyncController(plane.context).controller)
        quotas, works = plane.client.resource(QUOTAS), plane.client.resource(WORKS)
        steps = {
            quota(plane, m1="1", m2="2"): 1,
            quotas.patch("q", BLUE, "default"): 0,
            quotas.patch("q", {"spec": {"overall": {"cpu": "99"}}}, "default"): 0,
            plane.cluster("m2"): 1,
            plane.cluster("m4"): 0,
            plane.client.resource(CLUSTERS).patch("m1", BLUE): 0,
            works.patch(WORK, BLUE, "karmada-es-m1"): 0,
            works.patch(WORK, {"metadata": {"finalizers": []}}, "karmada-es-m1"): 0,
            works.delete(WORK, "karmada-es-m1"): 1,
            works.create(work("other")): 0,
            works.delete("other", "karmada-es-m1"): 0,
            works.create(work(space="default")): 0,
            works.delete(WORK, "default"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())
        assert await limits(plane) == {"m1": "1", "m2": "2"}
        text = "Sync works for FederatedResourceQuota(default/q) succeed."
        assert await events(plane) == {("Normal", "SyncWorkSucceed", text)}
        await going(plane)
        assert await limits(plane) == {}, "a quota that is going assigns nothing"
        assert controller.errors == 0

    on_a_plane(test)


def test_the_works_of_a_quota_that_only_the_cache_lacks_stay():
    async def test(plane):
        await plane.cluster("m1")
        await started(plane, QuotaSyncController(plane.context).controller)
        plane.transport.held = frozenset({QUOTAS})
        await quota(plane, m1="1", m2="2")
        works = plane.client.resource(WORKS)
        await plane.cluster("m2")
        made = [await works.create(work(space=f"karmada-es-{name}")) for name in ("m1", "m2")]
        await works.delete(WORK, "karmada-es-m1")
        await plane.clock.sleep(5)
        left = await works.get(WORK, "karmada-es-m2")
        assert left["metadata"]["uid"] == made[1]["metadata"]["uid"]
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        assert await limits(plane) == {"m1": "1", "m2": "2"}

    on_a_plane(test)


@pytest.mark.parametrize("is_assigned", [True, False])
def test_a_work_of_a_quota_that_the_cache_shows_as_it_was_stays_until_it_is_known_to_be_unwanted(is_assigned):
    async def test(plane):
        for name in ("m1", "m2"):
            await plane.cluster(name)
        await quota(plane, m1="1")
        await started(plane, QuotaSyncController(plane.context).controller)
        plane.transport.held = frozenset({QUOTAS})
        found = await plane.client.resource(QUOTAS).get("q", "default")
        found["spec"]["overall"] = {"cpu": "10"}
        if is_assigned:
            found["spec"]["staticAssignments"].append({"clusterName": "m2", "hard": {"cpu": "2"}})
        await plane.client.resource(QUOTAS).update(found)
        works = plane.client.resource(WORKS)
        made = await works.create(work(space="karmada-es-m2", **HELD["metadata"]))
        await works.patch(WORK, {"metadata": {"finalizers": []}}, "karmada-es-m1")
        await works.delete(WORK, "karmada-es-m1")
        await plane.clock.sleep(5)
        left = await works.get(WORK, "karmada-es-m2")
        assert left["metadata"]["uid"] == made["metadata"]["uid"]
        assert "deletionTimestamp" not in left["metadata"]
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        left = await works.get(WORK, "karmada-es-m2")
        assert ("deletionTimestamp" in left["metadata"]) is not is_assigned
        assert await works.get(WORK, "karmada-es-m1"), "it was written again"

    on_a_plane(test)


def test_a_cluster_that_is_named_twice_has_its_first_assignment():
    async def test(plane):
        await plane.cluster("m1")
        await started(plane, QuotaSyncController(plane.context).controller)
        items = [{"clusterName": "m1", "hard": {"cpu": cpu}} for cpu in ("1", "2")]
        spec = {"overall": {"cpu": "9"}, "staticAssignments": items}
        await plane.client.resource(QUOTAS).create({"metadata": {"name": "q", "namespace": "default"}, "spec": spec})
        await plane.clock.sleep(1)
        assert await limits(plane) == {"m1": "1"}

    on_a_plane(test)


def test_a_work_that_cannot_be_written_is_named_and_tried_again():
    async def test(plane):
        await plane.cluster("m1")
        refused(plane, ServerError("no room"), WORKS)
        await quota(plane, m1="1")
        controller = await started(plane, QuotaSyncController(plane.context).controller)
        assert await events(plane) == {("Warning", "SyncWorkFailed", "no room")}
        assert controller.errors > 0
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert await limits(plane) == {"m1": "1"}

    on_a_plane(test)


@pytest.mark.parametrize("period", [PERIOD, 0])
def test_a_quota_is_counted_again_after_a_period(period):
    async def test(plane):
        await quota(plane)
        controller = await started(plane, QuotaEnforcementController(plane.context, period).controller)
        text = "Collect status of FederatedResourceQuota(default/q) succeed."
        assert await events(plane) == {("Normal", "CollectOverallStatusSucceed", text)}
        [count] = await does(plane, controller, plane.clock.sleep(3 * PERIOD))
        assert count == (3 if period else 0)

    on_a_plane(test)


def test_what_is_there_at_the_start_is_counted_once():
    async def test(plane):
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-system", "labels": {"org": "a"}}})
        for space in ("default", "karmada-system"):
            meta = {"name": "q", "namespace": space, "annotations": {QUOTA_NAMESPACES: "org=a"}}
            await plane.client.resource(QUOTAS).create({"metadata": meta, "spec": {"overall": {"cpu": "9"}}})
            known = {"status": {"overall": {"cpu": "9"}, "overallUsed": {"cpu": "2"}}}
            await plane.client.resource(QUOTAS).patch("q", known, space, subresource="status")
            await plane.client.resource(BINDINGS).create(bound(space))
        context = replace(plane.context, gates=DEFAULTS.with_overrides({"FederatedQuotaTree": True}))
        controller = QuotaEnforcementController(context, 0).controller
        plane.start(controller)
        await plane.clock.sleep(5 * SETTLING)
        assert reconciles(controller) == 2

    on_a_plane(test)


def test_what_has_a_quota_counted_again():
    async def test(plane):
        await quota(plane)
        controller = await started(plane, QuotaEnforcementController(plane.context, 0).controller)
        quotas, bindings = plane.client.resource(QUOTAS), plane.client.resource(BINDINGS)

        async def later(step):
            await step
            await plane.clock.sleep(2 * SETTLING)

        used = {"status": {"overallUsed": {"cpu": "1"}}}
        steps = {
            later(quotas.patch("q", BLUE, "default")): 0,
            later(quotas.patch("q", used, "default", subresource="status")): 2,
            later(bindings.create(bound("default"))): 2,
            later(bindings.patch("web", BLUE, "default")): 0,
            later(bindings.create(bound("kube-system"))): 0,
            later(going(plane)): 0,
            later(bindings.delete("web", "default")): 1,
            later(quotas.patch("q", {"metadata": {"finalizers": []}}, "default")): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    on_a_plane(test)


def test_which_namespaces_have_a_quota_counted_again():
    async def test(plane):
        spaces = plane.client.resource(NAMESPACES)
        for name, labels in {"karmada-system": {}, "shop": {"org": "a"}, "bank": {"org": "b"}}.items():
            await spaces.create({"metadata": {"name": name, "labels": labels}})
        meta = {"name": "q", "namespace": "karmada-system", "annotations": {QUOTA_NAMESPACES: "org=a"}}
        await plane.client.resource(QUOTAS).create({"metadata": meta, "spec": {"overall": {"cpu": "9"}}})
        await quota(plane)
        gates = DEFAULTS.with_overrides({"FederatedQuotaTree": True})
        context = replace(plane.context, gates=gates)
        controller = await started(plane, QuotaEnforcementController(context, 0).controller)
        await plane.clock.sleep(2 * SETTLING)
        steps = {
            spaces.patch("shop", {"metadata": {"annotations": {"color": "blue"}}}): 0,
            spaces.patch("shop", BLUE): 1,
            spaces.patch("bank", BLUE): 0,
            spaces.create({"metadata": {"name": "other"}}): 0,
            spaces.create({"metadata": {"name": "more", "labels": {"org": "a"}}}): 1,
            spaces.patch("more", {"metadata": {"labels": {"org": None}}}): 1,
            plane.client.resource(QUOTAS).patch(
                "q", {"metadata": {"annotations": {QUOTA_NAMESPACES: "org=b"}}}, "karmada-system"
            ): 1,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    on_a_plane(test)
