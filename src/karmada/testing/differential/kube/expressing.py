"""Random expressions in the rules of a definition that is only tried: which types fit which operators and functions."""

from collections.abc import Callable
from random import Random
from typing import Any

from karmada.testing.differential.kube.ruling import definition
from karmada.testing.differential.kube.scenarios import Step

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
_VALUES: dict[str, tuple[str, ...]] = {
    "int": ("self.n", "1", "-3", "self.a__underscores__b", "oldSelf.n", "self.k[0].v", "size(self.t)", "int(self.f)"),
    "double": ("self.f", "1.5", "double(self.n)", "oldSelf.f"),
    "string": ("self.t", "'abc'", "self.e", "string(self.n)", "self.l[0]", "self.m['a']", "self.k[0].name", "self.n.x"),
    "bool": ("self.b", "true", "has(self.n)", "has(self.nope)", "self.n > 0"),
    "timestamp": ("self.d", "timestamp('2024-01-01T00:00:00Z')", "timestamp('x')"),
    "duration": ("self.u", "duration('1h')", "duration('1x')"),
    "dyn": ("self.q", "dyn(1)", "dyn(self)"),
    "texts": ("self.l", "self.s", "['a', 'b']", "[]", "self.m.map(k, k)"),
    "numbers": ("self.i", "[1, 2]", "self.l.map(x, size(x))", "[1, 2.0]", "[self.n, self.q]"),
    "objects": ("self.k", "self.k.filter(x, has(x.v))", "[self.k[0]]"),
    "map": ("self.m", "{'a': 'b'}", "{}", "{'a': 1, 'b': 2}", "{1: 2}"),
    "object": ("self", "oldSelf", "self.k[0]", "null"),
    "optional": ("self.?n", "self.?m[?'a']", "self.?nope", "optional.of(1)", "self.l[?0]", "self.k[?0].?v"),
    "other": (
        "quantity('1')",
        "ip('1.1.1.1')",
        "cidr('10.0.0.0/8')",
        "url('http://x')",
        "semver('1.2.3')",
        "b'a'",
        "1u",
    ),
}
_COMPARISONS, _SUMS = ("<", "<=", ">", ">=", "==", "!="), ("+", "-", "*", "/", "%")
_OF_TEXTS = ("startsWith", "endsWith", "contains", "matches", "find", "indexOf", "split", "join", "charAt", "substring")
_ALONE = (
    *("size", "lowerAscii", "trim", "reverse", "isSorted", "sum", "min", "max", "distinct", "getFullYear", "getHours"),
    *("hasValue", "value", "flatten", "sort", "join", "family", "isInteger", "major", "isLoopback", "getPort"),
)
_FUNCTIONS = (
    *("int", "uint", "double", "string", "bytes", "bool", "timestamp", "duration", "size", "type", "dyn"),
    *("quantity", "isQuantity", "ip", "isIP", "url", "isURL", "semver", "sign"),
)


def express_scenario(dice: Random) -> list[Step]:
    """Some expressions, each in a definition of its own."""
    steps: list[Step] = []
    for _ in range(dice.randint(3, 6)):
        rule: dict[str, Any] = {"rule": dice.choice(_SORTS)(dice)}
        if dice.random() < 0.1:
            rule["optionalOldSelf"] = True
        if dice.random() < 0.1:
            rule = {"rule": "true", "messageExpression": _any(dice)}
        steps.append({"method": "POST", "path": _CRDS, "body": definition([rule])})
    return steps


def _any(dice: Random, *sorts: str) -> str:
    """A value of one of these sorts, mostly."""
    sort = dice.choice(sorts) if sorts and dice.random() < 0.85 else dice.choice(tuple(_VALUES))
    return dice.choice(_VALUES[sort])


def _compared(dice: Random) -> str:
    sort = dice.choice(tuple(_VALUES))
    return f"{_any(dice, sort)} {dice.choice(_COMPARISONS)} {_any(dice, sort)}"


def _summed(dice: Random) -> str:
    sort = dice.choice(tuple(_VALUES))
    return f"{_any(dice, sort)} {dice.choice(_SUMS)} {_any(dice, sort)} == {_any(dice, sort)}"


def _method(dice: Random) -> str:
    made = f"{_any(dice, 'string')}.{dice.choice(_OF_TEXTS)}({_any(dice, 'string', 'int')})"
    return made + dice.choice(("", f" == {_any(dice, 'string', 'int', 'texts')}"))


def _alone(dice: Random) -> str:
    return f"{_any(dice, 'string', 'texts', 'numbers', 'other')}.{dice.choice(_ALONE)}() == {_any(dice)}"


def _macro(dice: Random) -> str:
    body = dice.choice(
        ("x.size() > 1", "x > 1", f"x == {_any(dice)}", "has(x.v)", f"x in {_any(dice, 'texts', 'map')}", "x")
    )
    name = dice.choice(("all", "exists", "exists_one", "filter"))
    return f"{_any(dice, 'texts', 'numbers', 'objects', 'map')}.{name}(x, {body})" + dice.choice(("", " == []"))


def _macro_of_two(dice: Random) -> str:
    body = dice.choice(("i > 1", "x > 1", "x.size() > i", "i in self.m", "x", "i == x"))
    name = dice.choice(("all", "exists", "existsOne", "transformList", "transformMap"))
    return f"{_any(dice, 'texts', 'numbers', 'map')}.{name}(i, x, {body})" + dice.choice(("", " == []", ".size() > 1"))


def _chosen(dice: Random) -> str:
    sort = dice.choice(tuple(_VALUES))
    return f"({_any(dice, 'bool')} ? {_any(dice, sort)} : {_any(dice, sort)}) == {_any(dice, sort)}"


def _call(dice: Random) -> str:
    return f"{dice.choice(_FUNCTIONS)}({_any(dice)}) == {_any(dice)}"


def _optional(dice: Random) -> str:
    made = f"{_any(dice, 'optional')}.{dice.choice(('orValue', 'or'))}({_any(dice, 'int', 'string', 'optional')})"
    return made + dice.choice((" == 1", " == 'a'", ".hasValue()"))


def _listed(dice: Random) -> str:
    return dice.choice((f"[{_any(dice)}, {_any(dice)}].size() == 1", f"{_any(dice)} in {_any(dice, 'texts', 'map')}"))


def _selected(dice: Random) -> str:
    field = dice.choice(("n", "t", "name", "v", "nope", "x__dash__y", "namespace", "metadata", "k[0].name"))
    return f"{_any(dice, 'object')}.{field} == {_any(dice)}"


def _written(dice: Random) -> str:
    clause = dice.choice(("%s %d", "%s", "%f %s", "%x %s", "%d", "%b %s", "%y"))
    return f"'{clause}'.format([{_any(dice)}, {_any(dice)}]) == 'x'"


_SORTS: tuple[Callable[[Random], str], ...] = (
    *(_compared, _summed, _method, _alone, _macro, _macro_of_two, _chosen, _call, _optional, _listed, _selected),
    *(_written, _any),
)
