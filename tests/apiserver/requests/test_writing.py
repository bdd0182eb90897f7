"""Create, update and patch: what the server sets, keeps, refuses and leaves alone."""

import asyncio
from typing import Any

import orjson
import pytest
from tests.apiserver.requests.conftest import Api, configmap
from tests.apiserver.widgets import definition

from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.json_errors import syntax_error
from karmada.apiserver.requests.metadata import keep
from karmada.apiserver.requests.turns import WAITING
from karmada.apiserver.schema.metadata import MOST_FINALIZERS, MOST_OWNERS, validate_metadata
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery import errors
from karmada.machinery.transport import PatchType


async def test_the_server_sets_its_own_metadata(api):
    body = configmap("a", k="v")
    body["metadata"] |= {
        "uid": "mine",
        "creationTimestamp": "2000-01-01T00:00:00Z",
        "deletionTimestamp": "2000-01-01T00:00:00Z",
    }
    created = await api.create("configmaps", body)
    metadata = created["metadata"]
    assert created["kind"] == "ConfigMap"
    assert metadata["namespace"] == "default"
    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2000")
    assert "deletionTimestamp" not in metadata
    assert metadata["managedFields"][0]["manager"] == "tests"


async def test_a_name_exists_once(api):
    await api.create("configmaps", configmap("a"))
    with pytest.raises(errors.AlreadyExists, match='configmaps "a" already exists'):
        await api.create("configmaps", configmap("a"))


async def test_generated_names_differ(api):
    created = [await api.create("configmaps", {"metadata": {"generateName": "g-"}}) for _ in range(5)]
    names = {obj["metadata"]["name"] for obj in created}
    assert len(names) == 5
    assert all(name.startswith("g-") and len(name) == 7 for name in names)


async def test_nothing_is_created_in_an_absent_namespace(api):
    with pytest.raises(errors.NotFound, match='namespaces "nowhere" not found'):
        await api.create("configmaps", configmap("a"), namespace="nowhere")


async def test_the_namespace_must_be_that_of_the_request(api):
    body = configmap("a")
    body["metadata"]["namespace"] = "kube-system"
    with pytest.raises(errors.BadRequest, match="does not match the namespace sent on the request"):
        await api.create("configmaps", body)


async def test_an_object_has_a_bounded_number_of_owners(api):
    owner = {"apiVersion": "v1", "kind": "Gone", "name": "x", "uid": "0"}
    body = configmap("a")
    body["metadata"]["ownerReferences"] = [owner | {"uid": str(number)} for number in range(MOST_OWNERS + 1)]
    with pytest.raises(errors.Invalid, match=f"Too many: {MOST_OWNERS + 1}: must have at most {MOST_OWNERS} items"):
        await api.create("configmaps", body)
    del body["metadata"]["ownerReferences"][-1]
    assert len((await api.create("configmaps", body))["metadata"]["ownerReferences"]) == MOST_OWNERS


async def test_an_object_has_a_bounded_number_of_finalizers(api):
    body = configmap("a")
    body["metadata"]["finalizers"] = [f"example.com/{number}" for number in range(MOST_FINALIZERS + 1)]
    limit = f"Too many: {MOST_FINALIZERS + 1}: must have at most {MOST_FINALIZERS} items"
    with pytest.raises(errors.Invalid, match=rf"metadata\.finalizers: {limit}"):
        await api.create("configmaps", body)
    more = body["metadata"]["finalizers"].pop()
    assert len((await api.create("configmaps", body))["metadata"]["finalizers"]) == MOST_FINALIZERS
    body["metadata"]["finalizers"].append(more)
    with pytest.raises(errors.Invalid, match=limit):
        await api.update("configmaps", body)


@pytest.mark.parametrize(("field", "most"), [("finalizers", MOST_FINALIZERS), ("ownerReferences", MOST_OWNERS)])
def test_an_object_with_more_than_it_may_have_by_now_can_lose_some(field, most):
    def having(count: int) -> dict[str, Any]:
        entries = {
            "finalizers": [f"example.com/{number}" for number in range(count)],
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Gone", "name": "x", "uid": str(number)} for number in range(count)
            ],
        }
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", field: entries[field]}}

    assert not validate_metadata(having(most + 2), having(most + 3))
    assert validate_metadata(having(most + 4), having(most + 3))


def test_finalizers_of_an_object_that_ends_are_compared_once_each():
    compared = 0

    class Finalizer(str):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    old = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [f"example.com/{n}" for n in range(1_000)]}
    new = {"finalizers": [Finalizer(name) for name in [*old["finalizers"], *(f"new.com/{n}" for n in range(1_000))]]}
    [refused] = keep(new, old)
    assert compared < 10_000
    assert '{"new.com/0", "new.com/1", ' in refused.message
    assert refused.message.endswith('"new.com/15" and 984 more}')


def test_a_number_that_no_language_reads_is_malformed():
    assert syntax_error(b'{"a": ' + b"9" * 5000 + b"}") == "a number is too long"


async def test_a_dry_run_stores_nothing(api):
    answer = await api.create("configmaps", configmap("a", k="v"), dryRun="All")
    assert answer["metadata"]["uid"]
    assert "resourceVersion" not in answer["metadata"]
    with pytest.raises(errors.NotFound):
        await api.get("configmaps", "a")


@pytest.mark.parametrize("subresource", ["", "status"], ids=["object", "status"])
async def test_an_update_of_nothing_is_not_found_before_it_wants_a_revision(api, subresource):
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": "things.example.dev"}, "spec": {}}
    with pytest.raises(errors.NotFound, match=r'"things\.example\.dev" not found'):
        await api.update("crds", crd, subresource=subresource)


async def test_an_update_of_a_definition_wants_a_revision(api):
    created = await api.create("crds", definition())
    del created["metadata"]["resourceVersion"]
    with pytest.raises(errors.Invalid, match=r"metadata\.resourceVersion: Invalid value: 0: must be specified"):
        await api.update("crds", created)


async def test_an_update_that_changes_nothing_keeps_the_revision(api):
    created = await api.create("configmaps", configmap("a", k="v"))
    version = created["metadata"]["resourceVersion"]
    again = await api.update("configmaps", configmap("a", k="v"))
    assert again["metadata"]["resourceVersion"] == version
    patched = await api.patch("configmaps", "a", {"data": {"k": "v"}})
    assert patched["metadata"]["resourceVersion"] == version


async def test_an_update_of_an_older_revision_is_a_conflict(api):
    created = await api.create("configmaps", configmap("a", k="1"))
    await api.patch("configmaps", "a", {"data": {"k": "2"}})
    created["data"]["k"] = "3"
    with pytest.raises(errors.Conflict, match="the object has been modified"):
        await api.update("configmaps", created)


async def test_generation_counts_changes_of_the_spec_only(api):
    deployment = {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    }
    created = await api.create("deployments", deployment)
    assert created["metadata"]["generation"] == 1
    labelled = await api.patch("deployments", "d", {"metadata": {"labels": {"x": "y"}}})
    assert labelled["metadata"]["generation"] == 1
    scaled = await api.patch("deployments", "d", {"spec": {"replicas": 3}})
    assert scaled["metadata"]["generation"] == 2
    reported = await api.patch("deployments", "d", {"status": {"replicas": 3}}, subresource="status")
    assert reported["metadata"]["generation"] == 2
    assert reported["status"]["replicas"] == 3


async def test_the_main_resource_does_not_change_status_nor_the_status_subresource_the_spec(api):
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await api.create("pods", pod)
    through_main = await api.patch("pods", "p", {"status": {"phase": "Running"}})
    assert through_main["status"]["phase"] == "Pending"
    change = {"status": {"phase": "Running"}, "spec": {"hostname": "x"}}
    through_status = await api.patch("pods", "p", change, subresource="status")
    assert through_status["status"]["phase"] == "Running"
    assert "hostname" not in through_status["spec"]


@pytest.mark.parametrize(
    ("kind", "patch", "expected"),
    [
        (PatchType.MERGE, {"data": {"a": None, "c": "3"}}, {"b": "2", "c": "3"}),
        (PatchType.STRATEGIC, {"data": {"$patch": "replace", "z": "1"}}, {"z": "1"}),
        (PatchType.JSON, [{"op": "replace", "path": "/data/a", "value": "9"}], {"a": "9", "b": "2"}),
    ],
    ids=["merge", "strategic", "json"],
)
async def test_each_kind_of_patch(api, kind, patch, expected):
    await api.create("configmaps", configmap("a", a="1", b="2"))
    assert (await api.patch("configmaps", "a", patch, kind))["data"] == expected


async def test_apply_creates_then_owns(api):
    config = {"apiVersion": "v1", "kind": "ConfigMap", **configmap("a", k="1")}
    created = await api.patch("configmaps", "a", config, PatchType.APPLY, fieldManager="one")
    assert created["data"] == {"k": "1"}
    config["data"] = {"k": "2"}
    with pytest.raises(errors.Conflict, match='conflict with "one"'):
        await api.patch("configmaps", "a", config, PatchType.APPLY, fieldManager="two")
    forced = await api.patch("configmaps", "a", config, PatchType.APPLY, fieldManager="two", force="true")
    assert forced["data"] == {"k": "2"}


async def test_concurrent_patches_all_take_effect(api):
    await api.create("configmaps", configmap("a"))
    await asyncio.gather(*(api.patch("configmaps", "a", {"data": {f"k{n}": "v"}}) for n in range(5)))
    assert set((await api.get("configmaps", "a"))["data"]) == {f"k{n}" for n in range(5)}


@pytest.mark.parametrize("encode", [dict, orjson.dumps], ids=["a tree", "bytes"])
async def test_replacements_that_lose_a_race_are_written_as_they_were_given(api, encode):
    await api.create("configmaps", configmap("a"))

    async def replace(number):
        body = encode(configmap("a", **{f"k{number}": "v"}))
        return await api.send("update", "configmaps", "a", body)

    answers = await asyncio.gather(*map(replace, range(5)))
    assert [answer["data"] for answer in answers] == [{f"k{number}": "v"} for number in range(5)]


@pytest.mark.parametrize(
    ("field", "value"), [("name", "other"), ("namespace", "kube-system")], ids=["name", "namespace"]
)
async def test_identity_cannot_be_patched(api, field, value):
    await api.create("configmaps", configmap("a"))
    with pytest.raises(errors.BadRequest, match="does not match"):
        await api.patch("configmaps", "a", {"metadata": {field: value}})


async def test_a_dry_run_answers_in_the_version_that_was_asked_for(api):
    from karmada.machinery.transport import GroupVersionResource, Request, Verb

    older = GroupVersionResource("autoscaling", "v1", "horizontalpodautoscalers")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    await api.transport.send(Request(Verb.CREATE, older, "default", body={"metadata": {"name": "h"}, "spec": spec}))
    change = {"spec": {"maxReplicas": 4}}
    for params in ({"dryRun": "All"}, {}):
        request = Request(
            Verb.PATCH, older, "default", "h", params=params, body=dict(change), patch_type=PatchType.MERGE
        )
        answer = orjson.loads(await api.transport.send(request))
        assert (answer["apiVersion"], answer["spec"]["maxReplicas"]) == ("autoscaling/v1", 4)
        assert answer["spec"]["targetCPUUtilizationPercentage"] == 50


async def test_applying_to_an_object_by_its_uid_does_not_create_another(api):
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "gone"}}
    with pytest.raises(errors.Conflict, match="specified uid gone, and no existing object was found"):
        await api.patch("configmaps", "a", config, PatchType.APPLY, fieldManager="me")
    with pytest.raises(errors.NotFound):
        await api.get("configmaps", "a")


async def test_applying_may_name_a_version_of_what_is_gone(api):
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"}}
    made = await api.patch("configmaps", "a", config, PatchType.APPLY, fieldManager="me")
    assert int(made["metadata"]["resourceVersion"]) > 1


class Yielding:
    """An admission plugin that gives others a turn between the reading and the writing of an object."""

    def applies(self, request: AdmissionRequest) -> bool:
        return request.type.plural == "configmaps"

    async def mutate(self, request: AdmissionRequest) -> None:
        await asyncio.sleep(0)

    async def validate(self, request: AdmissionRequest) -> None:
        await asyncio.sleep(0)


async def test_patches_of_one_object_at_the_same_time_all_succeed():
    async with ApiServer(ApiServerOptions(admission=[Yielding()])) as server:
        api = Api(server)
        await api.create("configmaps", configmap("a"))
        patches = [api.patch("configmaps", "a", {"data": {f"{number}": "x"}}) for number in range(50)]
        answers = await asyncio.gather(*patches)
        assert [len(answer["data"]) for answer in answers] == list(range(1, 51))
        assert len(server.context.turns) == 0


async def test_patches_that_name_a_revision_still_conflict():
    async with ApiServer(ApiServerOptions(admission=[Yielding()])) as server:
        api = Api(server)
        created = await api.create("configmaps", configmap("a"))
        version = {"resourceVersion": created["metadata"]["resourceVersion"]}
        patches = [
            api.patch("configmaps", "a", {"metadata": version, "data": {f"{number}": "x"}}) for number in range(3)
        ]
        answers = await asyncio.gather(*patches, return_exceptions=True)
        assert [type(answer) for answer in answers] == [dict, errors.Conflict, errors.Conflict]


async def test_an_object_that_too_many_change_is_a_conflict(server, api):
    await api.create("configmaps", configmap("a"))
    turns, place = server.context.turns, (("", "configmaps"), "default", "a")
    first = await turns.take(place)
    waiting = [asyncio.create_task(turns.take(place)) for _ in range(WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(errors.Conflict, match="the object has been modified"):
        await api.patch("configmaps", "a", {"data": {"b": "c"}})
    turns.end(place, first)
    for task in waiting:
        turns.end(place, await task)
    assert (await api.patch("configmaps", "a", {"data": {"b": "c"}}))["data"] == {"b": "c"}
