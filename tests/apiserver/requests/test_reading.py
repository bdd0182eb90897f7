"""Get, list and watch: pages, selectors, revisions and events."""

import asyncio

import orjson
import pytest
from tests.apiserver.requests.conftest import RESOURCES, Api, configmap

from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery import errors
from karmada.machinery.transport import EventType, Request, Verb
from karmada.testing.loop import run_virtual


def names(listed):
    return [item["metadata"]["name"] for item in listed["items"]]


@pytest.fixture
async def five(api: Api) -> Api:
    for number in range(5):
        body = configmap(f"c{number}", k="v")
        body["metadata"]["labels"] = {"odd": str(number % 2)}
        await api.create("configmaps", body)
    return api


async def test_lists_are_sorted_and_leave_out_the_kind_of_items(five):
    listed = await five.list("configmaps")
    assert listed["kind"] == "ConfigMapList"
    assert names(listed) == ["c0", "c1", "c2", "c3", "c4"]
    assert "kind" not in listed["items"][0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"labelSelector": "odd=1"}, ["c1", "c3"]),
        ({"labelSelector": "odd in (0)"}, ["c0", "c2", "c4"]),
        ({"labelSelector": "!odd"}, []),
        ({"fieldSelector": "metadata.name=c3"}, ["c3"]),
        ({"fieldSelector": "metadata.name!=c3", "labelSelector": "odd=1"}, ["c1"]),
    ],
    ids=["label", "set", "absent", "field", "both"],
)
async def test_selectors(five, options, expected):
    assert names(await five.list("configmaps", **options)) == expected


async def test_pages_show_the_revision_of_the_first(five):
    first = await five.list("configmaps", limit="2")
    assert names(first) == ["c0", "c1"]
    assert first["metadata"]["remainingItemCount"] == 3
    await five.delete("configmaps", "c2")
    second = await five.list("configmaps", limit="2", continue_=first["metadata"]["continue"])
    assert names(second) == ["c2", "c3"]
    third = await five.list("configmaps", limit="2", continue_=second["metadata"]["continue"])
    assert names(third) == ["c4"]
    assert "continue" not in third["metadata"]


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({"resourceVersionMatch": "Exact"}, "c0"),
        ({"limit": "500"}, "c0"),
        ({"limit": "500", "resourceVersionMatch": "NotOlderThan"}, "c1"),
        ({}, "c1"),
    ],
)
async def test_an_older_revision_is_listed_where_it_is_meant(five, options, first):
    version = (await five.list("configmaps"))["metadata"]["resourceVersion"]
    await five.delete("configmaps", "c0")
    found = await five.list("configmaps", resourceVersion=version, **options)
    assert names(found)[0] == first


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"continue_": "garbage"}, errors.BadRequest, "invalid continue token"),
        ({"resourceVersion": "x"}, errors.BadRequest, "invalid resource version"),
        ({"labelSelector": "x in"}, errors.BadRequest, "unable to parse requirement"),
        ({"fieldSelector": "spec.x=1"}, errors.BadRequest, "not a known field selector"),
        ({"limit": "many"}, errors.BadRequest, "strconv.ParseInt"),
        ({"resourceVersionMatch": "Exact"}, errors.Invalid, "forbidden unless resourceVersion is provided"),
    ],
    ids=["token", "revision", "label", "field", "limit", "match"],
)
async def test_bad_options_name_the_mistake(five, options, error, words):
    with pytest.raises(error, match=words):
        await five.list("configmaps", **options)


def watching(api: Api, **params: str):
    return api.transport.watch(Request(Verb.WATCH, RESOURCES["configmaps"], "default", params=params))


async def take(stream, count: int):
    events = []
    async with asyncio.timeout(5):
        async for batch in stream:
            events += [(event.type, orjson.loads(event.object)) for event in batch]
            if len(events) >= count:
                return events
    return events


async def test_a_watch_goes_on_where_a_list_ended(five):
    version = (await five.list("configmaps"))["metadata"]["resourceVersion"]
    await five.patch("configmaps", "c0", {"data": {"k": "2"}})
    async with watching(five, resourceVersion=version) as stream:
        await five.delete("configmaps", "c1")
        events = await take(stream, 2)
    assert [(kind, obj["metadata"]["name"]) for kind, obj in events] == [
        (EventType.MODIFIED, "c0"),
        (EventType.DELETED, "c1"),
    ]


async def test_leaving_a_selector_is_a_deletion_and_entering_an_addition(five):
    version = (await five.list("configmaps"))["metadata"]["resourceVersion"]
    async with watching(five, resourceVersion=version, labelSelector="odd=1") as stream:
        await five.patch("configmaps", "c1", {"metadata": {"labels": {"odd": "no"}}})
        await five.patch("configmaps", "c0", {"metadata": {"labels": {"odd": "1"}}})
        events = await take(stream, 2)
    assert [(kind, obj["metadata"]["name"]) for kind, obj in events] == [
        (EventType.DELETED, "c1"),
        (EventType.ADDED, "c0"),
    ]


async def test_initial_events_end_with_a_marked_bookmark(five):
    options = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with watching(five, **options) as stream:
        events = await take(stream, 6)
    assert [kind for kind, _ in events] == [EventType.ADDED] * 5 + [EventType.BOOKMARK]
    assert events[-1][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_ends_after_its_time(five):
    version = (await five.list("configmaps"))["metadata"]["resourceVersion"]
    async with watching(five, resourceVersion=version, timeoutSeconds="1") as stream:
        assert await take(stream, 1) == []


async def test_a_revision_from_the_future_is_waited_for_then_refused(api):
    with pytest.raises(errors.Timeout):
        await api.list("configmaps", resourceVersion="999999", timeout="0.1s")


def test_a_watch_lasts_an_hour_at_most():
    """Whoever lost the right to it must not keep it for as long as it likes."""

    async def scenario():
        loop = asyncio.get_running_loop()
        async with ApiServer() as server:
            begun = loop.time()
            request = Request(Verb.WATCH, RESOURCES["configmaps"], "default", params={"timeoutSeconds": "999999"})
            async with server.direct(ADMIN).watch(request) as stream:
                async for _ in stream:
                    pass
            assert 3599 < loop.time() - begun < 3700

    run_virtual(scenario)
