"""Who takes over when a policy's priority falls: the strongest rival at once, not each in turn."""

import dataclasses

import orjson
from tests.controllers.plane import CONFIG_MAPS, on_a_plane
from tests.controllers.test_detector import start

from karmada.api.feature_gates import DEFAULTS
from karmada.api.policy.v1alpha1 import PropagationPolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.detector.bindings import BindingWriter
from karmada.controllers.detector.policy_index import TemplateKey
from karmada.machinery.client import type_of
from karmada.machinery.committer import Unchanged
from karmada.machinery.errors import Unavailable
from karmada.machinery.transport import Verb
from karmada.policies.claims import Claim, claim_metadata, holder_of, read_claim

POLICIES = type_of(PropagationPolicy)


def policy(name: str, priority: int, preemption: str = "Always"):
    selector = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
    spec = {"resourceSelectors": [selector], "priority": priority, "preemption": preemption, "placement": {}}
    labels = {"propagationpolicy.karmada.io/permanent-id": f"id-of-{name}"}
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": spec}


def test_the_strongest_rival_takes_over_and_no_weaker_one_before_it():
    async def scenario(plane):
        gates = DEFAULTS.with_overrides({"PropagationPolicyPreemption": True})
        plane.context = dataclasses.replace(plane.context, gates=gates)
        holders = []

        def committed(kind, event):
            template = plane.hub.store.get(("", "configmaps"), "default", "settings")
            if template is not None:
                annotations = orjson.loads(template.body)["metadata"].get("annotations") or {}
                name = annotations.get("propagationpolicy.karmada.io/name", "")
                if name and name != (holders[-1] if holders else ""):
                    holders.append(name)

        plane.hub.store.subscribe(committed, ("", "configmaps"))
        start(plane)
        await plane.client.resource(POLICIES).create(policy("held", 9))
        await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "settings", "namespace": "default"}})
        await plane.clock.sleep(5)
        for name, priority in (("a", 2), ("b", 4), ("c", 8), ("d", 3), ("equal", 1)):
            await plane.client.resource(POLICIES).create(policy(name, priority))
        await plane.client.resource(POLICIES).create(policy("modest", 7, "Never"))
        await plane.clock.sleep(60)
        assert holders == ["held"]
        await plane.client.resource(POLICIES).patch("held", {"spec": {"priority": 1}}, "default")
        await plane.clock.sleep(60)
        assert holders == ["held", "c"]

    on_a_plane(scenario)


def test_a_rival_that_saw_an_older_claim_leaves_the_template_to_a_stronger_one():
    async def scenario(plane):
        templates = plane.client.resource(CONFIG_MAPS)
        seen = await templates.create({"metadata": {"name": "settings", "namespace": "default"}})
        await templates.patch("settings", {"metadata": {"annotations": {"holder": "stronger"}}}, "default")
        key = TemplateKey(CONFIG_MAPS, "v1", "ConfigMap", "default", "settings")
        weaker = Claim("default", "weaker", "id-of-weaker")

        def may(current):
            return "holder" not in (current["metadata"].get("annotations") or {})

        assert isinstance(await BindingWriter(plane.context).claim(key, seen, weaker, may), Unchanged)
        left = await templates.get("settings", "default")
        assert left["metadata"]["annotations"] == {"holder": "stronger"}

    on_a_plane(scenario)


def test_a_template_that_was_taken_over_is_not_taken_back_by_who_still_sees_the_older_claim():
    async def scenario(plane):
        gates = DEFAULTS.with_overrides({"PropagationPolicyPreemption": True})
        plane.context = dataclasses.replace(plane.context, gates=gates)
        start(plane)
        await plane.client.resource(POLICIES).create(policy("rival", 1))
        await plane.client.resource(POLICIES).create(policy("held", 9))
        await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "settings", "namespace": "default"}})
        await plane.clock.sleep(5)
        plane.transport.held = frozenset({CONFIG_MAPS})
        await plane.client.resource(POLICIES).patch("held", {"spec": {"priority": 0}}, "default")
        await plane.clock.sleep(5)
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        template = await plane.client.resource(CONFIG_MAPS).get("settings", "default")
        binding = await plane.client.of(ResourceBinding).get("settings-configmap", "default")
        for holder in (holder_of(template), read_claim(binding.metadata.labels, binding.metadata.annotations)):
            assert holder == Claim("default", "rival", "id-of-rival")

    on_a_plane(scenario)


def test_nobody_takes_over_from_a_policy_that_is_gone_the_template_elects_another():
    async def scenario(plane):
        gates = DEFAULTS.with_overrides({"PropagationPolicyPreemption": True})
        plane.context = dataclasses.replace(plane.context, gates=gates)
        marks = claim_metadata(Claim("default", "gone", "id-of-gone"))
        metadata = {"name": "settings", "namespace": "default", "labels": marks.labels}
        metadata["annotations"] = marks.annotations
        await plane.client.resource(CONFIG_MAPS).create({"metadata": metadata})

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == CONFIG_MAPS:
                raise Unavailable("not now")

        plane.transport.before = before
        start(plane)
        await plane.client.resource(POLICIES).create(policy("rival", 1))
        await plane.clock.sleep(5)
        plane.transport.before = None
        await plane.clock.sleep(60)
        template = await plane.client.resource(CONFIG_MAPS).get("settings", "default")
        assert holder_of(template) == Claim("default", "rival", "id-of-rival")

    on_a_plane(scenario)
