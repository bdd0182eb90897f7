"""The status subresource of custom kinds: what a new object begins with, and whose its metadata stays."""

import pytest
from tests.apiserver.widgets import ANYTHING, definition, version

from karmada.machinery.transport import PatchType

STATUS = {
    "type": "object",
    "properties": {"observed": {"type": "integer"}, "phase": {"type": "string", "default": "New"}},
    "default": {"observed": -1},
}
SCHEMA = {"type": "object", "properties": {"spec": ANYTHING, "status": STATUS}}
WIDGET = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}


@pytest.fixture
async def widgets(api):
    await api.create("crds", definition(version(schema=SCHEMA, subresources={"status": {}})))
    return api


def fields_of(widget, manager):
    return [entry["fieldsV1"] for entry in widget["metadata"]["managedFields"] if entry["manager"] == manager]


async def test_a_new_object_has_the_status_that_its_schema_declares(widgets):
    begun = {"observed": -1, "phase": "New"}
    body = {**WIDGET, "spec": {"size": 1}, "status": {"observed": 7}}
    tried = await widgets.create("widgets", body, dryRun="All")
    created = await widgets.create("widgets", body)
    assert (tried["status"], created["status"]) == (begun, begun)
    assert (await widgets.get("widgets", "w"))["status"] == begun
    config = {**body, "metadata": {"name": "applied"}}
    applied = await widgets.patch("widgets", "applied", config, PatchType.APPLY, fieldManager="me")
    assert applied["status"] == begun
    assert fields_of(applied, "me") == [{"f:spec": {"f:size": {}}}]


async def test_writing_the_status_leaves_the_ownership_of_metadata_alone(widgets):
    body = {**WIDGET, "metadata": {"name": "w", "labels": {"a": "b"}}}
    owner = await widgets.patch("widgets", "w", body, PatchType.APPLY, fieldManager="owner")
    assert fields_of(owner, "owner") == [{"f:metadata": {"f:labels": {"f:a": {}}}}]
    meta = {"name": "w", "resourceVersion": owner["metadata"]["resourceVersion"], "annotations": {"c": "d"}}
    sent = {**WIDGET, "metadata": meta, "status": {"observed": 1}}
    written = await widgets.update("widgets", sent, subresource="status", fieldManager="controller")
    assert fields_of(written, "owner") == fields_of(owner, "owner")
    assert fields_of(written, "controller") == [{"f:status": {"f:observed": {}}}]


async def test_metadata_that_is_applied_with_a_status_belongs_to_nobody(widgets):
    await widgets.create("widgets", WIDGET)
    config = {**WIDGET, "metadata": {"name": "w", "labels": {"a": "b"}}, "status": {"observed": 1}}
    applied = await widgets.patch("widgets", "w", config, PatchType.APPLY, subresource="status", fieldManager="me")
    assert "labels" not in applied["metadata"]
    assert fields_of(applied, "me") == [{"f:status": {"f:observed": {}}}]
