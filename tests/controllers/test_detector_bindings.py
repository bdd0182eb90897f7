"""Bindings that policies get: their content, who decides about it, and what is said about it."""

import dataclasses

import pytest
from tests.controllers.plane import CONFIG_MAPS, on_a_plane
from tests.controllers.recorded import recorded
from tests.controllers.test_detector import start

from karmada.api.feature_gates import DEFAULTS
from karmada.api.policy.v1alpha1 import (
    ClusterOverridePolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    PropagationPolicy,
)
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.interpreter.model import InterpretError, Operation
from karmada.machinery.client import type_of
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource

POLICIES, WIDE_POLICIES = type_of(PropagationPolicy), type_of(ClusterPropagationPolicy)
BINDINGS, WIDE = type_of(ResourceBinding), type_of(ClusterResourceBinding)
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
CLUSTER_ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
PRIORITY_CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")
CLAIM, WIDE_CLAIM = (f"{kind}.karmada.io/permanent-id" for kind in ("propagationpolicy", "clusterpropagationpolicy"))
FINALIZER = "karmada.io/propagation-policy-controller"
MAPS = {"apiVersion": "v1", "kind": "ConfigMap"}
ROLES = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
SETTINGS = {"metadata": {"name": "settings", "namespace": "default"}, "data": {"v": "1"}}


def policy(*selectors, name="p", namespace="default", **spec):
    metadata = {"name": name, "labels": {CLAIM if namespace else WIDE_CLAIM: f"id-of-{name}"}}
    metadata |= {"namespace": namespace} if namespace else {}
    return {"metadata": metadata, "spec": {"resourceSelectors": list(selectors or [MAPS]), "placement": {}, **spec}}


def gated(plane, **gates):
    plane.context = dataclasses.replace(plane.context, gates=DEFAULTS.with_overrides(gates))


async def binding(plane, name="settings-configmap"):
    try:
        return await plane.client.resource(BINDINGS).get(name, "default")
    except NotFound:
        return None


async def template(plane):
    metadata = (await plane.client.resource(CONFIG_MAPS).get("settings", "default"))["metadata"]
    return metadata.get("labels", {}), metadata.get("annotations", {})


async def begin(plane, tree=None, type_=POLICIES):
    start(plane)
    await plane.client.resource(CONFIG_MAPS).create(SETTINGS)
    await plane.client.resource(type_).create(tree or policy())
    await plane.clock.sleep(5)


def test_a_binding_carries_the_claim_and_is_written_once():
    async def scenario(plane):
        await begin(plane)
        made = await binding(plane)
        assert made["metadata"]["labels"][CLAIM] == "id-of-p"
        assert made["metadata"]["finalizers"] == ["karmada.io/binding-controller"]
        (owner,) = made["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("ConfigMap", "settings")
        labels, annotations = await template(plane)
        assert labels == {CLAIM: "id-of-p"}
        assert annotations["propagationpolicy.karmada.io/name"] == "p"
        await plane.client.resource(CONFIG_MAPS).patch("settings", {"metadata": {"managedFields": []}}, "default")
        await plane.clock.sleep(5)
        assert await binding(plane) == made
        assert await recorded(plane, "ApplyPolicySucceed", "GetReplicasSucceed") == [
            ("Normal", "ApplyPolicySucceed", "ConfigMap", "Apply policy(default/p) succeed")
        ]

    on_a_plane(scenario)


def test_what_others_put_on_a_binding_stays_and_its_claim_is_replaced():
    async def scenario(plane):
        await begin(plane)
        marks = {"labels": {"mine": "1", CLAIM: "old"}, "annotations": {"mine": "2"}, "finalizers": ["test/mine"]}
        change = {"metadata": marks | {"ownerReferences": None}, "spec": {"clusters": [{"name": "m1"}]}}
        await plane.client.resource(BINDINGS).patch("settings-configmap", change, "default")
        await plane.client.resource(CONFIG_MAPS).patch("settings", {"data": {"v": "2"}}, "default")
        await plane.clock.sleep(5)
        made = await binding(plane)
        assert made["metadata"]["labels"] | {"mine": "1", CLAIM: "id-of-p"} == made["metadata"]["labels"]
        assert made["metadata"]["annotations"]["mine"] == "2"
        assert made["metadata"]["finalizers"] == ["test/mine", "karmada.io/binding-controller"]
        assert [owner["name"] for owner in made["metadata"]["ownerReferences"]] == ["settings"]
        assert made["spec"]["clusters"] == [{"name": "m1"}]

    on_a_plane(scenario)


def test_whether_dependencies_of_a_cluster_scoped_resource_follow_is_set_once():
    async def scenario(plane):
        start(plane)
        await plane.client.resource(CLUSTER_ROLES).create({"metadata": {"name": "role"}, "rules": []})
        wide = plane.client.resource(WIDE_POLICIES)
        await wide.create(policy(ROLES, MAPS, namespace="", propagateDeps=False))
        await plane.client.resource(CONFIG_MAPS).create(SETTINGS)
        await plane.clock.sleep(5)
        await wide.patch("p", {"spec": {"propagateDeps": True, "conflictResolution": "Overwrite"}})
        await plane.clock.sleep(5)
        made = await plane.client.resource(WIDE).get("role-clusterrole")
        assert (made["spec"]["conflictResolution"], made["spec"].get("propagateDeps", False)) == ("Overwrite", False)
        assert (await binding(plane))["spec"]["propagateDeps"] is True
        assert ("Normal", "ApplyPolicySucceed", "ClusterRole", "Apply cluster policy(p) succeed") in await recorded(
            plane, "ApplyPolicySucceed"
        )

    on_a_plane(scenario)


@pytest.mark.parametrize("wide", [False, True], ids=["namespaced", "cluster-wide"])
def test_a_policy_waits_for_the_override_policies_it_depends_on(wide):
    async def scenario(plane):
        tree = policy(dependentOverrides=["first", "second"], namespace="" if wide else "default")
        await begin(plane, tree, WIDE_POLICIES if wide else POLICIES)
        overrides = plane.client.resource(type_of(ClusterOverridePolicy if wide else OverridePolicy))
        for name in ("second", "other", "first"):
            assert await binding(plane) is None
            metadata = {"name": name} | ({} if wide else {"namespace": "default"})
            await overrides.create({"metadata": metadata, "spec": {"overrideRules": []}})
            await plane.clock.sleep(1)
        assert await binding(plane) is not None

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("value", "expected"), [(7, 7), (0, 0), (None, None)], ids=["a class", "a class of zero", "no such class"]
)
def test_a_policy_gives_the_priority_of_its_class(value, expected):
    async def scenario(plane):
        gated(plane, PriorityBasedScheduling=True)
        if value is not None:
            await plane.client.resource(PRIORITY_CLASSES).create({"metadata": {"name": "high"}, "value": value})
        wanted = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"}
        await begin(plane, policy(schedulePriority=wanted))
        made = await binding(plane)
        if expected is None:
            assert made is None
            ((type_, _, kind, text),) = await recorded(plane, "ApplyPolicyFailed")
            assert (type_, kind) == ("Warning", "ConfigMap")
            assert text.startswith("Apply policy(default/p) failed: ")
            await plane.client.resource(PRIORITY_CLASSES).create({"metadata": {"name": "high"}, "value": 3})
            await plane.clock.sleep(60)
            assert (await binding(plane))["spec"]["schedulePriority"] == {"priority": 3}
        else:
            assert made["spec"]["schedulePriority"].get("priority", 0) == expected

    on_a_plane(scenario)


class Counting:
    """An interpreter that says how many replicas or components a resource has, or fails."""

    def __init__(self, operation, answer):
        self._operation, self._answer = operation, answer

    def enabled(self, kind, operation):
        return operation is self._operation

    async def replicas(self, template):
        return self._say()

    components = replicas

    def _say(self):
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    ("operation", "gate", "answer", "event"),
    [
        (Operation.REPLICAS, True, (3, None), ("Normal", "GetReplicasSucceed")),
        (Operation.COMPONENTS, True, (), ("Normal", "GetComponentsSucceed")),
        (Operation.COMPONENTS, False, (), None),
        (Operation.REPLICAS, True, InterpretError("broken"), ("Warning", "GetReplicasFailed")),
        (Operation.COMPONENTS, True, InterpretError("broken"), ("Warning", "GetComponentsFailed")),
    ],
    ids=["replicas", "components", "components without the gate", "no replicas", "no components"],
)
def test_what_an_interpreter_says_of_a_template_goes_into_its_binding_and_events(operation, gate, answer, event):
    async def scenario(plane):
        gated(plane, MultiplePodTemplatesScheduling=gate)
        plane.context = dataclasses.replace(plane.context, interpreter=Counting(operation, answer))
        await begin(plane)
        reasons = [f"Get{what}{how}" for what in ("Replicas", "Components") for how in ("Succeed", "Failed")]
        found = await recorded(plane, *reasons)
        assert [(type_, reason) for type_, reason, *_ in found] == ([event] if event else [])
        made = await binding(plane)
        assert (made is None) == isinstance(answer, Exception)
        if answer == (3, None):
            assert made["spec"]["replicas"] == 3

    on_a_plane(scenario)


def test_a_policy_that_goes_leaves_bindings_without_its_claim():
    async def scenario(plane):
        tree = policy()
        tree["metadata"]["finalizers"] = [FINALIZER, "test/hold"]
        await begin(plane, tree)
        await plane.client.resource(POLICIES).delete("p", "default")
        await plane.clock.sleep(5)
        assert (await plane.client.resource(POLICIES).get("p", "default"))["metadata"]["finalizers"] == ["test/hold"]
        assert await template(plane) == ({}, {})
        assert CLAIM not in (await binding(plane))["metadata"].get("labels", {})
        await plane.client.resource(CONFIG_MAPS).patch("settings", {"data": {"v": "2"}}, "default")
        await plane.clock.sleep(5)
        assert await template(plane) == ({}, {})

    on_a_plane(scenario)
