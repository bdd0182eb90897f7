"""JSON, merge and strategic merge patches: nothing given is changed, and results are what simpler code gives."""

import copy
from random import Random
from typing import Any

import orjson
from tests.fuzz.shapes import WORDS, scalar, tree, weighted, word
from tests.fuzz.target import Target

from karmada.api import json_patch, merge_patch, strategic_merge
from karmada.apiserver.schema.definitions import definition

_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test", "add", "copy", "move", "bogus")
_POD = definition("io.k8s.api.core.v1.Pod")


def _document(r: Random) -> Any:
    return {key: tree(r, 3) for key in r.sample(WORDS, r.randint(0, 5))}


def _pointer(r: Random, document: Any) -> str:
    """A pointer into a document mostly, and a bit beyond."""
    steps: list[str] = []
    while isinstance(document, dict | list) and r.random() < 0.8:
        if isinstance(document, dict):
            step = r.choice([*document, word(r)]) if document else word(r)
            document = document.get(step)
        else:
            index = r.randint(-2, len(document) + 1)
            step = r.choice((str(index), "-", "01", "+1"))
            document = document[index] if 0 <= index < len(document) else None
        steps.append(step)
    if r.random() < 0.1:
        steps.append(word(r))
    text = json_patch.pointer(steps)
    return text[1:] if r.random() < 0.02 else text


def _json_case(r: Random) -> tuple[Any, Any]:
    document = _document(r)
    operations: list[Any] = []
    for _ in range(r.randint(0, 12)):
        operation: dict[str, Any] = {"op": r.choice(_OPERATIONS), "path": _pointer(r, document)}
        if operation["op"] in ("move", "copy"):
            operation["from"] = _pointer(r, document)
        elif operation["op"] != "remove":
            operation["value"] = tree(r, 2)
        if r.random() < 0.03:
            operation[r.choice(("op", "path", "from", "value"))] = scalar(r)
        operations.append(operation if r.random() > 0.01 else scalar(r))
    return document, operations


def _same(left: Any, right: Any) -> bool:
    return merge_patch.same_json(left, right)


def _run_json(case: tuple[Any, Any]) -> None:
    document, operations = case
    before = copy.deepcopy(case)
    try:
        result = json_patch.apply(document, operations, replace_may_create=True)
    finally:
        assert _same([*case], [*before]), "the arguments changed"
    # One operation after the other, on trees that share nothing, is the same.
    expected = copy.deepcopy(document)
    for operation in operations:
        expected = copy.deepcopy(json_patch.apply(expected, [copy.deepcopy(operation)], replace_may_create=True))
    assert _same(result, expected)


def _run_merge(case: tuple[Any, Any]) -> None:
    document, patch = case
    before = copy.deepcopy(case)
    result = merge_patch.apply(document, patch)
    assert _same([*case], [*before])
    assert _same(merge_patch.apply(result, patch), result), "applying it again changes nothing"
    if isinstance(document, dict) and isinstance(result, dict):
        merge_patch.create(document, result)


def _element(r: Random) -> Any:
    element: dict[str, Any] = {r.choice(("name", "containerPort", "ip")): scalar(r), word(r): tree(r, 1)}
    if r.random() < 0.4:
        element["name"] = r.choice("abc")
    if r.random() < 0.2:
        element["$patch"] = r.choice(("delete", "replace", "merge", 1))
    return element if r.random() < 0.9 else scalar(r)


def _pod(r: Random, patch: bool) -> Any:
    def elements() -> Any:
        return [_element(r) for _ in range(r.randint(0, 4))]

    spec: dict[str, Any] = {key: elements() for key in ("containers", "volumes", "tolerations") if r.random() < 0.5}
    metadata: dict[str, Any] = {"finalizers": [scalar(r) for _ in range(r.randint(0, 3))], "labels": tree(r, 1)}
    if patch:
        for place, names in ((spec, ("containers", "volumes")), (metadata, ("finalizers",))):
            for name in names:
                if r.random() < 0.2:
                    place[f"$setElementOrder/{name}"] = elements() if name != "finalizers" else [scalar(r)]
                if r.random() < 0.2:
                    place[f"$deleteFromPrimitiveList/{name}"] = [scalar(r) for _ in range(r.randint(0, 3))]
                if r.random() < 0.1:
                    place["$retainKeys"] = weighted(r, ((3, [*place]), (1, scalar(r))))
    return {"spec": spec, "metadata": metadata, word(r): tree(r, 2)}


def _run_strategic(case: tuple[Any, Any]) -> None:
    document, patch = case
    before = copy.deepcopy(case)
    try:
        result = strategic_merge.apply(document, patch, _POD)
    finally:
        assert _same([*case], [*before]), "the arguments changed"
    orjson.dumps(result)


TARGETS = (
    Target("json-patch", _json_case, _run_json, (json_patch.JSONPatchError, orjson.JSONEncodeError)),
    Target("merge-patch", lambda r: (_document(r), tree(r, 4)), _run_merge, (orjson.JSONEncodeError,)),
    Target(
        "strategic-patch",
        lambda r: (_pod(r, patch=False), _pod(r, patch=True)),
        _run_strategic,
        (strategic_merge.StrategicMergeError, orjson.JSONEncodeError),
    ),
)
