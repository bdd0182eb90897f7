"""Overriding a large document takes seconds: the control plane goes on meanwhile, and all clusters share the result.
Copies for many clusters, or of something large, are not made all in one go either."""

import asyncio
from collections import Counter
from time import perf_counter

import pytest
from tests.controllers.plane import CONFIG_MAPS, HUB, WORKS, Plane, on_a_plane

from karmada.api import yaml
from karmada.api.policy.v1alpha1 import OverridePolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.binding import TOGETHER, BindingController
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.clock import REAL
from karmada.machinery.supervisor import Supervisor

DOCUMENT = "\n".join(f"- {number % 10}" for number in range(60_000))
CLUSTERS = ("m1", "m2", "m3", "m4")


def test_a_large_document_holds_the_loop_up_for_none_of_its_clusters():
    HUB.prepare()
    asyncio.run(_scenario())


async def _scenario():
    async with HUB.server() as hub, Supervisor(REAL) as supervisor:
        plane = Plane(hub, supervisor, REAL)
        for name in CLUSTERS:
            await plane.cluster(name)
        metadata = {"name": "settings", "namespace": "default"}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": metadata, "data": {"v": DOCUMENT}})
        change = {"subPath": "/0", "operator": "replace", "value": 42}
        overriders = {"fieldOverrider": [{"fieldPath": "/data/v", "yaml": [change]}]}
        selectors = [{"apiVersion": "v1", "kind": "ConfigMap"}]
        spec = {"resourceSelectors": selectors, "overrideRules": [{"overriders": overriders}]}
        policy = {"metadata": {"name": "o", "namespace": "default"}, "spec": spec}
        await plane.client.resource(type_of(OverridePolicy)).create(policy)
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        bound = {"resource": reference, "clusters": [{"name": name} for name in CLUSTERS]}
        marks = {"name": "b", "namespace": "default", "labels": {"resourcebinding.karmada.io/permanent-id": "one"}}
        await plane.client.resource(type_of(ResourceBinding)).create({"metadata": marks, "spec": bound})
        templates = Templates(plane.context)
        plane.supervisor.start("templates", templates.run)
        plane.start(BindingController(plane.context, templates).controller)
        began = perf_counter()
        yaml.dump(yaml.load(DOCUMENT))
        alone = perf_counter() - began
        gaps, spent = await _until_written(plane)
        assert max(gaps) < alone / 2
        assert spent < 3 * alone
        for work in (await plane.client.resource(WORKS).list()).items:
            (manifest,) = work["spec"]["workload"]["manifests"]
            assert yaml.load(manifest["data"]["v"])[:2] == [42, 1]


async def _until_written(plane):
    """How long the loop was away each time until all Works were there, and how long that took."""
    began = last = perf_counter()
    gaps = []
    while len((await plane.client.resource(WORKS).list()).items) < len(CLUSTERS):
        for _ in range(100):
            await asyncio.sleep(0)
            gaps.append(perf_counter() - last)
            last = perf_counter()
    return gaps, perf_counter() - began


RULE = {"overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]}}


@pytest.mark.parametrize(
    ("data", "rules", "together"),
    [("x", 0, TOGETHER), ("x" * 20_000, 0, 1), ("x", 300, 1)],
    ids=["small", "a large template", "a large policy"],
)
def test_others_have_their_turn_while_copies_for_many_clusters_are_made(data, rules, together):
    async def scenario(plane):
        names = [f"m{number}" for number in range(20)]
        for name in names:
            await plane.cluster(name)
        about = {"name": "settings", "namespace": "default"}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": about, "data": {"v": data}})
        if rules:
            spec = {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}], "overrideRules": [RULE] * rules}
            await plane.client.resource(type_of(OverridePolicy)).create({"metadata": about, "spec": spec})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", **about}
        marks = {"name": "b", "namespace": "default", "labels": {"resourcebinding.karmada.io/permanent-id": "one"}}
        spec = {"resource": reference, "clusters": [{"name": name} for name in names]}
        await plane.client.resource(type_of(ResourceBinding)).create({"metadata": marks, "spec": spec})
        turn, written = 0, Counter()

        async def before(request):
            written[turn] += request.resource == WORKS and request.body is not None

        plane.transport.before = before
        templates = Templates(plane.context)
        plane.supervisor.start("templates", templates.run)
        plane.start(BindingController(plane.context, templates).controller)
        while written.total() < len(names):
            turn += 1
            await asyncio.sleep(0)
        assert max(written.values()) <= together

    on_a_plane(scenario)
