"""Rules of tolerations, in pods and in runtime classes."""

from karmada.api import name_rules
from karmada.api.field_errors import invalid
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, qualified_name, unsupported

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def toleration_errors(path: str, toleration: JSONObject) -> Errors:
    """What is wrong with one toleration."""
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    effect = toleration.get("effect") or ""
    errors: Errors = []
    if key:
        errors += qualified_name(f"{path}.key", key)
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{path}.operator", operator, text))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{path}.effect", effect, text))
    errors += _operator(operator, toleration.get("value") or "", f"{path}.operator")
    if effect and effect not in _EFFECTS:
        errors.append(unsupported(f"{path}.effect", effect, _EFFECTS))
    return errors


def _operator(operator: str, value: str, field: str) -> Errors:
    match operator:
        case "" | "Equal":
            problems = name_rules.label_value(value)
            return [invalid(field, value, ";".join(problems))] if problems else []
        case "Exists":
            return [invalid(field, value, "value must be empty when `operator` is 'Exists'")] if value else []
        case "Lt" | "Gt":
            return [unsupported(field, operator, ("Equal", "Exists", "Lt", "Gt"))]
    return [unsupported(field, operator, ("Equal", "Exists"))]
