"""A group of plain handlers beside an API server: discovery, authorisation by its roles, and resources nobody lists."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import orjson
import pytest

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.direct import DirectTransport
from karmada.apiserver.groupserver import GroupServer, LocalApi, Trust
from karmada.apiserver.http_dispatcher import BODY
from karmada.apiserver.requests.access import Access, Guarded
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden, MethodNotAllowed, NotFound, Unauthorized
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.transport import GroupVersionResource, Request, Verb

GROUP = "measures.example.com"
PODS = GroupVersionResource(GROUP, "v1", "pods")
RBAC = "rbac.authorization.k8s.io"


async def echo(context: Context, call: Call) -> Answer:
    parts = [call.verb, call.served.type.plural, call.namespace, call.name, call.subresource]
    return Answer(200, orjson.dumps(parts))


def measures() -> LocalApi:
    schema = Schema("object", preserve_unknown=True)
    types = [
        ResourceType(GROUP, "v1", "*", "Measure", True, schema, verbs=("get", "list"), open=True),
        ResourceType(GROUP, "v1", "gate", "Gate", False, schema, verbs=("get",), open=True),
    ]
    handler = Guarded(Access.RESOURCE, echo)
    return LocalApi(types, {(GROUP, "*", ""): handler, (GROUP, "gate", ""): handler})


@pytest.fixture
async def server() -> AsyncIterator[GroupServer]:
    async with AsyncExitStack() as stack:
        hub = Client((await stack.enter_async_context(ApiServer())).direct(ADMIN))
        rule = {"apiGroups": [GROUP], "resources": ["pods/rate"], "verbs": ["get"]}
        metadata = {"name": "reader"}
        await hub.resource(GroupVersionResource(RBAC, "v1", "clusterroles")).create(
            {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}
        )
        await hub.resource(GroupVersionResource(RBAC, "v1", "clusterrolebindings")).create(
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": dict(metadata),
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reader"},
                "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "dev"}],
            }
        )
        yield await stack.enter_async_context(GroupServer([measures()], hub, Trust(), name="measures"))


async def ask(transport: DirectTransport, type_: GroupVersionResource, *where: str) -> list[str]:
    name, subresource, namespace = (*where, "", "", "")[:3]
    verb = Verb.GET if name else Verb.LIST
    answer: list[str] = orjson.loads(
        await transport.send(Request(verb, type_, namespace=namespace, name=name, subresource=subresource))
    )
    return answer


async def test_one_type_answers_for_every_resource_and_subresource_of_its_group(server: GroupServer) -> None:
    direct = server.direct()
    assert await ask(direct, PODS, "web", "rate", "default") == ["get", "pods", "default", "web", "rate"]
    assert await ask(direct, PODS._replace(resource="anything")) == ["list", "anything", "", "", ""]
    gate = PODS._replace(resource="gate")
    assert await ask(direct, gate, "a", "b") == ["get", "gate", "", "a", "b"]
    with pytest.raises(NotFound):
        await ask(direct, gate)
    with pytest.raises(NotFound):  # it is in no namespace, and a role in one gives nothing of it
        await ask(direct, gate, "a", "b", "default")
    with pytest.raises(MethodNotAllowed):
        await direct.send(Request(Verb.DELETE, gate, name="a"))


async def test_discovery_lists_what_has_a_name_and_keeps_the_group_of_what_has_none(server: GroupServer) -> None:
    direct = server.direct()
    found = orjson.loads(await direct.raw("GET", f"/apis/{GROUP}/v1"))
    assert [resource["name"] for resource in found["resources"]] == ["gate"]
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    aggregated = orjson.loads(await direct.raw("GET", "/apis", accept=accept))
    (group,) = aggregated["items"]
    assert [resource["resource"] for resource in group["versions"][0]["resources"]] == ["gate"]
    assert orjson.loads(await direct.raw("GET", f"/openapi/v3/apis/{GROUP}/v1"))["openapi"]


async def test_roles_of_the_server_in_front_decide_about_every_subresource(server: GroupServer) -> None:
    dev = DirectTransport(server.dispatcher, UserInfo("dev", ("system:authenticated",)))
    assert await ask(dev, PODS, "web", "rate", "default")
    with pytest.raises(Forbidden, match="pods/errors"):
        await ask(dev, PODS, "web", "errors", "default")


async def test_tokens_are_those_that_the_server_in_front_knows(server: GroupServer) -> None:
    hub = server._hub
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot", "namespace": "default"}}
    accounts = GroupVersionResource("", "v1", "serviceaccounts")
    await hub.resource(accounts).create(account)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    wanted = Request(Verb.CREATE, accounts, namespace="default", name="bot", subresource="token", body=request)
    token = orjson.loads(await hub.transport.send(wanted))["status"]["token"]
    endpoint = f"https://127.0.0.1:{await server.listen()}"
    authority = Material(server.identity.authority.certificate_pem)
    bot = HttpTransport(Target(endpoint, authority, identity=Identity(token=Material(token.encode()))))
    with pytest.raises(Forbidden, match='User "system:serviceaccount:default:bot" cannot get resource "pods/rate"'):
        await bot.send(Request(Verb.GET, PODS, namespace="default", name="web", subresource="rate"))
    await bot.close()
    stranger = HttpTransport(Target(endpoint, authority, identity=Identity(token=Material(b"made-up"))))
    with pytest.raises(Unauthorized):
        await stranger.send(Request(Verb.GET, PODS, namespace="default", name="web", subresource="rate"))
    await stranger.close()


async def test_a_token_is_reviewed_again_when_its_request_had_to_wait(server: GroupServer) -> None:
    hub = server._hub
    accounts = hub.resource(GroupVersionResource("", "v1", "serviceaccounts"))
    await accounts.create({"metadata": {"name": "bot"}}, "default")
    token = (await accounts.submit("bot", "token", {"spec": {}}, "default"))["status"]["token"]
    headers = {"authorization": f"Bearer {token}", "content-length": "1"}
    request = HttpRequest("GET", "/apis", "", headers, b"x", ("127.0.0.1", 1), None)
    assert isinstance(await server._handle(request), HttpResponse)
    assert server._admit(request) == BODY
    await accounts.delete("bot", "default")
    server._tokens._known.clear()
    for _ in range(3):  # The verdict on headers holds for a step or two of the event loop.
        await asyncio.sleep(0)
    answer = await server._handle(request)
    assert isinstance(answer, HttpResponse)
    assert answer.status == 401


async def test_the_same_group_inside_the_api_server_registers_itself() -> None:
    async with ApiServer(ApiServerOptions(apis=[measures()])) as server:
        hub = Client(server.direct(ADMIN))
        services = hub.resource(GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices"))
        assert (await services.get(f"v1.{GROUP}"))["status"]["conditions"][0]["reason"] == "Local"
        assert await ask(server.direct(ADMIN), PODS, "web", "rate", "default")
