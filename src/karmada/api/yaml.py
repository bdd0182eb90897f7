"""YAML as Kubernetes reads and writes it. Values are plain JSON trees; see `yaml_scalars` for what scalars mean.

Reading refuses duplicate keys, keys that JSON cannot have, infinite numbers, deep nesting and documents that blow up
through aliases; errors carry the line. Every alias gives a copy of its own. Writing looks like `kubectl -o yaml`:
block style, keys in natural order, lists not indented, `|` for text of several lines, quotes only where needed.

PyYAML is imported on first use, since most commands never need it.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from karmada.api.go_text import format_float
from karmada.api.yaml_scalars import MERGE, needs_quotes, normal, resolve

_PREFIX = "tag:yaml.org,2002:"
_PLAIN = "plain"
_STRING = _PREFIX + "str"
_LINE_WIDTH = 80
MAX_DEPTH = 240
"""Levels of maps and lists; objects cannot be stored with more."""
MAX_FROM_ALIASES = 100_000
"""Nodes that all aliases of a document may add, so that a small text cannot make a huge object."""
_MERGED = "\0<<"
"""Stands for the key `<<` where it means a merge."""
_EXPLICIT: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
"""Types that a scalar with an explicit tag may have."""


class YAMLError(ValueError):
    """A document that cannot be read; `line` counts from 1 and is 0 where it is unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        self.line = line
        super().__init__(f"yaml: line {line}: {problem}" if line else f"yaml: {problem}")


def load(text: str | bytes) -> Any:
    """The only document of a text; null when it is empty."""
    documents = _documents(text)
    first = next(documents, None)
    for _ in documents:
        raise YAMLError("expected a single document, found several")
    return first


def load_first(text: str | bytes) -> Any:
    """The first document of a text, of which nothing is read after it; null when there is none."""
    return next(_documents(text), None)


def load_all(text: str | bytes) -> Iterator[Any]:
    """All documents of a text that are not empty, as they come."""
    return (document for document in _documents(text) if document is not None)


def dump(value: Any) -> str:
    """One document, without a separator."""
    return dump_all([value])


def dump_all(values: Iterable[Any]) -> str:
    """Documents with `---` between them."""
    import yaml

    dumper = _dumper_class()
    texts = []
    for value in values:
        text = yaml.dump(
            value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=_LINE_WIDTH, sort_keys=False
        )
        texts.append(f"{text[:-5]}\n" if text.endswith("\n...\n") else text)
    return "---\n".join(texts)


def _documents(text: str | bytes) -> Iterator[Any]:
    import yaml

    try:
        parser = yaml.CSafeLoader(text)  # its events only: building values is below
        try:
            parser.get_event()  # the stream begins
            while parser.get_event().__class__ is yaml.DocumentStartEvent:
                yield _document(parser)
                parser.get_event()  # the document ends
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YAMLError(error.problem or str(error), mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise YAMLError(str(error).splitlines()[0]) from error


class _Open:
    """A map or list of which not everything has been read."""

    __slots__ = ("anchor", "before", "depth", "height", "key", "merged", "value")

    def __init__(self, value: Any, anchor: str | None, depth: int, before: int) -> None:
        self.value = value
        self.anchor = anchor
        self.depth = depth
        self.height = 1
        """Levels of maps and lists, this one included."""
        self.before = before
        """Nodes of the document that were made before."""
        self.key: str | None = None
        """The key whose value comes next, in a map."""
        self.merged: list[Any] | None = None
        """The values of `<<`."""


class _Anchored(NamedTuple):
    value: Any
    nodes: int
    height: int


def _document(parser: Any) -> Any:
    """The tree of the next document, from the parser's events; without recursion, as documents come from anyone."""
    from yaml.events import AliasEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

    anchors: dict[str, _Anchored | None] = {}
    outer: list[_Open] = []
    at: _Open | None = None
    nodes = from_aliases = 0
    while True:
        event = parser.get_event()
        kind = event.__class__
        height = 0
        anchor = None
        if kind is ScalarEvent:
            nodes += 1
            value, anchor = _scalar(event), event.anchor
            if anchor is not None:
                anchors[anchor] = _Anchored(value, 1, 0)
            if at is not None and at.key is None and at.value.__class__ is dict:
                if value == MERGE and event.tag is None and event.implicit[0]:
                    at.key = _MERGED
                else:
                    at.key = _key(value, at, event)
                continue
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            nodes += 1
            depth = 1 if at is None else at.depth + 1
            if depth > MAX_DEPTH:
                raise _too_deep(event)
            if at is not None:
                if at.key is None and at.value.__class__ is dict:
                    raise YAMLError("a key must be a scalar", _line(event))
                outer.append(at)
            at = _Open({} if kind is MappingStartEvent else [], event.anchor, depth, nodes - 1)
            if event.anchor is not None:
                anchors[event.anchor] = None
            continue
        elif kind is AliasEvent:
            if event.anchor not in anchors:
                raise YAMLError(f"unknown anchor '{event.anchor}' referenced", _line(event))
            known = anchors[event.anchor]
            if known is None:
                raise YAMLError("anchor value contains itself", _line(event))
            from_aliases += known.nodes
            nodes += known.nodes
            height = known.height
            if from_aliases > MAX_FROM_ALIASES:
                raise YAMLError("document contains excessive aliasing", _line(event))
            if at is not None and at.depth + height > MAX_DEPTH:
                raise _too_deep(event)
            if at is not None and at.key is None and at.value.__class__ is dict:
                at.key = _key(known.value, at, event)
                continue
            value = _copied(known.value)
        else:
            assert at is not None
            value, height, anchor = _closed(at), at.height, at.anchor
            if anchor is not None:
                anchors[anchor] = _Anchored(value, nodes - at.before, height)
            at = outer.pop() if outer else None
        if at is None:
            return value
        at.height = max(at.height, height + 1)
        if at.key is None:
            at.value.append(value)
        elif at.key is _MERGED:
            _merge(at, value, event)
        else:
            at.value[at.key] = value
        at.key = None


def _closed(at: _Open) -> Any:
    """A map or list that is complete: keys of a map itself win over merged ones, then those of earlier sources."""
    if at.merged is None:
        return at.value
    result: dict[str, Any] = {}
    for source in reversed(at.merged):
        result.update(source)
    result.update(at.value)
    return result


def _merge(at: _Open, value: Any, event: Any) -> None:
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise YAMLError("map merge requires map or sequence of maps as the value", _line(event))
    if at.merged is None:
        at.merged = []
    at.merged += sources


def _copied(value: Any) -> Any:
    """A tree of its own; its depth is bounded."""
    if value.__class__ is dict:
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if value.__class__ is list else value


def _too_deep(event: Any) -> YAMLError:
    return YAMLError("document is nested too deeply", _line(event))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _key(value: Any, at: _Open, event: Any) -> str:
    match value:
        case str():
            key = value
        case bool():
            key = "true" if value else "false"
        case int():
            key = str(value)
        case float():
            key = format_float(value)
        case None:
            raise YAMLError("a key must not be null", _line(event))
        case _:
            raise YAMLError("a key must be a scalar", _line(event))
    if key in at.value:
        raise YAMLError(f'key "{key}" already set in map', _line(event))
    return key


def _scalar(event: Any) -> Any:
    text: str = event.value
    tag = event.tag
    if tag is None:
        if not event.implicit[0]:
            return text
        kind = _PLAIN
    else:
        kind = tag.removeprefix(_PREFIX)
        if kind == "str":
            return text
        if kind == "binary":
            return _binary(text, _line(event))
    value = resolve(text)
    if isinstance(value, float) and not isfinite(value):
        raise YAMLError(f"{text} cannot be written as JSON", _line(event))
    if kind is _PLAIN or kind.startswith("!") or kind == "timestamp":
        return value
    if kind not in _EXPLICIT:
        raise YAMLError(f"unknown tag {kind}", _line(event))
    if type(value) not in _EXPLICIT[kind]:
        raise YAMLError(f"cannot decode `{text}` as a !!{kind}", _line(event))
    return value


def _binary(text: str, line: int) -> str:
    import base64

    try:
        return base64.b64decode(text, validate=False).decode()
    except ValueError as error:
        raise YAMLError("!!binary value contains invalid base64 data", line) from error


@lru_cache(maxsize=1)
def _dumper_class() -> Any:
    """libyaml's emitter, with Kubernetes' choice of quotes and order."""
    from yaml.cyaml import CSafeDumper
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    class Dumper(CSafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

        def resolve(self, kind: type, value: Any, implicit: Any) -> str:
            if kind is ScalarNode:
                return _PLAIN if implicit[0] and needs_quotes(value) else _STRING
            return _PREFIX + ("map" if kind is MappingNode else "seq")

    def plain(dumper: Any, value: Any) -> Any:
        # The tag that `resolve` gives to such text, so that the emitter sees no need to write a tag.
        return ScalarNode(_PLAIN, _spell(value))

    def text(dumper: Any, value: str) -> Any:
        if "\n" in value:
            return ScalarNode(_STRING, value, style="|")
        return ScalarNode(_STRING, value, style='"' if needs_quotes(value) else None)

    def key_node(dumper: Any, key: str) -> Any:
        return ScalarNode(_STRING, key, style='"') if key == MERGE else text(dumper, key)

    def mapping(dumper: Any, value: dict[str, Any]) -> Any:
        pairs = [(key_node(dumper, key), dumper.represent_data(value[key])) for key in sorted(value, key=_order)]
        return MappingNode(_PREFIX + "map", pairs, flow_style=False)

    def sequence(dumper: Any, value: Any) -> Any:
        return SequenceNode(_PREFIX + "seq", [dumper.represent_data(item) for item in value], flow_style=False)

    Dumper.add_representer(str, text)
    Dumper.add_multi_representer(str, text)
    Dumper.add_representer(dict, mapping)
    Dumper.add_representer(list, sequence)
    Dumper.add_representer(tuple, sequence)
    for kind in (bool, int, float, type(None)):
        Dumper.add_representer(kind, plain)
    return Dumper


def _spell(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            whole = normal(value)
            return str(whole) if isinstance(whole, int) else format_float(value)
    return str(value)


def _order(key: str) -> list[tuple[int, int]]:
    """Natural order: symbols, then numbers by value, then letters."""
    parts: list[tuple[int, int]] = []
    digits = ""
    for character in key:
        if "0" <= character <= "9" and len(digits) < 18:
            digits += character
            continue
        if digits:
            parts.append((1, int(digits)))
            digits = ""
        parts.append((2 if character.isalpha() else 0, ord(character)))
    if digits:
        parts.append((1, int(digits)))
    return parts
