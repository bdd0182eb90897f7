"""A policy that releases an object takes off its own claim only: another one may have come meanwhile."""

import pytest
from tests.controllers.plane import CONFIG_MAPS, on_a_plane

from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.detector.bindings import BindingWriter
from karmada.controllers.detector.policy_index import TemplateKey
from karmada.machinery.client import type_of
from karmada.policies.claims import Claim, claim_metadata, read_claim

MINE, THEIRS = Claim("default", "mine", "id-of-mine"), Claim("", "theirs", "id-of-theirs")
KEY = TemplateKey(CONFIG_MAPS, "v1", "ConfigMap", "default", "settings")


def claimed(claim, **metadata):
    marks = claim_metadata(claim)
    return {"labels": marks.labels, "annotations": marks.annotations, **metadata}


def claim_in(tree):
    metadata = tree["metadata"]
    return read_claim(metadata.get("labels") or {}, metadata.get("annotations") or {})


async def a_template(plane):
    return plane.client.resource(CONFIG_MAPS), {"metadata": {"name": "settings", "namespace": "default"}}


async def a_binding(plane):
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
    metadata = {"name": "settings-configmap", "namespace": "default"}
    return plane.client.resource(type_of(ResourceBinding)), {"metadata": metadata, "spec": {"resource": resource}}


async def release(plane, tree):
    writer = BindingWriter(plane.context)
    if "spec" in tree:
        await writer.release_binding(from_tree(tree, ResourceBinding), MINE)
    else:
        await writer.release(KEY, tree, MINE)


@pytest.mark.parametrize("made", [a_template, a_binding], ids=["template", "binding"])
@pytest.mark.parametrize(("claim", "left"), [(MINE, None), (THEIRS, THEIRS)], ids=["still mine", "theirs by now"])
def test_only_its_own_claim_is_taken_off(made, claim, left):
    async def scenario(plane):
        collection, tree = await made(plane)
        tree["metadata"] |= claimed(MINE)
        seen = await collection.create(tree)
        gone = dict.fromkeys(claim_metadata(MINE).labels) if claim is THEIRS else {}
        now = claimed(claim)
        await collection.patch(
            seen["metadata"]["name"], {"metadata": now | {"labels": gone | now["labels"]}}, namespace="default"
        )
        await release(plane, seen)
        assert claim_in(await collection.get(seen["metadata"]["name"], "default")) == left

    on_a_plane(scenario)
