"""Compiles expressions and evaluates them on plain JSON values.

Compiled programs are cached: the same expression in a thousand objects is compiled once. Values of types that CEL does
not know (quantities, addresses, URLs) are maps with a private key, see `values`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from karmada.api.caching import weighed_cache
from karmada.apiserver.cel import authorization, cost, named_formats, two_variables
from karmada.apiserver.cel.checking import IllTyped, Inference
from karmada.apiserver.cel.converting import converted, times
from karmada.apiserver.cel.library import SPELLED
from karmada.apiserver.cel.restoring import restored
from karmada.apiserver.cel.syntax import Node, positions, read
from karmada.apiserver.cel.types import Type

DYN = "dyn"
"""Types of variables are named as CEL names them: dyn, bool, int, double, string, list(string), map(string, int)."""
CHARACTERS = 256 * 1024
"""Of expressions whose programs are kept: a program takes about a hundred bytes for each, and tenants write them."""
OVERHEAD = 64
"""Characters that an expression counts for beside its own."""


class CompileError(ValueError):
    """The expression is no CEL, or its types do not fit; the text shows where."""


class EvaluationError(ValueError):
    """The expression has no value for the given variables."""


class Program:
    """A compiled expression."""

    __slots__ = ("_depth", "_error_type", "_evaluated", "_expression", "_strings", "returns")

    def __init__(self, expression: Any, error_type: Any, text: str, evaluated: Any = None) -> None:
        """`evaluated` is what is evaluated in its place, where the engine takes another form of it."""
        self._expression = expression
        self._evaluated = evaluated or expression
        self._error_type = error_type
        self._depth = cost.nesting(text)
        self._strings = cost.cuts_strings(text)
        name: str = expression.return_type().name()
        self.returns = name if "." in name else name.lower()
        """Name of the type of the result."""

    def syntax(self) -> Node:
        """The syntax tree, macros expanded."""
        return restored(read(self._expression.serialize()))

    def pointed_out(self, expression: str, error: IllTyped) -> str:
        """What is wrong with the expression that this was compiled from, and where."""
        place = positions(self._expression.serialize()).get(error.part)
        if place is None or _source(expression)[1] != expression:
            return str(error)
        before = expression[:place].split("\n")
        number, column = len(before), len(before[-1])
        line = expression.split("\n")[number - 1]
        return f"ERROR: <input>:{number}:{column + 1}: {error}\n | {line}\n | {'.' * column}^"

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """The value as plain Python; raises `EvaluationError`, also for what would take too long."""
        if self._depth > 1 and cost.rounds(dict(variables), self._depth, self._strings) > cost.LIMIT:
            raise EvaluationError("operation cancelled: actual cost limit exceeded")
        try:
            result = self._evaluated.eval(data=variables)
        except RuntimeError as error:
            raise EvaluationError(_reworded(str(error))) from None
        failed = result.type() == self._error_type
        try:
            value = result.plain_value()
        except (TypeError, SystemError):
            raise EvaluationError("the value of the expression cannot be written as JSON") from None
        if failed:
            raise EvaluationError(_reworded(str(value)))
        return value


def _weight(_: Program, expression: str, variables: tuple[tuple[str, str], ...]) -> int:
    return len(expression) + OVERHEAD


@weighed_cache(CHARACTERS, _weight)
def _compiled(expression: str, variables: tuple[tuple[str, str], ...]) -> Program:
    from cel_expr_python import cel

    if cost.bindings(expression) > cost.BINDINGS:
        raise CompileError(f"at most {cost.BINDINGS} bindings may stand inside each other")
    if cost.computed_maps(expression) > cost.COMPUTED:
        raise CompileError(f"at most {cost.COMPUTED} maps may have a key that is no literal")
    rewritten, source = _source(expression)
    environment = _environment(variables)
    try:
        checked = environment.compile(source)
        return Program(checked, cel.Type.ERROR, expression, _spelling_addresses(environment, source, variables))
    except RuntimeError as error:
        if _only_mixes_numbers(str(error)):
            spelling = _spelling_addresses(environment, source, variables)
            return Program(environment.compile(source, disable_check=True), cel.Type.ERROR, expression, spelling)
        text = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
        text = re.sub(
            r"expression of type '([^']*)' cannot be the operand of a select operation",
            r"type '\1' does not support field selection",
            text,
        )
        text = re.sub(
            r"type '(kubernetes\.authorization\.\w+)' does not support field selection",
            r"unexpected failed resolution of '\1'",
            text,
        )
        raise CompileError(_in_order(text if rewritten is None else rewritten.reported(text))) from None


_ADDRESSES = re.compile(r"\b(?:ip|cidr)\(")


def _spelling_addresses(environment: Any, source: str, variables: tuple[tuple[str, str], ...]) -> Any:
    """An expression that makes texts of addresses, compiled; None where it does not, as far as types are known."""
    if "string(" not in source or not _ADDRESSES.search(source):
        return None
    unchecked = environment.compile(source, disable_check=True).serialize()
    inference = Inference(judges=False)  # the engine has judged, and takes more than this does
    inference.infer(read(unchecked), {name: Type(DYN) for name, _ in variables})
    wrap = dict.fromkeys(inference.spelled, SPELLED)
    return environment.deserialize(converted(unchecked, wrap)) if wrap else None


def _source(expression: str) -> tuple[two_variables.Rewritten | None, str]:
    """An expression for the engine, and how its macros were rewritten if they were."""
    try:
        rewritten = two_variables.rewritten(expression)
    except two_variables.MacroError as error:
        raise CompileError(str(error)) from None
    source = rewritten.text if rewritten is not None else expression
    return rewritten, named_formats.rewritten(source) if "format." in source else source


def compile_reading(expression: str, variables: Mapping[str, str], known: Mapping[str, Type]) -> Program:
    """Compile an expression that reads times where variables of known types hold them as texts.

    Raises `CompileError`; what the types do not fit is compiled as it is.
    """
    from cel_expr_python import cel

    plain = compile(expression, variables)
    environment = _environment(tuple(sorted(variables.items())))
    unchecked = environment.compile(_source(expression)[1], disable_check=True).serialize()
    inference = Inference()
    try:
        inference.infer(read(unchecked), known)
    except IllTyped:
        return plain
    wrap = times(inference.types) | dict.fromkeys(inference.spelled, SPELLED)
    return Program(environment.deserialize(converted(unchecked, wrap)), cel.Type.ERROR, expression)


_MIXED = re.compile(
    r"found no matching overload for '_[<>]=?_' applied to '\((?:int|uint|double), (?:int|uint|double)\)'"
)


def _only_mixes_numbers(errors: str) -> bool:
    """Whether all that is wrong is that numbers of two types are compared, which the engine can do."""
    found = re.findall(r"ERROR: <input>:\d+:\d+: (.*)", errors)
    return bool(found) and all(_MIXED.match(one) for one in found)


_UNDECLARED = re.compile(
    r"ERROR: <input>:(\d+):(\d+): undeclared reference to '(\w+)((?:\.\w+)+)'(.*)\n( \| .*)\n \| (\.*)\^", re.DOTALL
)


_OVERLOAD = re.compile(
    r"(ERROR: <input>:\d+:(\d+): found no matching overload for '(\w+)' applied to )'\((.*)\)'(\n \| (.*)\n)", re.DOTALL
)


def _as_member(error: str) -> str:
    """Of a call of a method, the receiver stands before the arguments."""
    found = _OVERLOAD.match(error)
    if found is None:
        return error
    head, column, name, arguments, tail, line = found.groups()
    if line[: int(column) - 1].rstrip()[-len(name) - 1 :] != f".{name}":
        return error
    depth, cut = 0, len(arguments)
    for place, letter in enumerate(arguments):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            cut = place
            break
    receiver, rest = arguments[:cut], arguments[cut + 1 :].strip()
    return f"{head}'{receiver}.({rest})'{tail}{error[found.end() :]}"


def _in_order(errors: str) -> str:
    """Several errors in the order of their places."""
    parts = [_as_member(_rooted(part)) for part in re.split(r"\n(?=ERROR: <input>:\d+:\d+: )", errors)]
    return "\n".join(sorted(parts, key=lambda part: [int(number) for number in re.findall(r":(\d+)", part)[:2]]))


def _rooted(error: str) -> str:
    """Of an unknown variable with fields, the variable is unknown."""
    found = _UNDECLARED.fullmatch(error)
    if found is None:
        return error
    line, column, name, fields, rest, source, dots = found.groups()
    back = len(name) + fields.rindex(".")
    if back > len(dots):
        return error
    place = int(column) - back
    return f"ERROR: <input>:{line}:{place}: undeclared reference to '{name}'{rest}\n{source}\n | {dots[back:]}^"


def compile(expression: str, variables: Mapping[str, str]) -> Program:
    """Compile an expression that may use these variables, given as name and type; raises `CompileError`."""
    return _compiled(expression, tuple(sorted(variables.items())))


@lru_cache(maxsize=256)
def _environment(variables: tuple[tuple[str, str], ...]) -> Any:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional

    from karmada.apiserver.cel.library import declarations

    extensions = [
        ext_bindings.ExtBindings(),
        ext_encoders.ExtEncoders(),
        ext_math.ExtMath(),
        ext_optional.ExtOptional(),
    ]
    types = {name: _type(kind) for name, kind in variables}
    functions = declarations(cel)
    if authorization.VARIABLE in types:
        checking = (authorization.VARIABLE, authorization.TYPE) in variables
        functions += authorization.declarations(cel, checking)
    return cel.NewEnv(variables=types, extensions=extensions, functions=functions)


def _type(name: str) -> Any:
    from cel_expr_python import cel

    simple = {
        "dyn": cel.Type.DYN,
        "bool": cel.Type.BOOL,
        "int": cel.Type.INT,
        "double": cel.Type.DOUBLE,
        "string": cel.Type.STRING,
        "bytes": cel.Type.BYTES,
        "uint": cel.Type.UINT,
        "null": cel.Type.NULL,
        "duration": cel.Type.DURATION,
        "timestamp": cel.Type.TIMESTAMP,
    }
    if name in simple:
        return simple[name]
    if name.startswith("list("):
        return cel.Type.List(_type(name[5:-1]))
    if name.startswith("map("):
        key, value = name[4:-1].split(", ", 1)
        return cel.Type.Map(_type(key), _type(value))
    if name in authorization.TYPES:
        return cel.Type.AbstractType(authorization.TYPES[name], [])
    raise ValueError(f"no CEL type is named {name!r}")


_REWORDING = (
    (re.compile(r'Key not found in map : "?([^"]*)"?'), r"no such key: \1"),
    (re.compile(r"No matching overloads found : ?(.*)"), r"no such overload: \1"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"cannot convert (\w+) to (\w+)"), r"type conversion error from '\1' to '\2'"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r'No value with name "(\w+)" found in Activation'), r"no such attribute(s): \1"),
)


def _reworded(text: str) -> str:
    """An engine's error in the words of the API server's."""
    text = re.sub(r"^[A-Z_]+: ", "", text)
    text = re.sub(r" \[[A-Z_]+\]$", "", text)
    for pattern, words in _REWORDING:
        text = pattern.sub(words, text)
    return text
