"""Rules of admission that recorded cases show one side of: what is kept, what is judged, in which order."""

import asyncio
import time
from typing import Any

import pytest

from karmada.api import labels
from karmada.api.feature_gates import DEFAULTS
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Denied, Operation, Review

POLICY, NETWORKING, AUTOSCALING = (f"{group}.karmada.io/v1alpha1" for group in ("policy", "networking", "autoscaling"))
WORK = "work.karmada.io/v1alpha2"


class Nothing:
    """A lookup that knows nothing."""

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        return []

    async def replace_status(self, api_version: str, kind: str, tree: dict[str, Any], dry_run: bool) -> None:
        raise AssertionError("nothing is written here")


def review_of(tree: dict[str, Any], old: dict[str, Any] | None = None) -> Review:
    operation = Operation.UPDATE if old is not None else Operation.CREATE
    metadata = tree["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    return Review(operation, namespace, name, tree, old, lambda: "new-id", time.time, DEFAULTS, Nothing())


def refusal(resource: str, tree: dict[str, Any], old: dict[str, Any] | None = None, code: int = 403) -> str:
    with pytest.raises(Denied) as denied:
        validate(resource, tree, old)
    assert denied.value.code == code
    return denied.value.message


def validate(resource: str, tree: dict[str, Any], old: dict[str, Any] | None = None) -> None:
    handler = next(handler for handler in HANDLERS if handler.resource == resource)

    async def judge() -> None:
        assert handler.validate is not None
        await handler.validate(review_of(tree, old))

    asyncio.run(judge())


def mutated(resource: str, tree: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    handler = next(handler for handler in HANDLERS if handler.resource == resource)
    assert handler.mutate is not None
    review = review_of(tree, old)
    handler.mutate(review)
    return review.object


def made(api_version: str, kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    named = {"name": "x", "namespace": "default"} | metadata
    return {"apiVersion": api_version, "kind": kind, "metadata": named, "spec": spec}


def asking(**amounts: int | str) -> dict[str, Any]:
    return {"replicaRequirements": {"resourceRequest": amounts}}


def binding_asking(kind: str, asked: dict[str, Any]) -> dict[str, Any]:
    cluster_scoped = kind.startswith("Cluster")
    named = {"name": "a"} if cluster_scoped else {"name": "a", "namespace": "default"}
    resource = {"apiVersion": "example.io/v1", "kind": "Task", **named}
    binding = made(WORK, kind, {"resource": resource} | asked)
    if cluster_scoped:
        del binding["metadata"]["namespace"]
    return binding


@pytest.mark.parametrize(
    ("resource", "kind", "label"),
    [
        ("resourcebindings", "ResourceBinding", labels.RESOURCE_BINDING_PERMANENT_ID),
        ("clusterresourcebindings", "ClusterResourceBinding", labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID),
    ],
)
def test_a_restored_binding_keeps_its_permanent_id_and_thereby_its_works(resource: str, kind: str, label: str) -> None:
    spec = {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    restored = mutated(resource, made(WORK, kind, spec, labels={label: "given"}))
    fresh = mutated(resource, made(WORK, kind, spec))
    assert restored["metadata"]["labels"][label] == "given"
    assert fresh["metadata"]["labels"][label] == "new-id"


def test_an_amount_that_nobody_can_read_is_refused_before_anything_is_made_of_it() -> None:
    spec = {"resource": {}, "replicaRequirements": {"resourceRequest": {"cpu": "plenty"}}}
    with pytest.raises(Denied, match="quantities must match") as denied:
        mutated("resourcebindings", made(WORK, "ResourceBinding", spec))
    assert denied.value.code == 400


BELOW_ZERO: dict[str, tuple[dict[str, Any], str]] = {
    "replicas": ({"replicas": -1}, "spec.replicas: Invalid value: -1: must not be negative"),
    "an amount": (
        {"replicaRequirements": {"resourceRequest": {"memory": "1Gi", "cpu": "-100m"}}},
        'spec.replicaRequirements.resourceRequest[cpu]: Invalid value: "-100m": must not be negative',
    ),
    "components": (
        {"components": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": -2, **asking(gpu=-1)}]},
        "[spec.components[1].replicas: Invalid value: -2: must not be negative, "
        "spec.components[1].replicaRequirements.resourceRequest[gpu]: Invalid value: -1: must not be negative]",
    ),
}


@pytest.mark.parametrize("kind", ["ResourceBinding", "ClusterResourceBinding"])
@pytest.mark.parametrize(("asked", "message"), BELOW_ZERO.values(), ids=BELOW_ZERO)
def test_a_binding_asks_for_nothing_below_zero(kind: str, asked: dict[str, Any], message: str) -> None:
    resource, binding = f"{kind.lower()}s", binding_asking(kind, asked)
    assert refusal(resource, binding) == message
    assert refusal(resource, binding, binding_asking(kind, {})) == message


@pytest.mark.parametrize("kind", ["ResourceBinding", "ClusterResourceBinding"])
def test_a_binding_that_asked_for_less_than_nothing_remains_writable(kind: str) -> None:
    resource, before = f"{kind.lower()}s", binding_asking(kind, asking(cpu="-1"))
    validate(resource, before | {"metadata": before["metadata"] | {"finalizers": []}}, before)
    validate(resource, binding_asking(kind, asking(cpu="1")), before)
    assert '"-2": must not be negative' in refusal(resource, binding_asking(kind, asking(cpu="-2")), before)


def component(name: str, **amounts: int | str) -> dict[str, Any]:
    return {"name": name, "replicas": 1, **asking(**amounts)}


STILL_BELOW_ZERO: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one of two put right": (asking(cpu="-1", memory="-1"), asking(cpu="-1", memory="1")),
    "one less below": (asking(cpu="-2"), asking(cpu="-1")),
    "another order": (asking(cpu="-1", memory="-1"), asking(memory="-1", cpu="-1")),
    "another spelling": (asking(cpu="-1"), asking(cpu="-1000m")),
    "the component before it removed": (
        {"components": [component("a", cpu="1"), component("b", cpu="-1")]},
        {"components": [component("b", cpu="-1")]},
    ),
    "components without names": (
        {"components": [component("", cpu="-1"), component("", cpu="-2")]},
        {"components": [component("a"), component("", cpu="-1"), component("", cpu="-2")]},
    ),
    "replicas": ({"replicas": -2, **asking(cpu="-1")}, {"replicas": -1, **asking(cpu="-1")}),
}


@pytest.mark.parametrize("kind", ["ResourceBinding", "ClusterResourceBinding"])
@pytest.mark.parametrize(("before", "after"), STILL_BELOW_ZERO.values(), ids=STILL_BELOW_ZERO)
def test_what_was_as_low_before_is_not_refused(kind: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    validate(f"{kind.lower()}s", binding_asking(kind, after), binding_asking(kind, before))


@pytest.mark.parametrize("kind", ["ResourceBinding", "ClusterResourceBinding"])
def test_only_what_is_lower_than_before_is_refused(kind: str) -> None:
    before = {"replicas": -1, "components": [component("a", cpu="-1"), component("b", cpu="1")]}
    after = {"replicas": -1, "components": [component("b", cpu="-1"), component("a", cpu="-1")]}
    message = refusal(f"{kind.lower()}s", binding_asking(kind, after), binding_asking(kind, before))
    field = "spec.components[0].replicaRequirements.resourceRequest[cpu]"
    assert message == f'{field}: Invalid value: "-1": must not be negative'


def test_a_target_that_nobody_can_read_is_refused_before_an_autoscaler_is_completed() -> None:
    target = {"type": "AverageValue", "averageValue": "plenty"}
    metric = {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": target}}
    spec = {"scaleTargetRef": {"kind": "K", "name": "n"}, "maxReplicas": 1, "metrics": [metric]}
    with pytest.raises(Denied, match="quantities must match"):
        mutated("federatedhpas", made(AUTOSCALING, "FederatedHPA", spec))


def test_a_multicluster_service_gets_its_id_on_updates_too() -> None:
    service = made(NETWORKING, "MultiClusterService", {"types": ["CrossCluster"]}, resourceVersion="7")
    changed = mutated("multiclusterservices", service, old=service)
    assert changed["metadata"]["labels"][labels.MULTI_CLUSTER_SERVICE_PERMANENT_ID] == "new-id"


def test_the_field_selector_of_a_legacy_target_cluster_is_judged() -> None:
    target = {"fieldSelector": {"matchExpressions": [{"key": "planet", "operator": "In", "values": ["mars"]}]}}
    message = refusal("overridepolicies", made(POLICY, "OverridePolicy", {"targetCluster": target}))
    assert message == (
        'spec.targetCluster.fieldSelector: Invalid value: {"matchExpressions":[{"key":"planet","operator":"In",'
        '"values":["mars"]}]}: unsupported key "planet", must be provider, region, or zone'
    )


def test_quoted_overriders_have_the_order_of_the_wire_and_sorted_maps() -> None:
    overriders = {
        "labelsOverrider": [{"operator": "add", "value": {"b": "1", "a": "2"}}],
        "plaintext": [{"path": "/a", "operator": "remove"}],
    }
    message = refusal(
        "overridepolicies", made(POLICY, "OverridePolicy", {"overrideRules": [], "overriders": overriders})
    )
    assert message == (
        'spec.overriders: Invalid value: {"plaintext":[{"path":"/a","operator":"remove","value":null}],'
        '"labelsOverrider":[{"operator":"add","value":{"a":"2","b":"1"}}]}: '
        "overrideRules and overriders can't co-exist"
    )


def policy(placement: dict[str, Any], **more: Any) -> dict[str, Any]:
    marks = {labels.PROPAGATION_POLICY_PERMANENT_ID: "id"}
    return made(POLICY, "PropagationPolicy", {"placement": placement, **more}, labels=marks)


def test_everything_wrong_with_a_placement_is_reported_in_order() -> None:
    placement = {
        "clusterAffinities": [
            {"affinityName": "a", "overflowAffinities": []},
            {"affinityName": "a", "clusterNames": ["m"]},
        ],
        "spreadConstraints": [{"spreadByField": "cluster"}, {"spreadByField": "cluster", "minGroups": -1}],
        "clusterTolerations": [{"operator": "Lt"}],
    }
    message = refusal("propagationpolicies", policy(placement))
    parts = [
        "clusterAffinities[0].overflowAffinities: Invalid value: []: overflowAffinities can only be used together with "
        "dynamic weight",
        "clusterAffinities[0].overflowAffinities: Invalid value: []: overflowAffinities can only be used together with "
        "the inline",
        'clusterAffinities: Invalid value: [{"affinityName":"a"},{"affinityName":"a","clusterNames":["m"]}]: each',
        "spreadConstraints[1]: Invalid value: ",
        "multiple cluster spread constraints are not allowed",
        'clusterTolerations[0].operator: Unsupported value: "Lt"',
    ]
    places = [message.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_a_grace_period_that_is_neither_wanted_nor_positive_is_reported_twice() -> None:
    application = {"decisionConditions": {"tolerationSeconds": 1}, "purgeMode": "Never", "gracePeriodSeconds": 0}
    message = refusal("propagationpolicies", policy({}, propagateDeps=True, failover={"application": application}))
    assert "only takes effect when purgeMode is gracefully" in message
    assert "must be greater than 0" in message


@pytest.mark.parametrize(
    ("overall", "field", "why"),
    [
        ({"example.com/gpu": "1.5"}, "example.com/gpu", "must be an integer"),
        ({"example.com/gpu": "-1"}, "example.com/gpu", "must be greater than or equal to 0"),
        ({"cpu": "-100m"}, "cpu", "must be greater than or equal to 0"),
        ({"storage": "1"}, "storage", "must be a standard resource for quota"),
    ],
    ids=["extended resources are counted", "negative count", "negative amount", "storage is no resource of quotas"],
)
def test_resources_of_a_federated_quota(overall: dict[str, str], field: str, why: str) -> None:
    message = refusal("federatedresourcequotas", made(POLICY, "FederatedResourceQuota", {"overall": overall}))
    assert f"spec.overall[{field}]: Invalid value: " in message
    assert why in message


def test_huge_pages_are_a_resource_of_quotas() -> None:
    quota = made(POLICY, "FederatedResourceQuota", {"overall": {"hugepages-2Mi": "4Mi", "services": "1.5"}})
    assert refusal("federatedresourcequotas", quota) == (
        'spec.overall[services]: Invalid value: "1500m": must be an integer'
    )


def hook(**config: Any) -> dict[str, Any]:
    return {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ResourceInterpreterWebhookConfiguration",
        "metadata": {"name": "h"},
        "webhooks": [{"name": "a.example", "clientConfig": config, "interpreterContextVersions": ["v1alpha1"]}],
    }


@pytest.mark.parametrize(
    ("service", "message"),
    [
        ({"namespace": "", "name": "s"}, "service.namespace: Required value"),
        ({"namespace": "n", "name": ""}, "service.name: Required value"),
        (
            {"namespace": "n", "name": "s", "port": 0},
            "service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        ),
        (
            {"namespace": "n", "name": "s", "path": "//"},
            'service.path: Invalid value: "//": segment[0] may not be empty',
        ),
        (
            {"namespace": "n", "name": "s", "path": "ab/c"},
            "service.path: Invalid value: \"ab/c\": must start with a '/'",
        ),
    ],
    ids=["namespace", "name", "port", "empty segment", "no slash"],
)
def test_the_service_of_an_interpreter_webhook_is_judged(service: dict[str, Any], message: str) -> None:
    name = "resourceinterpreterwebhookconfigurations"
    assert refusal(name, hook(service=service)) == f"webhooks[0].clientConfig.{message}"


def test_types_of_a_multicluster_service_are_fixed_and_the_old_ones_are_listed() -> None:
    old = made(NETWORKING, "MultiClusterService", {"types": ["LoadBalancer"]}, resourceVersion="7")
    new = made(NETWORKING, "MultiClusterService", {"types": ["CrossCluster"]}, resourceVersion="7")
    assert refusal("multiclusterservices", new, old) == (
        'spec.types: Invalid value: ["LoadBalancer"]: MultiClusterService types are immutable'
    )


def test_only_the_first_source_of_a_metric_is_looked_into() -> None:
    metric = {"type": "Resource", "pods": {"metric": {"name": ""}, "target": {"type": "Value"}}}
    spec = {"scaleTargetRef": {"kind": "K", "name": "n"}, "maxReplicas": 1, "metrics": [metric]}
    message = refusal("federatedhpas", made(AUTOSCALING, "FederatedHPA", spec))
    assert "spec.metrics[0].pods.metric.name: Required value: must specify a metric name" in message
    assert "spec.metrics[0].resource: Required value: must populate information for the given metric source" in message
    assert "only" not in message


def test_a_cron_autoscaler_of_an_unknown_zone_names_it_and_local_is_known() -> None:
    rule = {"name": "r", "schedule": "* * * * *", "targetReplicas": 1}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    rules = [rule | {"timeZone": "No/Where"}, rule | {"name": "s", "timeZone": "Local"}]
    spec = {"scaleTargetRef": target, "rules": rules}
    assert refusal("cronfederatedhpas", made(AUTOSCALING, "CronFederatedHPA", spec)) == (
        'spec.rules[0].timeZone: Invalid value: "No/Where": unknown time zone No/Where'
    )


def test_null_among_selectors_counts_as_an_empty_one() -> None:
    changed = mutated("overridepolicies", made(POLICY, "OverridePolicy", {"resourceSelectors": [None]}))
    assert changed["spec"]["resourceSelectors"] == [{"namespace": "default"}]


def test_a_binding_that_had_an_unreadable_amount_cannot_be_compared() -> None:
    spec = {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}}
    before = made(WORK, "ResourceBinding", {**spec, "replicaRequirements": {"resourceRequest": {"cpu": "1MI"}}})
    assert "1MI" in refusal("resourcebindings", made(WORK, "ResourceBinding", spec), before, code=400)
