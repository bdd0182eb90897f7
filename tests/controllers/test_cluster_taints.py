"""Taints that policies put on clusters by their conditions."""

import pytest
from tests.controllers.plane import CLUSTERS, on_a_plane
from tests.controllers.recorded import recorded

from karmada.api.policy.v1alpha1 import ClusterTaintPolicy
from karmada.controllers.cluster_taints import ClusterTaintPolicyController
from karmada.machinery.client import type_of
from karmada.machinery.errors import Forbidden
from karmada.machinery.transport import Verb

POLICIES = type_of(ClusterTaintPolicy)


def when(status):
    return [{"conditionType": "NetworkReady", "operator": "In", "statusValues": [status]}]


POLICY = {
    "metadata": {"name": "network"},
    "spec": {
        "addOnConditions": when("False"),
        "removeOnConditions": when("True"),
        "taints": [{"key": "network", "effect": "NoExecute"}],
    },
}
ADDED = "Update Cluster(m1) with taints(cluster now has taints([{Key:network,Effect:NoExecute}])) succeed"
REMOVED = "Update Cluster(m1) with taints(cluster now does not have taints) succeed"


async def taints(plane, name="m1"):
    cluster = await plane.client.resource(CLUSTERS).get(name)
    return [taint["key"] for taint in cluster["spec"].get("taints") or ()]


@pytest.mark.parametrize("first", ["policy", "condition"])
def test_a_taint_comes_and_goes_with_the_condition(first):
    async def scenario(plane):
        for name in ("m1", "m2"):
            await plane.cluster(name)
        plane.start(ClusterTaintPolicyController(plane.context).controller)
        await plane.clock.sleep(1)
        if first == "condition":
            await plane.condition("m1", "NetworkReady", "False")
            await plane.clock.sleep(1)
        await plane.client.resource(POLICIES).create(POLICY)
        await plane.clock.sleep(1)
        if first == "policy":
            await plane.condition("m1", "NetworkReady", "False")
            await plane.clock.sleep(1)
        assert (await taints(plane), await taints(plane, "m2")) == (["network"], [])
        cluster = await plane.client.resource(CLUSTERS).get("m1")
        assert cluster["spec"]["taints"][0]["timeAdded"]
        await plane.condition("m1", "NetworkReady", "True")
        await plane.clock.sleep(5)
        assert await taints(plane) == []
        assert await recorded(plane, "TaintClusterSucceed") == [
            ("Normal", "TaintClusterSucceed", "Cluster", REMOVED),
            ("Normal", "TaintClusterSucceed", "Cluster", ADDED),
        ]

    on_a_plane(scenario)


def test_a_policy_that_is_deleted_leaves_its_taints_and_is_not_asked_again():
    async def scenario(plane):
        await plane.cluster("m1")
        await plane.condition("m1", "NetworkReady", "False")
        await plane.client.resource(POLICIES).create(POLICY)
        plane.start(ClusterTaintPolicyController(plane.context).controller)
        await plane.clock.sleep(1)
        await plane.client.resource(POLICIES).delete("network")
        await plane.clock.sleep(1)
        await plane.condition("m1", "NetworkReady", "True")
        await plane.clock.sleep(1)
        assert await taints(plane) == ["network"]
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": None}})
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(1)

    on_a_plane(scenario)


def test_a_cluster_that_leaves_is_not_tainted():
    async def scenario(plane):
        await plane.cluster("m1")
        await plane.client.resource(POLICIES).create(POLICY)
        await plane.client.resource(CLUSTERS).delete("m1")
        plane.start(ClusterTaintPolicyController(plane.context).controller)
        await plane.clock.sleep(1)
        await plane.condition("m1", "NetworkReady", "False")
        await plane.clock.sleep(1)
        assert await taints(plane) == []

    on_a_plane(scenario)


def test_a_taint_that_cannot_be_written_is_an_event_and_retried():
    async def scenario(plane):
        await plane.cluster("m1")
        await plane.condition("m1", "NetworkReady", "False")
        await plane.client.resource(POLICIES).create(POLICY)

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == CLUSTERS:
                plane.transport.before = None
                raise Forbidden("not now")

        plane.transport.before = before
        plane.start(ClusterTaintPolicyController(plane.context).controller)
        await plane.clock.sleep(5)
        assert await taints(plane) == ["network"]
        ((type_, _, kind, message),) = await recorded(plane, "TaintClusterFailed")
        assert (type_, kind, message) == ("Warning", "Cluster", "Update Cluster(m1) with taints failed: not now")

    on_a_plane(scenario)
