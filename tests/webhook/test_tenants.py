"""What admission refuses of bindings and override policies, whoever writes them."""

import asyncio
import time
from typing import Any

import pytest
from tests.webhook.test_own_rules import Known

from karmada.api.feature_gates import DEFAULTS
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Denied, Operation, Review

ID = "resourcebinding.karmada.io/permanent-id"
OVERRIDES = ("overridepolicies", "clusteroverridepolicies")


async def judge(resource: str, tree: dict[str, Any], old: dict[str, Any] | None = None) -> None:
    handler = next(handler for handler in HANDLERS if handler.resource == resource)
    assert handler.validate is not None
    operation = Operation.UPDATE if old is not None else Operation.CREATE
    namespace = tree["metadata"].get("namespace", "")
    await handler.validate(Review(operation, namespace, "x", tree, old, lambda: "id", time.time, DEFAULTS, Known()))


def binding(namespace: str = "team-a", where: str = "team-a", kind: str = "Secret", **marks: Any) -> dict[str, Any]:
    resource = {"apiVersion": "v1", "kind": kind, "name": "key", "namespace": where}
    metadata = {"name": "b", "labels": {ID: "1"}} | marks
    return {"metadata": metadata | ({"namespace": namespace} if namespace else {}), "spec": {"resource": resource}}


@pytest.mark.parametrize(
    ("resource", "tree"),
    [
        ("resourcebindings", binding(where="team-b")),
        ("resourcebindings", binding(where="")),
        ("resourcebindings", binding("karmada-cluster", "karmada-cluster")),
        ("resourcebindings", binding("karmada-es-m", "karmada-es-m")),
        ("clusterresourcebindings", binding("", "team-a")),
        ("clusterresourcebindings", binding("", "karmada-system")),
    ],
)
def test_a_binding_speaks_for_its_own_only(resource: str, tree: dict[str, Any]) -> None:
    with pytest.raises(Denied, match=r"spec\.resource: Forbidden"):
        asyncio.run(judge(resource, tree))
    with pytest.raises(Denied, match=r"spec\.resource: Forbidden"):
        asyncio.run(judge(resource, tree, binding(tree["metadata"].get("namespace", ""), "other")))


def test_a_namespace_of_the_control_planes_own_is_not_propagated() -> None:
    tree = binding("", "", "Namespace")
    asyncio.run(judge("clusterresourcebindings", tree))
    tree["spec"]["resource"]["name"] = "karmada-system"
    with pytest.raises(Denied, match="karmada-system is the control plane's own"):
        asyncio.run(judge("clusterresourcebindings", tree))


def test_a_binding_that_was_there_before_can_still_be_written_and_go() -> None:
    old = binding(where="team-b", finalizers=["karmada.io/binding-controller"])
    asyncio.run(judge("resourcebindings", binding(where="team-b"), old))


@pytest.mark.parametrize("marks", [{ID: "2"}, {}], ids=["another", "none"])
def test_the_permanent_id_of_a_binding_stays(marks: dict[str, str]) -> None:
    with pytest.raises(Denied, match="cannot be changed"):
        asyncio.run(judge("resourcebindings", binding(labels=marks), binding()))
    asyncio.run(judge("resourcebindings", binding(), binding(labels={})))


IMAGE = {"component": "Repository", "operator": "replace", "value": "x"}
CHANGE = [{"subPath": "/a", "operator": "remove"}]


@pytest.mark.parametrize("form", ["rules", "legacy"])
@pytest.mark.parametrize("resource", OVERRIDES)
@pytest.mark.parametrize(
    ("overriders", "field"),
    [
        ({"plaintext": [{"path": "/kind", "operator": "replace", "value": "x"}]}, "plaintext[0].path"),
        ({"plaintext": [{"path": "/metadata/namespace", "operator": "remove"}]}, "plaintext[0].path"),
        ({"imageOverrider": [{**IMAGE, "predicate": {"path": "/metadata/name"}}]}, "imageOverrider[0].predicate.path"),
        ({"fieldOverrider": [{"fieldPath": "/apiVersion", "json": CHANGE}]}, "fieldOverrider[0].fieldPath"),
        ({"labelsOverrider": [{"operator": "add", "value": {"karmada.io/managed": "x"}}]}, "labelsOverrider[0].value"),
        (
            {"annotationsOverrider": [{"operator": "remove", "value": {"work.karmada.io/name": ""}}]},
            "annotationsOverrider[0].value",
        ),
    ],
    ids=["kind", "namespace", "image", "field", "label", "annotation"],
)
def test_an_override_that_shows_that_it_makes_another_object_is_refused(
    resource: str, overriders: dict[str, Any], field: str, form: str
) -> None:
    spec = {"overrideRules": [{"overriders": overriders}]} if form == "rules" else {"overriders": overriders}
    where = "spec.overrideRules[0].overriders" if form == "rules" else "spec.overriders"
    tree = {"metadata": {"name": "o", "namespace": "team-a"}, "spec": spec}
    with pytest.raises(Denied) as denied:
        asyncio.run(judge(resource, tree))
    assert f"{where}.{field}: Forbidden: an override may not change" in denied.value.message
