"""When a policy and the override policies it depends on come after the template, in any order."""

import pytest
from tests.controllers.plane import CONFIG_MAPS, on_a_plane

from karmada.api.policy.v1alpha1 import OverridePolicy, PropagationPolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.detector.detector import Detector
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of

SELECTORS = [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default"}]
POLICY = {
    "metadata": {
        "name": "p",
        "namespace": "default",
        "labels": {"propagationpolicy.karmada.io/permanent-id": "one"},
    },
    "spec": {"resourceSelectors": SELECTORS, "dependentOverrides": ["needed"], "placement": {}},
}
OVERRIDE = {"metadata": {"name": "needed", "namespace": "default"}, "spec": {"overrideRules": []}}
TEMPLATE = {"metadata": {"name": "settings", "namespace": "default"}}


@pytest.mark.parametrize("first", ["template", "policy"])
def test_a_template_is_bound_as_soon_as_the_override_policy_is_there_that_its_policy_waits_for(first):
    async def scenario(plane):
        templates = Templates(plane.context)
        plane.supervisor.start("templates", templates.run)
        detector = Detector(plane.context, templates)
        plane.start(detector.templates)
        plane.start(detector.policies)
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
