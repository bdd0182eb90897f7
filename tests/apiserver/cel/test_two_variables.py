"""Macros with two variables: values, errors and estimated costs, as a kube-apiserver 1.36.3 has them."""

import pytest

from karmada.apiserver import cel
from karmada.apiserver.cel.estimate import Shape, estimate
from karmada.apiserver.cel.two_variables import MOST, rewritten

VALUES = {"l": [1, 2, 3], "m": {"a": "x", "b": "y"}, "e": [], "o": {"l": [[1], [2, 3]]}}
TEXT = Shape("text", 400)
SELF = Shape(
    "object",
    fields={
        "x": TEXT,
        "l": Shape("list", 20, element=TEXT),
        "m": Shape("map", 30, element=TEXT),
        "ints": Shape("list", 20, element=Shape()),
    },
)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("l.all(i, v, v == i + 1)", True),
        ("l.all(i, v, v == i)", False),
        ("l.exists(i, v, i == 2 && v == 3)", True),
        ("l.exists(i, v, v == 99)", False),
        ("l.existsOne(i, v, v > 2)", True),
        ("l.exists_one(i, v, v > 1)", False),
        ("e.all(i, v, false)", True),
        ("m.all(k, v, v.size() == 1)", True),
        ("l.transformList(i, v, v * i)", [0, 2, 6]),
        ("l.transformList(i, v, i > 0, v)", [2, 3]),
        ("m.transformMap(k, v, k + v)", {"a": "ax", "b": "by"}),
        ("m.transformMap(k, v, k != 'a', v)", {"b": "y"}),
        ("l.transformMap(i, v, v)[0]", 1),
        ("m.transformMapEntry(k, v, {v: k})", {"x": "a", "y": "b"}),
        ("m.transformMapEntry(k, v, k == 'a', {v: k})", {"x": "a"}),
        ("l.all(i, v, l.all(j, w, i == j || v != w))", True),
        ("l.sortBy(v, -v)", [3, 2, 1]),
        ("l.sortBy(v, v > 1 ? 'a' : 'b')", [2, 3, 1]),
        ("e.sortBy(v, v)", []),
        ("m.map(k, k).sortBy(k, m[k] == 'x')", ["b", "a"]),
        ("o.l.sortBy(inner, -inner.size())[0].sortBy(v, -v)", [3, 2]),
        ("[duration('2s'), duration('1s')].sortBy(d, d)[0] == duration('1s')", True),
        ("l.transformMap(i, v, v).all(i, v, v > i)", True),
        ("o.l[1].exists(i, v, v == 3)", True),
        ("!(l + l).all(i, v, i < 3) && 2 in [1].transformList(i, v, v + 1)", True),
        ("['x.all(i, v, true)'].all(i, v, v == 'x.all(i, v, true)')", True),
        ("l.all(x, x > 0) && l.all(l, m, m > l) // l.all(i, v, false)", True),
        ("l.exists(i, v, 1 / i == 1)", True),
    ],
)
def test_values(expression, value):
    assert cel.compile(expression, dict.fromkeys(VALUES, "dyn")).evaluate(VALUES) == value


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("m.transformMapEntry(k, v, {'same': v}).size() == 1", "insert failed: key same already exists"),
        ("m.transformMap(k, v, v)['c'] == 'x'", "no such key: c"),
    ],
)
def test_failures(expression, error):
    with pytest.raises(cel.EvaluationError, match=error):
        cel.compile(expression, dict.fromkeys(VALUES, "dyn")).evaluate(VALUES)


@pytest.mark.parametrize(
    ("expression", "line", "column", "message"),
    [
        ("self.l.all(i,i,i<1)", 1, 14, "duplicate variable name: i"),
        ("self.l.all(i.x,v,i<1)", 1, 13, "argument must be a simple name"),
        ("self.l.all(1,v,true)", 1, 12, "argument must be a simple name"),
        ("self.l.all(i,v,k)", 1, 16, "undeclared reference to 'k' (in container '')"),
        (
            "self.l.all(i, v,\n  self.m.all(k, w, w == nope))",
            *(2, 25, "undeclared reference to 'nope' (in container '')"),
        ),
        (
            "'text'.all(i, v, true)",
            *(1, 1, "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)"),
        ),
        ("[1].all(i, v, v + 'a' == 'b')", 1, 17, "found no matching overload for '_+_' applied to '(int, string)'"),
    ],
)
def test_errors_show_the_expression_as_it_was_written(expression, line, column, message):
    with pytest.raises(cel.CompileError) as caught:
        cel.compile(expression, {"self": "dyn"})
    source = expression.split("\n")[line - 1]
    assert str(caught.value) == f"ERROR: <input>:{line}:{column}: {message}\n | {source}\n | {'.' * (column - 1)}^"


def test_several_errors_come_in_the_order_of_their_places():
    with pytest.raises(cel.CompileError) as caught:
        cel.compile("self.l.transformList(i,v)", {"self": "dyn"})
    places = [line.split()[1] for line in str(caught.value).split("\n") if line.startswith("ERROR")]
    assert places == ["<input>:1:21:", "<input>:1:22:", "<input>:1:24:"]


def test_there_are_not_too_many_of_them_in_an_expression():
    one = "l.all(i, v, true)"
    assert rewritten(" && ".join([one] * MOST)) is not None
    with pytest.raises(cel.CompileError, match=f"at most {MOST} macros"):
        cel.compile(" && ".join([one] * (MOST + 1)), {"l": "dyn"})


@pytest.mark.parametrize("expression", ["cel.bind(_range0, [1], _range0.all(v, v == 1))", "cel.bind(_range0, 1, true)"])
def test_names_of_the_rewriting_may_be_used(expression):
    compiled = cel.compile(expression, {})
    assert compiled.evaluate({}) is True
    assert estimate(compiled.syntax(), {}).cost > 0


@pytest.mark.parametrize(
    "expression", [".all(i, v, true)", ").all(i, v, true)", "a.all(i, v, (true)", "[.all(i, v, 1)"]
)
def test_what_is_no_expression_is_refused(expression):
    with pytest.raises(cel.CompileError, match="Syntax error"):
        cel.compile(expression, {"a": "dyn"})


def test_other_expressions_are_left_alone():
    assert rewritten("self.all(v, v > 1) && self.map(i, v, true).size() == 1") is None


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("self.l.all(i, v, true)", 63),
        ("self.l.all(i, v, v == 'a')", 103),
        ("self.l.all(i, v, i == 1)", 103),
        ("self.m.all(k, v, true)", 93),
        ("self.m.all(k, v, v == 'a')", 153),
        ("self.m.all(k, v, k == 'a')", 123),
        ("self.m.all(k, v, v.contains(k))", 153),
        ("self.l.exists(i, v, true)", 83),
        ("self.l.existsOne(i, v, true)", 44),
        ("self.l.transformList(i, v, v).size() > 0", 275),
        ("self.l.transformList(i, v, true, v).size() > 0", 275),
        ("self.l.transformList(i, v, v) == self.l", 277),
        ("self.l.transformList(i, v, v).all(y, y == 'a')", 354),
        ("self.l.transformList(i, v, v + 'a').all(z, z == self.x)", 1214),
        ("self.l.transformMap(i, v, v).size() > 0", 115),
        ("self.l.transformMap(i, v, v + 'a').all(y, z, z == 'a')", 1014),
        ("self.m.transformMap(k, v, v).size() > 0", 155),
        ("self.m.transformMap(k, v, true, v).size() > 0", 155),
        ("self.m.transformMap(k, v, v).all(y, z, z == 'a')", 274),
        ("self.m.transformMap(k, v, v)['a'] == 'a'", 154),
        ("self.m.transformMap(k, v, v) == self.m", 158),
        ("self.m.transformMapEntry(k, v, {k: v}).size() > 0", 1055),
        ("self.m.transformMapEntry(k, v, true, {k: v}).size() > 0", 1055),
        ("self.m.transformMapEntry(k, v, {k: v}).all(y, true)", 1144),
        ("self.ints.all(i, v, self.ints.all(j, w, i == j || v != w))", 3323),
    ],
)
def test_costs(expression, expected):
    compiled = cel.compile(expression, {"self": "dyn"})
    assert estimate(compiled.syntax(), {"self": SELF}).cost == expected
