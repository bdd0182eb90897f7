"""Scales of workloads, who selects a pod, and the status that an autoscaler writes."""

from typing import Any

import orjson
import pytest

from karmada.api import label_selector
from karmada.api.autoscaling.v1alpha1 import FederatedHPAStatus
from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.machinery.clock import rfc3339
from karmada.policies.autoscaling.limits import Condition
from karmada.policies.autoscaling.retention import replicas_to_adopt
from karmada.policies.autoscaling.scales import (
    SelectorIndex,
    WorkloadScale,
    is_known,
    scale_of_answer,
    scale_of_workload,
    selector_of_template,
)
from karmada.policies.autoscaling.status import StatusDraft

WEB = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("workload", "scale"),
    [
        ({"spec": {"replicas": 3, "selector": WEB}, "status": {"replicas": 2}}, WorkloadScale(3, 2, "app=web")),
        ({"spec": {"replicas": 0}}, WorkloadScale(0, 0, "")),
        ({"spec": {}}, WorkloadScale(1, 0, "")),
        ({}, WorkloadScale(1, 0, "")),
    ],
)
def test_a_workload_that_names_no_replicas_asks_for_one(workload: dict[str, Any], scale: WorkloadScale) -> None:
    assert scale_of_workload(orjson.dumps(workload)) == scale


@pytest.mark.parametrize(
    ("answer", "scale"),
    [
        ({"spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "app=web"}}, WorkloadScale(3, 2, "app=web")),
        ({"spec": {}, "status": {}}, WorkloadScale(0, 0, "")),
        ({}, WorkloadScale(0, 0, "")),
    ],
)
def test_a_scale_that_names_no_replicas_asks_for_none(answer: dict[str, Any], scale: WorkloadScale) -> None:
    assert scale_of_answer(orjson.dumps(answer)) == scale


def test_a_scale_of_which_nothing_is_known_is_of_nothing() -> None:
    assert WorkloadScale() == (0, 0, "")


@pytest.mark.parametrize(
    ("template", "selector"),
    [
        ({"spec": {"selector": WEB}}, "app=web"),
        ({"spec": {"selector": {"app": "web"}}}, "app=web"),
        ({"spec": {"selector": "app in (web)"}}, "app in (web)"),
        ({"spec": {"selector": {"app": {"name": "web"}}}}, ""),
        ({"spec": {"selector": {"app": None}}}, ""),
        ({"spec": {"selector": {"matchLabels": {"app": None}}}}, "app="),
        ({"spec": {"selector": "app in"}}, ""),
        ({"spec": {"selector": 7}}, ""),
        ({"spec": {}, "status": {"selector": "!zzz"}}, ""),
        ({}, ""),
    ],
)
def test_the_selector_of_a_template_is_that_of_its_spec(template: dict[str, Any], selector: str) -> None:
    assert selector_of_template(orjson.dumps(template)) == selector


def test_the_scale_of_kinds_of_apps_follows_from_their_objects() -> None:
    assert is_known("apps", "statefulsets")
    assert not is_known("apps", "daemonsets")
    assert not is_known("", "deployments")


def test_the_autoscalers_of_a_pod_are_found_by_its_labels() -> None:
    index = SelectorIndex()
    index.put("shop", "web", label_selector.parse("app=web"))
    index.put("shop", "front", label_selector.parse("app=web,tier=front"))
    index.put("shop", "any", label_selector.parse("tier"))
    index.put("other", "web", label_selector.parse("app=web"))
    assert sorted(index.selecting("shop", {"app": "web"})) == ["web"]
    assert sorted(index.selecting("shop", {"app": "web", "tier": "front"})) == ["any", "front", "web"]
    assert index.selecting("shop", {}) == []
    index.drop("shop", "front")
    index.drop("shop", "never")
    assert sorted(index.selecting("shop", {"app": "web", "tier": "front"})) == ["any", "web"]
    assert index.selecting("other", {"app": "web"}) == ["web"]


def test_an_autoscaler_whose_selector_changes_is_found_by_the_new_one_alone() -> None:
    index = SelectorIndex()
    for text in ("app=web", "app=web", "app=api"):
        index.put("shop", "web", label_selector.parse(text))
    assert index.selecting("shop", {"app": "web"}) == []
    assert index.selecting("shop", {"app": "api"}) == ["web"]
    index.drop("shop", "web")
    assert index.selecting("shop", {"app": "web"}) == index.selecting("shop", {"app": "api"}) == []


def condition(status: bool = True, reason: str = "Ready", message: str = "m", type_: str = "AbleToScale") -> Condition:
    return Condition(type_, status, reason, message)


def test_a_status_keeps_what_a_reconcile_does_not_come_to() -> None:
    assert StatusDraft(None, 0.0).status == FederatedHPAStatus(desired_replicas=0)
    before = FederatedHPAStatus(desired_replicas=3, current_replicas=2, last_scale_time="t", observed_generation=7)
    draft = StatusDraft(before, 60.0)
    assert draft.status == before
    draft.scaled(5)
    assert (draft.status.desired_replicas, draft.status.last_scale_time) == (5, rfc3339(60.0))
    assert draft.status.current_replicas == 2


def test_the_time_of_a_condition_moves_only_with_its_status() -> None:
    first = StatusDraft(None, 0.0)
    assert first.note(condition())
    assert first.note(condition(type_="ScalingActive"))
    second = StatusDraft(first.status, 60.0)
    assert not second.note(condition(reason="Other", message="x" * 40_000))
    assert second.has("ScalingActive")
    assert not second.has("ScalingLimited")
    able, _ = second.status.conditions
    assert (able.type, able.status, able.reason) == ("AbleToScale", "True", "Other")
    assert able.last_transition_time == rfc3339(0.0)
    assert len(able.message) == 32768
    assert second.note(condition(status=False))
    assert [one.last_transition_time for one in second.status.conditions] == [rfc3339(60.0), rfc3339(0.0)]


def deployment(
    label: str = "true", wanted: int | None = 4, present: int | None = 6, observed: int = 2
) -> dict[str, Any]:
    marks = {"resourcetemplate.karmada.io/retain-replicas": label}
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "generation": 2, "labels": marks}
    spec = {} if wanted is None else {"replicas": wanted}
    return {"metadata": metadata, "spec": spec, "status": {"replicas": present, "observedGeneration": observed}}


def binding(
    *reported: Any, replicas: int = 4, scheduling: str = "Divided", uid: str = "u", **fields: Any
) -> ResourceBinding:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web", "uid": uid}
    items = [{"clusterName": f"m{number}", "status": status} for number, status in enumerate(reported)]
    tree = {
        "metadata": {"name": "web", "namespace": "shop", "generation": 3},
        "spec": {
            "resource": {**resource, **fields},
            "replicas": replicas,
            "clusters": [{"name": "m0", "replicas": 2}, {"name": "m1", "replicas": 2}],
            "placement": {"replicaScheduling": {"replicaSchedulingType": scheduling}},
        },
        "status": {"aggregatedStatus": items, "schedulerObservedGeneration": 3},
    }
    return from_tree(tree, ResourceBinding)


BOTH = {"replicas": 5}, {"replicas": 1}


def test_the_replicas_that_members_chose_become_the_templates() -> None:
    assert replicas_to_adopt(deployment(), binding(*BOTH)) == 6
    assert replicas_to_adopt(deployment(), binding(*BOTH, uid="")) == 6


@pytest.mark.parametrize(
    ("template", "bound"),
    [
        (deployment(label="false"), binding(*BOTH)),
        (deployment(wanted=None), binding(*BOTH)),
        (deployment(wanted=6), binding(*BOTH, replicas=6)),
        (deployment(), binding(*BOTH, replicas=5)),
        (deployment(present=7), binding(*BOTH)),
        (deployment(present=None), binding(*BOTH)),
        (deployment(observed=1), binding(*BOTH)),
        (deployment(), binding(*BOTH, scheduling="Duplicated")),
        (deployment(), binding(*BOTH, uid="predecessor")),
        (deployment(), binding(*BOTH, kind="StatefulSet")),
        (deployment(), binding({"replicas": 6})),
        (deployment(), binding({"replicas": 6}, {"replicas": 0})),
        (deployment(), binding({"replicas": 5}, None)),
        (deployment(), binding({"replicas": 6}, {"replicas": "many"})),
        (deployment(), binding({"replicas": 5}, {"readyReplicas": 1})),
    ],
    ids=[
        "not retained",
        "asks for none",
        "asks for them already",
        "changed since",
        "members have others",
        "no status yet",
        "status of before",
        "duplicated",
        "of a predecessor",
        "of another kind",
        "one has not answered",
        "one has none",
        "one says nothing",
        "one says nonsense",
        "one says something else",
    ],
)
def test_replicas_that_are_not_certain_are_not_adopted(template: dict[str, Any], bound: ResourceBinding) -> None:
    assert replicas_to_adopt(template, bound) is None


def test_a_selector_that_takes_long_to_be_read_is_refused() -> None:
    labels = {f"key-{number}": "value" for number in range(2000)}
    text = ",".join(f"{key}={value}" for key, value in labels.items())
    with pytest.raises(ValueError, match="the selector has more than 16384 bytes"):
        scale_of_answer(orjson.dumps({"spec": {"replicas": 1}, "status": {"selector": text}}))
    with pytest.raises(ValueError, match="the selector has more than 16384 bytes"):
        scale_of_workload(orjson.dumps({"spec": {"selector": {"matchLabels": labels}}}))
