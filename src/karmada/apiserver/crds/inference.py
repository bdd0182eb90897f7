"""Types of validation rules as far as the schema declares them: fields that are not declared, operands that cannot go.

Whatever the schema leaves open is of any type; only what is surely wrong is refused.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from karmada.apiserver.cel.syntax import Constant, Elements, Invocation, Loop, Name, Node, Select
from karmada.apiserver.crds.names import escaped

JSONObject = dict[str, Any]
_ANY: JSONObject = {}
_BOOL: JSONObject = {"type": "boolean"}
_OF_TEXTS = frozenset(("startsWith", "endsWith", "matches", "lowerAscii", "upperAscii", "trim"))
_ORDERINGS = frozenset(("_<_", "_<=_", "_>_", "_>=_"))
_TYPES = {"integer": "int", "number": "double", "boolean": "bool", "string": "string", "array": "list", "object": "map"}
_FORMATS = {"date": "timestamp", "date-time": "timestamp", "duration": "duration", "byte": ""}
_META: JSONObject = {"properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}, "type": "object"}
_OF_OBJECTS: JSONObject = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _META}


class IllTyped(Exception):
    """An expression that cannot be evaluated on any value of the schema."""


def result(node: Node, schema: JSONObject, root: bool) -> str:
    """The JSON type of an expression's result, empty where it is open. Raises `IllTyped`."""
    return str(_infer(node, {"self": _rooted(schema, root), "oldSelf": _rooted(schema, root)}).get("type") or "")


def _rooted(schema: JSONObject, root: bool) -> JSONObject:
    if not root and not schema.get("x-kubernetes-embedded-resource"):
        return schema
    own = {name: child for name, child in (schema.get("properties") or {}).items() if name != "metadata"}
    return {**schema, "properties": {**_OF_OBJECTS, **own}}


def _infer(node: Node, known: Mapping[str, JSONObject]) -> JSONObject:
    match node:
        case Constant():
            return {"type": "string"} if node.text else _ANY
        case Name():
            return known.get(node.name, _ANY)
        case Select():
            found = _select(_infer(node.operand, known), node.field)
            return _BOOL if node.tests else found
        case Elements():
            for element in node.elements:
                _infer(element, known)
            return _ANY
        case Invocation():
            return _invoke(node, [_infer(argument, known) for argument in node.arguments])
        case Loop():
            return _loop(node, known)


def _select(schema: JSONObject, field: str) -> JSONObject:
    if schema.get("nullable") or schema.get("x-kubernetes-int-or-string") or schema.get("type") != "object":
        return _ANY
    if isinstance(schema.get("additionalProperties"), dict):
        found: JSONObject = schema["additionalProperties"]
        return found
    for name, child in _fields(schema):
        if name == field:
            return _rooted(child, False)
    raise IllTyped(f"undefined field '{field}'")


def _fields(schema: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    for name, child in (schema.get("properties") or {}).items():
        if child.get("type") or child.get("x-kubernetes-int-or-string"):
            yield escaped(name), child


def _invoke(node: Invocation, given: list[JSONObject]) -> JSONObject:
    kinds = [_kind(schema) for schema in given]
    if node.function in _OF_TEXTS and kinds[:1] not in ([""], ["string"]):
        raise IllTyped(f"found no matching overload for '{node.function}' applied to '{kinds[0]}'")
    if node.function in _ORDERINGS and len(kinds) == 2:
        numbers = [isinstance(part, Constant) and not part.text for part in node.arguments]
        texts = [kind == "string" for kind in kinds]
        clash = (texts[0] and numbers[1]) or (texts[1] and numbers[0])
        clash = clash or any(kind in ("list", "map") for kind in kinds)
        clash = clash or any(_of_time(kind, other, part) for kind, other, part in _crossed(kinds, node.arguments))
        clash = clash or (texts[0] and kinds[1] in ("int", "double")) or (texts[1] and kinds[0] in ("int", "double"))
        if clash:
            raise IllTyped(f"found no matching overload for '{node.function}' applied to '({kinds[0]}, {kinds[1]})'")
        return _BOOL
    return _BOOL if node.function in ("_&&_", "_||_", "!_", "_==_", "_!=_") else _ANY


def _crossed(kinds: list[str], arguments: tuple[Node, ...]) -> list[tuple[str, str, Node]]:
    """Each operand's type with the other's, and the other."""
    return [(kinds[0], kinds[1], arguments[1]), (kinds[1], kinds[0], arguments[0])]


def _of_time(kind: str, other: str, operand: Node) -> bool:
    """Whether a time or duration is compared with what is neither."""
    return kind in ("timestamp", "duration") and (isinstance(operand, Constant) or other not in ("", kind))


def _kind(schema: JSONObject) -> str:
    """What refusals call the type; empty where it is open."""
    if schema.get("nullable") or schema.get("x-kubernetes-int-or-string"):
        return ""
    if schema.get("type") == "string" and schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    return _TYPES.get(schema.get("type") or "", "")


def _loop(node: Loop, known: Mapping[str, JSONObject]) -> JSONObject:
    ranged = _infer(node.range, known)
    items = ranged.get("items")
    element = items if ranged.get("type") == "array" and isinstance(items, dict) and len(node.variables) == 1 else _ANY
    inner = {**known, **dict.fromkeys(node.variables, _ANY), node.result: _ANY}
    if len(node.variables) == 1:
        inner[node.variables[0]] = element
    for part in (node.first, node.condition, node.step):
        _infer(part, inner)
    _infer(node.last, {**known, node.result: _ANY})
    return _ANY
