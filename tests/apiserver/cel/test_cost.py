"""An expression cannot hold the server."""

import pytest

from karmada.apiserver.cel import cost
from karmada.apiserver.cel.program import CompileError, EvaluationError, compile

CUBED = "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"


@pytest.mark.parametrize(
    ("expression", "depth"),
    [
        pytest.param("self.all(x, x > 0) && self.exists(y, y > 1)", 1, id="beside each other"),
        pytest.param(CUBED, 3, id="inside each other"),
        pytest.param("self.all(x, size(x.filter(y, y == ')')) > (1 + 2))", 2, id="other calls between"),
        pytest.param("self == 'a.all(b.all(c' && self.all(x, true)", 1, id="in a string"),
        pytest.param("self.small(self.mall(1))", 0, id="other names"),
    ],
)
def test_nesting_counts_macros_inside_macros(expression, depth):
    assert cost.nesting(expression) == depth


def test_a_rule_that_would_run_for_minutes_is_refused_and_a_small_one_is_not():
    program = compile(CUBED, {"self": "dyn"})
    assert program.evaluate({"self": [1] * 20}) is True
    with pytest.raises(EvaluationError, match="cost limit exceeded"):
        program.evaluate({"self": [1] * 3000})


def test_pieces_of_a_long_string_count_too():
    program = compile("self.split('').all(a, self.split('').all(b, a == b))", {"self": "string"})
    with pytest.raises(EvaluationError, match="cost limit exceeded"):
        program.evaluate({"self": "x" * 5000})


def test_values_cannot_be_doubled_without_end():
    text = "a0"
    for number in reversed(range(20)):
        text = f"cel.bind(a{number + 1}, a{number} + a{number}, {text})"
    with pytest.raises(CompileError, match="bindings"):
        compile(f"cel.bind(a0, self, {text}) != ''", {"self": "string"})


@pytest.mark.parametrize(
    ("expression", "maps"),
    [
        ("{}", 0),
        ("{'a': x, \"b{c: d}\": {1: y}, true: z, ?'e': f}", 0),
        ("{x: 1}", 1),
        ("{x: 1, y: 2, 'z': 3}", 1),
        ("{{x: x}: {'a': {x + 'b': [1]}}}", 3),
        ("{true ? x : y: 1}", 1),
        ("'a' in {x: x}", 1),
        ("Object{spec: Object.spec{replicas: x, labels: {'a': y}}}", 0),
        ("[1, {?x: y}].map(z, {z: z})", 2),
        ("}}{", 0),
    ],
)
def test_maps_with_computed_keys_are_counted(expression: str, maps: int) -> None:
    assert cost.computed_maps(expression) == maps


def test_maps_that_double_their_type_again_and_again_are_refused() -> None:
    def chain(length: int) -> str:
        return "[[1]]" + ".map(x, {x: x})" * length + ".size() == 1"

    assert compile(chain(cost.COMPUTED), {}).returns == "bool"
    with pytest.raises(CompileError, match="at most 8 maps may have a key that is no literal"):
        compile(chain(cost.COMPUTED + 1), {})
