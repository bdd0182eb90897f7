"""What a cluster is given when it comes, the taints of its readiness, and the order in which it leaves."""

import pytest
from tests.controllers.plane import CLUSTERS, NAMESPACES, WORKS, on_a_plane
from tests.controllers.recorded import recorded

from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.cluster import ClusterController
from karmada.machinery.client import type_of
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import Verb

FINALIZER = "karmada.io/cluster-controller"
SPACE = "karmada-es-m1"
NOT_READY, UNREACHABLE = "cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"
BINDINGS, WIDE = type_of(ResourceBinding), type_of(ClusterResourceBinding)
EXECUTION = "karmada.io/execution-controller"


def start(plane):
    plane.start(ClusterController(plane.context).controller)


async def cluster(plane):
    return await plane.client.resource(CLUSTERS).get("m1")


async def exists(plane, type_, name, namespace=""):
    try:
        await plane.client.resource(type_).get(name, namespace)
    except NotFound:
        return False
    return True


async def taints(plane):
    return [(taint["key"], taint["effect"]) for taint in (await cluster(plane))["spec"].get("taints") or ()]


def test_a_cluster_that_comes_gets_a_finalizer_its_execution_space_and_a_taint_until_it_is_ready():
    async def scenario(plane):
        start(plane)
        await plane.client.resource(CLUSTERS).create({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})
        await plane.clock.sleep(5)
        assert (await cluster(plane))["metadata"]["finalizers"] == [FINALIZER]
        space = await plane.client.resource(NAMESPACES).get(SPACE)
        assert space["metadata"]["labels"]["karmada.io/system"] == "true"
        assert await taints(plane) == [(NOT_READY, "NoSchedule")]
        await plane.condition("m1", "Ready", "True")
        await plane.clock.sleep(5)
        assert await taints(plane) == []
        tainted = "Taint cluster succeed: cluster now has taints([{Key:%s,Effect:NoSchedule}])."
        assert await recorded(plane, "CreateExecutionSpaceSucceed", "TaintClusterSucceed") == [
            ("Normal", "CreateExecutionSpaceSucceed", "Cluster", f"Created execution space({SPACE}) for cluster(m1)."),
            ("Normal", "TaintClusterSucceed", "Cluster", "Taint cluster succeed: cluster now does not have taints."),
            ("Normal", "TaintClusterSucceed", "Cluster", tainted % NOT_READY),
        ]

    on_a_plane(scenario)


def test_a_space_that_is_there_is_not_announced():
    async def scenario(plane):
        await plane.cluster("m1")
        start(plane)
        await plane.clock.sleep(5)
        assert await recorded(plane, "CreateExecutionSpaceSucceed", "TaintClusterSucceed") == []
        assert (await cluster(plane))["metadata"]["finalizers"] == [FINALIZER]

    on_a_plane(scenario)


def test_a_space_that_was_deleted_is_made_again():
    async def scenario(plane):
        await plane.cluster("m1")
        start(plane)
        await plane.clock.sleep(5)
        await plane.client.resource(NAMESPACES).delete(SPACE)
        await plane.clock.sleep(5)
        assert await exists(plane, NAMESPACES, SPACE)

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("ready", "expected"),
    [("False", [(NOT_READY, "NoSchedule")]), ("Unknown", [(UNREACHABLE, "NoSchedule")]), ("True", [])],
)
def test_the_taint_of_readiness_is_exchanged_and_all_others_stay(ready, expected):
    async def scenario(plane):
        await plane.cluster("m1", ready=ready)
        old = [{"key": key, "effect": "NoSchedule"} for key in (NOT_READY, UNREACHABLE)]
        others = [
            {"key": UNREACHABLE, "effect": "NoExecute"},
            {"key": NOT_READY, "effect": "NoExecute"},
            {"key": "mine", "value": "v", "effect": "NoSchedule"},
        ]
        await plane.client.resource(CLUSTERS).patch("m1", {"spec": {"taints": old + others}})
        start(plane)
        await plane.clock.sleep(5)
        assert await taints(plane) == expected + [(taint["key"], taint["effect"]) for taint in others]
        ((_, _, _, message),) = await recorded(plane, "TaintClusterSucceed")
        assert "{Key:mine,Value:v,Effect:NoSchedule}" in message

    on_a_plane(scenario)


def test_a_taint_that_is_there_keeps_its_time():
    async def scenario(plane):
        await plane.cluster("m1", ready="False")
        early = "2020-01-01T00:00:00Z"
        taint = {"key": NOT_READY, "effect": "NoSchedule", "timeAdded": early}
        await plane.client.resource(CLUSTERS).patch("m1", {"spec": {"taints": [taint]}})
        controller = ClusterController(plane.context).controller
        plane.start(controller)
        await plane.clock.sleep(5)
        assert controller.errors == 0
        assert [taint["timeAdded"] for taint in (await cluster(plane))["spec"]["taints"]] == [early]

    on_a_plane(scenario)


async def work(plane, name="w"):
    """A Work that its executor holds until the member is emptied."""
    metadata = {"name": name, "namespace": SPACE, "finalizers": [EXECUTION, "test/other"]}
    await plane.client.resource(WORKS).create({"metadata": metadata, "spec": {"workload": {"manifests": []}}})


@pytest.mark.parametrize(
    ("mode", "ready", "left"),
    [
        ("Pull", "True", (True, [EXECUTION, "test/other"])),
        ("Pull", "False", (False, ["test/other"])),
        ("Push", "True", (False, [EXECUTION, "test/other"])),
        ("Push", "False", (False, [EXECUTION, "test/other"])),
    ],
    ids=["an agent that can", "an agent that is away", "reached from here", "out of reach"],
)
def test_only_an_agent_empties_its_member_before_the_execution_space_goes(mode, ready, left):
    """The Works of an agent that is away are released; others' are left to who executes them."""

    async def scenario(plane):
        await plane.cluster("m1", mode, ready)
        await work(plane)
        requests = []

        async def before(request):
            if request.verb is Verb.DELETE:
                requests.append((request.resource, request.name))

        plane.transport.before = before
        start(plane)
        await plane.clock.sleep(5)
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(10)
        waits, held = left
        assert ((NAMESPACES, SPACE) not in requests) == waits
        assert requests.count((WORKS, "w")) == waits
        assert (await plane.client.resource(WORKS).get("w", SPACE))["metadata"]["finalizers"] == held
        assert (await cluster(plane))["metadata"]["finalizers"] == [FINALIZER]
        await plane.client.resource(WORKS).patch("w", {"metadata": {"finalizers": None}}, SPACE)
        await plane.clock.sleep(10)
        assert not await exists(plane, NAMESPACES, SPACE)
        assert not await exists(plane, CLUSTERS, "m1")
        assert [text for *_, text in await recorded(plane, "RemoveExecutionSpaceSucceed")] == [
            "Removed execution space for cluster(m1)."
        ]

    on_a_plane(scenario)


def test_a_cluster_that_somebody_else_holds_is_left_alone_when_it_goes():
    async def scenario(plane):
        metadata = {"name": "m1", "finalizers": ["test/hold"]}
        await plane.client.resource(CLUSTERS).create({"metadata": metadata, "spec": {"syncMode": "Push"}})
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": SPACE}})
        start(plane)
        await plane.clock.sleep(5)
        assert await exists(plane, NAMESPACES, SPACE)
        assert (await cluster(plane))["metadata"]["finalizers"] == ["test/hold"]

    on_a_plane(scenario)


def test_a_cluster_stays_until_no_binding_names_it_and_is_taken_out_of_those_that_nobody_places():
    placed_by = {
        "policy": "propagationpolicy.karmada.io/permanent-id",
        "wide": "clusterpropagationpolicy.karmada.io/permanent-id",
        "managed": "binding.karmada.io/managed-by",
    }

    async def scenario(plane):
        await plane.cluster("m1")
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        spec = {"resource": resource, "clusters": [{"name": "m1"}, {"name": "m2"}]}
        bindings, wide = plane.client.resource(BINDINGS), plane.client.resource(WIDE)
        for name, marks in {**{name: {mark: "x"} for name, mark in placed_by.items()}, "free": {}}.items():
            await bindings.create({"metadata": {"name": name, "namespace": "default", "labels": marks}, "spec": spec})
        await wide.create({"metadata": {"name": "free"}, "spec": spec})
        start(plane)
        await plane.clock.sleep(5)
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(10)
        assert not await exists(plane, NAMESPACES, SPACE)
        found = [*(await bindings.list()).items, *(await wide.list()).items]
        named = {tree["metadata"]["name"]: [target["name"] for target in tree["spec"]["clusters"]] for tree in found}
        assert named == {**{name: ["m1", "m2"] for name in placed_by}, "free": ["m2"]}
        assert await exists(plane, CLUSTERS, "m1")
        for name in placed_by:
            await bindings.patch(name, {"spec": {"clusters": [{"name": "m2"}]}}, "default")
        await plane.clock.sleep(10)
        assert not await exists(plane, CLUSTERS, "m1")

    on_a_plane(scenario)


def test_the_execution_space_of_a_cluster_that_joined_again_is_not_taken_for_that_of_the_one_before_it():
    async def scenario(plane):
        start(plane)
        joined = {"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}}
        await plane.client.resource(CLUSTERS).create(joined)
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        marks = {"propagationpolicy.karmada.io/permanent-id": "p"}
        metadata = {"name": "b", "namespace": "default", "labels": marks}
        spec = {"resource": resource, "clusters": [{"name": "m1"}]}
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": spec})
        await plane.clock.sleep(5)
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(5)
        assert not await exists(plane, NAMESPACES, SPACE)
        plane.transport.held = frozenset({CLUSTERS})
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": None}})
        await plane.client.resource(CLUSTERS).create(joined)
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": SPACE}})
        await plane.clock.sleep(30)
        assert await exists(plane, NAMESPACES, SPACE)
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        assert (await cluster(plane))["metadata"]["finalizers"] == [FINALIZER]

    on_a_plane(scenario)


def test_a_binding_that_a_policy_takes_in_the_last_moment_keeps_its_clusters():
    async def scenario(plane):
        await plane.cluster("m1")
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        spec = {"resource": resource, "clusters": [{"name": "m1"}]}
        bindings = plane.client.resource(BINDINGS)
        await bindings.create({"metadata": {"name": "free", "namespace": "default"}, "spec": spec})
        start(plane)

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == BINDINGS:
                plane.transport.before = None
                marks = {"propagationpolicy.karmada.io/permanent-id": "x"}
                await bindings.patch("free", {"metadata": {"labels": marks}}, "default")

        plane.transport.before = before
        await plane.clock.sleep(5)
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(10)
        assert plane.transport.before is None
        assert (await bindings.get("free", "default"))["spec"]["clusters"] == [{"name": "m1"}]

    on_a_plane(scenario)


def test_nothing_is_made_for_a_cluster_that_is_gone_by_now():
    async def scenario(plane):
        async def before(request):
            if request.verb is Verb.PATCH and request.resource == CLUSTERS:
                plane.transport.before = None
                await plane.client.resource(CLUSTERS).delete("m1")

        plane.transport.before = before
        start(plane)
        await plane.client.resource(CLUSTERS).create({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})
        await plane.clock.sleep(5)
        assert not await exists(plane, CLUSTERS, "m1")
        assert not await exists(plane, NAMESPACES, SPACE)

    on_a_plane(scenario)


def test_only_the_end_of_an_execution_space_has_its_cluster_looked_at():
    async def scenario(plane):
        await plane.cluster("m1")
        controller = ClusterController(plane.context).controller
        plane.start(controller)
        namespaces = plane.client.resource(NAMESPACES)
        await namespaces.create({"metadata": {"name": "team"}})
        await plane.clock.sleep(5)
        before = dict(controller.results)
        await namespaces.patch(SPACE, {"metadata": {"labels": {"a": "b"}}})
        await namespaces.delete("team")
        await plane.clock.sleep(5)
        assert controller.results == before
        await namespaces.delete(SPACE)
        await plane.clock.sleep(5)
        assert controller.results["success"] == before["success"] + 1

    on_a_plane(scenario)
