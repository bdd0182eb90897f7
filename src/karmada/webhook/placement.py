"""Judges placements, affinities and spread constraints."""

from collections.abc import Iterable
from typing import Any

from karmada.api.codec import to_tree
from karmada.api.field_errors import FieldError, invalid
from karmada.api.name_rules import label_key
from karmada.api.policy.v1alpha1 import (
    ClusterAffinity,
    ClusterAffinityTerm,
    Placement,
    ReplicaSchedulingStrategy,
    SpreadConstraint,
)

_FIELDS = ("provider", "region", "zone")
_TOLERATION_OPERATORS = ("", "Exists", "Equal")


def validate_placement(placement: Placement, path: str) -> list[FieldError]:
    """Everything wrong with a placement."""
    errors: list[FieldError] = []
    if placement.cluster_affinity is not None and placement.cluster_affinities:
        both = {
            "clusterAffinity": to_tree(placement.cluster_affinity),
            "clusterAffinities": [to_tree(term) for term in placement.cluster_affinities],
        }
        errors.append(invalid(path, both, "clusterAffinities cannot co-exist with clusterAffinity"))
    if placement.cluster_affinity is not None:
        errors += validate_affinity(placement.cluster_affinity, f"{path}.clusterAffinity")
    errors += _terms(placement, f"{path}.clusterAffinities")
    errors += _tolerations(placement, f"{path}.clusterTolerations")
    errors += _spreads(placement.spread_constraints, f"{path}.spreadConstraints")
    errors += _workload_affinity(placement, f"{path}.workloadAffinity")
    return errors


def validate_affinity(affinity: ClusterAffinity, path: str) -> list[FieldError]:
    """The field selector of an affinity knows three keys and two operators."""
    selector = affinity.field_selector
    errors: list[FieldError] = []
    for test in selector.match_expressions if selector else ():
        value = to_tree(selector) if selector else None
        if test.key not in _FIELDS:
            detail = f'unsupported key "{test.key}", must be provider, region, or zone'
            errors.append(invalid(f"{path}.fieldSelector", value, detail))
        if test.operator not in ("In", "NotIn"):
            detail = f'unsupported operator "{test.operator}", must be In or NotIn'
            errors.append(invalid(f"{path}.fieldSelector", value, detail))
    return errors


def _terms(placement: Placement, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, term in enumerate(placement.cluster_affinities):
        where = f"{path}[{index}]"
        errors += [invalid(where, term.affinity_name, why) for why in label_key(term.affinity_name)]
        if term.affinity_name in seen:
            value = [to_tree(each) for each in placement.cluster_affinities]
            errors.append(invalid(path, value, "each affinity term in a policy must have a unique name"))
        seen.add(term.affinity_name)
        errors += validate_affinity(term, where)
        errors += _overflow(term, placement.replica_scheduling, where)
    return errors


def _overflow(term: ClusterAffinityTerm, scheduling: ReplicaSchedulingStrategy | None, path: str) -> list[FieldError]:
    if not term.overflow_affinities:
        return []
    where = f"{path}.overflowAffinities"
    value = [{"affinityName": each.affinity_name} | to_tree(each) for each in term.overflow_affinities]
    if not _divides_by_capacity(scheduling):
        detail = "overflowAffinities can only be used together with dynamic weight or aggregated scheduling"
        return [invalid(where, value, detail)]
    inline = (term.label_selector, term.field_selector, term.cluster_names, term.exclude)
    if inline == (None, None, (), ()):
        return [invalid(where, value, "overflowAffinities can only be used together with the inline ClusterAffinity")]
    errors: list[FieldError] = []
    seen = {term.affinity_name}
    for index, each in enumerate(term.overflow_affinities):
        name = f"{where}[{index}].affinityName"
        errors += [invalid(name, each.affinity_name, why) for why in label_key(each.affinity_name)]
        if each.affinity_name in seen:
            detail = "overflow affinity name must be unique and must not duplicate the primary group's affinityName"
            errors.append(invalid(name, each.affinity_name, detail))
        seen.add(each.affinity_name)
        errors += validate_affinity(each, f"{where}[{index}]")
    return errors


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
        if toleration.operator not in _TOLERATION_OPERATORS
    ]


def _spreads(constraints: Iterable[SpreadConstraint], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    fields: list[str] = []
    value: list[Any] = []
    for index, constraint in enumerate(constraints):
        where, shown = f"{path}[{index}]", to_tree(constraint)
        value.append(shown)
        if constraint.spread_by_field and constraint.spread_by_label:
            errors.append(invalid(where, shown, "spreadByLabel should not co-exist with spreadByField"))
        if constraint.min_groups < 0:
            errors.append(invalid(where, shown, "minGroups lower than 0 is not allowed"))
        if constraint.max_groups < 0:
            errors.append(invalid(where, shown, "maxGroups lower than 0 is not allowed"))
        if 0 < constraint.max_groups < constraint.min_groups:
            errors.append(invalid(where, shown, "maxGroups lower than minGroups is not allowed"))
        if constraint.spread_by_field:
            fields.append(constraint.spread_by_field)
    errors += [
        invalid(path, value, f"multiple {field} spread constraints are not allowed")
        for field in dict.fromkeys(fields)
        if fields.count(field) > 1
    ]
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
        errors.append(invalid(path, to_tree(affinity), detail))
    return errors
