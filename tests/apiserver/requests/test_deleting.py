"""Deletion: finalizers, preconditions, grace, propagation, collections."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.apiserver.requests.conftest import Api, configmap

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import forbidden
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery import errors

POD = {"spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n", "terminationGracePeriodSeconds": 20}}


async def test_an_object_without_finalizers_goes_at_once(api):
    created = await api.create("configmaps", configmap("a"))
    answer = await api.delete("configmaps", "a")
    assert answer["status"] == "Success"
    assert answer["details"]["uid"] == created["metadata"]["uid"]
    with pytest.raises(errors.NotFound):
        await api.get("configmaps", "a")


async def test_finalizers_keep_an_object_until_the_last_is_removed(api):
    body = configmap("a")
    body["metadata"]["finalizers"] = ["example.com/x"]
    await api.create("configmaps", body)
    marked = await api.delete("configmaps", "a")
    assert marked["metadata"]["deletionTimestamp"]
    with pytest.raises(errors.AlreadyExists, match="object is being deleted"):
        await api.create("configmaps", configmap("a"))
    with pytest.raises(errors.Invalid, match="no new finalizers can be added"):
        await api.patch("configmaps", "a", {"metadata": {"finalizers": ["example.com/x", "example.com/y"]}})
    await api.patch("configmaps", "a", {"metadata": {"finalizers": None}})
    with pytest.raises(errors.NotFound):
        await api.get("configmaps", "a")


async def test_preconditions_protect_another_object_of_the_same_name(api):
    await api.create("configmaps", configmap("a"))
    options = {"preconditions": {"uid": "another"}}
    with pytest.raises(errors.Conflict, match="does not match the UID in record"):
        await api.send("delete", "configmaps", "a", options)
    assert await api.get("configmaps", "a")


async def test_a_pod_is_given_its_grace_period_and_goes_with_zero(api):
    await api.create("pods", {"metadata": {"name": "p"}, **POD})
    marked = await api.delete("pods", "p")
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 20
    shorter = await api.delete("pods", "p", gracePeriodSeconds="5")
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    longer = await api.delete("pods", "p", gracePeriodSeconds="50")
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 5
    await api.delete("pods", "p", gracePeriodSeconds="0")
    with pytest.raises(errors.NotFound):
        await api.get("pods", "p")


class Interrupted(MemoryStorage):
    """Something else comes right before the next deletion."""

    first: Callable[[], Awaitable[object]] | None = None

    async def delete(self, *arguments):
        first, self.first = self.first, None
        if first is not None:
            await first()
        return await super().delete(*arguments)


async def test_a_pod_that_another_write_removes_once_it_is_marked_counts_as_deleted():
    storage = Interrupted()
    async with ApiServer(ApiServerOptions(storage=storage)) as server:
        api = Api(server)
        await api.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": POD["spec"]["containers"]}})
        storage.first = lambda: api.patch("pods", "p", {"metadata": {"labels": {"a": "b"}}})
        assert (await api.delete("pods", "p"))["metadata"]["name"] == "p"
        with pytest.raises(errors.NotFound):
            await api.get("pods", "p")


async def test_a_collection_is_deleted_by_selector(api):
    for number in range(4):
        body = configmap(f"c{number}")
        body["metadata"]["labels"] = {"odd": str(number % 2)}
        await api.create("configmaps", body)
    deleted = await api.send("deletecollection", "configmaps", labelSelector="odd=1")
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["c1", "c3"]
    assert [item["metadata"]["name"] for item in (await api.list("configmaps"))["items"]] == ["c0", "c2"]


class Guarding:
    """An admission plugin that is slower the earlier it is asked, and lets nobody delete what is kept."""

    operations = (Operation.DELETE,)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def applies(self, request: AdmissionRequest) -> bool:
        return request.type.plural == "configmaps"

    async def mutate(self, request: AdmissionRequest) -> None:
        pass

    async def validate(self, request: AdmissionRequest) -> None:
        assert request.old is not None
        name = request.old["metadata"]["name"]
        for _ in range(10 - len(self.asked)):
            await asyncio.sleep(0)
        self.asked.append(name)
        if "kept" in name:
            raise forbidden("", "configmaps", name, "it is kept")


async def test_admission_sees_a_collection_in_order_and_what_follows_a_refused_one_stays():
    guard = Guarding()
    async with ApiServer(ApiServerOptions(storage=MemoryStorage(), admission=[guard])) as server:
        api = Api(server)
        for name in ("a", "b", "c-kept", "d"):
            await api.create("configmaps", configmap(name))
        with pytest.raises(errors.Forbidden, match="it is kept"):
            await api.send("deletecollection", "configmaps")
        assert guard.asked == ["a", "b", "c-kept"]
        assert [item["metadata"]["name"] for item in (await api.list("configmaps"))["items"]] == ["c-kept", "d"]


class Meanwhile:
    """An admission plugin during which somebody protects what is to be deleted; that is refused from then on."""

    operations = (Operation.DELETE,)

    def __init__(self) -> None:
        self.protect: Callable[[], Awaitable[object]] | None = None

    def applies(self, request: AdmissionRequest) -> bool:
        return request.type.plural == "configmaps"

    async def mutate(self, request: AdmissionRequest) -> None:
        pass

    async def validate(self, request: AdmissionRequest) -> None:
        assert request.old is not None
        if "protected" in (request.old["metadata"].get("labels") or {}):
            raise forbidden("", "configmaps", "a", "it is protected")
        if self.protect is not None:
            protect, self.protect = self.protect, None
            await protect()


@pytest.mark.parametrize("verb", ["delete", "deletecollection"])
async def test_what_changes_while_admission_judges_it_is_judged_again(verb):
    meanwhile = Meanwhile()
    async with ApiServer(ApiServerOptions(storage=MemoryStorage(), admission=[meanwhile])) as server:
        api = Api(server)
        await api.create("configmaps", configmap("a"))
        protected = {"metadata": {"labels": {"protected": "yes"}}}
        meanwhile.protect = lambda: api.patch("configmaps", "a", protected)
        with pytest.raises(errors.Forbidden, match="it is protected"):
            await api.send(verb, "configmaps", "a" if verb == "delete" else "")
        assert (await api.get("configmaps", "a"))["metadata"]["labels"] == {"protected": "yes"}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_built_in_namespaces_stay(api, name):
    with pytest.raises(errors.Forbidden, match="this namespace may not be deleted"):
        await api.delete("namespaces", name)


async def test_a_dry_run_deletes_nothing(api):
    await api.create("configmaps", configmap("a"))
    await api.delete("configmaps", "a", dryRun="All")
    assert await api.get("configmaps", "a")
