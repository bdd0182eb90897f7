"""Bodies of any size, to everything that is served: none but small ones are decoded on the event loop."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from threading import Event
from typing import Any, NamedTuple

import orjson
import pytest
from tests.apiserver.requests.conftest import Api
from tests.apiserver.widgets import definition, version

from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.requests import offload
from karmada.apiserver.requests.bodies import SMALL
from karmada.apiserver.requests.routing import CONNECT
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.transport import PatchType

METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
OBJECTS = [JSON, YAML, "application/YAML", PROTOBUF]
PATCHES = [kind.value for kind in PatchType]
NAME = "a"
QUERY = "fieldManager=tests"
DEPLOYMENTS, WIDGETS = "/apis/apps/v1/namespaces/default/deployments", "/apis/example.dev/v1/namespaces/default/widgets"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Route(NamedTuple):
    """A verb on a resource or a subresource; `stored` if its body is an object that is kept."""

    verb: str
    path: str
    stored: bool

    @property
    def media(self) -> list[str]:
        """Media types of its bodies."""
        return PATCHES if self.verb == "patch" else OBJECTS


def routes(server: ApiServer) -> Iterator[Route]:
    """Whatever reads a body: every verb on every type and subresource that the server has, and its own handlers."""
    answered = set()
    for type_ in server.catalog.types():
        base = f"/apis/{type_.group}/{type_.version}" if type_.group else f"/api/{type_.version}"
        base += f"/namespaces/default/{type_.plural}" if type_.namespaced else f"/{type_.plural}"
        stored = type_.verbs != ("create",)
        answered.add((type_.group, type_.plural, ""))
        for verb in METHODS.keys() & set(type_.verbs):
            path = base if verb in ("create", "deletecollection") else f"{base}/{NAME}"
            yield Route(verb, path, stored and not verb.startswith("delete"))
        for subresource in type_.subresources:
            name = subresource.name
            answered |= {(type_.group, type_.plural, name), ("*", "*", name)}
            own = subresource.kind != type_.kind
            if name not in CONNECT:  # What is passed on is not decoded.
                for verb in METHODS.keys() & set(subresource.verbs):
                    yield Route(verb, f"{base}/{NAME}/{name}", not own)
    assert server.pipeline._specials.keys() <= answered


def large(media: str) -> bytes:
    """A body that is just large enough to be decoded beside the loop."""
    return malformed(offload.LARGE // (offload.EXPENSIVE if "yaml" in media.lower() else 1))


def malformed(size: int) -> bytes:
    """A body that is refused when it is decoded, as whatever it may be."""
    return b"}" * size


class Sender:
    """Requests over HTTP, without a connection."""

    def __init__(self, server: ApiServer) -> None:
        self._dispatcher = HttpDispatcher(server.dispatcher, lambda request: ADMIN, server.api_services)

    async def send(self, route: Route, media: str, body: bytes) -> HttpResponse:
        headers = {"content-type": media}
        request = HttpRequest(METHODS[route.verb], route.path, QUERY, headers, body, ("127.0.0.1", 1), None)
        answer = await self._dispatcher(request)
        assert isinstance(answer, HttpResponse)
        return answer


@asynccontextmanager
async def no_other_thread() -> AsyncIterator[None]:
    """Nothing is decoded beside the loop meanwhile."""
    begun, free = Event(), Event()

    def hold() -> None:
        begun.set()
        free.wait()

    holding = asyncio.create_task(offload.run(offload.LARGE, hold))
    try:
        await asyncio.to_thread(begun.wait)
        yield
    finally:
        free.set()
        await holding


@pytest.fixture
async def sender(server: ApiServer) -> Sender:
    """To a server with a custom kind, and with objects that have a scale, which is looked for before a body is read."""
    api = Api(server)
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    await api.create("crds", definition(version(subresources={"status": {}, "scale": paths})))
    await api.create("widgets", {"metadata": {"name": NAME}, "spec": {"replicas": 1}})
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    await api.create("deployments", {"metadata": {"name": NAME}, "spec": spec})
    return Sender(server)


async def test_no_large_body_is_decoded_on_the_event_loop(server: ApiServer, sender: Sender) -> None:
    decoded = set()
    for route in routes(server):
        async with no_other_thread():
            answers = {media: asyncio.create_task(sender.send(route, media, large(media))) for media in route.media}
            for _ in range(20):
                await asyncio.sleep(0)
            waiting = {media for media, answer in answers.items() if not answer.done()}
        for media, answer in answers.items():
            status = (await answer).status
            if media in waiting:
                assert status in (400, 404), (route, media, status)
                decoded.add(route)
            else:  # No object of which it could be the scale, or no media type of a patch to this kind.
                assert status in (404, 415), f"{route.verb} {route.path} decodes {media} on the event loop"
    left = {route.path for route in routes(server) if route not in decoded}
    assert all(path.endswith("/scale") for path in left), left
    assert not left & {f"{base}/{NAME}/scale" for base in (DEPLOYMENTS, WIDGETS)}


@pytest.mark.parametrize("body", [b"{a: [%b1]}", b'{"a":1,"a":[%b1]}'], ids=["flow", "repeated"])
async def test_what_is_applied_and_only_looks_like_json_counts_as_yaml(sender: Sender, body: bytes) -> None:
    route = Route("patch", "/api/v1/namespaces/default/configmaps/a", True)
    body %= b"1," * (offload.LARGE // offload.EXPENSIVE // 2)
    async with no_other_thread():
        answer = asyncio.create_task(sender.send(route, PatchType.APPLY.value, body))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not answer.done()
    assert (await answer).status == 400


async def test_bodies_of_what_is_not_stored_are_bounded(server: ApiServer, sender: Sender) -> None:
    async with no_other_thread():
        for route in routes(server):
            for media in route.media:
                if not route.stored:
                    answer = await sender.send(route, media, malformed(SMALL + 1))
                    assert answer.status in (413, 404), (route, media)
    review = Route("create", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", False)
    refused = await sender.send(review, JSON, malformed(SMALL + 1))
    assert refused.status == 413
    status = orjson.loads(refused.body)
    assert status["reason"] == "RequestEntityTooLarge"
    assert status["message"] == (
        "Request entity too large: limit is 131072 bytes for SelfSubjectAccessReview, the body has 131073"
    )


async def test_long_tokens_and_many_groups_are_reviewed(sender: Sender) -> None:
    async def review(kind: str, spec: dict[str, Any]) -> Any:
        group = "authentication" if kind == "TokenReview" else "authorization"
        route = Route("create", f"/apis/{group}.k8s.io/v1/{kind.lower()}s", False)
        answer = await sender.send(route, JSON, orjson.dumps({"spec": spec}))
        assert answer.status == 201
        return orjson.loads(answer.body)["status"]

    assert "error" in await review("TokenReview", {"token": "a" * 100_000})
    asked = {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}}
    groups = [f"oidc:{index:060}" for index in range(1500)]
    assert not (await review("SubjectAccessReview", {**asked, "groups": groups}))["allowed"]
    assert (await review("SubjectAccessReview", {**asked, "groups": [*groups, "system:masters"]}))["allowed"]
