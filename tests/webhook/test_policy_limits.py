"""Policies do not have more terms and selectors than can be tried and compared beside the work of others."""

import asyncio
import time
from typing import Any

import pytest
from tests.webhook.test_own_rules import Known

from karmada.api.feature_gates import DEFAULTS
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Denied, Operation, Review

LABELS = {"clusterpropagationpolicy.karmada.io/permanent-id": "i", "propagationpolicy.karmada.io/permanent-id": "i"}
NAMED = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "c"}
BY_LABELS = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "labelSelector": {"matchLabels": {}}}
POLICIES = ("propagationpolicies", "clusterpropagationpolicies")
OVERRIDES = ("overridepolicies", "clusteroverridepolicies")


def judge(resource: str, spec: dict[str, Any], old: dict[str, Any] | None = None) -> None:
    handler = next(handler for handler in HANDLERS if handler.resource == resource)
    assert handler.validate is not None
    namespace = "" if resource.startswith("cluster") else "default"
    metadata = {"name": "p", "labels": LABELS} | ({"namespace": namespace} if namespace else {})
    before = {"metadata": metadata, "spec": old} if old is not None else None
    operation = Operation.CREATE if before is None else Operation.UPDATE
    tree = {"metadata": metadata, "spec": spec}
    judging = handler.validate(
        Review(operation, namespace, "p", tree, before, lambda: "id", time.time, DEFAULTS, Known())
    )

    async def judged() -> None:
        await judging

    asyncio.run(judged())


def with_terms(count: int, overflowing: int = 0) -> dict[str, Any]:
    terms: list[dict[str, Any]]
    terms = [{"affinityName": f"a{number}", "clusterNames": ["m"]} for number in range(count)]
    if overflowing:
        terms[0]["overflowAffinities"] = [{"affinityName": f"o{number}"} for number in range(overflowing)]
    scheduling = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    return {
        "resourceSelectors": [NAMED],
        "placement": {"clusterAffinities": terms, "replicaScheduling": scheduling},
    }


@pytest.mark.parametrize("resource", POLICIES)
@pytest.mark.parametrize(("count", "overflowing"), [(101, 0), (50, 51)], ids=["terms", "what they overflow to"])
def test_a_placement_has_no_more_affinity_terms_than_can_be_tried(resource: str, count: int, overflowing: int) -> None:
    with pytest.raises(Denied, match=r"spec\.placement\.clusterAffinities: Too many: 101: must have at most 100 items"):
        judge(resource, with_terms(count, overflowing))
    judge(resource, with_terms(count - 1, overflowing))


@pytest.mark.parametrize("resource", POLICIES + OVERRIDES)
def test_a_policy_has_no_more_selectors_by_labels_than_can_be_compared(resource: str) -> None:
    with pytest.raises(Denied, match=r"spec\.resourceSelectors: Too many: 1001: must have at most 1000 items"):
        judge(resource, {"resourceSelectors": [BY_LABELS] * 1001, **rules(resource)})
    judge(resource, {"resourceSelectors": [BY_LABELS] * 1000 + [NAMED] * 500, **rules(resource)})


def with_labels(expressions: int, values: int, labels: int = 0) -> dict[str, Any]:
    terms = [{"key": f"k{n}", "operator": "In", "values": ["v"] * values} for n in range(expressions)]
    by = {"matchExpressions": terms, "matchLabels": {f"l{n}": "v" for n in range(labels)}}
    return BY_LABELS | {"labelSelector": by}


@pytest.mark.parametrize("resource", POLICIES + OVERRIDES)
@pytest.mark.parametrize(
    ("selectors", "one_less"),
    [
        ([with_labels(50, 1)] * 100 + [with_labels(0, 0, 1)], [with_labels(50, 1)] * 100),
        ([with_labels(1, 10_000)], [with_labels(1, 9_999)]),
        ([with_labels(0, 0, 10_001)], [with_labels(0, 0, 10_000)]),
    ],
    ids=["expressions", "values", "labels"],
)
def test_a_policy_has_no_more_labels_than_can_be_compared(resource: str, selectors: Any, one_less: Any) -> None:
    named = with_labels(20_000, 0) | NAMED
    with pytest.raises(Denied, match=r"spec\.resourceSelectors: Forbidden: .* have 10001 labels, .* at most 10000: "):
        judge(resource, {"resourceSelectors": selectors, **rules(resource)})
    judge(resource, {"resourceSelectors": [*one_less, named], **rules(resource)})


@pytest.mark.parametrize("resource", POLICIES)
def test_a_policy_waits_for_no_more_override_policies_than_can_be_looked_for(resource: str) -> None:
    awaited = [f"o{number}" for number in range(1001)]
    with pytest.raises(Denied, match=r"spec\.dependentOverrides: Too many: 1001: must have at most 1000 items"):
        judge(resource, {"resourceSelectors": [NAMED], "dependentOverrides": awaited})
    judge(resource, {"resourceSelectors": [NAMED], "dependentOverrides": awaited[1:]})


def rules(resource: str) -> dict[str, Any]:
    return {"overrideRules": []} if resource in OVERRIDES else {}


@pytest.mark.parametrize("resource", POLICIES)
def test_what_is_stored_with_more_may_go(resource: str) -> None:
    spec = with_terms(200) | {"resourceSelectors": [BY_LABELS] * 2000}
    judge(resource, spec, spec)
    with pytest.raises(Denied, match="Too many"):
        judge(resource, spec, with_terms(1))
