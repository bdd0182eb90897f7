"""Objects that clients sent to a real API server, and what it made of them: defaulted, or refused with reasons."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.scalars import Mismatch

RECORDED = Path(__file__).parents[4] / "shared" / "golden" / "kube"
TYPES = {(t.group, t.version, t.plural): t for t in builtin_types()}
PATH = re.compile(r"/api(?:s/(?P<group>[^/]+))?/(?P<version>[^/]+)(?:/namespaces/[^/]+)?/(?P<plural>[a-z]+)")

# Written by admission plugins or allocators, not by the kind's own rules.
ELSEWHERE = {
    "Pod": ("spec.tolerations", "spec.priority", "spec.preemptionPolicy"),
    "PersistentVolumeClaim": ("metadata.finalizers",),
    "PersistentVolume": ("metadata.finalizers", "status.lastPhaseTransitionTime"),
    "VolumeAttributesClass": ("metadata.finalizers",),
    "Node": ("spec.taints",),
    "Service": ("spec.clusterIP", "spec.clusterIPs", "spec.healthCheckNodePort", "spec.ports"),
}
SERVER_OWNED = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace")
# Refused by allocators, by admission, or because of a cost estimate that this server does not make.
REFUSED_ELSEWHERE = re.compile(r"failed to allocate IP|provided port is not in the valid range")
# These cases are about the request, not about the object.
ABOUT_REQUESTS = ("crud-notfound", "crud-create-with", "crud-methods", "crud-media", "crud-fieldmanager")
NOT_ESTIMATED = ("crd-cel-cost-1",)


def recorded() -> list[Any]:
    """Create requests of built-in kinds whose answer is recorded."""
    cases = []
    for suite in ("defaults", "crud", "crd"):
        file = RECORDED / f"{suite}.jsonl"
        if not file.exists():
            continue
        for line in file.read_text().splitlines():
            step = json.loads(line)
            match = PATH.fullmatch((step.get("path") or "").split("?")[0])
            body = step.get("body")
            if step.get("method") != "POST" or match is None or not isinstance(body, dict):
                continue
            type_ = TYPES.get((match["group"] or "", match["version"], match["plural"]))
            expected = step["expect"]
            if type_ is None or body.get("kind", type_.kind) != type_.kind or "body" not in expected:
                continue
            name = f"{suite}-{step['case']}-{step['step']}"
            if name.startswith(ABOUT_REQUESTS) or name in NOT_ESTIMATED:
                continue
            cases.append(pytest.param(type_, body, expected, id=name))
    return cases


CASES = recorded()


def forget(obj: Any, paths: tuple[str, ...]) -> None:
    for path in paths:
        *parents, last = path.split(".")
        value = obj
        for parent in parents:
            value = value.get(parent) or {}
        value.pop(last, None)


def create(type_: ResourceType, body: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """What a create request does to an object, between decoding and storing."""
    obj = json.loads(json.dumps(body).replace("${run}", "run").replace("${ns}", "ns"))
    decode(type_.schema, obj)
    obj["metadata"]["uid"] = "u1"
    if type_.namespaced:
        obj["metadata"]["namespace"] = "ns"
    if not obj["metadata"].get("name") and obj["metadata"].get("generateName"):
        obj["metadata"]["name"] = obj["metadata"]["generateName"] + "gen00"
    type_.strategy.default(obj)
    type_.strategy.prepare_create(obj)
    return obj, type_.strategy.validate(obj, None)


def complaints(type_: ResourceType, body: dict[str, Any]) -> list[str]:
    """What decoding has to say against a body, or else the refusals that come before decoding."""
    try:
        unknown = decode(type_.schema, json.loads(json.dumps(body)))
    except Mismatch as mismatch:
        return [str(mismatch)]
    return [f'unknown field "{path}"' for path in unknown] or ["does not match", "no kind"]


@pytest.mark.golden
@pytest.mark.skipif(not CASES, reason="needs ../shared/golden/kube")
@pytest.mark.parametrize(("type_", "body", "expected"), CASES)
def test_create_answers_as_recorded(type_: ResourceType, body: dict[str, Any], expected: dict[str, Any]) -> None:
    text = (
        json.dumps(expected["body"])
        .replace("${run}", "run")
        .replace("${g_x}", "dng-gen00")
        .replace("<gen>", "gen00")
        .replace("<uid:1>", "u1")
    )
    answer = json.loads(text)
    if expected["status"] == 400:
        assert any(text in answer["message"] for text in complaints(type_, body))
        return
    obj, errors = create(type_, body)
    if expected["status"] == 422:
        causes = answer["details"]["causes"]
        wanted = sorted((c["field"], c["reason"], c["message"]) for c in causes)
        if any(REFUSED_ELSEWHERE.search(cause["message"]) for cause in causes):
            return
        assert sorted((e.field, e.reason, e.message) for e in errors) == wanted
        return
    assert expected["status"] == 201
    assert errors == []
    forget(obj, ELSEWHERE.get(type_.kind, ()))
    forget(answer, ELSEWHERE.get(type_.kind, ()))
    for field in SERVER_OWNED:
        obj["metadata"].pop(field, None)
        answer["metadata"].pop(field, None)
    answer.pop("kind"), answer.pop("apiVersion")
    obj.pop("kind", None), obj.pop("apiVersion", None)
    assert obj == answer
