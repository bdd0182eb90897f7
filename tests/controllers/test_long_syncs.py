"""Bindings whose copies take longer to make than a reconcile may last, in virtual time."""

import dataclasses

import pytest
from tests.controllers.plane import CONFIG_MAPS, WORKS, on_a_plane

from karmada.api.policy.v1alpha1 import OverridePolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.binding import BindingController
from karmada.controllers.templates import Templates
from karmada.interpreter.customizable import CustomizableInterpreter
from karmada.machinery.client import type_of
from karmada.machinery.transport import GroupVersionResource

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
NAMES = [f"m{number:02}" for number in range(30)]
TEMPLATE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "spec": {
        "replicas": 30,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
    },
}
LABEL = {"labelsOverrider": [{"operator": "add", "value": {"note": "x" * 100}}]}


class Slow(CustomizableInterpreter):
    """Takes four seconds to revise a copy."""

    def __init__(self, clock):
        super().__init__(post=None)
        self._clock = clock
        self.revised = []

    async def revise(self, manifest, replicas):
        self.revised.append(manifest["metadata"]["namespace"])
        await self._clock.sleep(4)
        return await super().revise(manifest, replicas)


async def begin(plane, *namespaces, rules):
    """In each namespace a Deployment for 30 clusters, and a policy with these rules."""
    slow = Slow(plane.clock)
    plane.context = dataclasses.replace(plane.context, interpreter=slow)
    for name in NAMES:
        await plane.cluster(name)
    for namespace in namespaces:
        if namespace != "default":
            await plane.client.resource(NAMESPACES).create({"metadata": {"name": namespace}})
        about = {"name": "web", "namespace": namespace}
        await plane.client.resource(DEPLOYMENTS).create({**TEMPLATE, "metadata": about})
        spec = {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "overrideRules": rules}
        await plane.client.resource(type_of(OverridePolicy)).create({"metadata": about, "spec": spec})
        marks = {**about, "labels": {"resourcebinding.karmada.io/permanent-id": namespace}}
        clusters = [{"name": name, "replicas": 30} for name in NAMES]
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", **about}
        bindings = plane.client.resource(type_of(ResourceBinding))
        await bindings.create({"metadata": marks, "spec": {"resource": resource, "replicas": 30, "clusters": clusters}})
    templates = Templates(plane.context)
    plane.supervisor.start("templates", templates.run)
    plane.start(BindingController(plane.context, templates).controller)
    return slow


async def works(plane):
    return (await plane.client.resource(WORKS).list()).items


async def notes(plane):
    """The label `note` of each copy."""
    return [one["spec"]["workload"]["manifests"][0]["metadata"]["labels"].get("note") for one in await works(plane)]


@pytest.mark.parametrize("rules", [[], [{"overriders": LABEL}] * 200], ids=["slow to revise", "slow to override"])
def test_copies_that_take_longer_than_a_reconcile_are_all_made_each_once(rules):
    async def scenario(plane):
        slow = await begin(plane, "default", rules=rules)
        await plane.clock.sleep(300)
        assert len(await notes(plane)) == len(slow.revised) == 30

    on_a_plane(scenario)


def test_what_changes_while_copies_are_made_is_in_all_of_them():
    async def scenario(plane):
        await begin(plane, "default", rules=[{"overriders": LABEL}] * 200)
        await plane.clock.sleep(40)
        assert 0 < len(await notes(plane)) < 30
        labels = {"labelsOverrider": [{"operator": "add", "value": {"note": "new"}}]}
        spec = {"overrideRules": [{"overriders": labels}] * 200}
        await plane.client.resource(type_of(OverridePolicy)).patch("web", {"spec": spec}, "default")
        await plane.clock.sleep(300)
        assert await notes(plane) == ["new"] * 30

    on_a_plane(scenario)


def test_nothing_is_made_any_more_for_a_binding_that_is_deleted_meanwhile():
    async def scenario(plane):
        slow = await begin(plane, "default", rules=[{"overriders": LABEL}] * 200)
        await plane.clock.sleep(40)
        await plane.client.resource(type_of(ResourceBinding)).delete("web", "default")
        begun = len(slow.revised)
        await plane.clock.sleep(300)
        assert len(slow.revised) <= begun + 1 < 30

    on_a_plane(scenario)


def test_slow_copies_of_a_namespace_delay_nobody_else():
    async def scenario(plane):
        rules = [{"overriders": LABEL}] * 200
        greedy = [f"greedy-{number}" for number in range(10)]
        await begin(plane, *greedy, rules=rules)
        await plane.clock.sleep(10)
        about = {"name": "quick", "namespace": "default"}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": about})
        resource = {"apiVersion": "v1", "kind": "ConfigMap", **about}
        marks = {**about, "labels": {"resourcebinding.karmada.io/permanent-id": "quick"}}
        spec = {"resource": resource, "clusters": [{"name": "m01"}]}
        await plane.client.resource(type_of(ResourceBinding)).create({"metadata": marks, "spec": spec})
        await plane.clock.sleep(2)
        kinds = [one["spec"]["workload"]["manifests"][0]["kind"] for one in await works(plane)]
        assert kinds.count("ConfigMap") == 1
        await plane.clock.sleep(300)
        assert len(await works(plane)) == 30 * len(greedy) + 1

    on_a_plane(scenario)
