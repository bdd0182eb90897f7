"""Customised webhooks: who is asked, what is said, and what the answer has to be like."""

import base64
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from karmada.api.codec import from_tree, raw
from karmada.api.config.v1alpha1 import ResourceInterpreterWebhookConfiguration
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.facade import LayeredInterpreter, native_level
from karmada.interpreter.model import GroupVersionKind, InterpretError, Operation, ReplicaNeeds, Unavailable
from karmada.interpreter.webhook import Endpoint, NotDelivered, WebhookLevel, hooks_of

WIDGET = {
    "apiVersion": "example.io/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "shop"},
    "spec": {"replicas": 2},
}
KIND = GroupVersionKind("example.io", "v1", "Widget")
Answer = dict[str, Any]


def configuration(name: str = "c", **changes: Any) -> ResourceInterpreterWebhookConfiguration:
    rule = {"operations": ["*"], "apiGroups": ["example.io"], "apiVersions": ["v1"], "kinds": ["Widget"]}
    webhook = {
        "name": "w.example.com",
        "clientConfig": {"url": "https://hook.example.com/interpret"},
        "rules": [rule],
        "interpreterContextVersions": ["v1alpha1"],
        **changes,
    }
    return from_tree({"metadata": {"name": name}, "webhooks": [webhook]}, ResourceInterpreterWebhookConfiguration)


class Server:
    """A webhook that records requests and gives fixed answers."""

    def __init__(self, answer: Callable[[Answer], Answer]) -> None:
        self.requests: list[tuple[Endpoint, Answer]] = []
        self._answer = answer

    async def __call__(self, endpoint: Endpoint, body: bytes) -> bytes:
        context = orjson.loads(body)
        self.requests.append((endpoint, context))
        response = {"uid": context["request"]["uid"], "successful": True, **self._answer(context["request"])}
        return orjson.dumps(
            {"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterContext", "response": response}
        )


def level(answer: Answer | Callable[[Answer], Answer], **changes: Any) -> tuple[WebhookLevel, Server]:
    server = Server(answer if callable(answer) else lambda _: answer)
    return WebhookLevel(server, hooks_of([configuration(**changes)])), server


def patch(*operations: Any) -> Answer:
    return {"patch": base64.b64encode(orjson.dumps(operations)).decode(), "patchType": "JSONPatch"}


async def test_question_has_the_words_of_the_protocol() -> None:
    hooks, server = level({"replicas": 3, "replicaRequirements": {"resourceRequest": {"cpu": "1"}}})
    needs = await hooks.replicas(WIDGET)
    assert needs.replicas == 3
    assert needs.requirements is not None
    assert needs.requirements.resource_request == {"cpu": "1"}
    ((endpoint, context),) = server.requests
    assert endpoint == Endpoint("https://hook.example.com/interpret")
    assert (context["apiVersion"], context["kind"]) == ("config.karmada.io/v1alpha1", "ResourceInterpreterContext")
    request = context["request"]
    assert request.pop("uid")
    assert request == {
        "kind": {"group": "example.io", "version": "v1", "kind": "Widget"},
        "name": "w",
        "namespace": "shop",
        "operation": "InterpretReplica",
        "object": WIDGET,
    }


async def test_every_operation_sends_what_it_is_about_and_reads_its_answer() -> None:
    replace = {"op": "replace", "path": "/spec/replicas", "value": 9}
    hooks, server = level(patch(replace))
    assert (await hooks.revise(WIDGET, 9))["spec"] == {"replicas": 9}
    assert server.requests[-1][1]["request"]["replicas"] == 9
    assert (await hooks.retain(WIDGET, {"observed": True}))["spec"] == {"replicas": 9}
    assert server.requests[-1][1]["request"]["observedObject"] == {"observed": True}
    items = [AggregatedStatusItem(cluster_name="m1", status=raw({"a": 1}))]
    assert (await hooks.aggregate(WIDGET, items))["spec"] == {"replicas": 9}
    assert server.requests[-1][1]["request"]["aggregatedStatus"] == [{"clusterName": "m1", "status": {"a": 1}}]
    answers = {"healthy": True, "rawStatus": {"phase": "x"}, "components": [{"name": "main", "replicas": 1}]}
    hooks, _ = level({**answers, "dependencies": [{"apiVersion": "v1", "kind": "Secret", "name": "s"}]})
    assert await hooks.healthy(WIDGET) is True
    assert await hooks.reflect(WIDGET) == {"phase": "x"}
    assert [part.name for part in await hooks.components(WIDGET)] == ["main"]
    assert [found.name for found in await hooks.dependencies(WIDGET)] == ["s"]


async def test_without_a_patch_the_resource_stays_as_it_is() -> None:
    hooks, _ = level({})
    assert await hooks.revise(WIDGET, 9) == WIDGET


WRONG = {
    "other question": ({"uid": "other", "healthy": True}, "another question"),
    "refusal": ({"successful": False, "status": {"message": "no such thing", "code": 404}}, "no such thing.*404"),
    "answer missing": ({}, "lacks healthy"),
    "other patch type": ({"healthy": True, "patch": "W10=", "patchType": "Merge"}, "only JSONPatch"),
}


@pytest.mark.parametrize(("answer", "message"), WRONG.values(), ids=WRONG)
async def test_wrong_answer_is_an_error(answer: Answer, message: str) -> None:
    hooks, _ = level(answer)
    with pytest.raises(InterpretError, match=message):
        await hooks.healthy(WIDGET)


async def test_an_answer_without_what_was_asked_for_is_an_error() -> None:
    hooks, _ = level({})
    with pytest.raises(InterpretError, match="lacks replicas"):
        await hooks.replicas(WIDGET)
    hooks, _ = level({"rawStatus": None})
    with pytest.raises(InterpretError, match="lacks rawStatus"):
        await hooks.reflect(WIDGET)


@pytest.mark.parametrize(
    ("body", "why"), [(b"<html>", "gave no valid answer: "), (b"{}", "gave no answer: response is missing")]
)
async def test_what_is_no_answer_at_all_is_an_error_that_names_the_webhook(body: bytes, why: str) -> None:
    async def post(endpoint: Endpoint, question: bytes) -> bytes:
        return body

    (hook,) = hooks_of([configuration()])
    with pytest.raises(InterpretError, match=f"^webhook {hook.id} {why}"):
        await WebhookLevel(post, [hook]).healthy(WIDGET)


async def test_patch_that_does_not_apply_is_an_error() -> None:
    hooks, _ = level(patch({"op": "remove", "path": "/nothing"}))
    with pytest.raises(InterpretError, match="does not apply"):
        await hooks.revise(WIDGET, 1)


MATCHING = {
    "everything": ({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["*"]}, True),
    "other operation": ({"operations": ["Retain"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["*"]}, False),
    "other group": ({"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["*"], "kinds": ["*"]}, False),
    "other version": ({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["v2"], "kinds": ["*"]}, False),
    "one of several kinds": (
        {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["A", "Widget"]},
        True,
    ),
}


@pytest.mark.parametrize(("rule", "covered"), MATCHING.values(), ids=MATCHING)
def test_rules_say_what_a_webhook_is_asked(rule: Answer, covered: bool) -> None:
    (hook,) = hooks_of([configuration(rules=[rule])])
    assert hook.covers(KIND, Operation.HEALTH) is covered


async def test_first_webhook_by_name_is_asked() -> None:
    server = Server(lambda _: {"healthy": True})
    urls = {name: {"url": f"https://{name}"} for name in ("b", "a", "c")}
    hooks = WebhookLevel(server, hooks_of(configuration(name, clientConfig=url) for name, url in urls.items()))
    await hooks.healthy(WIDGET)
    assert [endpoint.url for endpoint, _ in server.requests] == ["https://a"]


async def test_service_is_reached_by_its_name() -> None:
    service = {"name": "hook", "namespace": "system", "path": "/ask", "port": 8443}
    client = {"service": service, "caBundle": base64.b64encode(b"pem").decode()}
    hooks, server = level({"healthy": True}, clientConfig=client)
    await hooks.healthy(WIDGET)
    assert server.requests[0][0] == Endpoint("https://hook.system.svc:8443/ask", b"pem", "hook.system.svc")


@pytest.mark.looptime
async def test_question_that_does_not_arrive_is_asked_again_until_time_is_over() -> None:
    attempts = 0

    async def post(endpoint: Endpoint, body: bytes) -> bytes:
        nonlocal attempts
        attempts += 1
        raise NotDelivered

    hooks = WebhookLevel(post, hooks_of([configuration(timeoutSeconds=3)]))
    with pytest.raises(InterpretError, match="within 3s"):
        await hooks.healthy(WIDGET)
    assert attempts == 4


UNUSABLE = {
    "neither address nor service": {"clientConfig": {}},
    "both": {"clientConfig": {"url": "https://x", "service": {"name": "a", "namespace": "b"}}},
    "other protocol": {"interpreterContextVersions": ["v2"]},
    "broken certificates": {"clientConfig": {"url": "https://x", "caBundle": "%%%"}},
}


@pytest.mark.parametrize("changes", UNUSABLE.values(), ids=UNUSABLE)
async def test_webhook_that_cannot_be_asked_leaves_the_answer_to_the_level_below_and_is_reported(
    changes: Answer,
) -> None:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["*"]}
    hooks, server = level({"replicas": 99}, rules=[rule], **changes)
    reports = []
    interpreter = LayeredInterpreter(hooks, native_level(), report=lambda *what: reports.append(what))
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {"replicas": 2}}
    assert await interpreter.replicas(deployment) == ReplicaNeeds(2)
    assert server.requests == []
    ((_, operation, name, error),) = reports
    assert (operation, name) == (Operation.REPLICAS, "customised webhook")
    assert isinstance(error, Unavailable)
    assert error.source == "ResourceInterpreterWebhookConfiguration/c"


@pytest.mark.parametrize("junk", ["!", " ", "\n"])
async def test_what_is_not_quite_base64_is_refused(junk: str) -> None:
    bundle = base64.b64encode(b"pem").decode() + junk
    hooks, _ = level({"healthy": True}, clientConfig={"url": "https://hook.example.com", "caBundle": bundle})
    with pytest.raises(Unavailable, match=r"clientConfig.caBundle is not base64"):
        await hooks.healthy(WIDGET)
    hooks, _ = level({"patch": base64.b64encode(b"[]").decode() + junk, "patchType": "JSONPatch"})
    with pytest.raises(InterpretError, match="the webhook's patch does not apply"):
        await hooks.revise(WIDGET, 1)
