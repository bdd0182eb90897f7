"""Rules of admission that the reference does not have: the documents' spellings and kinds."""

import asyncio
import time
from typing import Any

import pytest

from karmada.api.feature_gates import DEFAULTS
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Denied, Operation, Review

BACKEND = {"service": {"name": "web", "port": {"number": 80}}}


class Known:
    """A lookup that knows some objects."""

    def __init__(self, *trees: dict[str, Any]) -> None:
        self._trees = list(trees)

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        return [tree for tree in self._trees if tree["kind"] == kind]

    async def replace_status(self, api_version: str, kind: str, tree: dict[str, Any], dry_run: bool) -> None:
        raise AssertionError("nothing is written here")


def validate(resource: str, tree: dict[str, Any], known: Known | None = None) -> list[str]:
    """Judge an object; the warnings."""
    handler = next(handler for handler in HANDLERS if handler.resource == resource)
    assert handler.validate is not None
    name = tree["metadata"]["name"]
    lookup = known or Known()
    review = Review(Operation.CREATE, "default", name, tree, None, lambda: "id", time.time, DEFAULTS, lookup)
    asyncio.run(_awaited(handler.validate(review)))
    return review.warnings


async def _awaited(judging: Any) -> None:
    await judging


def ingress(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "networking.karmada.io/v1alpha1",
        "kind": "MultiClusterIngress",
        "metadata": {"name": "i", "namespace": "default"},
        "spec": spec,
    }


def test_an_ingress_may_be_wrapped_in_a_template() -> None:
    validate("multiclusteringresses", ingress(template={"spec": {"defaultBackend": BACKEND}}))


def test_a_wrapped_ingress_is_judged_where_it_stands() -> None:
    with pytest.raises(Denied, match=r"spec\.template\.spec: .*must be specified"):
        validate("multiclusteringresses", ingress(template={"spec": {}}))


def test_what_the_gateway_would_never_serve_is_accepted_with_a_warning() -> None:
    paths = [
        {"path": "/a", "pathType": "Prefix", "backend": BACKEND},
        {"path": "/a/", "pathType": "Prefix", "backend": BACKEND},
        {"path": "/a", "pathType": "Exact", "backend": {"resource": {"kind": "Bucket", "name": "b"}}},
    ]
    tls = [{"hosts": ["shop.org", "other.org"], "secretName": "s"}]
    spec = {"rules": [{"host": "shop.org", "http": {"paths": paths}}], "tls": tls}
    expected = [
        ".rules[0].http.paths[1]: never used, as {0}.rules[0].http.paths[0] routes the same host and path",
        ".rules[0].http.paths[2].backend.resource: karmada-gateway serves services only",
        ".tls[0].hosts[1]: no rule is for other.org",
    ]
    for where, tree in (("spec", ingress(**spec)), ("spec.template.spec", ingress(template={"spec": spec}))):
        assert validate("multiclusteringresses", tree) == [where + text.format(where) for text in expected]


def test_an_ingress_stands_in_one_place_only() -> None:
    both = ingress(defaultBackend=BACKEND, template={"spec": {"defaultBackend": BACKEND}})
    with pytest.raises(Denied, match="cannot co-exist"):
        validate("multiclusteringresses", both)


def rescheduling(interval: str = "60s", **threshold: int) -> dict[str, Any]:
    return {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ReplicaSchedulingPolicy",
        "metadata": {"name": "r"},
        "spec": {"reschedulePolicy": {"enabled": True, "interval": interval, "threshold": threshold}},
    }


def test_a_replica_scheduling_policy_of_the_documents_is_accepted() -> None:
    validate("replicaschedulingpolicies", rescheduling(cpuUtilization=80, memoryUtilization=80))


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (rescheduling("soon", cpuUtilization=80), r"reschedulePolicy\.interval"),
        (rescheduling("0s", cpuUtilization=80), r"reschedulePolicy\.interval"),
        (rescheduling(), r"reschedulePolicy\.threshold"),
        (rescheduling(memoryUtilization=101), r"threshold\.memoryUtilization"),
    ],
    ids=["no-duration", "no-time", "no-threshold", "beyond-all"],
)
def test_a_replica_scheduling_policy_that_cannot_be_kept_is_refused(policy: dict[str, Any], field: str) -> None:
    with pytest.raises(Denied, match=field):
        validate("replicaschedulingpolicies", policy)


def customization(name: str, **rules: str) -> dict[str, Any]:
    return {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": name},
        "spec": {
            "target": {"apiVersion": "example.io/v1", "kind": "Widget"},
            "customizations": {rule: {"luaScript": script} for rule, script in rules.items()},
        },
    }


def test_several_customisations_may_name_dependencies() -> None:
    script = "function GetDependencies(o) return {} end"
    known = Known(customization("a", dependencyInterpretation=script))
    validate("resourceinterpretercustomizations", customization("b", dependencyInterpretation=script), known)


def test_a_script_is_parsed_and_never_run() -> None:
    validate("resourceinterpretercustomizations", customization("loop", retention="while true do end"))
    with pytest.raises(Denied, match=r"InterpreterOperation\(Retain\) Lua script error"):
        validate("resourceinterpretercustomizations", customization("broken", retention="function ("))


def interpreter_webhook(url: str) -> dict[str, Any]:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "kinds": ["*"]}
    webhook = {
        "name": "a.b.c",
        "rules": [rule],
        "clientConfig": {"url": url},
        "interpreterContextVersions": ["v1alpha1"],
    }
    return {"metadata": {"name": "w"}, "webhooks": [webhook]}


def test_an_interpreter_webhook_whose_address_is_no_url_is_refused() -> None:
    with pytest.raises(Denied, match=r"webhooks\[0\]\.clientConfig\.url: .*must be a valid URL"):
        validate("resourceinterpreterwebhookconfigurations", interpreter_webhook("https://host:no/"))


def test_a_password_in_the_address_of_an_interpreter_webhook_is_not_quoted() -> None:
    with pytest.raises(Denied) as denied:
        validate("resourceinterpreterwebhookconfigurations", interpreter_webhook("https://user:hunter2@host/"))
    assert '"user:xxxxx": user information is not permitted in the URL' in denied.value.message


@pytest.mark.parametrize("zone", ["America", "x" * 300, "Nowhere/Land"], ids=["a continent", "too long", "unknown"])
def test_a_time_zone_that_is_none_is_refused(zone: str) -> None:
    rule = {"name": "r", "schedule": "* * * * *", "targetReplicas": 1, "timeZone": zone}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    tree = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"scaleTargetRef": target, "rules": [rule]}}
    with pytest.raises(Denied, match="unknown time zone"):
        validate("cronfederatedhpas", tree)


@pytest.mark.parametrize(
    "schedule",
    ["*/5 * * * * *", "0 0 L * *", "0 0 30 2 *", "@5minutes", "@DAILY"],
    ids=["seconds", "last day", "30 February", "a word of Karmada's", "capitals"],
)
def test_a_schedule_that_the_controller_cannot_follow_is_let_in_with_a_warning(schedule: str) -> None:
    rule = {"name": "r", "schedule": schedule, "targetReplicas": 1}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    tree = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"scaleTargetRef": target, "rules": [rule]}}
    (warning,) = validate("cronfederatedhpas", tree)
    assert warning.startswith("spec.rules[0].schedule: the rule never fires: ")
    fine = {**tree, "spec": {"scaleTargetRef": target, "rules": [{**rule, "schedule": "*/5 * * * *"}]}}
    assert validate("cronfederatedhpas", fine) == []


def external(**target: str) -> dict[str, Any]:
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "target": target}}
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3, "metrics": [metric]}
    return {"metadata": {"name": "h", "namespace": "default"}, "spec": spec}


def test_an_autoscaler_may_follow_an_external_metric() -> None:
    validate("federatedhpas", external(type="AverageValue", averageValue="5"))
    for target, expected in (
        ({"type": "Value"}, "must set either a target value for metric or a per-pod target"),
        ({"type": "Value", "value": "1", "averageValue": "2"}, "may not set both"),
        ({"type": "Value", "value": "0"}, "must be positive"),
    ):
        with pytest.raises(Denied, match=expected):
            validate("federatedhpas", external(**target))


def failing_over(failover: dict[str, Any]) -> dict[str, Any]:
    marks = {"propagationpolicy.karmada.io/permanent-id": "id"}
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default"}]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "p", "namespace": "default", "labels": marks},
        "spec": {"resourceSelectors": selectors, "propagateDeps": True, "placement": {}, "failover": failover},
    }


def preserving(path: str) -> dict[str, Any]:
    return {"statePreservation": {"rules": [{"aliasLabelName": "job", "jsonPath": path}]}}


IMPATIENT = {"decisionConditions": {"tolerationSeconds": -1}}
BAD_FAILOVERS: list[tuple[dict[str, Any], str]] = [
    ({"applicationMigrationPolicy": IMPATIENT}, "applicationMigrationPolicy.decisionConditions.tolerationSeconds"),
    ({"application": IMPATIENT}, "application.decisionConditions.tolerationSeconds"),
    ({"application": preserving("{.id")}, "application.statePreservation.rules[0].jsonPath"),
    ({"cluster": preserving("{.items[}")}, "cluster.statePreservation.rules[0].jsonPath"),
]


@pytest.mark.parametrize(("failover", "field"), BAD_FAILOVERS, ids=[field for _, field in BAD_FAILOVERS])
def test_an_impossible_failover_is_refused_by_its_field(failover: dict[str, Any], field: str) -> None:
    with pytest.raises(Denied) as denied:
        validate("propagationpolicies", failing_over(failover))
    assert f"spec.failover.{field}: Invalid value" in str(denied.value)


def test_a_possible_failover_is_admitted() -> None:
    validate("propagationpolicies", failing_over({"cluster": preserving("{.jobStatus.id}")}))


def test_more_rules_than_anybody_needs_are_refused_before_each_is_looked_at() -> None:
    def autoscaler(rules: int) -> dict[str, Any]:
        each = [{"name": f"r{number}", "schedule": "@daily", "targetReplicas": 1} for number in range(rules)]
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        return {"metadata": {"name": "c", "namespace": "default"}, "spec": {"scaleTargetRef": target, "rules": each}}

    validate("cronfederatedhpas", autoscaler(100))
    with pytest.raises(Denied, match=r"spec\.rules: Too many: 101: must have at most 100 items"):
        validate("cronfederatedhpas", autoscaler(101))


def test_more_metrics_than_anybody_needs_are_refused_before_each_is_looked_at() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }

    def autoscaler(metrics: int) -> dict[str, Any]:
        spec = {"scaleTargetRef": target, "maxReplicas": 2, "metrics": [metric] * metrics}
        return {"metadata": {"name": "h", "namespace": "default"}, "spec": spec}

    validate("federatedhpas", autoscaler(50))
    with pytest.raises(Denied, match=r"spec\.metrics: Too many: 51: must have at most 50 items"):
        validate("federatedhpas", autoscaler(51))


def test_a_policy_that_would_keep_grants_in_members_is_accepted_with_a_warning() -> None:
    selector = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "namespace": "default"}
    tree = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "labels": {"propagationpolicy.karmada.io/permanent-id": "id"},
        },
        "spec": {"resourceSelectors": [selector], "preserveResourcesOnDeletion": True},
    }
    (warning,) = validate("propagationpolicies", tree)
    assert warning == "spec.preserveResourcesOnDeletion has no effect on RoleBinding: use a ClusterPropagationPolicy"
    wide = {**tree, "kind": "ClusterPropagationPolicy"}
    wide["metadata"] = {"name": "p", "labels": {"clusterpropagationpolicy.karmada.io/permanent-id": "id"}}
    assert validate("clusterpropagationpolicies", wide) == []
