"""Admission webhooks: who is asked what, and what the answers do. The webhook is a function, not a server."""

import base64
from collections.abc import AsyncIterator

import orjson
import pytest
from tests.apiserver.requests.conftest import Api, configmap

from karmada.apiserver.outgoing import CallFailed, Response
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

GROUP = "admissionregistration.k8s.io"


class Hooks:
    """Answers instead of the network; remembers what it was asked."""

    def __init__(self) -> None:
        self.requests = []
        self.answers = {}

    async def request(self, method, target, headers, body, timeout):
        path = target.path.partition("?")[0]
        review = orjson.loads(body)
        self.requests.append((path, review["request"]))
        response = self.answers[path](review["request"])
        if isinstance(response, Exception):
            raise response
        answer = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview"}
        return Response(200, {}, orjson.dumps({**answer, "response": {"uid": review["request"]["uid"], **response}}))

    async def close(self) -> None:
        pass


@pytest.fixture
def hooks() -> Hooks:
    return Hooks()


@pytest.fixture
async def api(hooks) -> AsyncIterator[Api]:
    async with ApiServer(ApiServerOptions(caller=hooks)) as server:
        yield Api(server)


async def register(client: Api, kind: str, *names: str, **more) -> None:
    webhooks = [
        {
            "name": f"{name}.example.com",
            "clientConfig": {"url": f"https://hooks.example/{name}"},
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["configmaps"],
                }
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **more,
        }
        for name in names
    ]
    resource = GroupVersionResource(GROUP, "v1", f"{kind}webhookconfigurations")
    body = {"metadata": {"name": "hooks"}, "webhooks": webhooks}
    await client.transport.send(Request(Verb.CREATE, resource, body=body))


def patching(operations):
    patch = base64.b64encode(orjson.dumps(operations)).decode()
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": patch}


async def test_a_mutating_webhook_changes_the_object(api, hooks):
    hooks.answers["/add"] = patching([{"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}}])
    await register(api, "mutating", "add")
    created = await api.create("configmaps", configmap("a", k="v"))
    assert created["metadata"]["labels"] == {"by": "hook"}
    request = hooks.requests[0][1]
    assert (request["operation"], request["name"], request["namespace"]) == ("CREATE", "a", "default")
    assert "uid" not in request["object"]["metadata"]


async def test_a_validating_webhook_refuses_with_its_own_words_and_code(api, hooks):
    hooks.answers["/no"] = lambda request: {"allowed": False, "status": {"message": "not today", "code": 418}}
    await register(api, "validating", "no")
    with pytest.raises(errors.ApiError) as refused:
        await api.create("configmaps", configmap("a"))
    assert refused.value.message == 'admission webhook "no.example.com" denied the request: not today'
    assert refused.value.status["code"] == 418


async def test_a_failed_call_refuses_unless_failures_are_ignored(api, hooks):
    hooks.answers["/down"] = lambda request: CallFailed("connection refused")
    await register(api, "validating", "down")
    with pytest.raises(errors.ServerError, match=r'failed calling webhook "down\.example\.com"'):
        await api.create("configmaps", configmap("a"))
    policy = GroupVersionResource(GROUP, "v1", "validatingwebhookconfigurations")
    await api.transport.send(Request(Verb.DELETE, policy, name="hooks"))
    await register(api, "validating", "down", failurePolicy="Ignore")
    assert await api.create("configmaps", configmap("a"))


async def test_other_kinds_and_exempt_namespaces_are_not_asked_about(api, hooks):
    selector = {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}]
    }
    await register(api, "validating", "never", namespaceSelector=selector)
    await api.create("configmaps", configmap("a"))
    await api.create("namespaces", {"metadata": {"name": "n"}})
    assert hooks.requests == []


async def test_match_conditions_excuse_a_webhook(api, hooks):
    hooks.answers["/some"] = lambda request: {"allowed": False}
    conditions = [{"name": "only-b", "expression": "object.metadata.name == 'b'"}]
    await register(api, "validating", "some", matchConditions=conditions)
    await api.create("configmaps", configmap("a"))
    with pytest.raises(errors.ApiError, match="denied the request without explanation"):
        await api.create("configmaps", configmap("b"))


async def test_an_earlier_webhook_is_asked_again_when_a_later_one_changed_something(api, hooks):
    hooks.answers["/first"] = lambda request: {"allowed": True}
    hooks.answers["/second"] = patching([{"op": "add", "path": "/data/x", "value": "1"}])
    await register(api, "mutating", "first", "second", reinvocationPolicy="IfNeeded")
    await api.create("configmaps", configmap("a", k="v"))
    assert [path for path, _ in hooks.requests] == ["/first", "/second", "/first"]


async def test_webhooks_are_asked_again_after_all_others_and_in_their_order(api, hooks):
    hooks.answers["/first"] = hooks.answers["/third"] = lambda request: {"allowed": True}
    hooks.answers["/second"] = patching([{"op": "add", "path": "/data/x", "value": "1"}])
    await register(api, "mutating", "first", "second", "third", reinvocationPolicy="IfNeeded")
    await api.create("configmaps", configmap("a", k="v"))
    assert [path for path, _ in hooks.requests] == ["/first", "/second", "/third", "/first"]


async def test_a_change_of_the_second_round_is_shown_to_later_webhooks_but_not_for_ever(api, hooks):
    change = patching([{"op": "add", "path": "/data/y", "value": "1"}])
    hooks.answers["/first"] = lambda request: change(request) if "x" in request["object"]["data"] else {"allowed": True}
    hooks.answers["/second"] = patching([{"op": "add", "path": "/data/x", "value": "1"}])
    await register(api, "mutating", "first", "second", reinvocationPolicy="IfNeeded")
    await api.create("configmaps", configmap("a", k="v"))
    assert [path for path, _ in hooks.requests] == ["/first", "/second", "/first", "/second"]


async def test_a_webhook_that_was_not_concerned_at_first_is_not_asked_again(api, hooks):
    hooks.answers["/first"] = lambda request: {"allowed": True}
    hooks.answers["/second"] = patching([{"op": "add", "path": "/metadata/labels", "value": {"app": "a"}}])
    await register(
        api, "mutating", "first", reinvocationPolicy="IfNeeded", objectSelector={"matchLabels": {"app": "a"}}
    )
    resource = GroupVersionResource(GROUP, "v1", "mutatingwebhookconfigurations")
    [hook] = orjson.loads(await api.transport.send(Request(Verb.GET, resource, name="hooks")))["webhooks"]
    other = {**hook, "name": "second.example.com", "clientConfig": {"url": "https://hooks.example/second"}}
    other.pop("objectSelector")
    body = {"metadata": {"name": "other"}, "webhooks": [other]}
    await api.transport.send(Request(Verb.CREATE, resource, body=body))
    await api.create("configmaps", configmap("a", k="v"))
    assert [path for path, _ in hooks.requests] == ["/second"]


async def test_warnings_reach_the_caller_s_answer_only_over_http_and_never_fail(api, hooks):
    hooks.answers["/warn"] = lambda request: {"allowed": True, "warnings": ["careful"]}
    await register(api, "validating", "warn")
    assert await api.create("configmaps", configmap("a"))


SUBRESOURCES = {
    "apiGroups": ["*"],
    "apiVersions": ["*"],
    "operations": ["*"],
    "resources": ["*/scale", "*/binding", "*/eviction", "*/token"],
}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
OWN_KINDS = {
    "Scale": ("patch", "deployments", "scale", {"spec": {"replicas": 2}}),
    "Binding": ("create", "pods", "binding", {"metadata": {"name": "a"}, "target": {"name": "n"}}),
    "Eviction": ("create", "pods", "eviction", {"metadata": {"name": "a"}}),
    "TokenRequest": ("create", "serviceaccounts", "token", {"spec": {}}),
}


async def ask_for(api: Api, kind: str) -> None:
    verb, plural, subresource, body = OWN_KINDS[kind]
    resource = GroupVersionResource("apps" if plural == "deployments" else "", "v1", plural)
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE} if resource.group else TEMPLATE["spec"]
    own = {} if plural == "serviceaccounts" else {"spec": spec}
    await api.transport.send(Request(Verb.CREATE, resource, "default", body={"metadata": {"name": "a"}, **own}))
    media = PatchType.MERGE if verb == "patch" else None
    await api.transport.send(Request(Verb(verb), resource, "default", "a", subresource, {}, body, media))


@pytest.mark.parametrize("kind", OWN_KINDS)
@pytest.mark.parametrize("given", ["x", 5, []])
async def test_what_a_webhook_makes_of_a_subresource_is_decoded_before_the_next_sees_it(api, hooks, kind, given):
    await register(api, "mutating", "one", "two", rules=[SUBRESOURCES])
    hooks.answers["/one"] = patching([{"op": "replace", "path": "/metadata", "value": given}])
    text = rf'webhook "one\.example\.com" returned a patch whose result cannot be decoded: {kind} in version "v1"'
    with pytest.raises(errors.ServerError, match=text):
        await ask_for(api, kind)
    assert {path for path, _ in hooks.requests} == {"/one"}


@pytest.mark.parametrize("kind", OWN_KINDS)
async def test_a_webhook_may_change_what_a_subresource_is_asked_for(api, hooks, kind):
    await register(api, "mutating", "one", "two", rules=[SUBRESOURCES])
    hooks.answers["/one"] = patching([{"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}}])
    hooks.answers["/two"] = lambda request: {"allowed": True}
    await ask_for(api, kind)
    seen = [request["object"] for path, request in hooks.requests if path == "/two"]
    assert seen[0]["kind"] == kind
    assert seen[0]["metadata"]["labels"] == {"by": "hook"}


async def test_a_webhook_that_makes_something_else_of_an_object_is_named(api, hooks):
    await register(api, "mutating", "one")
    hooks.answers["/one"] = patching([{"op": "replace", "path": "/data", "value": "x"}])
    text = 'webhook "one.example.com" returned a patch whose result cannot be decoded: ConfigMap in version "v1"'
    with pytest.raises(errors.ServerError, match=text):
        await api.create("configmaps", configmap("a", k="v"))
