"""Ownership as a real API server recorded it: every write whose live object is known from the answer before it.

The recorded answer holds the object after defaulting; what a write changed is recomputed from the live object, the
request and the answer, and the managedFields must come out as recorded.
"""

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.managedfields import apply, reset_fields, track_update
from karmada.apiserver.resources import ResourceType, Subresource
from karmada.apiserver.schema.openapi import from_openapi
from karmada.machinery.httpserver.failure import Failure

GOLDEN = Path(__file__).parents[4] / "shared" / "golden" / "kube"
NOW = "<time>"
pytestmark = pytest.mark.skipif(not GOLDEN.exists(), reason="needs ../shared/golden/kube")

ADDED_LATER: dict[str, list[str]] = {
    "Pod": ["spec.tolerations", "spec.priority", "spec.preemptionPolicy"],
    "Service": [
        *(f"spec.{field}" for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")),
        *("spec.healthCheckNodePort", "spec.ports.nodePort"),
    ],
    "Namespace": ["spec.finalizers"],
    "PersistentVolumeClaim": ["metadata.finalizers", "spec.storageClassName"],
    "PersistentVolume": ["metadata.finalizers"],
    "VolumeAttributesClass": ["metadata.finalizers"],
    "Node": ["spec.taints"],
    "Ingress": ["spec.ingressClassName"],
    "Job": ["metadata.labels", "spec.selector", "spec.template.metadata.labels"],
}
"""What admission and strategies add to an answer after ownership is settled, unless the request has it."""
NOT_PURE = {
    "defaults-namespace-3": "the name, and with it a label, is generated after ownership is settled",
    "deletion-namespace-finalize-1": "the namespace's own finalizer joins the requested one afterwards",
}


@cache
def resources() -> dict[tuple[str, str, str], ResourceType]:
    found = {(t.group, t.version, t.plural): t for t in builtin_types()}
    for crd in json.loads((GOLDEN / "fixtures.json").read_text()).values():
        spec = crd["body"]["spec"]
        version = spec["versions"][0]
        subresources = tuple(Subresource(name, (), "") for name in version.get("subresources", ()))
        schema = from_openapi(version["schema"]["openAPIV3Schema"], lambda ref, beside: pytest.fail(ref))
        names = spec["names"]
        found[(spec["group"], version["name"], names["plural"])] = ResourceType(
            spec["group"], version["name"], names["plural"], names["kind"], True, schema, subresources=subresources
        )
    return found


def locate(path: str) -> tuple[ResourceType | None, str, str]:
    parts = [part for part in path.split("?")[0].split("/") if part]
    group, version, *rest = ["", *parts[1:]] if parts[0] == "api" else [*parts[1:], "", ""]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    plural, name, subresource, *_ = [*rest, "", "", ""]
    return resources().get((group, version, plural)), name, subresource


def steps() -> Iterator[Any]:
    if not GOLDEN.exists():
        return
    for file in sorted(GOLDEN.glob("*.jsonl")):
        live: dict[str, Any] = {}
        case = ""
        mutating = file.stem == "admission"
        for line in file.read_text().splitlines():
            step = json.loads(line)
            if step["case"] != case:
                case, live = step["case"], {}
            found = write(step, live)
            name = f"{file.stem}-{case}-{step.get('step')}"
            if found is not None and name not in NOT_PURE and not (mutating and case.startswith("mut-")):
                yield pytest.param(*found, id=name)
            remember(step, live)


def remember(step: dict[str, Any], live: dict[str, Any]) -> None:
    body = step.get("expect", {}).get("body")
    key = step.get("path", "").split("?")[0].split("/status")[0]
    if step.get("method") == "POST" and isinstance(body, dict):
        key += "/" + str((body.get("metadata") or {}).get("name"))
    if step.get("method") == "DELETE" or step.get("ignore_body") or step.get("drop") or step.get("select"):
        live.pop(key, None)
    elif isinstance(body, dict) and body.get("kind") != "Status" and "metadata" in body:
        live[key] = body


def as_sent(answer: Any, body: Any, kind: str) -> Any:
    """The object of an answer as it was when ownership was settled."""
    result = copy.deepcopy(answer)
    result["metadata"].pop("managedFields", None)
    for path in ADDED_LATER.get(kind, ()):
        drop(result, body, path.split("."))
    result.pop("status", None)
    for key, value in body.items():
        if result.get(key, value) is None:
            result[key] = value
    return result


def drop(target: Any, body: Any, keys: list[str]) -> None:
    """Delete a path from `target` where `body` does not have it."""
    if isinstance(target, list):
        for item, wanted in zip(target, body or [], strict=False):
            drop(item, wanted, keys)
    elif isinstance(target, dict) and keys[0] in target:
        wanted = (body or {}).get(keys[0])
        if len(keys) > 1:
            drop(target[keys[0]], wanted, keys[1:])
        elif wanted is None:
            del target[keys[0]]


def manager_of(step: dict[str, Any]) -> str:
    found = re.search(r"[?&]fieldManager=([^&]*)", step["path"])
    agent = step.get("headers", {}).get("User-Agent", "transcript/1")
    return found.group(1) if found else agent.split("/")[0]


def write(step: dict[str, Any], live: dict[str, Any]) -> Any:
    """A write as (step, resource, subresource, live object or None), where all of it is known."""
    expected = step.get("expect", {})
    answer = expected.get("body")
    dry = "dryRun" in step.get("path", "")
    if step.get("method") not in ("POST", "PUT", "PATCH") or dry or step.get("drop") or step.get("select"):
        return None
    if not isinstance(answer, dict) or not isinstance(step.get("body"), dict):
        return None
    resource, _, subresource = locate(step["path"])
    if resource is None or subresource not in ("", "status"):
        return None
    key = step["path"].split("?")[0].split("/status")[0]
    before = live.get(key)
    is_apply = step.get("headers", {}).get("Content-Type", "").startswith("application/apply-patch")
    created = expected.get("status") == 201
    if answer.get("kind") == "Status":
        if is_apply and before is not None and expected["status"] in (409, 500) and "modified" not in answer["message"]:
            return step, resource, subresource, before
        return None
    if answer.get("kind") != resource.kind or (before is None and not created):
        return None
    return step, resource, subresource, None if created else before


@pytest.mark.parametrize(("step", "resource", "subresource", "live"), list(steps()))
def test_ownership_as_recorded(step: Any, resource: ResourceType, subresource: str, live: Any) -> None:
    before = copy.deepcopy(live)
    reset = reset_fields(resource, subresource)
    expected = step["expect"]["body"]
    manager = manager_of(step)
    if step.get("headers", {}).get("Content-Type", "").startswith("application/apply-patch"):
        force = "force=true" in step["path"]
        arguments = (live, step["body"], resource.schema, manager, force, resource.api_version, subresource, NOW, reset)
        if expected["kind"] == "Status":
            with pytest.raises(Failure) as refusal:
                apply(*arguments)
            assert refusal.value.status() == expected
            return
        result = apply(*arguments)
    else:
        result = as_sent(expected, step["body"], resource.kind) if live is None else copy.deepcopy(expected)
        result["metadata"].pop("managedFields", None)
        sent = (step["body"].get("metadata") or {}).get("managedFields")
        if sent is not None:
            result["metadata"]["managedFields"] = sent
        track_update(live, result, resource.schema, manager, resource.api_version, subresource, NOW, reset)
    assert result["metadata"].get("managedFields") == expected["metadata"].get("managedFields")
    assert live == before
