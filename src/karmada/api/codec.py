"""Between bytes and typed objects.

`decode` reads JSON bytes into a type, `encode` writes them; both go straight between bytes and structs. Whatever is
wrong with the input, the only error is `DecodeError`: where (JSON path), what was expected and what was there.

`null` means what it means to the reference: the zero value of the field. Objects that use it where no null belongs cost
a second, slower pass; all others pay nothing for it.

Open fields (`Raw`: manifests, member statuses, override values) keep the exact bytes they came in. `tree` parses them,
`raw` makes them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec
import orjson
from msgspec import Raw

T = TypeVar("T")

_ZERO: Mapping[str, type[Any]] = {"array": list, "object": dict, "str": str, "int": int, "float": float, "bool": bool}
_MISMATCH = re.compile(r"Expected `(?P<expected>[^`]+)`, got `(?P<given>[^`]+)`")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_ENUM = re.compile(r"Invalid enum value (?P<given>.+)", re.DOTALL)
_STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?:\d+|\.\.\.)\]")


class DecodeError(ValueError):
    """Input that does not have the shape of the type it is decoded to."""

    def __init__(self, path: str, expected: str, given: str) -> None:
        super().__init__(f"{path}: expected {expected}, got {given}")
        self.path = path
        """Where in the document, as `$.spec.clusters[0].name`."""
        self.expected = expected
        """What belongs there."""
        self.given = given
        """What was found there."""


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of a type, made once. For loops that cannot afford the call of `decode`; raises msgspec's errors."""
    found = _decoders.get(type_)
    if found is None:
        found = _decoders[type_] = msgspec.json.Decoder(type_)
    return found


_encoder = msgspec.json.Encoder()
_sorting_encoder = msgspec.json.Encoder(order="deterministic")

encode = _encoder.encode
"""Write an object as compact JSON bytes."""


def decode(data: bytes | bytearray | memoryview | str | Raw, type_: type[T], *, complete: bool = False) -> T:
    """Read JSON into an object of the given type; `complete` gives required fields that are absent their zero value."""
    try:
        try:
            return decoder(type_).decode(data)
        except msgspec.ValidationError as error:
            return _decode_with_nulls(data, type_, error, complete)
    except msgspec.DecodeError as error:
        raise DecodeError("$", "JSON", f"malformed text ({error})") from error
    except UnicodeDecodeError as error:
        raise DecodeError("$", "JSON", f"text that is not UTF-8 (byte {error.start})") from error
    except RecursionError as error:
        raise DecodeError("$", "JSON", "values nested too deeply") from error


def from_tree(value: Any, type_: type[T], *, complete: bool = False) -> T:
    """Make an object of the given type from dicts and lists; `complete` as for `decode`."""
    try:
        data = orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise DecodeError("$", "JSON values", str(error)) from error
    return decode(data, type_, complete=complete)


def to_tree(value: msgspec.Struct) -> dict[str, Any]:
    """The object as dicts and lists, open fields parsed."""
    parsed: dict[str, Any] = orjson.loads(_encoder.encode(value))
    return parsed


def quotable_tree(value: msgspec.Struct) -> dict[str, Any]:
    """`to_tree` for messages that quote an object: fields as declared, maps in the order of their keys."""
    parsed: dict[str, Any] = orjson.loads(_sorting_encoder.encode(value))
    return parsed


def tree(value: Raw) -> Any:
    """The parsed content of an open field; None when it is absent."""
    view = memoryview(value)
    try:
        return orjson.loads(view) if view else None
    except orjson.JSONDecodeError as error:
        raise DecodeError("$", "JSON", f"malformed text ({error})") from error


def raw(value: Any) -> Raw:
    """The content of an open field from dicts and lists."""
    return Raw(orjson.dumps(value))


def _decode_with_nulls(data: Any, type_: type[T], error: msgspec.ValidationError, complete: bool) -> T:
    """Replace nulls by zero values as long as nulls are what is wrong, then decode, or say what else is wrong.

    A round repairs a field wherever it occurs, so there are at most as many rounds as the type has fields.
    """
    document = msgspec.json.decode(data)
    while True:
        problem = _problem(error, type_)
        if not (_replace_nulls(document, problem) or (complete and _add_nulls(document, problem))):
            raise DecodeError(_full_path(document, problem), problem.expected, problem.given) from error
        try:
            return decoder(type_).decode(msgspec.json.encode(document))
        except msgspec.ValidationError as next_error:
            error = next_error


class _Problem(NamedTuple):
    path: str
    expected: str
    given: str
    missing: str = ""
    """The required field that is absent."""


def _problem(error: msgspec.ValidationError, type_: type[Any]) -> _Problem:
    text, located, path = str(error).rpartition(" - at `")
    path = path.removesuffix("`") if located else "$"
    text = text if located else str(error)
    if mismatch := _MISMATCH.search(text):
        return _Problem(path, mismatch["expected"], mismatch["given"])
    if missing := _MISSING.search(text):
        return _Problem(path, f"field `{missing['field']}`", "an object without it", missing["field"])
    if enum := _ENUM.search(text):
        return _Problem(path, _literal(type_, path), enum["given"])
    return _Problem(path, "a valid value", text)


def _literal(type_: type[Any], path: str) -> str:
    """The words allowed at a top-level field: `apiVersion` and `kind` are the only ones that are not open."""
    for field in msgspec.structs.fields(type_):
        if path == f"$.{field.encode_name}":
            return " or ".join(repr(word) for word in get_args(field.type))
    return "a known value"


def _replace_nulls(document: Any, problem: _Problem) -> bool:
    expected = problem.expected.partition(" | ")[0]
    if problem.given != "null" or expected not in _ZERO:
        return False
    nulls = [(node, key) for node, key in _places(document, problem.path) if node[key] is None]
    for node, key in nulls:
        node[key] = _ZERO[expected]()
    return bool(nulls)


def _add_nulls(document: Any, problem: _Problem) -> bool:
    """Write null for an absent field wherever it is absent, to be replaced by the zero value of its type."""
    if not problem.missing:
        return False
    found = [document] if problem.path == "$" else [node[key] for node, key in _places(document, problem.path)]
    incomplete = [node for node in found if isinstance(node, dict) and problem.missing not in node]
    for node in incomplete:
        node[problem.missing] = None
    return bool(incomplete)


def _places(document: Any, path: str) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) at a path, in all items of its lists and all values of its maps (msgspec's `[...]`)."""
    steps = [step["key"] for step in _STEP.finditer(path)]
    containers = [document]
    for step in steps[:-1]:
        containers = [node[key] for node in containers for key in _keys(node, step)]
    for node in containers if steps else []:
        yield from ((node, key) for key in _keys(node, steps[-1]))


def _keys(node: Any, step: str | None) -> Iterable[Any]:
    if isinstance(node, dict):
        return list(node) if step is None else [step] if step in node else []
    return range(len(node)) if isinstance(node, list) and step is None else []


def _full_path(document: Any, problem: _Problem) -> str:
    """The path with the real key in place of `[...]`."""
    if not problem.path.endswith("[...]"):
        return problem.path
    for node, key in _places(document, problem.path):
        if _json_type(node[key]) == problem.given:
            return problem.path.removesuffix("[...]") + f'["{key}"]'
    return problem.path


def _json_type(value: Any) -> str:
    names = {dict: "object", list: "array", type(None): "null"}
    return names.get(type(value), type(value).__name__)
