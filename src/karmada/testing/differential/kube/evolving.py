"""Random transcripts of CRDs that change: versions, new schemas over stored objects, selectable fields, deletion."""

import copy
from random import Random
from typing import Any

from karmada.testing.differential.kube.others import custom_schema, custom_value
from karmada.testing.differential.kube.scenarios import PARTIAL, TABLE, Step

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GROUP = "g${run}.example.com"
_MERGE, _JSON = "application/merge-patch+json", "application/json-patch+json"
_APPLY = "application/apply-patch+yaml"


def evolving_scenario(dice: Random) -> list[Step]:
    """A CRD that is changed while objects of it exist."""
    spec = custom_schema(dice)
    versions = [_version(dice, name, spec) for name in dice.choice((["v1"], ["v1", "v2"], ["v1beta1", "v1"]))]
    versions[-1]["storage"] = True
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    crd: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{_GROUP}"},
        "spec": {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }
    served = versions[0]["name"]
    collection = f"/apis/{_GROUP}/{served}/namespaces/${{ns}}/things"
    steps: list[Step] = [
        {"method": "POST", "path": _CRDS, "body": crd},
        {"method": "GET", "path": collection, "wait": True},
    ]
    for _ in range(dice.randint(1, 3)):
        steps += [_write(dice, spec, versions) for _ in range(dice.randint(2, 4))]
        changed, spec = _changed(dice, crd, spec)
        steps.append(changed)
        steps.append({"method": "GET", "path": f"{_CRDS}/things.{_GROUP}", "pause": 0.7})
        steps.append({"method": "GET", "path": collection})
    steps += [_write(dice, spec, versions) for _ in range(dice.randint(1, 3))]
    return steps


def _version(dice: Random, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}
    root["properties"]["status"]["x-kubernetes-preserve-unknown-fields"] = True
    made: dict[str, Any] = {"name": name, "served": True, "storage": False, "schema": {"openAPIV3Schema": root}}
    if dice.random() < 0.4:
        made["subresources"] = {"status": {}}
    if dice.random() < 0.15:
        made |= {"deprecated": True} | ({"deprecationWarning": "old"} if dice.random() < 0.5 else {})
    if dice.random() < 0.2:
        made["selectableFields"] = [{"jsonPath": dice.choice((".spec.a", ".spec.b", ".metadata.name", ".spec.none"))}]
    return made


def _changed(dice: Random, crd: dict[str, Any], spec: dict[str, Any]) -> tuple[Step, dict[str, Any]]:
    """A change of the definition, and the schema of specs after it if it is accepted."""
    path = f"{_CRDS}/things.{_GROUP}"
    roll = dice.random()
    if roll < 0.6:
        new = _tightened(dice, spec) if dice.random() < 0.6 else custom_schema(dice)
        operations = [
            {"op": "replace", "path": f"/spec/versions/{index}/schema/openAPIV3Schema/properties/spec", "value": new}
            for index in range(len(crd["spec"]["versions"]))
        ]
        return _patch(path, operations, _JSON), new
    change: dict[str, Any] = dice.choice(
        (
            {"scope": "Cluster"},
            {"names": {"kind": "Other"}},
            {"names": {"shortNames": ["tg"], "categories": ["all"]}},
            {"group": "other.example.com"},
            {"versions": []},
            {"conversion": {"strategy": "Webhook"}},
            {"preserveUnknownFields": True},
        )
    )
    if roll < 0.9:
        return _patch(path, {"spec": change}, _MERGE), spec
    return {"method": "DELETE", "path": path}, spec


def _tightened(dice: Random, schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that stored objects may no longer satisfy."""
    made = copy.deepcopy(schema)
    properties = made.get("properties") or {}
    for name, child in properties.items():
        if dice.random() < 0.5:
            match child.get("type"):
                case "integer" | "number":
                    child["maximum"] = dice.choice((2, 10))
                case "string":
                    child["maxLength"] = dice.choice((1, 3))
                case "array":
                    child["maxItems"] = 1
                case "object":
                    child["maxProperties"] = 1
        if dice.random() < 0.15:
            made["required"] = [name]
    if dice.random() < 0.3:
        properties["z"] = {"type": "string", "default": "new"}
    if properties and dice.random() < 0.2:
        properties.pop(dice.choice(sorted(properties)))
        made.pop("required", None)
    return made


def _patch(path: str, body: Any, media: str) -> Step:
    return {"method": "PATCH", "path": path, "body": body, "headers": {"Content-Type": media}}


def _write(dice: Random, spec: dict[str, Any], versions: list[dict[str, Any]]) -> Step:
    version = dice.choice([one["name"] for one in versions])
    collection = f"/apis/{_GROUP}/{version}/namespaces/${{ns}}/things"
    name = dice.choice(("o", "o", "p"))
    body: dict[str, Any] = {"apiVersion": f"{_GROUP}/{version}", "kind": "Thing", "metadata": {"name": name}}
    body["spec"] = custom_value(dice, spec)
    path = f"{collection}/{name}"
    match dice.randrange(10):
        case 0 | 1 | 2:
            return {"method": "POST", "path": collection, "body": body}
        case 3:
            body["metadata"]["resourceVersion"] = "${rv}"
            return {"method": "PUT", "path": path, "body": body}
        case 4:
            return _patch(path, {"metadata": {"labels": {"a": dice.choice("xy")}}}, _MERGE)
        case 5:
            part = (
                {key: body["spec"][key] for key in sorted(body["spec"])[:1]} if isinstance(body["spec"], dict) else {}
            )
            return _patch(path, {"spec": part}, _MERGE)
        case 6:
            query = f"?fieldManager={dice.choice(('one', 'two'))}" + dice.choice(("", "&force=true"))
            return _patch(path + query, body, _APPLY)
        case 7:
            selector = dice.choice(("spec.a%3D1", "spec.b%3Dx", "metadata.name%3Do", "spec.none%3D1"))
            return {"method": "GET", "path": f"{collection}?fieldSelector={selector}"}
        case 8:
            accept = dice.choice((TABLE, PARTIAL))
            return {"method": "GET", "path": path, "headers": {"Accept": accept}}
    return {"method": "GET", "path": path}
