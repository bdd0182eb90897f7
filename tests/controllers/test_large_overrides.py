"""Overriding documents may take seconds: the control plane goes on meanwhile. Copies for many clusters, or of something
large, are not made all in one go either."""

import asyncio
import sys
import threading
import traceback
from collections import Counter
from uuid import uuid4

import pytest
from tests.controllers.plane import CONFIG_MAPS, HUB, WORKS, Plane, make_hub, on_a_plane

from karmada.api import yaml
from karmada.api.policy.v1alpha1 import OverridePolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.binding import BindingController
from karmada.controllers.templates import Templates
from karmada.controllers.work_sync import TOGETHER
from karmada.machinery.client import type_of
from karmada.machinery.clock import REAL
from karmada.machinery.supervisor import Supervisor
from karmada.overrides.fields import override_documents

CLUSTERS = ("m1", "m2", "m3", "m4")


@pytest.mark.parametrize(("lines", "overriders"), [(20_000, 1), (2_000, 30)], ids=["a large one", "many overriders"])
def test_documents_that_take_long_are_overridden_with_turns_for_others(lines, overriders):
    """What was made of a document is kept: none is overridden twice in this process."""
    document = "\n".join([f"# {uuid4()}", *(f"- {number % 10}" for number in range(lines))])

    async def scenario(plane):
        for name in CLUSTERS:
            await plane.cluster(name)
        metadata = {"name": "settings", "namespace": "default"}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": metadata, "data": {"v": document}})
        changes = [{"subPath": f"/{number}", "operator": "replace", "value": 42} for number in range(overriders)]
        fields = [{"fieldPath": "/data/v", "yaml": [change]} for change in changes]
        selectors = [{"apiVersion": "v1", "kind": "ConfigMap"}]
        spec = {"resourceSelectors": selectors, "overrideRules": [{"overriders": {"fieldOverrider": fields}}]}
        policy = {"metadata": {"name": "o", "namespace": "default"}, "spec": spec}
        await plane.client.resource(type_of(OverridePolicy)).create(policy)
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        bound = {"resource": reference, "clusters": [{"name": name} for name in CLUSTERS]}
        marks = {"name": "b", "namespace": "default", "labels": {"resourcebinding.karmada.io/permanent-id": "one"}}
        await plane.client.resource(type_of(ResourceBinding)).create({"metadata": marks, "spec": bound})
        templates = Templates(plane.context)
        plane.supervisor.start("templates", templates.run)
        plane.start(BindingController(plane.context, templates).controller)
        turns, works = 0, []
        while len(works) < len(CLUSTERS):
            for _ in range(20):
                await asyncio.sleep(0)
                turns += _is_overridden_elsewhere()
            works = (await plane.client.resource(WORKS).list()).items
        assert turns > 10
        for work in works:
            (manifest,) = work["spec"]["workload"]["manifests"]
            assert yaml.load(manifest["data"]["v"])[: overriders + 1] == [*[42] * overriders, overriders % 10]

    HUB.prepare()
    asyncio.run(_with_a_plane(scenario))


async def _with_a_plane(scenario):
    """Work beside the loop takes time of which a virtual clock knows nothing."""
    async with make_hub(HUB.storage(), REAL) as hub, Supervisor(REAL) as supervisor:
        await scenario(Plane(hub, supervisor, REAL))


def _is_overridden_elsewhere():
    """Whether another thread is overriding documents."""
    others = [frame for thread, frame in sys._current_frames().items() if thread != threading.get_ident()]
    stacks = [frame.f_code for other in others for frame, _ in traceback.walk_stack(other)]
    return override_documents.__code__ in stacks


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
