"""Namespaces that end, as time goes by: when they are looked at, and what they wait for."""

import asyncio
import sys
from collections import Counter
from types import FrameType

import pytest
from tests.apiserver.requests.conftest import Api, configmap

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.controllers.namespaces import rest
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery import errors
from karmada.machinery.httpserver.failure import Failure
from karmada.testing.loop import VirtualClock, run_virtual


def test_a_namespace_is_left_as_it_is_for_a_while_where_that_is_asked_for():
    async def scenario():
        options = ApiServerOptions(namespace_grace=5.0, now=VirtualClock().now)
        async with ApiServer(options) as server:
            api = Api(server)
            await api.create("namespaces", {"metadata": {"name": "n"}})
            await api.create("configmaps", configmap("a"), namespace="n")
            await api.delete("namespaces", "n")
            await asyncio.sleep(4)
            assert await api.patch("configmaps", "a", {"data": {"k": "v"}}, namespace="n")
            await asyncio.sleep(2)
            with pytest.raises(errors.NotFound):
                await api.get("namespaces", "n")

    run_virtual(scenario)


def test_thousands_of_objects_that_hold_a_namespace_back_are_not_counted_whenever_one_of_them_changes():
    looks = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal looks
        looks += event == "call" and frame.f_code.co_qualname == "NamespaceController._report"

    async def scenario():
        async with ApiServer(ApiServerOptions(now=VirtualClock().now)) as server:
            api = Api(server)
            await api.create("namespaces", {"metadata": {"name": "n"}})
            for number in range(1010):
                body = configmap(f"c{number}")
                body["metadata"]["finalizers"] = ["example.com/x"]
                await api.create("configmaps", body, namespace="n")
            await api.delete("namespaces", "n")
            await asyncio.sleep(5)
            sys.setprofile(profile)
            try:
                for number in range(100):
                    await api.patch("configmaps", f"c{number}", {"data": {"k": "v"}}, namespace="n")
                    await asyncio.sleep(0.001)
                await asyncio.sleep(5)
            finally:
                sys.setprofile(None)
            for number in range(1010):
                await api.patch("configmaps", f"c{number}", {"metadata": {"finalizers": None}}, namespace="n")
            await asyncio.sleep(5)
            with pytest.raises(errors.NotFound):
                await api.get("namespaces", "n")

    run_virtual(scenario)
    assert 0 < looks < 20, looks


@pytest.mark.parametrize(("left", "seconds"), [(1_000, 0), (4_000, 4), (100_000, 10)])
def test_a_namespace_rests_the_longer_the_more_is_left_but_not_for_ever(left, seconds):
    assert rest(left) == seconds


@pytest.mark.parametrize(
    ("left", "refused", "seconds"),
    [(1_000, 1_000, 0), (1_100, 900, 9), (2_000, 2_000, 20), (6_000, 6_000, 60), (10**6, 10**6, 60), (6_000, 1, 6)],
)
def test_a_namespace_rests_longer_the_more_deletions_are_refused(left, refused, seconds):
    assert rest(left, refused) == seconds


def test_a_namespace_that_is_made_again_does_not_rest_for_its_predecessor():
    async def scenario():
        async with ApiServer(ApiServerOptions(now=VirtualClock().now)) as server:
            api = Api(server)
            await api.create("namespaces", {"metadata": {"name": "n"}})
            names = [f"c{number}" for number in range(3010)]
            for name in names:
                body = configmap(name)
                body["metadata"]["finalizers"] = ["example.com/x"]
                await api.create("configmaps", body, namespace="n")
            await api.delete("namespaces", "n")
            await asyncio.sleep(0.1)
            for name in names:
                await api.patch("configmaps", name, {"metadata": {"finalizers": None}}, namespace="n")
            former = await api.get("namespaces", "n")
            await api.update("namespaces", {**former, "spec": {}}, subresource="finalize")
            await api.create("namespaces", {"metadata": {"name": "n"}})
            await api.delete("namespaces", "n")
            await asyncio.sleep(1)
            with pytest.raises(errors.NotFound):
                await api.get("namespaces", "n")

    run_virtual(scenario)


class AboutDeletions:
    """What plugins of these tests have in common: they are asked about deletions of ConfigMaps."""

    kinds = (("", "configmaps"),)
    operations = (Operation.DELETE,)

    def applies(self, request: AdmissionRequest) -> bool:
        return True

    async def mutate(self, request: AdmissionRequest) -> None:
        pass

    async def validate(self, request: AdmissionRequest) -> None:
        pass


class Refusing(AboutDeletions):
    """An admission plugin that refuses every deletion while `refuses` is set."""

    def __init__(self, words: str = "failed calling webhook") -> None:
        self.words = words
        self.refuses = True
        self.refused = 0

    async def validate(self, request: AdmissionRequest) -> None:
        if self.refuses:
            self.refused += 1
            raise Failure(500, "InternalError", f"{self.words}, {self.refused} times now")


class RefusingOnce(AboutDeletions):
    """Refuses the first deletion it is asked about."""

    refused = False

    async def validate(self, request: AdmissionRequest) -> None:
        if not self.refused:
            self.refused = True
            raise Failure(500, "InternalError", "failed calling webhook")


class Slow(AboutDeletions):
    """Takes ten seconds for each deletion in a namespace `slow`."""

    async def validate(self, request: AdmissionRequest) -> None:
        if request.namespace == "slow":
            await asyncio.sleep(10)


def test_a_namespace_does_not_wait_for_another_that_ends_slowly():
    async def scenario():
        async with ApiServer(ApiServerOptions(admission=[Slow()], now=VirtualClock().now)) as server:
            api = Api(server)
            for name in ("slow", "quick"):
                await api.create("namespaces", {"metadata": {"name": name}})
                await api.create("configmaps", configmap("a"), namespace=name)
                await api.delete("namespaces", name)
            await asyncio.sleep(5)
            assert await api.get("namespaces", "slow")
            with pytest.raises(errors.NotFound):
                await api.get("namespaces", "quick")
            await asyncio.sleep(10)
            with pytest.raises(errors.NotFound):
                await api.get("namespaces", "slow")

    run_virtual(scenario)


def test_one_deletion_that_failed_once_keeps_no_namespace_for_the_sake_of_the_others_held_back_in_it():
    async def scenario():
        async with ApiServer(ApiServerOptions(admission=[RefusingOnce()], now=VirtualClock().now)) as server:
            api = Api(server)
            await api.create("namespaces", {"metadata": {"name": "n"}})
            names = [f"c{number}" for number in range(2010)]
            for name in names:
                body = configmap(name)
                body["metadata"]["finalizers"] = ["example.com/x"]
                await api.create("configmaps", body, namespace="n")
            await api.delete("namespaces", "n")
            await asyncio.sleep(0.5)
            for name in names:
                await api.patch("configmaps", name, {"metadata": {"finalizers": None}}, namespace="n")
            await asyncio.sleep(4)
            with pytest.raises(errors.NotFound):
                await api.get("namespaces", "n")

    run_virtual(scenario)


def test_large_objects_that_hold_a_namespace_back_are_looked_through_a_few_at_a_time():
    turn = 0
    looks: Counter[int] = Counter()  # bytes in each turn

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_qualname == "Item.body":
            looks[turn] += frame.f_locals["self"].size

    async def scenario():
        nonlocal turn
        async with ApiServer(ApiServerOptions(now=VirtualClock().now)) as server:
            api = Api(server)
            await api.create("namespaces", {"metadata": {"name": "n"}})
            for number in range(20):
                body = configmap(f"c{number}", k="v" * 1_000_000)
                body["metadata"]["finalizers"] = ["example.com/x"]
                await api.create("configmaps", body, namespace="n")
            await api.delete("namespaces", "n")
            await asyncio.sleep(5)
            sys.setprofile(profile)
            try:
                await api.patch("configmaps", "c0", {"metadata": {"labels": {"a": "b"}}}, namespace="n")
                while looks.total() < 40_000_000:  # each is asked whether it ends, and counted
                    turn += 1
                    await asyncio.sleep(0)
            finally:
                sys.setprofile(None)

    run_virtual(scenario)
    assert max(looks.values()) < 10_000_000, looks


@pytest.mark.parametrize("count", [1, 1010], ids=["a few", "so many that it rests"])
def test_a_namespace_goes_after_a_while_in_which_its_objects_could_not_be_deleted(count):
    refusing = Refusing()

    async def scenario():
        async with ApiServer(ApiServerOptions(admission=[refusing], now=VirtualClock().now)) as server:
            api = Api(server)
            await api.create("namespaces", {"metadata": {"name": "n"}})
            for number in range(count):
                await api.create("configmaps", configmap(f"c{number}"), namespace="n")
            await api.delete("namespaces", "n")
            await asyncio.sleep(5)
            [failed] = [
                condition["message"]
                for condition in (await api.get("namespaces", "n"))["status"]["conditions"]
                if condition["type"] == "NamespaceDeletionContentFailure"
            ]
            assert f"1 remaining: configmaps.: {count} could not be deleted: " in failed
            assert "failed calling webhook" in failed
            assert len(failed) < 1024
            assert refusing.refused < 20 * count
            refusing.refuses = False
            await asyncio.sleep(60)
            with pytest.raises(errors.NotFound):
                await api.get("namespaces", "n")

    run_virtual(scenario)


def test_a_condition_says_that_there_are_more_finalizers_than_are_counted_by_name():
    async def scenario():
        async with ApiServer(ApiServerOptions(now=VirtualClock().now)) as server:
            api = Api(server)
            await api.create("namespaces", {"metadata": {"name": "n"}})
            held_back = {"name": "a", "finalizers": [f"example.com/{number:04}" for number in range(600)]}
            await api.create("configmaps", {"metadata": held_back}, namespace="n")
            await api.delete("namespaces", "n")
            await asyncio.sleep(5)
            found = (await api.get("namespaces", "n"))["status"]["conditions"]
            [held] = [one["message"] for one in found if one["type"] == "NamespaceFinalizersRemaining"]
            left_out = int(held.rpartition(" and over ")[2].removesuffix(" more"))
            assert held.count("example.com/") + left_out == 500

    run_virtual(scenario)


def test_conditions_of_a_namespace_are_short_whatever_is_held_back_in_it():
    refusing = Refusing("no\x1b" * 10_000)

    async def scenario():
        async with ApiServer(ApiServerOptions(admission=[refusing], now=VirtualClock().now)) as server:
            api = Api(server)
            await api.create("namespaces", {"metadata": {"name": "n"}})
            held_back = {"name": "a", "finalizers": [f"example.com/{number:04}" for number in range(500)]}
            await api.create("configmaps", {"metadata": held_back}, namespace="n")
            await api.delete("namespaces", "n")
            await asyncio.sleep(5)
            found = (await api.get("namespaces", "n"))["status"]["conditions"]
            messages = {condition["type"]: condition["message"] for condition in found}
            assert all(len(message) < 5_000 and message.isprintable() for message in messages.values())
            assert "configmaps.: 1 could not be deleted: " in messages["NamespaceDeletionContentFailure"]
            held = messages["NamespaceFinalizersRemaining"]
            named, left_out = held.count("example.com/"), int(held.rpartition(" and ")[2].removesuffix(" more"))
            assert named > 50
            assert named + left_out == 500

    run_virtual(scenario)
