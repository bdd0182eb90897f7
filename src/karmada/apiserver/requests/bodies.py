"""Request bodies as trees: JSON or YAML, of the right kind and version.

Protobuf bodies are understood for built-in kinds, as typed Go clients send them; answers stay JSON, which those
clients accept as well. Duplicate keys, which JSON decoders silently drop, are looked for only when a cheap count says
that there are some. `read` is the one way to a tree, so that no large body is decoded on the event loop.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeVar

import orjson

from karmada.api import field_errors
from karmada.api.yaml_scalars import normal
from karmada.apiserver import json_text
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.failures import invalid, unsupported_media_type
from karmada.apiserver.json_errors import syntax_error
from karmada.apiserver.redaction import REDACTED, holds_secret
from karmada.apiserver.requests import offload
from karmada.apiserver.requests.model import Call
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.paths import MAX_UNKNOWN, shown
from karmada.apiserver.schema.scalars import Mismatch, described
from karmada.apiserver.served_resource import Served
from karmada.machinery.httpserver.failure import Failure, bad_request

Result = TypeVar("Result")
SMALL = 128 * 1024
"""The largest body of what is not stored: reviews (tokens and groups included), options, scales, evictions."""
_ACCEPTED = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_SHOWN = 30
"""How many bytes of a malformed body are shown."""
_OPERATION = frozenset({"op", "path", "from", "value"})
"""What an operation of a JSON patch has."""
_NOT_TEXT = (dict, list, float)
_ORDERED = 64 * 1024
"""The largest body in which unknown and duplicate members are put into one order."""
_TYPED = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_UNKNOWN = f"the body of the request was in an unknown format - accepted media types include: {_ACCEPTED}"


def not_an_object(body: Any) -> str:
    """Why a body that is no object has no kind."""
    return f"json: cannot unmarshal {described(body)} into Go value of type {_TYPED}"


async def read(call: Call, kind: str, use: Callable[[Any, list[str]], Result]) -> Result:
    """What `use` makes of the decoded body and the paths of its duplicate keys; the loop goes on meanwhile if large.

    `kind` is what the body should be, for refusals. Only objects that are stored may be larger than `SMALL`.
    """
    if kind != call.served.kind or call.served.type.verbs == ("create",):
        check_small(call, kind)
    size = offload.size_of(call)
    if size < offload.LARGE:
        return use(*_tree(call, kind))
    return await offload.run(size, lambda: use(*_tree(call, kind)))


def check_small(call: Call, kind: str) -> None:
    """Refuse a body that is too large for a kind of which none is stored."""
    if isinstance(call.body, bytes) and len(call.body) > SMALL:
        text = f"limit is {SMALL} bytes for {kind}, the body has {len(call.body)}"
        raise Failure(413, "RequestEntityTooLarge", f"Request entity too large: {text}")


def _tree(call: Call, kind: str) -> tuple[Any, list[str]]:
    body = call.body
    if body is None:
        body = b""
    if not isinstance(body, bytes):
        return body, []
    media = call.content_type.split(";", 1)[0].strip().lower()
    if media in ("", "application/json"):
        decoded, call.body = _json(body, kind)
        return decoded, _duplicates(call.body, decoded) if _reports(call) else []
    if media == "application/yaml":
        return _yaml(body, kind), []
    if media == "application/vnd.kubernetes.protobuf":
        return _protobuf(body, kind), []
    raise unsupported_media_type(_UNKNOWN)


def duplicates(call: Call, decoded: Any) -> list[str]:
    """The paths of members that occur twice in the body of a patch."""
    return _duplicates(call.body, decoded) if isinstance(call.body, bytes) and _reports(call) else []


def _reports(call: Call) -> bool:
    """Whether duplicate keys would be reported to anyone: callers in this process hear no warnings."""
    return call.http is not None or call.params.get("fieldValidation") == "Strict"


def _protobuf(body: bytes, kind: str) -> Any:
    from karmada.apiserver import protobuf

    if not body:
        return {}
    try:
        return protobuf.decode(body)
    except protobuf.ProtobufError as error:
        raise _unrecognized(kind, str(error), None) from None


def _json(body: bytes, kind: str) -> tuple[Any, bytes]:
    try:
        return json_text.loads(body)
    except orjson.JSONDecodeError as error:
        text = syntax_error(body)
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {text}", body) from error


def _yaml(body: bytes, kind: str) -> Any:
    from karmada.api import yaml

    try:
        return yaml.load_first(body)
    except ValueError as error:
        text = re.sub(r"^yaml: line \d+: ", "yaml: ", str(error))
        raise _unrecognized(kind, text, body) from None


def plain_json(body: bytes) -> Any:
    """The tree of an applied configuration if that is JSON without repeated members, which is read far sooner than YAML
    and is what clients send nearly always; else None."""
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return None if _may_repeat(body, decoded) else _whole(decoded)


def configuration(body: bytes) -> Any:
    """The tree of any applied configuration; raises `ValueError`."""
    from karmada.api import yaml

    if body.lstrip()[:1] == b"{":
        try:
            decoded = orjson.loads(body)
        except orjson.JSONDecodeError:
            return yaml.load_first(body)
        if not _duplicates(body, decoded):
            return _whole(decoded)
    return yaml.load_first(body)


def _whole(value: Any) -> Any:
    """A JSON tree with whole floats as integers, as YAML has them; changed in place."""
    if value.__class__ is dict:
        for key, item in value.items():
            if item.__class__ in _NOT_TEXT:
                value[key] = _whole(item)
    elif value.__class__ is list:
        for index, item in enumerate(value):
            if item.__class__ in _NOT_TEXT:
                value[index] = _whole(item)
    elif value.__class__ is float:
        return normal(value)
    return value


def _unrecognized(kind: str, text: str, body: bytes | None) -> Failure:
    shown = "" if body is None else f" ({_beginning(body, kind)})"
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {text}{shown}")


def _beginning(body: bytes, kind: str) -> str:
    """How a body begins that is no object: text where it could be JSON, else bytes."""
    if not body:
        return "<empty>"
    if holds_secret(kind, body.decode(errors="replace")):
        return REDACTED
    start = body[:_SHOWN]
    text = start.decode(errors="replace") if body.lstrip().startswith(b"{") else start.hex()
    return text + (" ..." if len(body) > _SHOWN else "")


def _duplicates(body: bytes, decoded: Any) -> list[str]:
    """The paths of members that occur twice."""
    if not _may_repeat(body, decoded):
        return []
    return list(islice((_spelled(place) for place, again in _places(body) if again), MAX_UNKNOWN))


def _may_repeat(body: bytes, decoded: Any) -> bool:
    """Whether members may occur twice: the text has more of them than the tree."""
    try:
        encoded = orjson.dumps(decoded)
    except orjson.JSONEncodeError:
        return False
    if encoded == body.rstrip():  # as clients encode objects
        return False
    return _members(body) != _members(encoded) or b'" :' in body


def operation_warnings(call: Call, operations: list[JSONObject]) -> list[str]:
    """Warnings of unknown and duplicate members in the operations of a JSON patch."""
    body = call.body
    if not isinstance(body, bytes) or not _reports(call):
        return []
    if all(map(_OPERATION.issuperset, operations)) and not _may_repeat(body, operations):
        return []
    found: list[str] = []
    for (above, key), again in _places(body):
        if above is None or above[0] is not None or again is (key not in _OPERATION):
            continue
        what = "duplicate" if again else "unknown"
        found.append(f'json patch {what} field "{above[1]}.{shown(key)}"')
    return found[:MAX_UNKNOWN]


def in_order(body: bytes, unknown: list[str], duplicates: list[str]) -> list[str]:
    """What is to be said of unknown and duplicate members, in the order in which they stand in the body.

    In a large body nobody looks for the order: duplicates come first.
    """
    errors = [((path, True), f'duplicate field "{path}"') for path in duplicates]
    errors += [((path, False), f'unknown field "{path}"') for path in unknown]
    if len(body) <= _ORDERED:
        places = ((_spelled(place), again) for place, again in _places(body))
        position = {place: index for index, place in reversed([*enumerate(places)])}
        errors.sort(key=lambda one: position.get(one[0], len(position)))
    return [text for _, text in errors[:MAX_UNKNOWN]]


def _members(text: bytes) -> int:
    """How many member names are in a JSON text: a quote and a colon, but for those inside of strings."""
    return text.count(b'":') - text.count(b'\\":')


class _Pairs(list[tuple[str, Any]]):
    """An object as the list of its members, duplicates included."""


_Place = tuple[Any, str]
"""A step of a path and the place that it is taken from."""


def _places(body: bytes) -> Iterator[tuple[_Place, bool]]:
    """The place of every member of a JSON text, in order, and whether the same object had one of that name before."""
    waiting: list[tuple[_Place | None, Iterator[tuple[str, Any]], set[str] | None]] = []

    def enter(value: Any, place: _Place | None) -> None:
        if isinstance(value, _Pairs):
            waiting.append((place, iter(value), set()))
        elif isinstance(value, list):
            waiting.append((place, ((f"[{index}]", item) for index, item in enumerate(value)), None))

    enter(json.loads(body, object_pairs_hook=_Pairs), None)
    while waiting:
        above, members, seen = waiting[-1]
        member = next(members, None)
        if member is None:
            waiting.pop()
            continue
        key, child = member
        place = (above, key)
        if seen is not None:
            yield place, key in seen
            seen.add(key)
        enter(child, place)


def _spelled(place: _Place | None) -> str:
    """The path of a place; spelled out only where it is shown."""
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(shown(step))
    path = ""
    for step in reversed(steps):
        path += step if not path or step.startswith("[") else f".{step}"
    return path


def check_kind(catalog: Catalog, call: Call, obj: Any, served: Served) -> JSONObject:
    """The body must be an object of the served kind and version; both are filled in when absent."""
    if obj is None:
        obj = {}
    if not isinstance(obj, dict):
        raise _untyped(call, f"{described(obj)} into Go value of type {_TYPED}", served.kind)
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if api_version == served.api_version and kind == served.kind:
        return obj
    for field, value in (("apiVersion", api_version), ("kind", kind)):
        if value is not None and not isinstance(value, str):
            raise _untyped(call, f"{described(value)} into Go struct field .{field} of type string", served.kind)
    outside = call.http is not None and isinstance(call.body, bytes)
    if outside and served.type.custom and call.verb in ("create", "update"):
        _check_typed(call, api_version, kind, served)
    api_version, kind = api_version or served.api_version, kind or served.kind
    if served.type.custom:
        _check_custom(call, api_version, kind, served)
    elif api_version != served.api_version or kind != served.kind:
        raise _wrong_kind(catalog, api_version, kind, obj, served)
    obj["apiVersion"], obj["kind"] = served.api_version, served.kind
    return obj


def _untyped(call: Call, mismatch: str, kind: str) -> Failure:
    """A body without a type that can be read."""
    text = f"couldn't get version/kind; json parse error: json: cannot unmarshal {mismatch}"
    body = call.body if isinstance(call.body, bytes) else orjson.dumps(call.body)
    return _unrecognized(kind, text, None if call.verb == "patch" else body)


def _check_typed(call: Call, api_version: str | None, kind: str | None, served: Served) -> None:
    """Custom objects say what they are: nobody else knows."""
    assert isinstance(call.body, bytes)
    if not kind:
        text = call.body.decode(errors="replace")
        raise _unrecognized(served.kind, f"Object 'Kind' is missing in '{text}'", call.body)
    if not api_version:
        raise _wrong_version("", served)


def _check_custom(call: Call, api_version: str, kind: str, served: Served) -> None:
    if api_version != served.api_version:
        raise _wrong_version(api_version, served)
    if kind != served.kind:
        error = field_errors.invalid("kind", kind, f"must be {served.kind}")
        raise invalid(served.type.group, kind, call.name, [error])


def _wrong_kind(catalog: Catalog, api_version: str, kind: str, obj: JSONObject, served: Served) -> Failure:
    """A body is read as what it says it is before anybody asks what it should be."""
    group, _, version = api_version.rpartition("/")
    head = f'{kind} in version "{version}" cannot be handled as a {served.kind}'
    other_version = kind == served.kind and group == served.type.group and group != ""
    named = catalog.by_kind(group, version, kind)
    if named is not None and not named.type.custom:
        try:
            decode(named.type.schema, orjson.loads(orjson.dumps(obj)))
        except Mismatch as mismatch:
            return bad_request(f"{head}: {mismatch}")
    elif not other_version and (api_version, kind) != ("v1", "List"):
        scheme = 'in scheme "pkg/runtime/scheme.go:111"'
        return bad_request(f'{head}: no kind "{kind}" is registered for version "{api_version}" {scheme}')
    if other_version:
        return _wrong_version(api_version, served)
    package = served.type.group.split(".")[0] if served.type.group else "core"
    return bad_request(f"{head}: converting ({version}.{kind}) to ({package}.{served.kind}): unknown conversion")


def _wrong_version(api_version: str, served: Served) -> Failure:
    expected = f"does not match the expected API version ({served.api_version})"
    return bad_request(f"the API version in the data ({api_version}) {expected}")
