"""Moves within a disruption budget or behind a fence: what the binding controller writes, deletes, and says."""

import pytest
from tests.controllers.plane import WORKS, OneMember, on_a_plane, server

from karmada.api.feature_gates import DEFAULTS
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.binding import BindingController
from karmada.controllers.execution import ExecutionController
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.transport import GroupVersionResource

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
BINDINGS = type_of(ResourceBinding)
EVENTS = GroupVersionResource("", "v1", "events")
POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def begin(plane, failover, **shares):
    """A Deployment in m1 and m2 that the binding controller follows."""
    spec = {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": POD}
    await plane.client.resource(DEPLOYMENTS).create({"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
    for name in ("m1", "m2"):
        await plane.cluster(name)
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
    marks = {"labels": {"resourcebinding.karmada.io/permanent-id": "one"}}
    binding = {"metadata": {"name": "web-deployment", "namespace": "default", **marks}}
    binding["spec"] = {"resource": resource, "replicas": 4, "clusters": targets(shares), "failover": failover}
    await plane.client.resource(BINDINGS).create(binding)
    templates = Templates(plane.context)
    plane.supervisor.start("templates", templates.run)
    controller = BindingController(plane.context, templates).controller
    plane.start(controller)
    await plane.clock.sleep(5)
    return controller


def targets(shares):
    return [{"name": name, "replicas": count} for name, count in shares.items()]


async def schedule(plane, **shares):
    await plane.client.resource(BINDINGS).patch("web-deployment", {"spec": {"clusters": targets(shares)}}, "default")
    await plane.clock.sleep(5)


async def works(plane):
    """Replicas by cluster, of Works that are not being deleted."""
    found = (await plane.client.resource(WORKS).list()).items
    return {
        one["metadata"]["namespace"].removeprefix("karmada-es-"): one["spec"]["workload"]["manifests"][0]["spec"][
            "replicas"
        ]
        for one in found
        if "deletionTimestamp" not in one["metadata"]
    }


async def report(plane, cluster, ready):
    """What the member says of its copy."""
    (work,) = [
        one
        for one in (await plane.client.resource(WORKS).list()).items
        if one["metadata"]["namespace"] == f"karmada-es-{cluster}"
    ]
    condition = {"reason": "r", "message": "", "lastTransitionTime": "2023-11-14T22:13:20Z"}
    which = {"ordinal": 0, "group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments"}
    which |= {"namespace": "default", "name": "web"}
    counts = {"replicas": ready, "readyReplicas": ready}
    status = {
        "conditions": [{"type": "Applied", "status": "True", **condition}],
        "manifestStatuses": [{"identifier": which, "status": counts, "health": "Healthy"}],
    }
    about = work["metadata"]
    await plane.client.resource(WORKS).patch(
        about["name"], {"status": status}, about["namespace"], subresource="status"
    )
    await plane.clock.sleep(1)


async def waiting(plane):
    binding = await plane.client.resource(BINDINGS).get("web-deployment", "default")
    found = [one for one in binding["status"].get("conditions", ()) if one["type"] == "MovesWaiting"]
    return {one["status"]: one["reason"] for one in found}


async def event_messages(plane, reason):
    return [one["message"] for one in (await plane.client.resource(EVENTS).list()).items if one["reason"] == reason]


BUDGET = {"disruptionBudget": {"maxUnavailable": 1}}


def test_a_move_waits_for_the_budget_says_so_and_goes_on_with_every_report():
    async def scenario(plane):
        await begin(plane, BUDGET, m1=4)
        await report(plane, "m1", 4)
        await schedule(plane, m2=4)
        assert await works(plane) == {"m1": 3, "m2": 4}
        assert await waiting(plane) == {"True": "DisruptionBudget"}
        await report(plane, "m2", 2)
        assert await works(plane) == {"m1": 1, "m2": 4}
        await report(plane, "m2", 4)
        await plane.clock.sleep(5)
        assert await works(plane) == {"m2": 4}
        assert await waiting(plane) == {"False": "NothingWaits"}
        assert len(await event_messages(plane, "MoveWaits")) == 1

    on_a_plane(scenario)


def test_another_process_does_not_spend_the_budget_again():
    async def scenario(plane):
        await begin(plane, BUDGET, m1=4)
        await report(plane, "m1", 4)
        await schedule(plane, m2=4)
        again = BindingController(plane.context, Templates(plane.context))
        plane.supervisor.start("another", again.controller.run)
        await plane.clock.sleep(60)
        assert await works(plane) == {"m1": 3, "m2": 4}

    on_a_plane(scenario)


def test_what_runs_in_a_cluster_that_fails_meanwhile_stays_until_others_do():
    async def scenario(plane):
        await begin(plane, BUDGET, m1=4)
        await report(plane, "m1", 4)
        await schedule(plane, m2=4)
        await plane.condition("m1", "Ready", "False")
        await plane.clock.sleep(5)
        assert await works(plane) == {"m1": 3, "m2": 4}
        await report(plane, "m2", 4)
        assert await works(plane) == {"m2": 4}

    on_a_plane(scenario)


@pytest.mark.parametrize("gate", [True, False])
def test_without_the_gate_nothing_waits(gate):
    async def scenario(plane):
        object.__setattr__(plane.context, "gates", DEFAULTS.with_overrides({"ControlledMoves": gate}))
        await begin(plane, BUDGET, m1=4)
        await report(plane, "m1", 4)
        await schedule(plane, m2=4)
        assert await works(plane) == ({"m1": 3, "m2": 4} if gate else {"m2": 4})

    on_a_plane(scenario)


def test_behind_a_fence_the_new_copy_starts_when_the_old_work_is_gone():
    async def scenario(plane):
        await begin(plane, {"fencing": {}}, m1=4)
        await report(plane, "m1", 4)
        await schedule(plane, m2=4)
        assert await works(plane) == {}
        assert await waiting(plane) == {"True": "Fenced"}
        (left,) = (await plane.client.resource(WORKS).list()).items
        assert left["metadata"]["annotations"]["work.karmada.io/fenced"] == "true"
        await plane.client.resource(WORKS).patch(
            left["metadata"]["name"], {"metadata": {"finalizers": None}}, left["metadata"]["namespace"]
        )
        await plane.clock.sleep(10)
        assert await works(plane) == {"m2": 4}
        assert await waiting(plane) == {"False": "NothingWaits"}

    on_a_plane(scenario)


def test_a_fence_falls_when_its_timeout_has_passed():
    async def scenario(plane):
        await begin(plane, {"fencing": {"timeoutSeconds": 60}}, m1=4)
        await schedule(plane, m2=4)
        await plane.clock.sleep(40)
        assert await works(plane) == {}
        await plane.clock.sleep(30)
        assert await works(plane) == {"m2": 4}

    on_a_plane(scenario)


def test_a_fence_counts_a_work_that_the_cache_does_not_show():
    async def scenario(plane):
        await begin(plane, {"fencing": {}}, m2=4)
        plane.transport.held = frozenset({WORKS})
        await schedule(plane, m1=4)
        await schedule(plane, m2=4)
        (work,) = (await plane.client.resource(WORKS).list()).items
        assert work["metadata"]["namespace"] == "karmada-es-m2"

    on_a_plane(scenario)


def test_a_fence_stands_for_a_copy_that_was_started_a_moment_ago():
    async def scenario(plane):
        await begin(plane, {"fencing": {}})
        plane.transport.held = frozenset({WORKS})
        await schedule(plane, m1=4)
        assert await works(plane) == {"m1": 4}
        await schedule(plane, m2=4)
        (left,) = (await plane.client.resource(WORKS).list()).items
        assert left["metadata"]["namespace"] == "karmada-es-m1"
        assert "deletionTimestamp" in left["metadata"]

    on_a_plane(scenario)


def test_a_fenced_object_is_gone_before_its_work_is():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await begin(plane, {"fencing": {}}, m1=4)
            works_ = plane.context.informers.of(Work)
            plane.start(ExecutionController(plane.context, members, works_).controller)
            await plane.clock.sleep(5)
            copies = members.client.resource(DEPLOYMENTS)
            await copies.patch("web", {"metadata": {"finalizers": ["example.io/pods"]}}, "default")
            await schedule(plane, m2=4)
            await plane.clock.sleep(60)
            assert "deletionTimestamp" in (await copies.get("web", "default"))["metadata"]
            assert await works(plane) == {}
            await copies.patch("web", {"metadata": {"finalizers": None}}, "default")
            await plane.clock.sleep(30)
            assert await works(plane) == {"m2": 4}
            await members.connection.close()

    on_a_plane(scenario)


@pytest.mark.parametrize("wide", [False, True], ids=["of the namespace", "cluster-wide"])
def test_replicas_that_an_override_policy_sets_are_waited_for(wide):
    async def scenario(plane):
        rule = {"targetCluster": {"clusterNames": ["m2"]}, "overriders": {"replicasOverrider": [{"value": 8}]}}
        metadata = {"name": "o"} if wide else {"name": "o", "namespace": "default"}
        policies = plane.client.resource(type_of(ClusterOverridePolicy if wide else OverridePolicy))
        await policies.create({"metadata": metadata, "spec": {"overrideRules": [rule]}})
        await begin(plane, BUDGET, m1=4)
        await report(plane, "m1", 4)
        await schedule(plane, m2=4)
        await report(plane, "m2", 4)
        assert await works(plane) == {"m1": 3, "m2": 8}, "seven of eight must be ready"
        await report(plane, "m2", 8)
        assert await works(plane) == {"m2": 8}

    on_a_plane(scenario)


@pytest.mark.parametrize("gone", [False, True], ids=["no limits", "gone"])
def test_works_wake_a_binding_only_while_it_moves(gone):
    async def scenario(plane):
        controller = await begin(plane, BUDGET, m1=4)
        await report(plane, "m1", 4)
        await schedule(plane, m2=4)
        bindings = plane.client.resource(BINDINGS)
        if gone:
            await bindings.delete("web-deployment", "default")
        else:
            await bindings.patch("web-deployment", {"spec": {"failover": None}}, "default")
        await plane.clock.sleep(30)
        looked = dict(controller.results)
        for work in (await plane.client.resource(WORKS).list()).items:
            marks = {"metadata": {"labels": {"a": "b"}}}
            await plane.client.resource(WORKS).patch(work["metadata"]["name"], marks, work["metadata"]["namespace"])
        await plane.clock.sleep(5)
        assert controller.results == looked

    on_a_plane(scenario)
