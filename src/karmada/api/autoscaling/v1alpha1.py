"""FederatedHPA, in the form of autoscaling/v2, CronFederatedHPA, and ExternalMetric, which is this project's own."""

from typing import Annotated, Literal

from msgspec import field

from karmada.api.base import Int32, Int64, Quantity, Schema, Struct, Time, always
from karmada.api.meta import LabelSelector, ObjectMeta


class CrossVersionObjectReference(Struct, frozen=True, kw_only=True):
    """An object of the same namespace."""

    api_version: str = ""
    """Its API version."""
    kind: str
    """Its kind."""
    name: str
    """Its name."""


class MetricIdentifier(Struct, frozen=True, kw_only=True):
    """Names a metric."""

    name: str
    """Its name."""
    selector: LabelSelector | None = None
    """Labels that narrow it down."""


class MetricTarget(Struct, frozen=True, kw_only=True):
    """The value to hold a metric at."""

    type: str
    """Which of the fields counts: Utilization, Value or AverageValue."""
    value: Quantity | None = None
    """The value of the metric."""
    average_value: Quantity | None = None
    """The mean over all pods."""
    average_utilization: Int32 | None = None
    """The mean over all pods, in percent of what they ask for."""


class ObjectMetricSource(Struct, frozen=True, kw_only=True):
    """A metric of one object."""

    described_object: CrossVersionObjectReference
    """The object."""
    target: MetricTarget
    """The value to hold."""
    metric: MetricIdentifier
    """The metric."""


class PodsMetricSource(Struct, frozen=True, kw_only=True):
    """A metric of every pod."""

    metric: MetricIdentifier
    """The metric."""
    target: MetricTarget
    """The value to hold."""


class ResourceMetricSource(Struct, frozen=True, kw_only=True):
    """Use of a resource by every pod."""

    name: str
    """The resource."""
    target: MetricTarget
    """The value to hold."""


class ContainerResourceMetricSource(Struct, frozen=True, kw_only=True):
    """Use of a resource by one container of every pod."""

    name: str
    """The resource."""
    target: MetricTarget
    """The value to hold."""
    container: str
    """The container."""


class ExternalMetricSource(Struct, frozen=True, kw_only=True):
    """A metric from outside the clusters."""

    metric: MetricIdentifier
    """The metric."""
    target: MetricTarget
    """The value to hold."""


class MetricSpec(Struct, frozen=True, kw_only=True):
    """One metric that replicas follow."""

    type: str
    """Which of the fields counts: Object, Pods, Resource, ContainerResource or External."""
    object: ObjectMetricSource | None = None
    """A metric of one object."""
    pods: PodsMetricSource | None = None
    """A metric of every pod."""
    resource: ResourceMetricSource | None = None
    """Use of a resource."""
    container_resource: ContainerResourceMetricSource | None = None
    """Use of a resource by one container."""
    external: ExternalMetricSource | None = None
    """A metric from outside."""


class HPAScalingPolicy(Struct, frozen=True, kw_only=True):
    """Bounds the change in a time."""

    type: str
    """What value counts: Pods or Percent."""
    value: Int32
    """The largest change."""
    period_seconds: Int32
    """The time in which it may happen."""


class HPAScalingRules(Struct, frozen=True, kw_only=True):
    """How fast replicas change in one direction."""

    stabilization_window_seconds: Int32 | None = None
    """Look back this long and take the most careful proposal."""
    select_policy: str | None = None
    """Which policy counts: Max, Min or Disabled."""
    policies: Annotated[tuple[HPAScalingPolicy, ...], Schema(list_type="atomic")] = ()
    """Bounds on the change."""
    tolerance: Quantity | None = None
    """Deviation from the target that is left alone."""


class HorizontalPodAutoscalerBehavior(Struct, frozen=True, kw_only=True):
    """How fast replicas change."""

    scale_up: HPAScalingRules | None = None
    """Upwards."""
    scale_down: HPAScalingRules | None = None
    """Downwards."""


class FederatedHPASpec(Struct, frozen=True, kw_only=True):
    """What is scaled, by what, and within which bounds."""

    scale_target_ref: CrossVersionObjectReference
    """The workload."""
    min_replicas: Int32 | None = None
    """The fewest replicas; 1 if absent."""
    max_replicas: Int32
    """The most replicas."""
    metrics: tuple[MetricSpec, ...] = ()
    """The metrics; the one that asks for most replicas counts. CPU at 80 % if empty."""
    behavior: HorizontalPodAutoscalerBehavior | None = None
    """How fast replicas change."""


class MetricValueStatus(Struct, frozen=True, kw_only=True):
    """The value a metric has."""

    value: Quantity | None = None
    """The value."""
    average_value: Quantity | None = None
    """The mean over all pods."""
    average_utilization: Int32 | None = None
    """The mean over all pods, in percent of what they ask for."""


class ObjectMetricStatus(Struct, frozen=True, kw_only=True):
    """A metric of one object."""

    metric: MetricIdentifier
    """The metric."""
    current: MetricValueStatus
    """Its value."""
    described_object: CrossVersionObjectReference
    """The object."""


class PodsMetricStatus(Struct, frozen=True, kw_only=True):
    """A metric of every pod."""

    metric: MetricIdentifier
    """The metric."""
    current: MetricValueStatus
    """Its value."""


class ResourceMetricStatus(Struct, frozen=True, kw_only=True):
    """Use of a resource by every pod."""

    name: str
    """The resource."""
    current: MetricValueStatus
    """Its use."""


class ContainerResourceMetricStatus(Struct, frozen=True, kw_only=True):
    """Use of a resource by one container of every pod."""

    name: str
    """The resource."""
    current: MetricValueStatus
    """Its use."""
    container: str
    """The container."""


class ExternalMetricStatus(Struct, frozen=True, kw_only=True):
    """A metric from outside the clusters."""

    metric: MetricIdentifier
    """The metric."""
    current: MetricValueStatus
    """Its value."""


class MetricStatus(Struct, frozen=True, kw_only=True):
    """One metric as last read."""

    type: str
    """Which of the fields counts."""
    object: ObjectMetricStatus | None = None
    """A metric of one object."""
    pods: PodsMetricStatus | None = None
    """A metric of every pod."""
    resource: ResourceMetricStatus | None = None
    """Use of a resource."""
    container_resource: ContainerResourceMetricStatus | None = None
    """Use of a resource by one container."""
    external: ExternalMetricStatus | None = None
    """A metric from outside."""


class HorizontalPodAutoscalerCondition(Struct, frozen=True, kw_only=True):
    """One observed aspect of scaling."""

    type: str
    """AbleToScale, ScalingActive or ScalingLimited."""
    status: str
    """True, False or Unknown."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    reason: str = ""
    """Why, for programs."""
    message: str = ""
    """Why, for people."""


class FederatedHPAStatus(Struct, frozen=True, kw_only=True):
    """What was read and decided."""

    observed_generation: Int64 | None = None
    """The generation that was looked at."""
    last_scale_time: Time | None = None
    """When replicas last changed."""
    current_replicas: Int32 = 0
    """Replicas there are."""
    desired_replicas: Int32
    """Replicas there should be."""
    current_metrics: Annotated[tuple[MetricStatus, ...], Schema(list_type="atomic")] = ()
    """The metrics as last read."""
    conditions: Annotated[
        tuple[HorizontalPodAutoscalerCondition, ...], Schema(list_type="map", list_map_keys=("type",))
    ] = ()
    """Whether scaling works."""


class FederatedHPA(Struct, frozen=True, kw_only=True):
    """Scales a workload across clusters by load."""

    api_version: Literal["autoscaling.karmada.io/v1alpha1"] = always("autoscaling.karmada.io/v1alpha1")
    kind: Literal["FederatedHPA"] = always("FederatedHPA")
    metadata: ObjectMeta = ObjectMeta()
    spec: FederatedHPASpec
    """What is scaled, by what, and within which bounds."""
    status: FederatedHPAStatus | None = None
    """What was read and decided."""


class CronFederatedHPARule(Struct, frozen=True, kw_only=True):
    """What happens at certain times."""

    name: Annotated[str, Schema(min_length=1, max_length=32)]
    """Name of the rule, unique in the object."""
    schedule: str
    """The times, in cron form."""
    target_replicas: Int32 | None = None
    """Replicas to set on a workload."""
    target_min_replicas: Int32 | None = None
    """minReplicas to set on a FederatedHPA."""
    target_max_replicas: Int32 | None = None
    """maxReplicas to set on a FederatedHPA."""
    suspend: bool | None = None
    """Do nothing."""
    time_zone: str | None = None
    """Zone of the times, by its IANA name; that of the controller if absent."""
    successful_history_limit: Annotated[Int32, Schema(minimum=1, maximum=32)] | None = None
    """Number of successes to remember; 3 if absent."""
    failed_history_limit: Annotated[Int32, Schema(minimum=0, maximum=32)] | None = None
    """Number of failures to remember; 3 if absent."""


class CronFederatedHPASpec(Struct, frozen=True, kw_only=True):
    """What is scaled, and when."""

    scale_target_ref: CrossVersionObjectReference
    """A workload or a FederatedHPA."""
    rules: tuple[CronFederatedHPARule, ...]
    """What happens when."""


class SuccessfulExecution(Struct, frozen=True, kw_only=True):
    """A rule that ran."""

    schedule_time: Time
    """When it was due."""
    execution_time: Time
    """When it ran."""
    applied_replicas: Int32 | None = None
    """Replicas it set."""
    applied_max_replicas: Int32 | None = None
    """maxReplicas it set."""
    applied_min_replicas: Int32 | None = None
    """minReplicas it set."""


class FailedExecution(Struct, frozen=True, kw_only=True):
    """A rule that failed."""

    schedule_time: Time
    """When it was due."""
    execution_time: Time
    """When it ran."""
    message: str
    """What went wrong."""


class ExecutionHistory(Struct, frozen=True, kw_only=True):
    """What a rule did."""

    rule_name: str
    """The rule."""
    next_execution_time: Time | None = None
    """When it is due next; absent while it is suspended."""
    successful_executions: tuple[SuccessfulExecution, ...] = ()
    """Successes, newest first."""
    failed_executions: tuple[FailedExecution, ...] = ()
    """Failures, newest first."""


class CronFederatedHPAStatus(Struct, frozen=True, kw_only=True):
    """What the rules did."""

    execution_histories: tuple[ExecutionHistory, ...] = ()
    """Per rule."""


class CronFederatedHPA(Struct, frozen=True, kw_only=True):
    """Scales a workload or a FederatedHPA by the clock."""

    api_version: Literal["autoscaling.karmada.io/v1alpha1"] = always("autoscaling.karmada.io/v1alpha1")
    kind: Literal["CronFederatedHPA"] = always("CronFederatedHPA")
    metadata: ObjectMeta = ObjectMeta()
    spec: CronFederatedHPASpec
    """What is scaled, and when."""
    status: CronFederatedHPAStatus = CronFederatedHPAStatus()
    """What the rules did."""


class PrometheusSource(Struct, frozen=True, kw_only=True):
    """A query of a Prometheus server; every element of its result is one value."""

    address: Annotated[str, Schema(min_length=1, max_length=2048)]
    """Where the server is, such as http://prometheus.monitoring:9090."""
    query: Annotated[str, Schema(min_length=1, max_length=4096)]
    """What is asked, in PromQL."""


class HttpSource(Struct, frozen=True, kw_only=True):
    """A page that holds one number."""

    url: Annotated[str, Schema(min_length=1, max_length=2048)]
    """Where the page is."""
    pointer: Annotated[str, Schema(max_length=1024)] = ""
    """Where the number is in a JSON page, as a JSON pointer; the page itself if empty."""


class ExternalMetricSpec(Struct, frozen=True, kw_only=True):
    """Where the values of a metric come from: exactly one source."""

    metric_name: Annotated[str, Schema(max_length=253)] = ""
    """What the metric is called; the object's name if empty."""
    namespaces: tuple[str, ...] = ()
    """Namespaces whose autoscalers may use it; all if empty."""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of its values, by which autoscalers choose among metrics of one name."""
    prometheus: PrometheusSource | None = None
    """A query of a Prometheus server."""
    http: HttpSource | None = None
    """A page that holds one number."""
    timeout_seconds: Annotated[Int32, Schema(default=5, minimum=1, maximum=30)] | None = None
    """How long the source may take."""


class ExternalMetric(Struct, frozen=True, kw_only=True):
    """A metric from outside the clusters, which the metrics adapter serves as external.metrics.k8s.io."""

    api_version: Literal["autoscaling.karmada.io/v1alpha1"] = always("autoscaling.karmada.io/v1alpha1")
    kind: Literal["ExternalMetric"] = always("ExternalMetric")
    metadata: ObjectMeta = ObjectMeta()
    spec: ExternalMetricSpec
    """Where its values come from."""
