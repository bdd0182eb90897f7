"""Rules of the mutations of admission policies."""

from karmada.api.field_errors import invalid, required
from karmada.apiserver import cel
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, unsupported
from karmada.apiserver.builtin.strategies.policy_variables import Variables, compiled
from karmada.apiserver.cel.constructors import untyped

_FORMS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_RESULTS = {"applyConfiguration": ("Object", "map<"), "jsonPatch": ("list(JSONPatch)", "list<")}
"""For each form, the type of its expressions, and what that is where constructors are rewritten to maps."""


def mutation_errors(mutation: JSONObject, path: str, variables: Variables) -> Errors:
    """What is wrong with one mutation."""
    kind = mutation.get("patchType") or ""
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _FORMS:
        return [unsupported(f"{path}.patchType", kind, tuple(_FORMS))]
    form = _FORMS[kind]
    other = next(name for name in _FORMS.values() if name != form)
    if mutation.get(form) is None:
        errors = [required(f"{path}.{form}", f"must be specified when patchType is {kind}")]
    else:
        errors = _expression(mutation[form].get("expression") or "", f"{path}.{form}.expression", form, variables)
    if mutation.get(other) is not None:
        text = f"must not be specified when patchType is {kind}"
        errors.append(invalid(f"{path}.{other}", f"{{{other}}}", text))
    return errors


def _expression(expression: str, field: str, form: str, variables: Variables) -> Errors:
    expression = expression.strip()
    if not expression:
        return [required(field)]
    wanted, shape = _RESULTS[form]
    plain = untyped(expression)
    try:
        found = compiled(plain, variables).returns
    except cel.CompileError as error:
        return [invalid(field, expression, f"compilation failed: {error}")]
    if plain != expression and (found == cel.DYN or found.startswith(shape)):
        return []
    constructed = form != "applyConfiguration" and found.startswith("map<") and plain != expression
    got = "Object" if constructed else found.replace("<", "(").replace(">", ")")
    return [invalid(field, expression, f"must evaluate to {wanted} but got {got}")]
