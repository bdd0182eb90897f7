"""CEL in admission webhooks and policies: expressions that compile, conditions that have a name and say yes or no.

What only the types of objects make wrong is found when an expression is evaluated; see `policy_variables`.
"""

from karmada.api.field_errors import FieldError, duplicate, invalid, required
from karmada.apiserver import cel
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, qualified_name
from karmada.apiserver.builtin.strategies.policy_variables import OWN, Variables, compiled
from karmada.apiserver.cel import cost
from karmada.apiserver.cel.checking import IllTyped, infer
from karmada.apiserver.cel.syntax import Name, Node, Select

_MOST = 64
_SPELT = {
    "null": "null_type",
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
}
_UNTYPED = ("object", "oldObject")
"""What has no type in the reference either."""


def match_conditions(conditions: list[JSONObject], path: str, variables: Variables) -> Errors:
    """What is wrong with the conditions under which a webhook or policy is asked at all."""
    errors: Errors = []
    if len(conditions) > _MOST:
        text = f"Too many: {len(conditions)}: must have at most {_MOST} items"
        errors.append(FieldError("FieldValueTooMany", path, text))
    names: set[str] = set()
    for at, condition in enumerate(conditions):
        errors += _condition(f"{path}[{at}].expression", condition.get("expression") or "", variables)
        name = condition.get("name") or ""
        if not name:
            errors.append(required(f"{path}[{at}].name"))
            continue
        errors += qualified_name(f"{path}[{at}].name", name)
        if name in names:
            errors.append(duplicate(f"{path}[{at}].name", name))
        names.add(name)
    return errors


def _condition(field: str, expression: str, variables: Variables) -> Errors:
    if not expression.strip():
        return [required(field)]
    return condition_errors(field, expression, variables)


def condition_errors(field: str, expression: str, variables: Variables) -> Errors:
    """An expression must be CEL that says yes or no, with these variables."""
    return expression_errors(field, expression, variables, "bool")


def expression_errors(field: str, expression: str, variables: Variables, *wanted: str) -> Errors:
    """An expression must be CEL, with these variables, and of a wanted type; where its type is unknown, it may be."""
    expression = expression.strip()
    try:
        program = compiled(expression, variables)
        if cost.binds(expression):
            raise IllTyped("undeclared reference to 'cel' (in container '')")
        infer(program.syntax(), {})
    except (cel.CompileError, IllTyped) as error:
        return [invalid(field, expression, f"compilation failed: {error}")]
    kind = _SPELT.get(program.returns) or program.returns.replace("<", "(").replace(">", ")")
    if not wanted or kind in wanted or (kind == cel.DYN and not _untyped(program.syntax())):
        return []
    choice = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
    return [invalid(field, expression, f"must evaluate to {choice} but got {kind}")]


def _untyped(node: Node) -> bool:
    """Whether it is a variable without a type or a part of one."""
    while isinstance(node, Select):
        node = node.operand
    return isinstance(node, Name) and (node.name in _UNTYPED or node.name.startswith(f"{OWN}."))
