"""Expressions: the language, the libraries Kubernetes adds, and what is said about those that are wrong."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.growth import Work, counted, excess, grows, work

from karmada.apiserver import cel
from karmada.apiserver.cel import text

VARIABLES = {"self": "dyn"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("quantity('1Gi').isGreaterThan(quantity('500Mi'))", True),
        ("quantity('1').add(quantity('2')).compareTo(quantity('3'))", 0),
        ("quantity('1500m').isInteger()", False),
        ("isQuantity('x')", False),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", True),
        ("cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", True),
        ("ip('::1').family()", 6),
        ("string(ip('0:0:0:0:0:0:0:1'))", "::1"),
        ("string(cidr('10.1.2.3/8').masked()) + string(1)", "10.0.0.0/81"),
        ("['::1', '1.2.3.4'].map(text, string(ip(text)))", ["::1", "1.2.3.4"]),
        ("string(ip(self.address)) in [self.address, '10.0.0.1']", True),
        ("string(ip(self.address)) == '::1' && size(self.address) > 1.5", True),
        ("string(ip('::1')) == '::1' && math.greatest(1, 2) > 1", True),
        ("isIP('1.2.3')", False),
        ("url('https://a.b:80/x?y=1').getHostname()", "a.b"),
        ("url('https://a/x?y=1').getQuery()['y'][0]", "1"),
        ("['a', 'b'].indexOf('b')", 1),
        ("'abc'.indexOf('c')", 2),
        ("[3, 1].isSorted()", False),
        ("[1, 2].sum()", 3),
        ("[1, 5, 2].max()", 5),
        ("'a1b2'.findAll('[0-9]')", ["1", "2"]),
        ("'%s-%d'.format(['a', 5])", "a-5"),
        ("'a,b'.split(',').join('-')", "a-b"),
        ("sets.contains([1, 2], [1])", True),
        ("sets.intersects([{'a': 1}], [{'a': 2}, {'a': 1}])", True),
        ("sets.equivalent([1, 2], [2, 1, 1])", True),
        ("[2, 1, 2].distinct()", [2, 1]),
        ("[[1], {'a': [2]}, [1], {'a': [2]}].distinct()", [[1], {"a": [2]}]),
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", True),
        ("semver('1.0.0-alpha.1').isLessThan(semver('1.0.0'))", True),
        ("format.dns1123Label().validate('a-b').hasValue()", False),
        ("format.named('uuid').value().validate('(').hasValue()", True),
        ("format.qualifiedName().validate('a)b' + string(1)).value().size()", 1),
        ("self.?missing.orValue(7)", 7),
        ("self.list.all(x, x.startsWith('a'))", True),
        ("has(self.none)", False),
    ],
)
def test_libraries(expression: str, expected: Any) -> None:
    assert cel.compile(expression, VARIABLES).evaluate({"self": {"list": ["a", "ab"], "address": "::1"}}) == expected


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("self.a.b", "no such key: b"),
        ("1 / self.zero", "division by zero"),
        ("[1][self.index]", "index out of bounds: 5"),
        ("optional.of(1)", "cannot be written as JSON"),
        ("[optional.of(1)]", "cannot be written as JSON"),
    ],
)
def test_evaluation_errors_have_the_known_words(expression: str, text: str) -> None:
    with pytest.raises(cel.EvaluationError, match=text):
        cel.compile(expression, VARIABLES).evaluate({"self": {"a": {}, "zero": 0, "index": 5}})


def test_syntax_errors_show_the_place() -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.compile("self +", VARIABLES)
    assert str(caught.value).startswith("ERROR: <input>:1:7: Syntax error: mismatched input '<EOF>' expecting")
    assert str(caught.value).endswith("\n | self +\n | ......^")


def test_types_are_checked() -> None:
    with pytest.raises(cel.CompileError, match="type 'string' does not support field selection"):
        cel.compile("self.foo == 1", {"self": "string"})
    assert cel.compile("self == 'a'", {"self": "string"}).returns == "bool"


def test_programs_are_compiled_once() -> None:
    assert cel.compile("self == 1", VARIABLES) is cel.compile("self == 1", VARIABLES)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda items, others: text.distinct(items), id="distinct"),
        pytest.param(text.contains_all, id="contains"),
        pytest.param(text.equivalent, id="equivalent"),
        pytest.param(text.intersects, id="intersects"),
    ],
)
def test_items_of_lists_are_not_compared_with_each_other(function: Callable[[list[Any], list[Any]], object]) -> None:
    def measure(count: int) -> Work:
        items, others = (counted([{"name": f"a{(n + shift) % count}"} for n in range(count)]) for shift in (0, 1))
        return work(lambda: function(items, others) is None)

    cost = excess(measure)
    assert cost is not None
    assert not grows(cost)
