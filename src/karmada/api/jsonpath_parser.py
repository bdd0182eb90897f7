"""The grammar of Kubernetes' JSONPath: from template text to the nodes that `jsonpath` evaluates."""

import re
from dataclasses import dataclass
from typing import Any


class JSONPathError(ValueError):
    """A template that cannot be read, or that does not fit the data; `text` is the template."""

    def __init__(self, message: str, text: str) -> None:
        self.text = text
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Field:
    """`.name`"""

    name: str


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`.*`: all members or elements."""


@dataclass(frozen=True, slots=True)
class Recursive:
    """`..`: the value and everything below."""


@dataclass(frozen=True, slots=True)
class Slice:
    """`[start:stop:step]`, or one element when `is_index`."""

    start: int | None
    stop: int | None
    step: int | None
    is_index: bool


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, string or boolean."""

    value: Any


@dataclass(frozen=True, slots=True)
class Union:
    """`[a,b]`: the results of several paths, one after the other."""

    paths: "tuple[tuple[Node, ...], ...]"


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(left operator right)]`; the operator `exists` has no right side."""

    left: "tuple[Node, ...]"
    operator: str
    right: "tuple[Node, ...]"


Node = Field | Wildcard | Recursive | Slice | Literal | Union | Filter


@dataclass(frozen=True, slots=True)
class Text:
    """Text between actions."""

    text: str


@dataclass(frozen=True, slots=True)
class Range:
    """`{range path} body {end}`: the body once for each result."""

    nodes: tuple[Node, ...]
    body: "tuple[Part, ...]"


Part = Text | Range | tuple[Node, ...]

_TERMINATORS = " \t\r\n.,[]$@{}"
_SLICE = re.compile(r"(-?[0-9]{0,9})(:-?[0-9]{0,9})?(:-?[0-9]{0,9})?", re.ASCII)
_DICT_KEY = re.compile(r"'([^']*)'")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9.]*", re.ASCII)
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_RANGE, _END = "range", "end"


def parse_template(text: str) -> tuple[Part, ...]:
    """Text and actions; `range` and `end` become a tree. A range that is not ended lasts to the end of the template."""
    stack: list[tuple[tuple[Node, ...], list[Part]]] = [((), [])]
    scanner = _Scanner(text)
    while not scanner.at_end():
        plain = scanner.until("{")
        if plain:
            stack[-1][1].append(Text(plain))
        if scanner.at_end():
            break
        keyword, nodes = scanner.action()
        if keyword == _RANGE:
            stack.append((nodes, []))
        elif keyword == _END:
            if len(stack) == 1:
                raise scanner.error("not in range, nothing to end")
            path, body = stack.pop()
            stack[-1][1].append(Range(path, tuple(body)))
        else:
            stack[-1][1].append(nodes)
    while len(stack) > 1:
        path, body = stack.pop()
        stack[-1][1].append(Range(path, tuple(body)))
    return tuple(stack[0][1])


class _Scanner:
    """Reads one action after the other; `position` is always at the next unread character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def error(self, message: str) -> JSONPathError:
        return JSONPathError(message, self.text)

    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def until(self, mark: str) -> str:
        """Everything before the mark, which stays unread."""
        found = self.text.find(mark, self.position)
        stop = len(self.text) if found < 0 else found
        taken = self.text[self.position : stop]
        self.position = stop
        return taken

    def action(self) -> tuple[str, tuple[Node, ...]]:
        """One `{...}`: its keyword, if any, and its path."""
        self.position += 1
        keyword = ""
        nodes: list[Node] = []
        while self.peek() != "}":
            word = self.node(nodes)
            if word:
                keyword = word
        self.position += 1
        return keyword, tuple(nodes)

    def node(self, nodes: list[Node]) -> str:
        """Append the next node, or return a keyword."""
        character = self.peek()
        if not character or character in "\r\n":
            raise self.error("unclosed action")
        if character in " @$":
            self.position += 1
        elif self.text.startswith("[?(", self.position):
            nodes.append(self.filter())
        elif self.text.startswith("..", self.position):
            if nodes and isinstance(nodes[-1], Recursive):
                raise self.error("invalid multiple recursive descent")
            self.position += 2
            nodes.append(Recursive())
            if self.peek() == "_" or self.peek().isalnum():
                nodes.append(self.field())
        elif character == "[":
            nodes.extend(self.array())
        elif character in "\"'":
            nodes.append(Literal(self.quoted(character)))
        elif character == ".":
            self.position += 1
            nodes.append(self.field())
        elif character in "+-" or character.isdigit():
            nodes.append(self.number())
        elif character == "_" or character.isalpha():
            return self.word(nodes)
        else:
            raise self.error(f"unrecognized character in action: U+{ord(character):04X} '{character}'")
        return ""

    def word(self, nodes: list[Node]) -> str:
        start = self.position
        while not self.at_end() and self.peek() not in _TERMINATORS:
            self.position += 1
        word = self.text[start : self.position]
        if word in ("true", "false"):
            nodes.append(Literal(word == "true"))
            return ""
        if word in (_RANGE, _END) and not nodes:
            return word
        raise self.error(f"unrecognized identifier {word}")

    def field(self) -> Node:
        name = ""
        while not self.at_end() and self.peek() not in _TERMINATORS:
            if self.peek() == "\\":
                self.position += 1
            name += self.peek()
            self.position += 1
        return Wildcard() if name == "*" else Field(name)

    def number(self) -> Node:
        match = _NUMBER.match(self.text, self.position)
        digits = match.group() if match else ""
        self.position += len(digits)
        try:
            return Literal(int(digits) if "." not in digits else float(digits))
        except ValueError as error:
            raise self.error(f"cannot parse number {digits}") from error

    def quoted(self, quote: str) -> str:
        start = self.position + 1
        stop = start
        while self.text[stop : stop + 1] != quote:
            if self.text[stop : stop + 1] in ("", "\n"):
                raise self.error("unterminated quoted string")
            stop += 2 if self.text[stop] == "\\" else 1
        self.position = stop + 1
        return _ESCAPE.sub(_unescape, self.text[start:stop])

    def array(self) -> list[Node]:
        inside = self.text[self.position + 1 :].partition("]")
        if not inside[1] or "\n" in inside[0]:
            raise self.error("unterminated array")
        content = inside[0]
        self.position += len(content) + 2
        if content == "*":
            return [Slice(None, None, None, False)]
        if "," in content:
            return [Union(tuple(self.nested(f"[{part.strip(' ')}]") for part in content.split(",")))]
        key = _DICT_KEY.fullmatch(content)
        if key:
            return list(self.nested(f".{key.group(1)}"))
        bounds = _SLICE.fullmatch(content)
        if bounds is None:
            raise self.error(f"invalid array index {content}")
        start, stop, step = (self.bound(group) for group in bounds.groups())
        # Without a colon it is one element, and empty brackets are the first.
        return [Slice(start, stop, step, bounds.group(2) is None)]

    def bound(self, text: str | None) -> int | None:
        digits = (text or "").lstrip(":")
        if digits == "-":
            raise self.error(f"array index {digits} is not a number")
        return int(digits) if digits else None

    def filter(self) -> Filter:
        self.position += 3
        start = self.position
        quote = ""
        while self.peek() and (quote or self.peek() != ")"):
            if self.peek() == "\n":
                break
            if quote and self.peek() == "\\":
                self.position += 1
            elif self.peek() == quote:
                quote = ""
            elif not quote and self.peek() in "\"'":
                quote = self.peek()
            self.position += 1
        if self.peek() != ")":
            raise self.error("unterminated filter")
        content = self.text[start : self.position]
        if self.text[self.position + 1 : self.position + 2] != "]":
            raise self.error("unclosed array expect ]")
        self.position += 2
        comparison = _COMPARISON.fullmatch(content)
        if comparison is None:
            return Filter(self.nested(content), "exists", ())
        left, symbol, right = comparison.groups()
        if symbol not in _OPERATORS:
            raise self.error(f"unrecognized filter operator {symbol}")
        return Filter(self.nested(left), symbol, self.nested(right))

    def nested(self, content: str) -> tuple[Node, ...]:
        """A path inside brackets, read like an action of its own."""
        inner = _Scanner(f"{{{content}}}")
        try:
            keyword, nodes = inner.action()
        except JSONPathError as error:
            raise self.error(str(error)) from error
        if keyword or not inner.at_end():
            raise self.error(f"invalid path {content}")
        return nodes


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)
