"""Judges placements, affinities and spread constraints."""

from collections import Counter
from collections.abc import Iterable, Sequence

from karmada.api.codec import quotable_tree, to_tree
from karmada.api.field_errors import FieldError, invalid, quoted
from karmada.api.name_rules import label_key
from karmada.api.policy.v1alpha1 import (
    ClusterAffinity,
    ClusterAffinityTerm,
    Placement,
    ReplicaSchedulingStrategy,
    SpreadConstraint,
)
from karmada.webhook.model import JSONObject

_FIELDS = ("provider", "region", "zone")
_NUMERIC_OPERATORS = ("Lt", "Gt")


def validate_placement(placement: Placement, path: str, given: JSONObject | None = None) -> list[FieldError]:
    """Everything wrong with a placement; `given` is its tree as sent, in which an empty list is not an absent one."""
    errors: list[FieldError] = []
    terms = (to_tree(placement) if given is None else given).get("clusterAffinities")
    if placement.cluster_affinity is not None and terms is not None:
        value = quotable_tree(placement)
        if placement.cluster_affinities:
            value["clusterAffinities"] = _quotable_terms(placement.cluster_affinities)
        errors.append(invalid(path, value, "clusterAffinities cannot co-exist with clusterAffinity"))
    overflowing = [(term or {}).get("overflowAffinities") is not None for term in terms or ()]
    if not _divides_by_capacity(placement.replica_scheduling):
        detail = "overflowAffinities can only be used together with dynamic weight or aggregated scheduling"
        errors += [
            invalid(f"{path}.clusterAffinities[{index}].overflowAffinities", _quotable_overflow(term), detail)
            for index, (term, overflows) in enumerate(zip(placement.cluster_affinities, overflowing, strict=True))
            if overflows
        ]
    if placement.cluster_affinity is not None:
        errors += validate_affinity(placement.cluster_affinity, f"{path}.clusterAffinity")
    errors += _terms(placement, overflowing, f"{path}.clusterAffinities")
    errors += _spreads(placement.spread_constraints, f"{path}.spreadConstraints")
    errors += _workload_affinity(placement, f"{path}.workloadAffinity")
    errors += _tolerations(placement, f"{path}.clusterTolerations")
    return errors


def validate_affinity(affinity: ClusterAffinity, path: str) -> list[FieldError]:
    """The field selector of an affinity knows three keys and two operators; the first that is neither is reported."""
    selector = affinity.field_selector
    if selector is None:
        return []
    for test in selector.match_expressions:
        if test.key not in _FIELDS:
            detail = f"unsupported key {quoted(test.key)}, must be provider, region, or zone"
        elif test.operator not in ("In", "NotIn"):
            detail = f"unsupported operator {quoted(test.operator)}, must be In or NotIn"
        else:
            continue
        return [invalid(f"{path}.fieldSelector", quotable_tree(selector), detail)]
    return []


def _terms(placement: Placement, overflowing: list[bool], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    again: FieldError | None = None
    for index, term in enumerate(placement.cluster_affinities):
        where = f"{path}[{index}]"
        errors += [invalid(where, term.affinity_name, why) for why in label_key(term.affinity_name)]
        if term.affinity_name in seen:
            if again is None:
                value = _quotable_terms(placement.cluster_affinities)
                again = invalid(path, value, "each affinity term in a policy must have a unique name")
            errors.append(again)
        seen.add(term.affinity_name)
        errors += validate_affinity(term, where)
        if overflowing[index]:
            errors += _overflow(term, f"{where}.overflowAffinities")
    return errors


def _overflow(term: ClusterAffinityTerm, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if (term.label_selector, term.field_selector, term.cluster_names, term.exclude) == (None, None, (), ()):
        detail = "overflowAffinities can only be used together with the inline ClusterAffinity"
        errors.append(invalid(path, _quotable_overflow(term), detail))
    seen = {term.affinity_name}
    for index, each in enumerate(term.overflow_affinities):
        name = f"{path}[{index}].affinityName"
        errors += [invalid(name, each.affinity_name, why) for why in label_key(each.affinity_name)]
        if each.affinity_name in seen:
            detail = "overflow affinity name must be unique and must not duplicate the primary group's affinityName"
            errors.append(invalid(name, each.affinity_name, detail))
        seen.add(each.affinity_name)
        errors += validate_affinity(each, f"{path}[{index}]")
    return errors


def _quotable_terms(terms: Iterable[ClusterAffinityTerm]) -> list[JSONObject]:
    """Terms as messages quote them: their names first."""
    shown = []
    for term in terms:
        tree = {"affinityName": term.affinity_name} | quotable_tree(term)
        if term.overflow_affinities:
            tree["overflowAffinities"] = _quotable_overflow(term)
        shown.append(tree)
    return shown


def _quotable_overflow(term: ClusterAffinityTerm) -> list[JSONObject]:
    return [{"affinityName": each.affinity_name} | quotable_tree(each) for each in term.overflow_affinities]


def _divides_by_capacity(scheduling: ReplicaSchedulingStrategy | None) -> bool:
    if scheduling is None or scheduling.replica_scheduling_type != "Divided":
        return False
    if scheduling.replica_division_preference in ("Aggregated", "Dynamic"):
        return True
    weights = scheduling.weight_preference
    return weights is not None and bool(weights.dynamic_weight)


def _tolerations(placement: Placement, path: str) -> list[FieldError]:
    return [
        FieldError(
            "FieldValueNotSupported",
            f"{path}[{index}].operator",
            f'Unsupported value: "{toleration.operator}": supported values: "", "Exists", "Equal"',
        )
        for index, toleration in enumerate(placement.cluster_tolerations)
        if toleration.operator in _NUMERIC_OPERATORS
    ]


def _spreads(constraints: Sequence[SpreadConstraint], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    value = [quotable_tree(constraint) for constraint in constraints]
    fields: Counter[str] = Counter()
    for index, constraint in enumerate(constraints):
        where, shown = f"{path}[{index}]", value[index]
        if constraint.spread_by_field and constraint.spread_by_label:
            errors.append(invalid(where, shown, "spreadByLabel should not co-exist with spreadByField"))
        if constraint.min_groups < 0:
            errors.append(invalid(where, shown, "minGroups lower than 0 is not allowed"))
        if constraint.max_groups < 0:
            errors.append(invalid(where, shown, "maxGroups lower than 0 is not allowed"))
        if 0 < constraint.max_groups < constraint.min_groups:
            errors.append(invalid(where, shown, "maxGroups lower than minGroups is not allowed"))
        field = constraint.spread_by_field
        fields[field] += 1
        if field and fields[field] == 2:
            errors.append(invalid(path, value, f"multiple {field} spread constraints are not allowed"))
    return errors


def _workload_affinity(placement: Placement, path: str) -> list[FieldError]:
    affinity = placement.workload_affinity
    if affinity is None:
        return []
    errors: list[FieldError] = []
    together = affinity.affinity.group_by_label_key if affinity.affinity else None
    apart = affinity.anti_affinity.group_by_label_key if affinity.anti_affinity else None
    if together is not None:
        errors += [invalid(f"{path}.affinity.groupByLabelKey", together, why) for why in label_key(together)]
    if apart is not None:
        errors += [invalid(f"{path}.antiAffinity.groupByLabelKey", apart, why) for why in label_key(apart)]
    if together is not None and together == apart:
        detail = "affinity and antiAffinity must not use the same groupByLabelKey"
        errors.append(invalid(path, quotable_tree(affinity), detail))
    return errors
