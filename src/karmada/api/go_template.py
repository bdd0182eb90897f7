"""Go templates, as far as people use them with `-o go-template`.

Fields (`.metadata.name`), `range` (over lists and maps, with `else`), `if`/`else if`/`else`, `with`, variables
(`{{$x := …}}`, `{{range $i, $x := …}}`), pipelines, parentheses, literals, comments, trimming (`{{-`, `-}}`), and the
functions index, len, print, printf, println, eq, ne, lt, le, gt, ge, and, or, not, slice, exists, base64decode.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from karmada.api.jsonpath import print_value

_ACTION = re.compile(r"\{\{(-\s)?\s*(.*?)\s*(\s-)?\}\}", re.DOTALL)
_TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|`[^`]*`|:=|\||\(|\)|,|\$\w*(?:\.\w+)*|(?:\.[\w-]+)+|\.|-?\d+(?:\.\d+)?|[A-Za-z_]\w*)'
)
NO_VALUE = "<no value>"


class TemplateError(ValueError):
    """A template that cannot be read, or does not fit the data."""


class Template:
    """A template that was read."""

    def __init__(self, nodes: "list[_Node]") -> None:
        self._nodes = nodes

    def render(
        self, data: Any, allow_missing: bool = True, functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> str:
        """The text for some data; `functions` are those a program knows beside Go's own."""
        run = _Run(allow_missing, {**_FUNCTIONS, **(functions or {})})
        try:
            return "".join(run.nodes(self._nodes, data, {"$": data}))
        except TemplateError:
            raise
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise TemplateError(f"the template does not fit the data: {error}") from error


def compile(text: str) -> Template:
    """Read a template; raises `TemplateError`."""
    reader = _Reader(text)
    nodes, end = reader.block()
    if end:
        raise TemplateError(f"unexpected {{{{{end}}}}}")
    return Template(nodes)


class _Node:
    """Text, or an action with its blocks."""

    def __init__(self, kind: str, tokens: list[str], text: str = "") -> None:
        self.kind = kind
        self.tokens = tokens
        self.text = text
        self.body: list[_Node] = []
        self.otherwise: list[_Node] = []


class _Reader:
    def __init__(self, text: str) -> None:
        self._parts = list(_parts(text))

    def block(self) -> tuple[list[_Node], str]:
        """Nodes up to the action that ends the block, and that action."""
        nodes: list[_Node] = []
        while self._parts:
            is_action, text = self._parts.pop(0)
            if not is_action:
                nodes.append(_Node("text", [], text))
                continue
            word = _leading_word(text)
            if word in ("end", "else"):
                return nodes, text
            if word in ("range", "if", "with"):
                nodes.append(self._nested(word, text[len(word) :]))
            elif not text.startswith("/*"):
                nodes.append(_Node("print", _tokens(text)))
        return nodes, ""

    def _nested(self, word: str, rest: str) -> _Node:
        node = _Node(word, _tokens(rest))
        node.body, end = self.block()
        if end.startswith("else"):
            follows = end[4:].strip()
            if follows.startswith("if"):
                node.otherwise = [self._nested("if", follows[2:])]
                return node
            node.otherwise, end = self.block()
        if end != "end":
            raise TemplateError(f"{{{{{word}}}}} has no {{{{end}}}}")
        return node


def _leading_word(text: str) -> str:
    """`range` of `range.items`, `range $x := .items` and `range(.items)`."""
    letters = len(text) - len(text.lstrip("abcdefghijklmnopqrstuvwxyz"))
    return text[:letters]


def _parts(text: str) -> Iterable[tuple[bool, str]]:
    position, trim = 0, False
    for action in _ACTION.finditer(text):
        before = text[position : action.start()]
        before = before.lstrip() if trim else before
        before = before.rstrip() if action.group(1) else before
        if before:
            yield False, before
        yield True, action.group(2)
        position, trim = action.end(), bool(action.group(3))
    rest = text[position:].lstrip() if trim else text[position:]
    if "{{" in rest:
        raise TemplateError("unclosed action")
    if rest:
        yield False, rest


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise TemplateError(f"unexpected {text[position:]!r}")
        tokens.append(found.group(1))
        position = found.end()
    return tokens


class _Run:
    def __init__(self, allow_missing: bool, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._allow_missing = allow_missing
        self._functions = functions

    def nodes(self, nodes: list[_Node], dot: Any, names: dict[str, Any]) -> Iterable[str]:
        for node in nodes:
            match node.kind:
                case "text":
                    yield node.text
                case "print":
                    yield from self._print(node, dot, names)
                case "range":
                    yield from self._range(node, dot, names)
                case kind:
                    value = self._assigned(node.tokens, dot, names)
                    inner = value if kind == "with" and _truth(value) else dot
                    yield from self.nodes(node.body if _truth(value) else node.otherwise, inner, dict(names))

    def _print(self, node: _Node, dot: Any, names: dict[str, Any]) -> Iterable[str]:
        if len(node.tokens) > 2 and node.tokens[1] == ":=":
            names[node.tokens[0]] = self._pipeline(node.tokens[2:], dot, names)
            return
        value = self._pipeline(node.tokens, dot, names)
        yield NO_VALUE if value is None else _shown(value)

    def _assigned(self, tokens: list[str], dot: Any, names: dict[str, Any]) -> Any:
        if len(tokens) > 2 and tokens[1] == ":=":
            names[tokens[0]] = self._pipeline(tokens[2:], dot, names)
            return names[tokens[0]]
        return self._pipeline(tokens, dot, names)

    def _range(self, node: _Node, dot: Any, names: dict[str, Any]) -> Iterable[str]:
        tokens, variables = node.tokens, []
        if ":=" in tokens:
            place = tokens.index(":=")
            variables = [token for token in tokens[:place] if token != ","]
            tokens = tokens[place + 1 :]
        value = self._pipeline(tokens, dot, names)
        pairs = _pairs(value)
        if not pairs:
            yield from self.nodes(node.otherwise, dot, dict(names))
        for key, item in pairs:
            bound = {variables[0]: item} if len(variables) == 1 else dict(zip(variables, (key, item), strict=False))
            yield from self.nodes(node.body, item, names | bound)

    def _pipeline(self, tokens: list[str], dot: Any, names: Mapping[str, Any]) -> Any:
        stages = _split(tokens)
        value: Any = None
        for index, stage in enumerate(stages):
            arguments = self._operands(stage, dot, names)
            if not arguments:
                raise TemplateError("missing value for command")
            first, *rest = arguments
            if index:
                rest.append(value)
            if callable(first):
                value = first(*rest)
            elif rest:
                raise TemplateError(f"can't give argument to non-function {stage[0]}")
            else:
                value = first
        return value

    def _operands(self, tokens: list[str], dot: Any, names: Mapping[str, Any]) -> list[Any]:
        found: list[Any] = []
        rest = list(tokens)
        while rest:
            token = rest.pop(0)
            if token != "(":
                found.append(self._operand(token, dot, names))
                continue
            depth, inner = 1, []
            while depth:
                if not rest:
                    raise TemplateError("unclosed left paren")
                token = rest.pop(0)
                depth += (token == "(") - (token == ")")
                inner.append(token)
            value = self._pipeline(inner[:-1], dot, names)
            found.append(value)
            if rest and rest[0].startswith(".") and len(rest[0]) > 1:
                found[-1] = self._field(value, rest.pop(0)[1:])
        return found

    def _operand(self, token: str, dot: Any, names: Mapping[str, Any]) -> Any:
        if token == ".":
            return dot
        if token.startswith("."):
            return self._field(dot, token[1:])
        if token.startswith("$"):
            name, _, path = token.partition(".")
            if name not in names:
                raise TemplateError(f"undefined variable {name}")
            return self._field(names[name], path) if path else names[name]
        if token[0] == '"':
            return token[1:-1].encode().decode("unicode_escape")
        if token[0] == "`":
            return token[1:-1]
        if token[0] in "-0123456789":
            return float(token) if "." in token else int(token)
        if token in _WORDS:
            return _WORDS[token]
        if token not in self._functions:
            raise TemplateError(f'function "{token}" not defined')
        return self._functions[token]

    def _field(self, value: Any, path: str) -> Any:
        for name in path.split("."):
            if value is None:
                return None
            if not isinstance(value, dict):
                raise TemplateError(f"can't evaluate field {name} in type {type(value).__name__}")
            if name not in value and not self._allow_missing:
                raise TemplateError(f'map has no entry for key "{name}"')
            value = value.get(name)
        return value


def _split(tokens: list[str]) -> list[list[str]]:
    stages: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if token == "|" and not depth:
            stages.append([])
        else:
            stages[-1].append(token)
    return stages


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    match value:
        case None:
            return []
        case dict():
            return sorted(value.items())
        case list():
            return list(enumerate(value))
        case int():
            return [(number, number) for number in range(value)]
    raise TemplateError(f"range can't iterate over {value}")


def _truth(value: Any) -> bool:
    return bool(value)


def _shown(value: Any) -> str:
    match value:
        case dict():
            inner = " ".join(f"{key}:{_shown(value[key])}" for key in sorted(value))
            return f"map[{inner}]"
        case list():
            return "[" + " ".join(_shown(item) for item in value) + "]"
        case None:
            return "<nil>"
    return print_value(value)


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        try:
            value = value.get(key) if isinstance(value, dict) else value[key]
        except (IndexError, TypeError) as error:
            raise TemplateError(f"error calling index: {error}") from error
    return value


def _printf(form: str, *values: Any) -> str:
    rest = list(values)

    def one(found: re.Match[str]) -> str:
        if found.group(0) == "%%":
            return "%"
        value = rest.pop(0) if rest else None
        flags, letter = found.group(1), found.group(2)
        if letter in "vs":
            return f"%{flags}s" % _shown(value)
        if letter == "q":
            return '"' + _shown(value) + '"'
        return f"%{flags}{letter}" % value

    return re.sub(r"%([-+ 0-9.]*)([vsqdfxt%])", one, form)


def _exists(value: Any, *keys: Any) -> bool:
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _and(*values: Any) -> Any:
    return next((value for value in values if not _truth(value)), values[-1])


def _or(*values: Any) -> Any:
    return next((value for value in values if _truth(value)), values[-1])


_WORDS: dict[str, Any] = {"true": True, "false": False, "nil": None}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "index": _index,
    "len": lambda value: len(value or ()),
    "print": lambda *values: "".join(map(_shown, values)),
    "println": lambda *values: " ".join(map(_shown, values)) + "\n",
    "printf": _printf,
    "eq": lambda first, *others: first in others,
    "ne": lambda first, second: first != second,
    "lt": lambda first, second: first < second,
    "le": lambda first, second: first <= second,
    "gt": lambda first, second: first > second,
    "ge": lambda first, second: first >= second,
    "and": _and,
    "or": _or,
    "not": lambda value: not _truth(value),
    "slice": lambda value, *bounds: value[slice(*bounds)],
    "exists": _exists,
    "base64decode": lambda value: base64.b64decode(value).decode(),
}
