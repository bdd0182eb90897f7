"""Estimated costs of expressions, as a kube-apiserver 1.36 reported them in its refusals; less where it is marked."""

import pytest

from karmada.apiserver import cel
from karmada.apiserver.cel.estimate import UNBOUNDED, Shape, estimate
from karmada.apiserver.cel.syntax import mentions

TEXT = Shape("text", 400)
SHORT = Shape("text", 12)
NUMBER = Shape()
LIST = Shape("list", 20, element=TEXT)
MAP = Shape("map", 30, element=TEXT)
INNER = Shape("object", fields={"c": TEXT})
OBJECT = Shape("object", fields={"a": TEXT, "n": NUMBER, "o": INNER, "l": LIST, "m": MAP})
MANY = Shape("list", 1000, element=TEXT)
VARIABLES = {"x": TEXT, "short": SHORT, "n": NUMBER, "obj": OBJECT, "l": LIST, "m": MAP, "many": MANY}


def cost(expression):
    compiled = cel.compile(expression, dict.fromkeys(VARIABLES, "dyn"))
    return estimate(compiled.syntax(), VARIABLES).cost


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", 0),
        ("x == 'abc'", 2),
        ("x == x", 42),
        ("x < x", 42),
        ("x.startsWith('a')", 2),
        ("x.endsWith(x)", 42),
        ("x.contains('a')", 41),
        ("x.contains('abcdefghijklmnopq')", 81),
        ("x.matches('^a$')", 42),
        ("x.matches('abcde')", 83),
        ("short.matches('abcd')", 3),
        ("x.size() > 1", 3),
        ("(x + 'abcdefghijklmnop').size() > 1", 45),
        ("x in ['a', 'b']", 13),
        ("x.lowerAscii() == x", 82),
        ("short.trim() == short.trim()", 8),
        ("x.charAt(1) == 'a'", 3),
        ("x.indexOf('a') == 1", 42),
        ("x.replace('a', 'b').size() > 1", 83),
        ("x.split(',') == ['a']", 92),
        ("short.find('a') == short", 6),
        ("x.findAll('a').size() > 1", 44),
        ("int(x) == 1", 3),
        ("duration(x) > duration('1s')", 4),
        ("string(x) == x", 43),
        ("dyn(x) == dyn(x)", 44),
        ("x == 'a' ? true : false", 2),
        ("x == 'a' && x == 'b'", 4),
        ("!(x == 'a')", 3),
        ("isQuantity(x)", 41),
        ("quantity(x).isGreaterThan(quantity('1'))", 43),
        ("n == 1", 1),
        ("n + 1 > 2", 3),
        ("n % 2 == 0", 3),
        ("n % 2 == n % 2", 5),
        ("n == n + 1", 3),
        ("string(n) == 'a'", 3),
        ("has(obj.a)", 1),
        ("has(obj.o.c)", 2),
        ("obj.o.c == 'a'", 4),
        ("obj == obj", 2),
        ("obj.l == obj.l", 6),
        ("obj.l == ['a']", 13),
        ("'a' in obj.l", 22),
        ("'k' in obj.m", 3),
        ("obj.m['k'] == 'a'", 4),
        ("obj.l[0] == 'a'", 4),
        ("(l + l).size() > 1", 5),
        ("l + l == l", 6),
        ("m == m", 5),
        ("[1, 2, 3].all(y, true)", 20),
        ("{'a': 1}.size() > 1", 32),
        ("l.all(y, true)", 62),
        ("l.exists(y, true)", 82),
        ("l.exists_one(y, true)", 43),
        ("l.map(y, 1).size() > 0", 254),
        ("l.filter(y, true).size() > 0", 274),
        ("l.map(y, y).all(z, true)", 333),
        ("m.all(k, true)", 92),
        ("n == 1 ? x == 'a' : l.all(y, true)", 63),
        ("many.all(y, many.all(z, y == z))", 45_005_002),
    ],
)
def test_a_cost(expression, expected):
    assert cost(expression) == expected


@pytest.mark.parametrize(
    "expression",
    ["string(n) == string(n)", "('a' + string(n)).size() > 1", "x.charAt(1) == x.charAt(2)"],
)
def test_texts_that_nothing_bounds(expression):
    assert cost(expression) == UNBOUNDED


@pytest.mark.parametrize(
    ("expression", "at_most"),
    [
        ("type(x) == string", 4),
        ("l.join(',') == 'a'", 3),
        ("sets.contains(l, ['a'])", 12),
        ("url(x).getHost() == x", 5),
    ],
)
def test_what_was_not_measured_counts_little(expression, at_most):
    assert cost(expression) <= at_most


def test_nothing_is_gone_through_in_an_empty_list():
    syntax = cel.compile("l.all(y, string(y) == string(y))", {"l": "dyn"}).syntax()
    assert estimate(syntax, {"l": Shape("list", 0, element=NUMBER)}).cost == 2


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x == 'y'", False),
        ("x == y", True),
        ("x.y", False),
        ("has(y.x)", True),
        ("[{'a': y}].all(z, true)", True),
        ("[1].exists(z, z == y)", True),
        ("[1].all(y, true)", False),
        ("x ? 1 : size(y)", True),
    ],
)
def test_whether_a_variable_is_mentioned(expression, expected):
    assert mentions(cel.compile(expression, {"x": "dyn", "y": "dyn"}).syntax(), "y") is expected
