"""Macros that the engine lacks: with two variables, such as `list.all(index, value, …)`, and `list.sortBy(item, …)`.

They are rewritten before compilation: the range is bound to a name, a macro with one variable goes through its keys (of
a list, the indices), and the value at the key is bound inside. Every character knows where it came from, so that errors
show the expression as it was written. Keys of maps have no type here: what only that makes wrong is found when an
expression is evaluated.
"""

import re
from typing import Any, NamedTuple

KEYS, ENTRIES, MERGED, SORTED = "_keys", "_entries", "_merged", "_sorted"
"""Functions that rewritten expressions use."""
MOST = 128
"""Such macros in one expression."""
RANGE = "_range"
"""How names of ranges begin."""
_PLACE = "_place"
_TOKEN = re.compile(
    r"""//[^\n]*|[rRbB]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|\w+|\S""", re.DOTALL
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPENING, _CLOSING = "([{", ")]}"
_ARGUMENTS = {
    **dict.fromkeys(("all", "exists", "existsOne", "exists_one"), (3,)),
    **dict.fromkeys(("transformList", "transformMap", "transformMapEntry"), (3, 4)),
    "sortBy": (2,),
}
_ONE_VARIABLE = {"existsOne": "exists_one", "transformList": "map", "transformMap": "map", "transformMapEntry": "map"}
_AROUND = {"transformMap": ENTRIES, "transformMapEntry": MERGED}
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_NO_RANGE = re.compile(rf"found no matching overload for '{KEYS}' applied to '\((.*)\)'")
_UNSORTABLE = re.compile(rf"found no matching overload for '{SORTED}' applied to '\((.*)\)'")
_SORTING_RULE = r"found no matching overload for '@sortByAssociatedKeys' applied to '(\1)'"
_RANGE_RULE = r"expression of type '\1' cannot be range of a comprehension (must be list, map, or dynamic)"


class MacroError(ValueError):
    """A macro that is used in the wrong way; the text shows where."""


class Rewritten(NamedTuple):
    """An expression for the engine, and where each of its characters stands in the original."""

    text: str
    origins: list[int]
    original: str

    def reported(self, errors: str) -> str:
        """What the engine says of the text, said of the original: the first thing at each place."""
        found: dict[int, str] = {}
        for line, column, message in _ERROR.findall(errors):
            message = _UNSORTABLE.sub(_SORTING_RULE, _NO_RANGE.sub(_RANGE_RULE, message))
            found.setdefault(self._origin(int(line), int(column)), message)
        return "\n".join(_shown(self.original, place, message) for place, message in found.items()) or errors

    def _origin(self, line: int, column: int) -> int:
        before = sum(len(part) + 1 for part in self.text.split("\n")[: line - 1])
        place = before + column - 1
        return self.origins[place] if place < len(self.origins) else len(self.original)


def _shown(expression: str, place: int, message: str) -> str:
    line = expression.count("\n", 0, place)
    column = place - (expression.rfind("\n", 0, place) + 1)
    source = expression.split("\n")[line]
    return f"ERROR: <input>:{line + 1}:{column + 1}: {message}\n | {source}\n | {'.' * column}^"


def rewritten(expression: str) -> Rewritten | None:
    """The expression without macros of two variables; None when it has none. Raises `MacroError`."""
    calls = _calls(expression)
    if not calls:
        return None
    if len(calls) > MOST:
        raise MacroError(f"at most {MOST} macros with two variables may stand in an expression")
    writer = _Writer(expression, calls)
    writer.copy(0, len(expression), calls)
    return Rewritten("".join(writer.texts), writer.origins, expression)


class _Call(NamedTuple):
    """Where a macro stands: its range from `start` to `dot`, its arguments, its end."""

    name: str
    start: int
    dot: int
    arguments: list[tuple[int, int]]
    end: int


def _calls(text: str) -> list[_Call]:
    """The macros in a text; one that is inside of another comes after it."""
    tokens = [found for found in _TOKEN.finditer(text) if not found[0].startswith("//")]
    closes = _matching(tokens)
    found: list[_Call] = []
    for at, token in enumerate(tokens[:-1]):
        wanted = _ARGUMENTS.get(token[0])
        if wanted is None or not at or tokens[at - 1][0] != "." or tokens[at + 1][0] != "(" or at + 1 not in closes:
            continue
        arguments = _split(tokens, at + 1, closes[at + 1])
        if len(arguments) in wanted:
            start = tokens[_receiver(tokens, at - 1, closes)].start()
            found.append(_Call(token[0], start, tokens[at - 1].start(), arguments, tokens[closes[at + 1]].end()))
        if len(found) > MOST:
            break
    return sorted(found, key=lambda call: (call.start, -call.end))


def _matching(tokens: list[re.Match[str]]) -> dict[int, int]:
    """From each bracket to its partner, both ways."""
    waiting: list[int] = []
    found: dict[int, int] = {}
    for at, token in enumerate(tokens):
        if token[0] in _OPENING:
            waiting.append(at)
        elif token[0] in _CLOSING and waiting:
            partner = waiting.pop()
            found[partner], found[at] = at, partner
    return found


def _split(tokens: list[re.Match[str]], opening: int, closing: int) -> list[tuple[int, int]]:
    """The extents of the arguments between two brackets."""
    depth, start = 0, tokens[opening].end()
    found: list[tuple[int, int]] = []
    for token in tokens[opening + 1 : closing]:
        depth += (token[0] in _OPENING) - (token[0] in _CLOSING)
        if token[0] == "," and depth == 0:
            found.append((start, token.start()))
            start = token.end()
    return [*found, (start, tokens[closing].start())]


def _receiver(tokens: list[re.Match[str]], dot: int, closes: dict[int, int]) -> int:
    """The first token of what stands before a dot: names, literals and brackets, joined by dots."""
    at = dot - 1
    while at > 0:
        if tokens[at][0] in _CLOSING:
            at = closes.get(at, at)
            before = tokens[at - 1][0] if at else ""
            joined = before in _CLOSING or (_NAME.fullmatch(before) is not None and before != "in")
            if not joined or tokens[at][0] == "{":
                return at
            at -= 1
        elif tokens[at - 1][0] == ".":
            at -= 2
        elif tokens[at - 1][0] == "?" and at > 1 and tokens[at - 2][0] == ".":
            at -= 3
        else:
            return at
    return max(at, 0)


class _Writer:
    """Writes an expression anew, piece by piece."""

    def __init__(self, expression: str, calls: list[_Call]) -> None:
        self._expression = expression
        self._numbers = {call: number for number, call in enumerate(map(_where, calls))}
        self.texts: list[str] = []
        self.origins: list[int] = []

    def copy(self, start: int, end: int, calls: list[_Call]) -> None:
        """Take over a part, but for the macros in it."""
        inside = [call for call in calls if start <= call.start and call.end <= end]
        while inside:
            call = inside[0]
            self._keep(start, call.start)
            self._macro(call, inside[1:])
            start = call.end
            inside = [other for other in inside[1:] if other.start >= start]
        self._keep(start, end)

    def _sorting(self, call: _Call, inner: list[_Call]) -> None:
        name = _variable(self._expression, call.arguments[0], "argument is not an identifier")
        bound, (start, end) = f"{RANGE}{self._numbers[_where(call)]}", call.arguments[1]
        head = call.arguments[0][0] - 1
        self._add(f"cel.bind({bound}, ", head)
        self.copy(call.start, call.dot, inner)
        self._add(f", {SORTED}({bound}.map({name}, ", head)
        self.copy(start, end, inner)
        self._add(f")).map({_PLACE}, {bound}[{_PLACE}]))", head)

    def _macro(self, call: _Call, inner: list[_Call]) -> None:
        if call.name == "sortBy":
            self._sorting(call, inner)
            return
        key, value = (_variable(self._expression, extent) for extent in call.arguments[:2])
        if key == value:
            place = call.arguments[1][0] + self._expression[slice(*call.arguments[1])].index(value)
            raise MacroError(_shown(self._expression, place, f"duplicate variable name: {value}"))
        head = _place(self._expression, call.start, call.dot)
        bound, around = f"{RANGE}{self._numbers[_where(call)]}", _AROUND.get(call.name)
        self._add(f"cel.bind({bound}, ", head)
        self.copy(call.start, call.dot, inner)
        self._add(f", {around}(" if around else ", ", head)
        self._add(f"{KEYS}({bound}).{_ONE_VARIABLE.get(call.name, call.name)}({key}", head)
        for at, (start, end) in enumerate(call.arguments[2:], 3):
            paired = call.name == "transformMap" and at == len(call.arguments)
            self._add(f", {f'[{key}, ' if paired else ''}cel.bind({value}, {bound}[{key}], ", head)
            self.copy(start, end, inner)
            self._add(")]" if paired else ")", head)
        self._add("))" + (")" if around else ""), head)

    def _keep(self, start: int, end: int) -> None:
        self.texts.append(self._expression[start:end])
        self.origins.extend(range(start, end))

    def _add(self, text: str, origin: int) -> None:
        self.texts.append(text)
        self.origins.extend([origin] * len(text))


def _where(call: _Call) -> tuple[int, int]:
    return call.dot, call.end


def _place(text: str, start: int, end: int) -> int:
    """Where errors about an operand point: at its last selection, or else its beginning."""
    dot = text.rfind(".", start, end)
    return start if dot < 0 or _CLOSING[0] in text[dot:end] else dot


def _variable(expression: str, extent: tuple[int, int], otherwise: str = "argument must be a simple name") -> str:
    text = expression[slice(*extent)]
    name = text.strip()
    if not _NAME.fullmatch(name):
        start = extent[0] + len(text) - len(text.lstrip())
        place = _place(expression, start, extent[1])
        raise MacroError(_shown(expression, place, otherwise))
    return name


def keys(of: Any) -> list[Any]:
    """The keys of a map, the indices of a list."""
    return list(of) if isinstance(of, dict) else list(range(len(of)))


def entries(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """The map of these keys and values."""
    return dict(pairs)


def merged(maps: list[dict[Any, Any]]) -> dict[Any, Any]:
    """One map of several, none of which may have a key of another."""
    result: dict[Any, Any] = {}
    for part in maps:
        for key, value in part.items():
            if key in result:
                raise ValueError(f"insert failed: key {key} already exists")
            result[key] = value
    return result


def sorted_places(keys: list[Any]) -> list[int]:
    """The places of these keys, the smallest first, equal ones in their order."""
    if any(key is None or isinstance(key, dict | list) for key in keys):
        raise ValueError("list elements must be comparable")
    if len({*map(type, keys)}) > 1:
        raise ValueError("list elements must have the same type")
    return sorted(range(len(keys)), key=keys.__getitem__)
