"""YAML as Kubernetes reads and writes it. Values are plain JSON trees; see `yaml_scalars` for what scalars mean.

Reading refuses duplicate keys, keys that JSON cannot have, infinite numbers and documents that blow up through aliases;
errors carry the line. Every alias gives a copy of its own. Writing looks like `kubectl -o yaml`: block style, keys in
natural order, lists not indented, `|` for text of several lines, quotes only where needed.

PyYAML is imported on first use, since most commands never need it.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import isfinite
from typing import Any

from karmada.api.go_text import format_float
from karmada.api.yaml_scalars import MERGE, needs_quotes, normal, resolve

_PREFIX = "tag:yaml.org,2002:"
_PLAIN = "plain"
_STRING = _PREFIX + "str"
_LINE_WIDTH = 80
_EXPLICIT: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
"""Types that a scalar with an explicit tag may have."""


class YAMLError(ValueError):
    """A document that cannot be read; `line` counts from 1 and is 0 where it is unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        self.line = line
        super().__init__(f"yaml: line {line}: {problem}" if line else f"yaml: {problem}")


def load(text: str | bytes) -> Any:
    """The only document of a text; null when it is empty."""
    documents = list(_documents(text))
    if len(documents) > 1:
        raise YAMLError("expected a single document, found several")
    return documents[0] if documents else None


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
    texts = [
        yaml.dump(
            value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=_LINE_WIDTH, sort_keys=False
        ).removesuffix("...\n")
        for value in values
    ]
    return "---\n".join(texts)


def _documents(text: str | bytes) -> Iterator[Any]:
    import yaml

    try:
        composer = _composer_class()(text)
        try:
            while composer.check_node():
                yield _Builder().value(composer.get_node())
        finally:
            composer.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YAMLError(error.problem or str(error), mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise YAMLError(str(error).splitlines()[0]) from error


@lru_cache(maxsize=1)
def _composer_class() -> Any:
    """libyaml's parser, without PyYAML's own idea of what plain scalars mean."""
    from yaml._yaml import CParser
    from yaml.nodes import MappingNode, ScalarNode

    class Composer(CParser):
        def resolve(self, kind: type, value: Any, implicit: Any) -> str:
            if kind is ScalarNode:
                return _PLAIN if implicit[0] else _STRING
            return _PREFIX + ("map" if kind is MappingNode else "seq")

        def descend_resolver(self, current: Any, index: Any) -> None:
            """Part of the parser's protocol: paths do not matter here."""

        def ascend_resolver(self) -> None:
            """Part of the parser's protocol: paths do not matter here."""

    return Composer


class _Builder:
    """Turns the nodes of one document into a tree."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.distinct: set[int] = set()
        self.built = 0

    def value(self, node: Any) -> Any:
        self.built += 1
        self.distinct.add(id(node))
        if self.built > 10_000 and self.built > 100 * len(self.distinct):
            raise YAMLError("document contains excessive aliasing", _line(node))
        if node.id == "scalar":
            return _scalar(node)
        if id(node) in self.open:
            raise YAMLError("anchor value contains itself", _line(node))
        self.open.add(id(node))
        try:
            return self.mapping(node) if node.id == "mapping" else [self.value(item) for item in node.value]
        except RecursionError as error:
            raise YAMLError("document is nested too deeply", _line(node)) from error
        finally:
            self.open.discard(id(node))

    def mapping(self, node: Any) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: list[Any] = []
        for key_node, value_node in node.value:
            if key_node.id == "scalar" and key_node.value == MERGE and key_node.tag == _PLAIN:
                merged.append(value_node)
                continue
            key = _key(key_node)
            if key in result:
                raise YAMLError(f'key "{key}" already set in map', _line(key_node))
            result[key] = self.value(value_node)
        for value_node in merged:
            for source in value_node.value if value_node.id == "sequence" else [value_node]:
                if source.id != "mapping":
                    raise YAMLError("map merge requires map or sequence of maps as the value", _line(source))
                # Keys of the map itself win, then those of earlier sources.
                result = {**self.value(source), **result}
        return result


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _key(node: Any) -> str:
    if node.id != "scalar":
        raise YAMLError("a key must be a scalar", _line(node))
    value = _scalar(node)
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return format_float(value)
    raise YAMLError("a key must not be null", _line(node))


def _scalar(node: Any) -> Any:
    text = node.value
    kind = node.tag.removeprefix(_PREFIX)
    if kind == "str":
        return text
    if kind == "binary":
        return _binary(text, _line(node))
    value = resolve(text)
    if isinstance(value, float) and not isfinite(value):
        raise YAMLError(f"{text} cannot be written as JSON", _line(node))
    if kind == _PLAIN or kind.startswith("!") or kind == "timestamp":
        return value
    if kind not in _EXPLICIT:
        raise YAMLError(f"unknown tag {kind}", _line(node))
    if type(value) not in _EXPLICIT[kind]:
        raise YAMLError(f"cannot decode `{text}` as a !!{kind}", _line(node))
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
