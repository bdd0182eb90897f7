"""The controllers that live in the server: garbage, namespaces, accounts, definitions, expiry."""

import asyncio
import base64
import sys
from types import FrameType

import pytest
from tests.apiserver.requests.conftest import Api, api, configmap, server
from tests.apiserver.widgets import definition, version

from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery import errors
from karmada.machinery.client import Client
from karmada.machinery.event_sink import EVENTS
from karmada.machinery.transport import GroupVersionResource, Request, Verb

__all__ = ["api", "server"]


CONTAINER = {"name": "c", "image": "i"}


async def eventually(holds) -> None:
    """Let the controllers work until something holds; a bound, not a clock, says when to give up."""
    for _ in range(20_000):
        if await holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come true")


async def gone(client: Api, resource: str, name: str, **options) -> None:
    async def absent() -> bool:
        try:
            await client.get(resource, name, **options)
        except errors.NotFound:
            return True
        return False

    await eventually(absent)


def owned(name: str, owner, **more):
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    body = configmap(name)
    body["metadata"]["ownerReferences"] = [{**reference, **more}]
    return body


async def test_dependents_follow_their_owner_in_the_background(api):
    owner = await api.create("configmaps", configmap("owner"))
    await api.create("configmaps", owned("dependent", owner))
    await api.delete("configmaps", "owner")
    await gone(api, "configmaps", "dependent")


async def test_events_are_owned_by_nobody(api, server):
    owner = await api.create("configmaps", configmap("owner"))
    about = {"kind": "ConfigMap", "namespace": "default", "name": "owner"}
    owners = owned("any", owner)["metadata"]["ownerReferences"]
    event = {"metadata": {"name": "e", "namespace": "default", "ownerReferences": owners}, "involvedObject": about}
    events = Client(server.direct(ADMIN)).resource(EVENTS)
    await events.create({"apiVersion": "v1", "kind": "Event", **event}, "default")
    await api.create("configmaps", owned("dependent", owner))
    await api.delete("configmaps", "owner")
    await gone(api, "configmaps", "dependent")
    assert (await events.get("e", "default"))["metadata"]["ownerReferences"] == owners


async def test_owners_in_a_circle_do_not_wait_for_each_other(api):
    circle = [await api.create("configmaps", configmap(name)) for name in "abc"]
    for one, owner in zip(circle, [circle[-1], *circle], strict=False):
        reference = owned("any", owner, blockOwnerDeletion=True)["metadata"]["ownerReferences"]
        await api.patch("configmaps", one["metadata"]["name"], {"metadata": {"ownerReferences": reference}})
    await api.delete("configmaps", "a", propagationPolicy="Foreground")
    for name in "abc":
        await gone(api, "configmaps", name)


@pytest.mark.parametrize("blocks", [None, False], ids=["dependent no more", "blocking no more"])
async def test_an_owner_goes_once_nothing_blocks_it(api, blocks):
    owner = await api.create("configmaps", configmap("owner"))
    body = owned("dependent", owner, blockOwnerDeletion=True)
    body["metadata"]["finalizers"] = ["example.com/x"]
    dependent = await api.create("configmaps", body)
    await api.delete("configmaps", "owner", propagationPolicy="Foreground")

    async def is_marked():
        return "deletionTimestamp" in (await api.get("configmaps", "dependent"))["metadata"]

    await eventually(is_marked)
    [reference] = dependent["metadata"]["ownerReferences"]
    references = None if blocks is None else [{**reference, "blockOwnerDeletion": blocks}]
    await api.patch("configmaps", "dependent", {"metadata": {"ownerReferences": references}})
    await gone(api, "configmaps", "owner")


async def test_a_dependent_with_another_owner_stays(api):
    first = await api.create("configmaps", configmap("first"))
    second = await api.create("configmaps", configmap("second"))
    body = owned("dependent", first)
    body["metadata"]["ownerReferences"] += owned("x", second)["metadata"]["ownerReferences"]
    await api.create("configmaps", body)
    await api.delete("configmaps", "first")

    async def has_one_owner():
        return len((await api.get("configmaps", "dependent"))["metadata"]["ownerReferences"]) == 1

    await eventually(has_one_owner)


async def test_orphans_lose_their_owner_and_stay(api):
    owner = await api.create("configmaps", configmap("owner"))
    await api.create("configmaps", owned("dependent", owner))
    await api.delete("configmaps", "owner", propagationPolicy="Orphan")
    await gone(api, "configmaps", "owner")
    assert "ownerReferences" not in (await api.get("configmaps", "dependent"))["metadata"]


async def test_in_the_foreground_the_owner_waits_for_what_blocks_it(api):
    owner = await api.create("configmaps", configmap("owner"))
    body = owned("dependent", owner, blockOwnerDeletion=True)
    body["metadata"]["finalizers"] = ["example.com/x"]
    await api.create("configmaps", body)
    await api.delete("configmaps", "owner", propagationPolicy="Foreground")

    async def is_marked():
        return "deletionTimestamp" in (await api.get("configmaps", "dependent"))["metadata"]

    await eventually(is_marked)
    assert await api.get("configmaps", "owner")
    await api.patch("configmaps", "dependent", {"metadata": {"finalizers": None}})
    await gone(api, "configmaps", "owner")


async def test_a_change_of_one_dependent_does_not_have_all_others_looked_at(api):
    async def calls_for(count: int) -> int:
        owner = await api.create("configmaps", configmap(f"owner-{count}"))
        for number in range(count):
            body = owned(f"dependent-{count}-{number:03}", owner, blockOwnerDeletion=True)
            body["metadata"]["finalizers"] = ["example.com/x"]
            await api.create("configmaps", body)
        await api.delete("configmaps", f"owner-{count}", propagationPolicy="Foreground")

        async def is_marked() -> bool:
            last = await api.get("configmaps", f"dependent-{count}-{count - 1:03}")
            return "deletionTimestamp" in last["metadata"]

        await eventually(is_marked)
        await settled()
        calls = 0

        def profile(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            for number in range(3):
                change = {"metadata": {"labels": {"a": str(number)}}}
                await api.patch("configmaps", f"dependent-{count}-000", change)
                await settled()
        finally:
            sys.setprofile(before)
        for number in range(count):
            name = f"dependent-{count}-{number:03}"
            await api.patch("configmaps", name, {"metadata": {"finalizers": None}})
        await gone(api, "configmaps", f"owner-{count}")
        return calls

    async def settled() -> None:
        for _ in range(200):
            await asyncio.sleep(0)

    await calls_for(5)  # fills caches
    few, many = await calls_for(10), await calls_for(200)
    assert many < few + 3 * 190


async def test_an_object_with_an_absent_owner_is_garbage(api):
    ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}}
    await api.create("configmaps", owned("dependent", ghost))
    await gone(api, "configmaps", "dependent")


async def test_a_namespace_goes_with_everything_in_it(api):
    await api.create("namespaces", {"metadata": {"name": "n"}})
    await api.create("configmaps", configmap("a"), namespace="n")
    await api.delete("namespaces", "n")
    await gone(api, "namespaces", "n")
    with pytest.raises(errors.NotFound):
        await api.get("configmaps", "a", namespace="n")


async def test_a_namespace_says_what_keeps_it(api):
    await api.create("namespaces", {"metadata": {"name": "n"}})
    body = configmap("a")
    body["metadata"]["finalizers"] = ["example.com/x"]
    await api.create("configmaps", body, namespace="n")
    await api.delete("namespaces", "n")

    def conditions(namespace):
        found = (namespace.get("status") or {}).get("conditions") or ()
        return {condition["type"]: condition for condition in found}

    async def is_reported():
        return "NamespaceFinalizersRemaining" in conditions(await api.get("namespaces", "n"))

    await eventually(is_reported)
    remaining = conditions(await api.get("namespaces", "n"))
    assert remaining["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert remaining["NamespaceFinalizersRemaining"]["message"] == (
        "Some content in the namespace has finalizers remaining: example.com/x in 1 resource instances"
    )
    with pytest.raises(errors.Forbidden, match="because it is being terminated"):
        await api.create("configmaps", configmap("b"), namespace="n")
    await api.patch("configmaps", "a", {"metadata": {"finalizers": None}}, namespace="n")
    await gone(api, "namespaces", "n")


async def test_the_rest_of_a_namespace_outlives_its_pods(api):
    await api.create("namespaces", {"metadata": {"name": "n"}})
    pod = {"metadata": {"name": "p", "finalizers": ["example.com/x"]}, "spec": {"containers": [CONTAINER]}}
    await api.create("pods", pod, namespace="n")
    await api.create("configmaps", configmap("a"), namespace="n")
    await api.delete("namespaces", "n")

    async def is_reported():
        return (await api.get("namespaces", "n"))["status"].get("conditions")

    await eventually(is_reported)
    assert (await api.get("pods", "p", namespace="n"))["metadata"]["deletionTimestamp"]
    assert "deletionTimestamp" not in (await api.get("configmaps", "a", namespace="n"))["metadata"]
    await api.patch("pods", "p", {"metadata": {"finalizers": None}}, namespace="n")
    await gone(api, "namespaces", "n")


async def test_every_namespace_has_a_default_account(api):
    accounts = GroupVersionResource("", "v1", "serviceaccounts")
    await api.create("namespaces", {"metadata": {"name": "n"}})

    async def exists():
        try:
            return bool(await api.transport.send(Request(Verb.GET, accounts, "n", "default")))
        except errors.NotFound:
            return False

    await eventually(exists)


async def test_a_definition_is_served_at_once(api):
    await api.create("crds", definition())
    widget = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"a": 1}}
    assert (await api.create("widgets", widget))["spec"] == {"a": 1}

    async def is_judged():
        return bool((await api.get("crds", "widgets.example.dev"))["status"].get("conditions"))

    await eventually(is_judged)
    crd = await api.get("crds", "widgets.example.dev")
    assert {c["type"]: c["status"] for c in crd["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }


async def test_a_definition_goes_with_its_objects(api):
    await api.create("crds", definition())
    await api.create("widgets", {"metadata": {"name": "w"}, "spec": {}})
    await api.delete("crds", "widgets.example.dev")
    await gone(api, "crds", "widgets.example.dev")
    with pytest.raises(errors.NotFound):
        await api.list("widgets")


async def test_a_definition_on_its_way_out_takes_no_more_objects(api):
    await api.create("crds", definition())
    await api.create("widgets", {"metadata": {"name": "held", "finalizers": ["example.dev/hold"]}, "spec": {}})
    await api.delete("crds", "widgets.example.dev")
    with pytest.raises(errors.Forbidden, match="while custom resource definition is terminating"):
        await api.create("widgets", {"metadata": {"name": "late"}, "spec": {}})


async def test_what_only_looks_like_a_mark_of_deletion_is_none(api):
    """A definition whose objects hold templates of pods, and such objects."""
    metadata = {"type": "object", "properties": {"deletionTimestamp": {"type": "string"}}}
    await api.create("crds", definition(version(schema={"type": "object", "properties": {"spec": metadata}})))
    await api.create("namespaces", {"metadata": {"name": "n"}})
    held = {"metadata": {"name": "w"}, "spec": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}
    await api.create("widgets", held, namespace="n")
    with pytest.raises(errors.AlreadyExists, match=r'^widgets.example.dev "w" already exists'):
        await api.create("widgets", held, namespace="n")
    await api.delete("namespaces", "n")
    await gone(api, "namespaces", "n")


async def test_objects_of_an_older_schema_are_shown_by_the_newest(api):
    def schema(*fields):
        properties = {field: {"type": "string"} for field in fields}
        return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}

    created = await api.create("crds", definition(version(schema=schema("a", "b"))))
    await api.create("widgets", {"metadata": {"name": "w"}, "spec": {"a": "1", "b": "2"}})
    await api.patch("crds", created["metadata"]["name"], {"spec": {"versions": [version(schema=schema("a"))]}})
    assert (await api.get("widgets", "w"))["spec"] == {"a": "1"}
    assert (await api.list("widgets"))["items"][0]["spec"] == {"a": "1"}


async def test_expired_bootstrap_tokens_are_removed(api):
    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    secret = {
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "data": {
            "token-id": encoded("abcdef"),
            "token-secret": encoded("0123456789abcdef"),
            "expiration": encoded("2020-01-01T00:00:00Z"),
        },
    }
    secrets = GroupVersionResource("", "v1", "secrets")
    await api.transport.send(Request(Verb.CREATE, secrets, "kube-system", body=secret))

    async def is_gone():
        try:
            await api.transport.send(Request(Verb.GET, secrets, "kube-system", "bootstrap-token-abcdef"))
        except errors.NotFound:
            return True
        return False

    await eventually(is_gone)


async def test_events_are_forgotten_after_their_time():
    now = 1000.0
    from karmada.apiserver.server import ApiServer, ApiServerOptions

    events = GroupVersionResource("", "v1", "events")
    async with ApiServer(ApiServerOptions(event_seconds=0.01, now=lambda: now)) as running:
        client = Api(running)
        body = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default", "name": "x", "kind": "Pod"}}
        await client.transport.send(Request(Verb.CREATE, events, "default", body=body))
        now += 1.0

        async def is_gone():
            return running.store.get(("", "events"), "default", "e") is None

        await eventually(is_gone)


async def test_the_oldest_events_go_when_all_together_are_too_large():
    events = GroupVersionResource("", "v1", "events")
    kind = ("", "events")
    async with ApiServer(ApiServerOptions(event_bytes=100_000)) as running:
        client = Api(running)
        about = {"namespace": "default", "name": "x", "kind": "Pod"}
        for number in range(400):
            body = {"metadata": {"name": f"e{number:03d}"}, "involvedObject": about, "message": "m" * 1000}
            await client.transport.send(Request(Verb.CREATE, events, "default", body=body))

        async def is_small():
            return sum(len(item.body) for item in running.store.list(kind).items) <= 100_000

        await eventually(is_small)
        left = [item.name for item in running.store.list(kind).items]
        assert left == [f"e{number:03d}" for number in range(400 - len(left), 400)]
        assert len(left) > 40
