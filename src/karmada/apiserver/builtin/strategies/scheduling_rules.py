"""Rules of where pods may run: affinity and topology spread."""

from karmada.api import name_rules
from karmada.api.field_errors import duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    positive,
    qualified_name,
    selector,
)
from karmada.apiserver.builtin.strategies.tables import (
    choice,
    each,
    fields,
    filled,
    having,
    needed,
    optional,
    or_zero,
    within,
)
from karmada.apiserver.schema.metadata import in_characters

_NO_OPERATOR = "not a valid selector operator"


def _operator(path: str, expression: JSONObject) -> Errors:
    operator, values = expression.get("operator") or "", expression.get("values") or []
    match operator:
        case "In" | "NotIn":
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            return [] if values else [required(f"{path}.values", text)]
        case "Exists" | "DoesNotExist":
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            return [forbidden(f"{path}.values", text)] if values else []
        case "Gt" | "Lt":
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            return [] if len(values) == 1 else [required(f"{path}.values", text)]
    return [invalid(f"{path}.operator", operator, _NO_OPERATOR)]


def _label_value(path: str, value: str) -> Errors:
    return [invalid(path, value, problem) for problem in name_rules.label_value(value)]


def _node_field(path: str, expression: JSONObject) -> Errors:
    operator, key = expression.get("operator") or "", expression.get("key") or ""
    values = expression.get("values") or []
    errors: Errors = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, _NO_OPERATOR))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", text))
    if key != "metadata.name":
        return [*errors, invalid(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        problems = in_characters(name_rules.dns_subdomain(value))
        errors += [invalid(f"{path}.values[{index}]", value, problem) for problem in problems]
    return errors


_LOOSE = fields(_operator, ("key", qualified_name))
_STRICT = fields(_operator, ("key", qualified_name), ("values", each(_label_value)))
_FIELDS = ("matchFields", each(_node_field))
_REQUIRED, _PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
_WEIGHT = ("weight", or_zero(within(1, 100, "must be in the range 1-100")))
_TERMS = needed(each(fields(("matchExpressions", each(_STRICT)), _FIELDS)), "must have at least one node selector term")
node_selector = having("nodeSelectorTerms", _TERMS)
"""Terms of which a node satisfies one."""


def _label_keys(path: str, term: JSONObject) -> Errors:
    """Labels whose values a pod shares, or does not share, with others."""
    shared, apart = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    selects = term.get("labelSelector")
    errors: Errors = []
    for field, keys in (("matchLabelKeys", shared), ("mismatchLabelKeys", apart)):
        if keys and selects is None:
            errors.append(forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set"))
        elif keys:
            errors += each(qualified_name)(f"{path}.{field}", keys)
    known = {*((selects or {}).get("matchLabels") or {})}
    last = {key: index for index, key in enumerate(shared)}
    for expression in (selects or {}).get("matchExpressions") or ():
        key = expression.get("key") or ""
        if key in last and key in known:
            errors.append(invalid(f"{path}[{last[key]}]", key, "exists in both matchLabelKeys and labelSelector"))
        known.add(key)
    both = {*apart} & last.keys()
    return errors + [
        invalid(f"{path}.matchLabelKeys[{index}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")
        for index, key in enumerate(shared)
        if key in both
    ]


def _namespaces(path: str, names: list[str]) -> Errors:
    """Complaints are about one namespace, as in the reference."""
    return [error for name in names for error in dns_label(path.removesuffix("s"), name)]


def _topology_key(path: str, key: str | None) -> Errors:
    errors: Errors = [] if key else [required(path, "can not be empty")]
    return errors + qualified_name(path, key)


_POD_TERM = fields(
    ("labelSelector namespaceSelector", selector),
    ("namespaces", filled(_namespaces)),
    _label_keys,
    ("topologyKey", _topology_key),
)
_POD_AFFINITY = fields(
    (_REQUIRED, each(_POD_TERM)),
    (_PREFERRED, each(fields(_WEIGHT, ("podAffinityTerm", _POD_TERM)))),
)
AFFINITY = fields(
    (f"nodeAffinity.{_REQUIRED}", node_selector),
    (
        f"nodeAffinity.{_PREFERRED}",
        each(fields(_WEIGHT, ("preference", fields(("matchExpressions", each(_LOOSE)), _FIELDS)))),
    ),
    ("podAffinity podAntiAffinity", optional(_POD_AFFINITY)),
)
"""Where a pod wants to be."""


def _few_domains(path: str, constraint: JSONObject) -> Errors:
    count, place = constraint.get("minDomains"), f"{path}.minDomains"
    if count is None:
        return []
    errors = positive(place, count)
    action = constraint.get("whenUnsatisfiable") or ""
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(place, count, text))
    return errors


_POLICY = optional(choice("Honor", "Ignore"))
_SPREAD = fields(
    ("maxSkew", or_zero(positive)),
    ("topologyKey", needed(text="can not be empty")),
    ("whenUnsatisfiable", choice("DoNotSchedule", "ScheduleAnyway")),
    _few_domains,
    ("nodeAffinityPolicy nodeTaintsPolicy", _POLICY),
    _label_keys,
    ("labelSelector", selector),
)


def spread(path: str, constraints: list[JSONObject]) -> Errors:
    """How pods are spread: one constraint for a topology and an action."""
    errors = each(_SPREAD)(path, constraints)
    pairs = [(one.get("topologyKey") or "", one.get("whenUnsatisfiable") or "") for one in constraints]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, pair in enumerate(pairs):
        if index < last[pair]:
            place = f"{path}[{index}].{{topologyKey, whenUnsatisfiable}}"
            errors.append(duplicate(place, f"{{{pair[0]}, {pair[1]}}}"))
    return errors
