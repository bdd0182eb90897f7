"""Rules of a stock kube-apiserver that clients notice, asked over HTTPS as they do."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from karmada.testing.differential.kube.peers import Answer, Peer, ours

GROUP = "example.dev"
THINGS = f"/apis/{GROUP}/v1/things"
PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
MERGE, STRATEGIC = ({"Content-Type": f"application/{name}-patch+json"} for name in ("merge", "strategic-merge"))
Ask = Callable[..., Answer]


@pytest.fixture
async def asking(tmp_path):
    """Runs a function that asks a server, in a thread beside it."""
    async with ours(tmp_path) as config:
        peer = Peer(config)
        yield lambda script: asyncio.to_thread(script, peer.send)
        peer.close()


def define(ask: Ask, spec: dict[str, Any], **version: Any) -> Answer:
    """A cluster-wide custom kind with a schema for its spec, served when this returns."""
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}}
    names = {"plural": "things", "kind": "Thing"}
    found = {"name": "v1", "served": True, "storage": True, "schema": schema, **version}
    body = {
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [found]},
    }
    answer = ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    end = time.monotonic() + 10
    while answer.code == 201 and ask("GET", THINGS).code != 200 and time.monotonic() < end:
        pass
    return answer


def thing(spec: Any, **more: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "o"}, "spec": spec, **more}


async def test_an_update_of_a_pod_may_leave_out_what_admission_filled_in(asking):
    def script(ask):
        ask("POST", PODS, POD)
        return ask("PUT", f"{PODS}/p", POD)

    answer = await asking(script)
    assert answer.code == 200
    assert answer.body["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    assert len(answer.body["spec"]["tolerations"]) == 2


async def test_null_counts_as_absent_in_fields_that_are_not_nullable(asking):
    def script(ask):
        define(
            ask, {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string", "nullable": True}}}
        )
        return ask("POST", THINGS, thing({"a": None, "b": None}))

    answer = await asking(script)
    assert (answer.code, answer.body.get("spec")) == (201, {"b": None})


async def test_a_custom_object_of_another_kind_is_invalid_and_one_of_no_kind_malformed(asking):
    def script(ask):
        define(ask, {"type": "object"})
        other, none = thing({}, kind="Other"), thing({}, kind="")
        return [ask("POST", THINGS, other).code, ask("POST", THINGS, none).code, ask("PUT", f"{THINGS}/o", other).code]

    assert await asking(script) == [422, 400, 404]


async def test_a_status_without_subresource_counts_as_a_new_generation(asking):
    def script(ask):
        define(ask, {"type": "object"}, subresources={})
        ask("POST", THINGS, thing({}))
        labels = ask("PATCH", f"{THINGS}/o", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        schema_less = ask("PATCH", f"{THINGS}/o", {"status": {}}, MERGE)
        return [one.body["metadata"]["generation"] for one in (labels, schema_less)]

    assert await asking(script) == [1, 2]


@pytest.mark.parametrize("rule", ["self.nope > 1", "self.a", "self.a < 'x'", "self.b.startsWith('x')"])
async def test_a_rule_that_no_value_of_the_schema_fits_is_refused(asking, rule):
    fields = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    spec = {"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": rule}]}
    assert (await asking(lambda ask: define(ask, spec))).code == 422


@pytest.mark.parametrize("rule", ["self.a > 1", "!has(self.c) || self.c.all(x, x.k != '')", "self.m['x'] == 'y'"])
async def test_a_rule_that_fits_its_schema_is_accepted(asking, rule):
    items = {"type": "object", "properties": {"k": {"type": "string", "maxLength": 5}}}
    fields = {
        "a": {"type": "integer"},
        "c": {"type": "array", "maxItems": 3, "items": items},
        "m": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 5}},
    }
    spec = {"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": rule}]}
    assert (await asking(lambda ask: define(ask, spec))).code == 201


async def test_deleting_a_job_without_a_policy_warns_of_the_pods_left_behind(asking):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"metadata": {"name": "j"}, "spec": {"template": template}}
    path = "/apis/batch/v1/namespaces/default/jobs"

    def script(ask):
        ask("POST", path, job)
        silent = ask("DELETE", f"{path}/j?dryRun=All&propagationPolicy=Background")
        return silent.warnings, ask("DELETE", f"{path}/j?dryRun=All").warnings

    silent, warnings = await asking(script)
    assert not silent
    assert "child pods are preserved by default" in warnings[0]


async def test_a_deleted_collection_is_answered_as_it_was(asking):
    def script(ask):
        ask("POST", PODS, {**POD, "spec": {**POD["spec"], "nodeName": "n"}})
        return ask("DELETE", PODS)

    [pod] = (await asking(script)).body["items"]
    assert "deletionTimestamp" not in pod["metadata"]


async def test_an_update_for_another_uid_conflicts_whatever_version_it_names(asking):
    def script(ask):
        made = ask("POST", PODS, POD)
        meta = {"name": "p", "uid": "another", "resourceVersion": made.body["metadata"]["resourceVersion"]}
        return ask("PUT", f"{PODS}/p", {**POD, "metadata": meta}).code

    assert await asking(script) == 409


async def test_new_sizes_and_debugging_containers_are_judged_and_counted(asking):
    def script(ask):
        ask("POST", PODS, POD)
        nameless = ask(
            "PATCH", f"{PODS}/p/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"image": "i"}]}}, MERGE
        )
        wanted = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "-1"}}}]}}
        negative = ask("PATCH", f"{PODS}/p/resize", wanted, STRATEGIC)
        added = {"spec": {"ephemeralContainers": [{"name": "d", "image": "i"}]}}
        return nameless.code, negative.code, ask("PATCH", f"{PODS}/p/ephemeralcontainers", added, MERGE)

    nameless, negative, added = await asking(script)
    assert (nameless, negative, added.code) == (422, 422, 200)
    assert added.body["metadata"]["generation"] == 2


async def test_unknown_subresources_are_not_found_with_any_method(asking):
    def script(ask):
        ask("POST", PODS, POD)
        return [ask(method, f"{PODS}/p/nope").code for method in ("GET", "HEAD", "OPTIONS", "DELETE")]

    assert await asking(script) == [404] * 4


async def test_a_conversion_that_is_given_names_its_strategy(asking):
    def script(ask, conversion):
        spec = {"group": GROUP, "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"}}
        schema = {"openAPIV3Schema": {"type": "object"}}
        spec |= {"versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}]}
        body = {"metadata": {"name": f"things.{GROUP}"}, "spec": {**spec, "conversion": conversion}}
        answer = ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", body)
        return answer.code, answer.body.get("spec", {}).get("conversion")

    assert await asking(lambda ask: script(ask, {})) == (422, None)
    assert await asking(lambda ask: script(ask, None)) == (201, {"strategy": "None"})


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"type": "array", "items": {"type": "string", "nope": 1}}, 201),
        ({"type": "object", "additionalProperties": {"type": "string", "nope": 1}}, 201),
        ({"type": "string", "nope": 1}, 400),
    ],
)
async def test_unknown_keywords_in_items_and_values_are_overlooked_even_where_asked_to_be_strict(asking, spec, code):
    def script(ask):
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
        names = {"plural": "things", "kind": "Thing"}
        body = {"group": GROUP, "scope": "Cluster", "names": names, "versions": versions}
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&fieldValidation=Strict"
        return ask("POST", path, {"metadata": {"name": f"things.{GROUP}"}, "spec": body})

    answer = await asking(script)
    assert answer.code == code
    assert answer.warnings == ()
    assert "nope" not in str(answer.body.get("spec"))
