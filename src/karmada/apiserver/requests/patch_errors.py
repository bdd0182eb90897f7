"""What is said of a patched object that cannot be read as one of its kind.

The message quotes the object as the reference holds it after a patch: what the patch left alone as the encoders of the
type write it, objects that the patch went into with sorted fields, values of a JSON patch as they were given. Whoever
may patch an object gets it back when the patch succeeds, so nothing is shown that they may not know; what may hold a
Secret is not quoted all the same, as messages end up in logs.
"""

from typing import Any

import orjson

from karmada.api import field_errors
from karmada.api.go_text import escape_html
from karmada.apiserver.failures import invalid
from karmada.apiserver.protobuf.fields import places
from karmada.apiserver.requests.model import Call
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.apiserver.schema.model import Schema
from karmada.machinery.httpserver.failure import Failure


def undecodable(failure: Failure, shown: str) -> Failure:
    """A refusal to decode the object, turned against the patch."""
    if failure.code != 400:
        return failure
    why = failure.message.partition(": ")[2] or failure.message
    return invalid("", "", "", [field_errors.invalid("patch", shown, why)])


def wrong_type(call: Call, obj: JSONObject) -> Failure | None:
    """The refusal of a patch that makes a custom object one of another kind or version, if it does."""
    served = call.served
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    if not (kind and isinstance(kind, str) and api_version and isinstance(api_version, str)):
        return None
    errors: list[FieldError] = []
    if kind != served.kind:
        errors.append(field_errors.invalid("kind", kind, f"must be {served.kind}"))
    if api_version != served.api_version:
        errors.append(field_errors.invalid("apiVersion", api_version, f"must be {served.api_version}"))
    return invalid(api_version.rpartition("/")[0], kind, call.name, errors) if errors else None


def quoted(schema: Schema | None, obj: Any, current: Any, given: Any) -> str:
    """A patched object that shares what it can with the current one and with what the patch gave.

    Without a schema, as for custom kinds, encoders sort everything.
    """
    kept, as_given = _containers(current), _containers(given)

    def arranged(value: Any, schema: Schema | None) -> Any:
        if id(value) in as_given:
            return value
        if id(value) in kept and schema is not None:
            return _declared(value, schema)
        if isinstance(value, dict):
            return {key: arranged(value[key], schema and schema.field(key)) for key in sorted(value)}
        if isinstance(value, list):
            return [arranged(item, schema and schema.items) for item in value]
        return value

    return escape_html(orjson.dumps(arranged(obj, schema)).decode())


def _containers(tree: Any) -> set[int]:
    """The identities of all objects and lists in a tree."""
    found: set[int] = set()
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict | list):
            found.add(id(part))
            waiting.extend(part.values() if isinstance(part, dict) else part)
    return found


def _declared(value: Any, schema: Schema | None) -> Any:
    """A value with the fields of its types in the order of their declaration; what has no type stays as it is."""
    if schema is None:
        return value
    if isinstance(value, list):
        return [_declared(item, schema.items) for item in value]
    if not isinstance(value, dict):
        return value
    if schema.properties is None:
        keys = list(value) if schema.additional is None else sorted(value)
    else:
        order = places(schema.name)
        keys = sorted(value, key=lambda key: order.get(key, len(order)))
    return {key: _declared(value[key], schema.field(key)) for key in keys}
