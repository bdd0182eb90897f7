"""What a template waits for wakes it when it comes: nobody waits for the end of a growing pause."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.controllers.observing import does
from tests.controllers.plane import CONFIG_MAPS, on_a_plane, unloadable

from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, OverridePolicy, PropagationPolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.detector.backlog import TemplateBacklog
from karmada.controllers.detector.detector import Detector
from karmada.controllers.detector.policies import REVIEWED, PolicyKey
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.errors import Forbidden
from karmada.machinery.transport import GroupVersionResource, Verb

BINDINGS = type_of(ResourceBinding)
EVENTS = GroupVersionResource("", "v1", "events")
SELECTORS = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default"}]
POLICY = {
    "metadata": {
        "name": "p",
        "namespace": "default",
        "labels": {"propagationpolicy.karmada.io/permanent-id": "one"},
    },
    "spec": {"resourceSelectors": SELECTORS, "dependentOverrides": ["needed"], "placement": {}},
}
WITHOUT_OVERRIDE = POLICY | {"spec": {"resourceSelectors": SELECTORS, "placement": {}}}
OVERRIDE = {"metadata": {"name": "needed", "namespace": "default"}, "spec": {"overrideRules": []}}
TEMPLATE = {"metadata": {"name": "settings", "namespace": "default"}}


def start(plane):
    templates = Templates(plane.context)
    plane.supervisor.start("templates", templates.run)
    detector = Detector(plane.context, templates)
    plane.start(detector.templates)
    plane.start(detector.policies)
    return detector


@pytest.mark.parametrize("first", ["template", "policy"])
def test_a_template_is_bound_as_soon_as_the_override_policy_is_there_that_its_policy_waits_for(first):
    async def scenario(plane):
        start(plane)
        wanted = [(CONFIG_MAPS, TEMPLATE), (type_of(PropagationPolicy), POLICY)]
        for type_, tree in wanted if first == "template" else reversed(wanted):
            await plane.client.resource(type_).create(tree)
            await plane.clock.sleep(5)
        await plane.clock.sleep(600)
        bindings = plane.client.resource(type_of(ResourceBinding))
        assert (await bindings.list()).items == []
        await plane.client.resource(type_of(OverridePolicy)).create(OVERRIDE)
        await plane.clock.sleep(1)
        assert [tree["metadata"]["name"] for tree in (await bindings.list()).items] == ["settings-configmap"]

    on_a_plane(scenario)


def test_a_template_is_bound_as_soon_as_the_binding_of_its_predecessor_is_gone():
    async def scenario(plane):
        start(plane)
        bindings = plane.client.resource(type_of(ResourceBinding))
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": "earlier", "controller": True}
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        metadata = {"name": "settings-configmap", "namespace": "default", "ownerReferences": [owner]}
        await bindings.create({"metadata": metadata | {"finalizers": ["test/hold"]}, "spec": {"resource": resource}})
        await plane.client.resource(type_of(PropagationPolicy)).create(WITHOUT_OVERRIDE)
        made = await plane.client.resource(CONFIG_MAPS).create(TEMPLATE)
        await plane.clock.sleep(600)
        await bindings.delete("settings-configmap", "default")
        await bindings.patch("settings-configmap", {"metadata": {"finalizers": None}}, "default")
        await plane.clock.sleep(1)
        found = await bindings.get("settings-configmap", "default")
        assert found["spec"]["resource"]["uid"] == made["metadata"]["uid"]

    on_a_plane(scenario)


def test_a_binding_that_admission_refuses_is_an_event_of_the_template_and_retried():
    async def scenario(plane):
        refusals = []

        async def before(request):
            if request.resource == BINDINGS and request.verb is Verb.CREATE and len(refusals) < 2:
                refusals.append(Forbidden('admission webhook "resourcebinding.karmada.io" denied the request: quota'))
                raise refusals[-1]

        plane.transport.before = before
        start(plane)
        await plane.client.resource(type_of(PropagationPolicy)).create(WITHOUT_OVERRIDE)
        await plane.client.resource(CONFIG_MAPS).create(TEMPLATE)
        await plane.clock.sleep(5)
        found = (await plane.client.resource(EVENTS).list()).items
        events = {(event["reason"], event["involvedObject"]["kind"], event["message"]) for event in found}
        refused = f"Apply policy(default/p) failed: {refusals[0]}"
        assert ("ApplyPolicyFailed", "ConfigMap", refused) in events
        assert ("ApplyPolicySucceed", "ConfigMap", "Apply policy(default/p) succeed") in events

    on_a_plane(scenario)


CLAIM = "propagationpolicy.karmada.io/permanent-id"
NOTED = {"propagationpolicy.karmada.io/name": "p", "propagationpolicy.karmada.io/namespace": "default"}


async def claimed(plane):
    """Which of the template and its binding have a claim."""
    template = await plane.client.resource(CONFIG_MAPS).get("settings", "default")
    found = [template, *(await plane.client.resource(BINDINGS).list()).items]
    return [tree["kind"] for tree in found if CLAIM in (tree["metadata"].get("labels") or {})]


async def deleted(policies):
    await policies.delete("p", "default")


async def aimed_elsewhere(policies):
    selectors = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "another"}]
    await policies.patch("p", {"spec": {"resourceSelectors": selectors}}, "default")


@pytest.mark.parametrize(
    "held", [{CONFIG_MAPS, BINDINGS}, {BINDINGS}, {CONFIG_MAPS}], ids=["both", "binding", "template"]
)
@pytest.mark.parametrize("moment", ["after the claim", "during the claim"])
@pytest.mark.parametrize("change", [deleted, aimed_elsewhere])
def test_a_policy_that_lets_go_before_a_cache_shows_its_claims_takes_them_along(change, moment, held):
    async def scenario(plane):
        policies = plane.client.resource(type_of(PropagationPolicy))
        metadata = WITHOUT_OVERRIDE["metadata"] | {"finalizers": ["karmada.io/propagation-policy-controller"]}
        await policies.create(WITHOUT_OVERRIDE | {"metadata": metadata})
        start(plane)
        await plane.clock.sleep(5)

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == CONFIG_MAPS:
                plane.transport.held = held
                plane.transport.before = None
                if moment == "during the claim":
                    await change(policies)
                    await plane.clock.sleep(5)

        plane.transport.before = before
        await plane.client.resource(CONFIG_MAPS).create(TEMPLATE)
        await plane.clock.sleep(8)
        if moment == "after the claim":
            await change(policies)
        await plane.clock.sleep(8)
        plane.transport.held = frozenset()
        await plane.clock.sleep(60)
        assert await claimed(plane) == []

    on_a_plane(scenario)


def test_a_template_stays_with_a_policy_that_only_the_cache_shows_not_to_choose_it():
    async def scenario(plane):
        policies = plane.client.resource(type_of(PropagationPolicy))
        await policies.create(WITHOUT_OVERRIDE)
        await aimed_elsewhere(policies)
        detector = start(plane)
        await plane.clock.sleep(5)
        plane.transport.held = frozenset({type_of(PropagationPolicy)})
        await policies.patch("p", {"spec": {"resourceSelectors": SELECTORS}}, "default")
        marks = {"labels": {CLAIM: "one"}, "annotations": NOTED}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": TEMPLATE["metadata"] | marks})
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        metadata = {"name": "settings-configmap", "namespace": "default"} | marks
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": {"resource": resource}})
        await plane.clock.sleep(5)
        detector.policies.enqueue(PolicyKey("default", "p"))
        await plane.clock.sleep(5)
        assert await claimed(plane) == ["ConfigMap", "ResourceBinding"]
        await aimed_elsewhere(policies)
        plane.transport.held = frozenset()
        await plane.clock.sleep(30)
        assert await claimed(plane) == []

    on_a_plane(scenario)


@pytest.mark.parametrize("chooses", [True, False])
def test_a_release_that_was_cut_short_is_finished_or_undone_once_the_cache_shows_the_policy(chooses):
    async def scenario(plane):
        policies = plane.client.resource(type_of(PropagationPolicy))
        await policies.create(WITHOUT_OVERRIDE)
        await aimed_elsewhere(policies)
        start(plane)
        await plane.clock.sleep(5)
        plane.transport.held = frozenset({type_of(PropagationPolicy)})
        edited = {"resourceSelectors": SELECTORS} if chooses else {"priority": 1}
        await policies.patch("p", {"spec": edited}, "default")
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        metadata = {"name": "settings-configmap", "namespace": "default"}
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": {"resource": resource}})
        marks = {"labels": {CLAIM: "one"}, "annotations": NOTED}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": TEMPLATE["metadata"] | marks})
        await plane.clock.sleep(5)
        assert await claimed(plane) == ["ConfigMap"]
        plane.transport.held = frozenset()
        await plane.clock.sleep(30)
        assert await claimed(plane) == (["ConfigMap", "ResourceBinding"] if chooses else [])

    on_a_plane(scenario)


def test_a_template_stays_with_a_policy_that_only_the_cache_lacks():
    async def scenario(plane):
        wide = {
            "metadata": {"name": "wide", "labels": {"clusterpropagationpolicy.karmada.io/permanent-id": "two"}},
            "spec": {"resourceSelectors": SELECTORS, "placement": {}},
        }
        await plane.client.resource(type_of(ClusterPropagationPolicy)).create(wide)
        start(plane)
        await plane.clock.sleep(5)
        plane.transport.held = frozenset({type_of(PropagationPolicy)})
        await plane.client.resource(type_of(PropagationPolicy)).create(WITHOUT_OVERRIDE)
        marks = {"labels": {CLAIM: "one"}, "annotations": NOTED}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": TEMPLATE["metadata"] | marks})
        await plane.clock.sleep(5)
        plane.transport.held = frozenset()
        await plane.clock.sleep(30)
        assert await claimed(plane) == ["ConfigMap", "ResourceBinding"]

    on_a_plane(scenario)


def test_a_policy_whose_kind_cannot_be_loaded_keeps_no_other_from_going():
    async def scenario(plane):
        policies = plane.client.resource(type_of(PropagationPolicy))
        unloadable(plane.transport, CONFIG_MAPS)
        for name, kind in (("first", "ConfigMap"), ("second", "Secret")):
            metadata = {"name": name, "namespace": "default", "labels": {CLAIM: name}}
            metadata["finalizers"] = ["karmada.io/propagation-policy-controller"]
            spec = {"resourceSelectors": [{"apiVersion": "v1", "kind": kind, "namespace": "default"}], "placement": {}}
            await policies.create({"metadata": metadata, "spec": spec})
        start(plane)
        await plane.clock.sleep(5)
        for name in ("first", "second"):
            await policies.delete(name, "default")
            await plane.clock.sleep(1)
        await plane.clock.sleep(10)
        assert [tree["metadata"]["name"] for tree in (await policies.list()).items] == ["first"]

    on_a_plane(scenario)


def test_a_template_is_looked_at_once_for_what_a_user_does_and_not_for_its_own_claim():
    async def scenario(plane):
        await plane.client.resource(type_of(PropagationPolicy)).create(WITHOUT_OVERRIDE)
        detector = start(plane)
        templates = plane.client.resource(CONFIG_MAPS)
        edit = templates.patch("settings", {"data": {"a": "b"}}, "default")
        assert await does(plane, detector.templates, templates.create(TEMPLATE), edit) == [1, 1]
        assert await claimed(plane) == ["ConfigMap", "ResourceBinding"]

    on_a_plane(scenario)


def test_others_get_their_turn_while_a_policy_looks_at_all_that_it_has_claimed():
    async def scenario(plane):
        policies, templates = plane.client.resource(type_of(PropagationPolicy)), plane.client.resource(CONFIG_MAPS)
        await policies.create(WITHOUT_OVERRIDE)
        for number in range(50):
            await templates.create({"metadata": {"name": f"m{number}", "namespace": "default"}})
        queue = start(plane).templates.queue
        await plane.clock.sleep(20)
        seen = [queue.adds]

        async def watch():
            while seen[-1] - seen[0] < 50:
                seen.append(queue.adds)
                await asyncio.sleep(0)

        await policies.patch("p", {"spec": {"conflictResolution": "Overwrite"}}, "default")
        await watch()
        assert max(later - earlier for earlier, later in pairwise(seen)) <= REVIEWED

    on_a_plane(scenario)


def test_what_is_created_waits_until_it_is_looked_at_and_nothing_else_counts():
    async def scenario(plane):
        gate = asyncio.Event()
        maps, backlog = plane.client.resource(CONFIG_MAPS), TemplateBacklog()
        plane.context = replace(plane.context, backlog=backlog)

        async def before(request):
            if request.resource == BINDINGS and request.verb is Verb.CREATE:
                await gate.wait()

        await maps.create(TEMPLATE)
        plane.transport.before = before
        await plane.client.resource(type_of(PropagationPolicy)).create(WITHOUT_OVERRIDE)
        start(plane)
        await plane.clock.sleep(5)
        assert backlog.size("default") == 0  # found at the start
        for number in range(20):
            await maps.create({"metadata": {"name": f"m{number}", "namespace": "default"}})
        await plane.clock.sleep(1)
        workers = plane.context.concurrency.templates
        assert backlog.size("default") == 20 - (workers - 1)  # one of them has the first
        gate.set()
        await plane.clock.sleep(5)
        assert backlog.size("default") == 0
        gate.clear()
        for number in range(20):
            await maps.patch(f"m{number}", {"data": {"a": "b"}}, "default")
            await maps.delete(f"m{number}", "default")
        assert backlog.size("default") == 0

    on_a_plane(scenario)


def choosing(name, last):
    """A policy that compares many labels with a ConfigMap."""
    terms = [{"key": f"k{number}", "operator": "DoesNotExist"} for number in range(100)]
    by = {"matchExpressions": [*terms, {"key": "z", "operator": last}]}
    selector = SELECTORS[0] | {"labelSelector": by}
    marks = {"propagationpolicy.karmada.io/permanent-id": name}
    metadata = {"name": name, "namespace": "default", "labels": marks}
    return {"metadata": metadata, "spec": {"resourceSelectors": [selector] * 20, "placement": {}}}


@pytest.mark.parametrize("comes", [False, True], ids=["as it is", "another policy comes meanwhile"])
def test_others_have_their_turn_while_a_template_elects_among_policies_with_many_labels(comes):
    """A policy that comes while others are compared chooses the template as well."""

    async def scenario(plane):
        policies, turns = plane.client.resource(type_of(PropagationPolicy)), 0
        for number in range(20):
            await policies.create(choosing(f"p{number:02}", "Exists"))
        detector = start(plane)
        await plane.clock.sleep(5)
        queue = detector.templates.queue
        await plane.client.resource(CONFIG_MAPS).create(TEMPLATE)
        for _ in range(500):
            if not queue.idle:
                turns += 1
                if comes and turns == 5:
                    await policies.create(choosing("z", "DoesNotExist"))
            await asyncio.sleep(0)
        assert turns >= 20
        await plane.clock.sleep(5)
        bound = (await plane.client.resource(BINDINGS).list()).items
        assert [one["metadata"]["name"] for one in bound] == ["settings-configmap"] * comes

    on_a_plane(scenario)
