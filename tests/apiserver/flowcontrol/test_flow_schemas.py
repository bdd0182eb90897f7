"""Flow-control objects: a FlowSchema says whether its level exists; a server that listens has the usual ones."""

import orjson
import pytest
from tests.apiserver.controllers.test_controllers import eventually
from tests.apiserver.requests.conftest import api, server

from karmada.apiserver.flowcontrol.generate import table
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

__all__ = ["api", "server"]

GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS = GroupVersionResource(GROUP, "v1", "flowschemas")
LEVELS = GroupVersionResource(GROUP, "v1", "prioritylevelconfigurations")
LEVEL = {"metadata": {"name": "l"}, "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}}
SCHEMA = {"metadata": {"name": "s"}, "spec": {"priorityLevelConfiguration": {"name": "l"}}}
NAMED = 'This FlowSchema references the PriorityLevelConfiguration object named "l"'
MISSING = {
    "type": "Dangling",
    "status": "True",
    "reason": "NotFound",
    "message": f"{NAMED} but there is no such object",
}
FOUND = {"type": "Dangling", "status": "False", "reason": "Found", "message": f"{NAMED} and it exists"}


@pytest.fixture
def flow(api):
    return Flow(api.transport)


class Flow:
    """Requests for flow-control objects."""

    def __init__(self, transport) -> None:
        self._transport = transport

    async def send(self, verb, resource, name="", body=None, subresource="", **more):
        request = Request(Verb(verb), resource, "", name, subresource, body=body, **more)
        return orjson.loads(await self._transport.send(request))

    async def reports(self, *conditions):
        """Wait until the schema's conditions are these, whenever they came."""

        async def holds():
            found = (await self.send("get", SCHEMAS, "s"))["status"].get("conditions", [])
            return [{key: item[key] for key in item if key != "lastTransitionTime"} for item in found] == [*conditions]

        await eventually(holds)


async def test_a_schema_says_whether_its_level_exists(flow):
    await flow.send("create", SCHEMAS, body=SCHEMA)
    await flow.reports(MISSING)
    await flow.send("create", LEVELS, body=LEVEL)
    await flow.reports(FOUND)
    await flow.send("delete", LEVELS, "l")
    await flow.reports(MISSING)


async def test_the_condition_belongs_to_the_server_and_leaves_others_alone(flow):
    await flow.send("create", SCHEMAS, body=SCHEMA)
    await flow.reports(MISSING)
    other = {"type": "Other", "status": "True", "reason": "r", "message": "m"}
    wrong = {**MISSING, "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"status": {"conditions": [{**other, "lastTransitionTime": "2026-01-01T00:00:00Z"}, wrong]}}
    await flow.send("patch", SCHEMAS, "s", status, "status", patch_type=PatchType.MERGE)
    await flow.reports(other, MISSING)
    entry = (await flow.send("get", SCHEMAS, "s"))["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"], entry["subresource"]) == (
        "api-priority-and-fairness-config-consumer-v1",
        "Apply",
        "status",
    )


async def test_a_condition_that_holds_is_not_written_again(flow):
    await flow.send("create", LEVELS, body=LEVEL)
    await flow.send("create", SCHEMAS, body=SCHEMA)
    await flow.reports(FOUND)
    before = await flow.send("get", SCHEMAS, "s")
    await flow.send("create", LEVELS, body={**LEVEL, "metadata": {"name": "other"}})
    await flow.send("create", SCHEMAS, body={**SCHEMA, "metadata": {"name": "later"}})

    async def later_is_done():
        return "conditions" in (await flow.send("get", SCHEMAS, "later"))["status"]

    await eventually(later_is_done)
    assert await flow.send("get", SCHEMAS, "s") == before


async def test_a_server_that_listens_has_the_usual_objects(server, flow):
    assert (await flow.send("list", SCHEMAS))["items"] == []
    await server.listen()
    levels = {item["metadata"]["name"] for item in (await flow.send("list", LEVELS))["items"]}
    schemas = (await flow.send("list", SCHEMAS))["items"]
    assert {item["spec"]["priorityLevelConfiguration"]["name"] for item in schemas} == levels
    assert (len(levels), len(schemas)) == (8, 11)
    assert schemas[0]["metadata"]["annotations"] == {"apf.kubernetes.io/autoupdate-spec": "true"}


async def test_usual_objects_that_exist_stay_as_they_are(server, flow):
    mine = {**SCHEMA, "metadata": {"name": "probes"}}
    await flow.send("create", SCHEMAS, body=mine)
    await server.listen()
    spec = (await flow.send("get", SCHEMAS, "probes"))["spec"]
    assert spec["priorityLevelConfiguration"] == {"name": "l"}


def test_the_table_has_kind_name_and_spec():
    found = [{"kind": "B", "metadata": {"name": "n", "uid": "u"}, "spec": {"b": 1, "a": 2}, "status": {}}]
    found.append({"kind": "A", "metadata": {"name": "m"}, "spec": {}})
    assert table(found) == b'["A","m",{}]\n["B","n",{"a":2,"b":1}]\n'
