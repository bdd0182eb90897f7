"""Static assignments of a federated quota become Works, and what members report of them is aggregated."""

import dataclasses

import pytest
from tests.controllers.plane import WORKS, on_a_plane

from karmada.api import names
from karmada.api.feature_gates import DEFAULTS
from karmada.controllers.quota_status import QuotaStatusController
from karmada.controllers.quota_sync import QuotaSyncController
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource

QUOTAS = GroupVersionResource("policy.karmada.io", "v1alpha1", "federatedresourcequotas")
EVENTS = GroupVersionResource("", "v1", "events")
WORK = names.work_name("ResourceQuota", "q", "default")


async def quota(plane, **hard):
    items = [{"clusterName": cluster, "hard": {"cpu": cpu}} for cluster, cpu in hard.items()]
    spec = {"overall": {"cpu": "9"}, "staticAssignments": items}
    await plane.client.resource(QUOTAS).create({"metadata": {"name": "q", "namespace": "default"}, "spec": spec})


async def assign(plane, **hard):
    items = [{"clusterName": cluster, "hard": {"cpu": cpu}} for cluster, cpu in hard.items()]
    await plane.client.resource(QUOTAS).patch("q", {"spec": {"staticAssignments": items}}, "default")


async def begin(plane, *clusters):
    plane.start(QuotaSyncController(plane.context).controller)
    plane.start(QuotaStatusController(plane.context).controller)
    for cluster in clusters:
        await plane.cluster(cluster)
    await plane.clock.sleep(1)


async def limits(plane):
    """The limit each member is given."""
    works = await plane.client.resource(WORKS).list()
    kept = [work for work in works.items if "deletionTimestamp" not in work["metadata"]]
    manifests = {work["metadata"]["namespace"]: work["spec"]["workload"]["manifests"][0] for work in kept}
    return {space.removeprefix("karmada-es-"): one["spec"]["hard"]["cpu"] for space, one in manifests.items()}


async def report(plane, cluster, status, applied="True", name=WORK):
    """What the execution controller and the member say."""
    at = "2023-11-14T22:13:20Z"
    condition = {"type": "Applied", "status": applied, "reason": "R", "message": "", "lastTransitionTime": at}
    which = {"ordinal": 0, "version": "v1", "kind": "ResourceQuota", "resource": "resourcequotas", "name": "q"}
    fields = {"conditions": [condition], "manifestStatuses": [{"identifier": which, "status": status}]}
    await plane.client.resource(WORKS).patch(name, {"status": fields}, f"karmada-es-{cluster}", subresource="status")
    await plane.clock.sleep(1)


async def status(plane):
    return (await plane.client.resource(QUOTAS).get("q", "default")).get("status", {})


async def reasons(plane):
    await plane.clock.sleep(2)
    found = await plane.client.resource(EVENTS).list()
    return sorted((event["reason"], event["message"]) for event in found.items)


def test_assignments_become_works_of_known_clusters():
    async def scenario(plane):
        await begin(plane, "m1", "m2")
        await quota(plane, m1="1", m3="3")
        await plane.clock.sleep(1)
        assert await limits(plane) == {"m1": "1"}
        work = await plane.client.resource(WORKS).get(WORK, "karmada-es-m1")
        manifest = work["spec"]["workload"]["manifests"][0]
        assert (manifest["kind"], manifest["metadata"]["namespace"]) == ("ResourceQuota", "default")
        assert work["metadata"]["labels"]["federatedresourcequota.karmada.io/name"] == "q"
        await plane.cluster("m3")
        await plane.clock.sleep(1)
        assert await limits(plane) == {"m1": "1", "m3": "3"}
        text = "Sync works for FederatedResourceQuota(default/q) succeed."
        assert ("SyncWorkSucceed", text) in await reasons(plane)

    on_a_plane(scenario)


def test_changed_and_dropped_assignments_are_followed():
    async def scenario(plane):
        await begin(plane, "m1", "m2")
        await quota(plane, m1="1", m2="2")
        await plane.clock.sleep(1)
        await assign(plane, m1="5")
        await plane.clock.sleep(1)
        assert await limits(plane) == {"m1": "5"}
        await plane.client.resource(QUOTAS).delete("q", "default")
        await plane.clock.sleep(1)
        assert await limits(plane) == {}

    on_a_plane(scenario)


def test_works_of_a_quota_that_went_while_nobody_watched_are_deleted():
    async def scenario(plane):
        await begin(plane, "m1")
        await quota(plane, m1="1")
        await plane.clock.sleep(1)
        await plane.supervisor.stop()
        await plane.client.resource(QUOTAS).delete("q", "default")
        async with Supervisor(plane.clock) as supervisor:
            plane.begin(supervisor)
            await begin(plane)
            assert await limits(plane) == {}

    on_a_plane(scenario)


def test_the_work_of_a_binding_is_not_taken_over():
    async def scenario(plane):
        await begin(plane, "m1")
        manifest = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
        manifest["spec"] = {"hard": {"cpu": "7"}}
        owner = {"name": "q-resourcequota", "namespace": "default"}
        noted = {f"resourcebinding.karmada.io/{key}": value for key, value in owner.items()}
        metadata = {"name": WORK, "namespace": "karmada-es-m1", "annotations": noted}
        tree = {"metadata": metadata, "spec": {"workload": {"manifests": [manifest]}}}
        await plane.client.resource(WORKS).create(tree)
        await quota(plane, m1="1")
        await plane.clock.sleep(1)
        assert await limits(plane) == {"m1": "7"}
        assert any(reason == "SyncWorkFailed" and "stays its" in text for reason, text in await reasons(plane))

    on_a_plane(scenario)


def test_reports_of_members_are_aggregated():
    async def scenario(plane):
        await begin(plane, "m1", "m2")
        await quota(plane, m2="2", m1="1")
        await plane.clock.sleep(1)
        assert await status(plane) == {"overall": {"cpu": "9"}}
        await report(plane, "m2", {"hard": {"cpu": "2"}, "used": {"cpu": "1500m"}})
        await report(plane, "m1", {"hard": {"cpu": "1"}, "used": {"cpu": "1"}})
        found = await status(plane)
        assert [row["clusterName"] for row in found["aggregatedStatus"]] == ["m1", "m2"]
        assert found["overallUsed"] == {"cpu": "2500m"}
        await report(plane, "m1", {"used": {"cpu": "1"}}, applied="False")
        await assign(plane, m1="1")
        await plane.clock.sleep(1)
        found = await status(plane)
        assert "aggregatedStatus" not in found
        assert "overallUsed" not in found
        text = "Collect status of FederatedResourceQuota(default/q) succeed."
        assert ("AggregateStatusSucceed", text) in await reasons(plane)

    on_a_plane(scenario)


@pytest.mark.parametrize("bad", [{"used": {"cpu": "many"}}, {"used": ["cpu"]}, {"hard": {"cpu": {}}}])
def test_a_report_that_cannot_be_read_costs_its_own_row_only(bad):
    async def scenario(plane):
        await begin(plane, "m1", "m2")
        await quota(plane, m1="1", m2="2")
        await plane.clock.sleep(1)
        await report(plane, "m1", bad)
        await report(plane, "m2", {"used": {"cpu": "1"}})
        assert (await status(plane))["overallUsed"] == {"cpu": "1"}
        assert any(reason == "AggregateStatusFailed" and "m1" in text for reason, text in await reasons(plane))

    on_a_plane(scenario)


def test_a_work_that_only_carries_the_labels_says_nothing():
    """An agent may label Works of its own cluster as it likes."""

    async def scenario(plane):
        await begin(plane, "m1", "m2")
        await quota(plane, m1="1")
        await plane.clock.sleep(1)
        work = await plane.client.resource(WORKS).get(WORK, "karmada-es-m1")
        metadata = {"name": "other", "namespace": "karmada-es-m2", "labels": work["metadata"]["labels"]}
        await plane.client.resource(WORKS).create({"metadata": metadata, "spec": work["spec"]})
        await report(plane, "m2", {"used": {"cpu": "-5"}}, name="other")
        assert (await status(plane)) == {"overall": {"cpu": "9"}}
        assert "deletionTimestamp" not in (await plane.client.resource(WORKS).get("other", "karmada-es-m2"))["metadata"]

    on_a_plane(scenario)


def test_an_enforced_quota_keeps_what_was_counted():
    async def scenario(plane):
        gates = DEFAULTS.with_overrides({"FederatedQuotaEnforcement": True})
        plane.context = dataclasses.replace(plane.context, gates=gates)
        await begin(plane, "m1")
        await quota(plane, m1="1")
        await plane.clock.sleep(1)
        await report(plane, "m1", {"used": {"cpu": "1"}})
        assert "overallUsed" not in await status(plane)
        assert len((await status(plane))["aggregatedStatus"]) == 1

    on_a_plane(scenario)


def test_a_member_without_an_assignment_reports_nothing_whatever_its_agent_writes():
    async def scenario(plane):
        await begin(plane, "m1", "m2")
        await quota(plane, m1="1")
        await plane.clock.sleep(1)
        forged = await plane.client.resource(WORKS).get(WORK, "karmada-es-m1")
        metadata = {"name": WORK, "namespace": "karmada-es-m2", "labels": forged["metadata"]["labels"]}
        await plane.client.resource(WORKS).create({"metadata": metadata, "spec": forged["spec"]})
        await report(plane, "m2", {"used": {"cpu": "1000"}})
        await report(plane, "m1", {"used": {"cpu": "1"}})
        found = await status(plane)
        assert [row["clusterName"] for row in found["aggregatedStatus"]] == ["m1"]
        assert found["overallUsed"] == {"cpu": "1"}

    on_a_plane(scenario)
