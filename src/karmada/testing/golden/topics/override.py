"""Topic `override`: override policies applied to one cluster's copy, and image names."""

from typing import Any, TypeVar

import orjson

from karmada.api import annotations
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.overrides.apply import AppliedRule, apply_overrides, record
from karmada.overrides.errors import OverrideError
from karmada.overrides.image_name import ImageNameError, parse_image
from karmada.policies.matching import subject_of
from karmada.testing.golden import known
from karmada.testing.golden.case import Failed, Topic
from karmada.testing.golden.compare import first_difference

T = TypeVar("T", OverridePolicy, ClusterOverridePolicy)


def _apply(given: dict[str, Any]) -> dict[str, Any]:
    try:
        outcome = apply_overrides(
            given["object"],
            from_tree(given["cluster"], Cluster),
            [_decoded(policy, ClusterOverridePolicy) for policy in given.get("clusterOverridePolicies") or []],
            [
                _decoded(policy, OverridePolicy)
                for policy in given.get("overridePolicies") or []
                if policy["metadata"].get("namespace") == subject_of(given["object"]).namespace
            ],
            keep_identity=False,
        )
    except OverrideError as error:
        raise Failed(str(error)) from error
    noted = {}
    if outcome.by_cluster_policies:
        noted[annotations.APPLIED_CLUSTER_OVERRIDES] = record(outcome.by_cluster_policies)
    if outcome.by_policies:
        noted[annotations.APPLIED_OVERRIDES] = record(outcome.by_policies)
    return {
        "object": outcome.resource,
        "appliedClusterOverrides": _applied(outcome.by_cluster_policies),
        "appliedOverrides": _applied(outcome.by_policies),
        "workAnnotations": noted,
    }


def _decoded(policy: Any, type_: type[T]) -> T:
    return from_tree(policy, type_, complete=True)


def _applied(rules: list[AppliedRule]) -> Any:
    return orjson.loads(record(rules)) if rules else None


def _parse(given: dict[str, str]) -> dict[str, str]:
    try:
        image = parse_image(given["image"])
    except ImageNameError as error:
        raise Failed(str(error)) from error
    return {
        "registry": image.registry,
        "repository": image.repository,
        "tag": image.tag,
        "digest": image.digest,
        "string": str(image),
    }


def _compare(expected: Any, actual: Any) -> str | None:
    """Texts of failures come from the reference's libraries: only that it fails is compared."""
    if isinstance(expected, dict) and isinstance(actual, dict) and "error" in expected and "error" in actual:
        return None
    return first_difference(expected, actual)


TOPIC = Topic("override", {"override.Apply": _apply, "override.ParseImage": _parse}, known.OVERRIDE, compare=_compare)
