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
