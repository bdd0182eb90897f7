"""FederatedHPA: follows metrics with the replicas of a workload that runs in several clusters.

All autoscalers of a namespace look at the same moment of every period, so that what members say is read once for all of
them (`controllers.hpa_members`). Replicas are written to the template's scale, on the state that was looked at. What is
not known removes nothing: clusters that do not answer are corrected for by the share of the replicas the others run,
pods without a metric are taken to be busy before a scale-down, and a metric that cannot be read allows growth only.
"""

import asyncio
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import msgspec

from karmada.api import conditions, events, label_selector
from karmada.api.autoscaling.v1alpha1 import (
    CrossVersionObjectReference,
    FederatedHPA,
    HorizontalPodAutoscalerBehavior,
    HPAScalingPolicy,
    MetricSpec,
    MetricTarget,
    ResourceMetricSource,
)
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.context import Context
from karmada.controllers.hpa_capacity import HpaRoom
from karmada.controllers.hpa_members import MemberReader
from karmada.controllers.hpa_metrics import HpaMetrics
from karmada.controllers.hpa_targets import HpaTargets, Observed, Stopped, Target
from karmada.controllers.metrics import ERROR, SUCCESS
from karmada.controllers.templates import Templates
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.discovery import split_api_version
from karmada.machinery.errors import ApiError, Conflict
from karmada.machinery.events import ObjectReference
from karmada.machinery.flags import seconds
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.options import flag
from karmada.membership.answers import Answers
from karmada.membership.members import Members
from karmada.policies.autoscaling import capacity, evaluation, limits
from karmada.policies.autoscaling.evaluation import Decision, Invalid, Reading, Tuning, Workload
from karmada.policies.autoscaling.limits import ABLE_TO_SCALE, Bounds, Condition, Memory
from karmada.policies.autoscaling.pods import MetricsError, Timing
from karmada.policies.autoscaling.readings import room_of
from karmada.policies.autoscaling.scales import SelectorIndex
from karmada.policies.autoscaling.status import StatusDraft

COMPONENT = "federatedHPA-controller"
WORKERS = 32
"""Most of them wait for members."""
LANE_LIMIT = 8
"""Autoscalers of one namespace that are looked at together."""
SHORTEST_WAIT = 0.1
FIGURES = {
    "ContainerResource": "ResourceMetric",
    "External": "ExternalMetric",
    "Object": "ObjectMetric",
    "Pods": "RawMetric",
    "Resource": "ResourceMetric",
}
"""What dashboards for Karmada call the kinds of metrics."""
_HPA = "--horizontal-pod-autoscaler-"
_SUCCEEDED = Condition(
    ABLE_TO_SCALE, True, "SucceededGetScale", "the HPA controller was able to get the target's current scale"
)
_DISABLED = Condition(
    evaluation.SCALING_ACTIVE,
    False,
    "ScalingDisabled",
    "scaling is disabled since the replica count of the target is zero",
)
_DEFAULT_METRICS = (
    MetricSpec(
        type="Resource",
        resource=ResourceMetricSource(name="cpu", target=MetricTarget(type="Utilization", average_utilization=80)),
    ),
)


@dataclass(frozen=True, slots=True)
class AutoscalerOptions:
    """How FederatedHPAs are reconciled."""

    period: float = flag(15.0, seconds, "Time between two reconciles of a FederatedHPA.", f"{_HPA}sync-period")
    stabilization: float = flag(
        300.0, seconds, "How far back recommendations are remembered.", f"{_HPA}downscale-stabilization"
    )
    tolerance: float = flag(0.1, float, "Deviation of usage that changes nothing.", f"{_HPA}tolerance")
    cpu_initialization: float = flag(
        300.0, seconds, "How long the CPU of new pods is ignored.", f"{_HPA}cpu-initialization-period"
    )
    readiness_delay: float = flag(
        30.0, seconds, "How long new pods may take to become ready.", f"{_HPA}initial-readiness-delay"
    )


class FederatedHPAController:
    """Scales the targets of FederatedHPAs by their metrics."""

    def __init__(
        self,
        context: Context,
        members: Members,
        templates: Templates,
        options: AutoscalerOptions,
        readable: Members | None = None,
    ) -> None:
        """`readable` are all members that can be asked, also those that `members` does not take care of."""
        self._clock = context.clock
        self._options = options
        self._client = context.client
        self._figures = context.metrics
        self._autoscalers: Informer[FederatedHPA] = context.informers.of(FederatedHPA)
        clusters: Informer[Cluster] = context.informers.of(Cluster)
        bindings: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        answers = Answers(context.clock, keep=options.period / 2)
        reader = MemberReader(context.client, members, readable or members, clusters, answers)
        self._targets = HpaTargets(context.client, templates, bindings, clusters, reader)
        self._metrics = HpaMetrics(context.client, reader, answers)
        self._room = HpaRoom(clusters, context.gates) if context.gates.enabled("RoomAwareScaling") else None
        self._selectors = SelectorIndex()
        self._memory: dict[Key, Memory] = {}
        self._scaled: dict[Key, tuple[str, CrossVersionObjectReference]] = {}
        """Whose memory it is, by uid, and the target that it is about."""
        self._commit = Committer(context.client.of(FederatedHPA))
        self._recorder = context.recorder(COMPONENT)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            workers=WORKERS,
            lane=lambda key: key.namespace,
            lane_limit=LANE_LIMIT,
            needs=(self._autoscalers, clusters, bindings),
            retries=BackoffPolicy(initial=0.1, maximum=options.period, jitter=0.1),
            clock=context.clock,
        )
        self.controller.watch(self._autoscalers, _spec_changed)

    async def reconcile(self, key: Key) -> Result:
        """Scale the target of one autoscaler, and say in its status how that went."""
        autoscaler = self._autoscalers.get(key.name, key.namespace)
        if autoscaler is None or autoscaler.metadata.deletion_timestamp is not None:
            self._forget(key)
            return DONE
        draft = StatusDraft(autoscaler.status, self._clock.now())
        result: Result = RequeueAfter(self._until_next(key.namespace))
        try:
            with self._figures.autoscale.timing():
                await self._autoscale(autoscaler, key, draft)
        except Stopped as stopped:
            self._warn(autoscaler, stopped.event, str(stopped))
            draft.note(stopped.condition)
            result = Retry(str(stopped))
        except Conflict as error:
            # Somebody else changed the template: look again at what it is now.
            return Retry(error)
        await self._write(autoscaler, draft)
        return result

    async def _autoscale(self, autoscaler: FederatedHPA, key: Key, draft: StatusDraft) -> None:
        self._begin_anew_for_another(autoscaler, key)
        target = await self._targets.find(autoscaler)
        current = target.scale.replicas
        spec = autoscaler.spec
        lowest = 1 if spec.min_replicas is None else spec.min_replicas
        if current == 0 and lowest != 0:
            draft.note(_SUCCEEDED)
            draft.note(_DISABLED)
            draft.current_replicas = draft.desired_replicas = 0
            draft.metrics = ()
            return
        observed = await self._targets.observe(target, len(self._autoscalers.all_items(key.namespace)) == 1)
        draft.note(_SUCCEEDED)
        self._name_unread(autoscaler, observed, draft)
        draft.current_replicas = current
        if key not in self._memory:
            self._memory[key] = limits.remembered(Memory(), current, self._clock.now(), self._longest(spec.behavior))
        if current > spec.max_replicas:
            draft.metrics = ()
            wanted, why = spec.max_replicas, "Current number of replicas above Spec.MaxReplicas"
        elif current < lowest:
            draft.metrics = ()
            wanted, why = lowest, "Current number of replicas below Spec.MinReplicas"
        else:
            decision = await self._decide(autoscaler, key, target, observed, draft)
            if decision is None or decision.replicas is None:
                return
            draft.metrics = decision.statuses
            above = f"{decision.metric} above target"
            why = above if decision.replicas > current else "All metrics below target"
            wanted = self._limit(autoscaler, key, current, decision.replicas, draft)
            wanted = self._fit(key, target, wanted, draft)
            if wanted >= current and (full := room_of(observed.pods)):
                draft.note(Condition(limits.SCALING_LIMITED, True, capacity.INSUFFICIENT, full))
        draft.desired_replicas = wanted
        if wanted != current:
            await self._rescale(autoscaler, key, target, wanted, why, draft)

    def _begin_anew_for_another(self, autoscaler: FederatedHPA, key: Key) -> None:
        """What was recommended for one target, or by a former autoscaler of the name, says nothing of another; nor are
        the former's pods this one's."""
        present = autoscaler.metadata.uid, autoscaler.spec.scale_target_ref
        if self._scaled.setdefault(key, present) != present:
            self._forget(key)
            self._scaled[key] = present

    def _forget(self, key: Key) -> None:
        self._memory.pop(key, None)
        self._scaled.pop(key, None)
        self._selectors.drop(key.namespace, key.name)

    async def _decide(
        self, autoscaler: FederatedHPA, key: Key, target: Target, observed: Observed, draft: StatusDraft
    ) -> Decision | None:
        """What the metrics come to; None when it is not clear whose pods these are."""
        if not self._is_unambiguous(autoscaler, key, target, observed, draft):
            return None
        workload = Workload(
            target.scale.replicas,
            observed.status_replicas,
            observed.replicas / target.scale.replicas,
            tuple(one.pod for pods in observed.pods.values() for one in pods),
        )
        options, now = self._options, self._clock.now()
        tuning = Tuning(options.tolerance, Timing(now, options.cpu_initialization, options.readiness_delay))
        metrics = autoscaler.spec.metrics or _DEFAULT_METRICS
        readings = await asyncio.gather(*(self._read(metric, target, observed) for metric in metrics))
        results = [
            evaluation.evaluate(metric, reading, workload, tuning)
            for metric, reading in zip(metrics, readings, strict=True)
        ]
        for result in results:
            if isinstance(result, Invalid):
                self._warn(autoscaler, result.reason, result.message)
        decision = evaluation.decide(results, target.scale.replicas)
        draft.note(decision.condition)
        if decision.replicas is None:
            self._warn(autoscaler, events.FAILED_COMPUTE_METRICS_REPLICAS, decision.error)
        return decision

    async def _read(self, metric: MetricSpec, target: Target, observed: Observed) -> Reading:
        started = perf_counter()
        reading = await self._metrics.read(metric, target, observed)
        result = ERROR if isinstance(reading, MetricsError) else SUCCESS
        kind = FIGURES.get(metric.type, "other")
        self._figures.pull_metrics.observe(perf_counter() - started, result, kind)
        return reading

    def _is_unambiguous(
        self, autoscaler: FederatedHPA, key: Key, target: Target, observed: Observed, draft: StatusDraft
    ) -> bool:
        """Whether no other autoscaler scales the same pods, by the selectors of the templates, else the same target:
        what a member says its pods are selected by must not decide about the pods of others."""
        others, selector = {key.name}, target.scale.selector
        if selector:
            which = f"pods by selector {selector}"
            self._selectors.put(key.namespace, key.name, label_selector.parse(selector))
            for pods in observed.pods.values():
                for one in pods:
                    others.update(self._selectors.selecting(key.namespace, one.labels))
        else:
            which = f"pods of {autoscaler.spec.scale_target_ref.kind} {target.key.name}"
            self._selectors.drop(key.namespace, key.name)
            others.update(self._scaling(autoscaler.spec.scale_target_ref, key.namespace))
        if len(others) == 1:
            return True
        names = " ".join(f"{key.namespace}/{name}" for name in sorted(others))
        text = f"{which} are controlled by multiple HPAs: [{names}]"
        self._warn(autoscaler, events.AMBIGUOUS_SELECTOR, text)
        draft.note(Condition(evaluation.SCALING_ACTIVE, False, events.AMBIGUOUS_SELECTOR, text))
        return False

    def _scaling(self, target: CrossVersionObjectReference, namespace: str) -> Iterator[str]:
        """The names of the autoscalers of a target, in whatever version they name it."""
        group, _ = split_api_version(target.api_version)
        for item in self._autoscalers.all_items(namespace):
            one, leaves = item.value.spec.scale_target_ref, item.value.metadata.deletion_timestamp is not None
            is_same = (split_api_version(one.api_version)[0], one.kind, one.name) == (group, target.kind, target.name)
            if is_same and not leaves:
                yield item.key.name

    def _name_unread(self, autoscaler: FederatedHPA, observed: Observed, draft: StatusDraft) -> None:
        """Have a condition name the clusters whose part is not known; an event when that changes."""
        if observed.unread:
            text = "; ".join(f"{cluster}: {why}" for cluster, why in sorted(observed.unread.items()))
            if draft.note(Condition(conditions.CLUSTERS_READ, False, conditions.REASON_CLUSTER_UNREADABLE, text)):
                self._warn(autoscaler, events.CLUSTER_NOT_READABLE, text)
        elif draft.has(conditions.CLUSTERS_READ):
            text = "the pods of all ready clusters were read"
            draft.note(Condition(conditions.CLUSTERS_READ, True, conditions.REASON_CLUSTERS_READ, text))

    def _limit(self, autoscaler: FederatedHPA, key: Key, current: int, proposed: int, draft: StatusDraft) -> int:
        spec, now = autoscaler.spec, self._clock.now()
        lowest = 1 if spec.min_replicas is None else spec.min_replicas
        bounds = Bounds(lowest, spec.max_replicas, self._options.stabilization, spec.behavior)
        allowed = limits.allowed(current, proposed, bounds, self._memory[key], now)
        self._memory[key] = limits.remembered(self._memory[key], proposed, now, self._longest(spec.behavior))
        draft.note(allowed.stabilized)
        draft.note(allowed.limited)
        return allowed.replicas

    def _fit(self, key: Key, target: Target, wanted: int, draft: StatusDraft) -> int:
        """What of the wanted replicas there is room for."""
        if self._room is None or target.binding is None or wanted <= target.scale.replicas:
            return wanted
        since = self._clock.now() - capacity.SETTLING
        uncounted = sum(one.replicas for one in self._memory[key].scale_ups if one.time > since)
        found = capacity.fit(target.scale.replicas, wanted, self._room.of(target.binding), uncounted)
        if found.condition is not None:
            draft.note(found.condition)
        return found.replicas

    async def _rescale(
        self, autoscaler: FederatedHPA, key: Key, target: Target, wanted: int, why: str, draft: StatusDraft
    ) -> None:
        current, whom = target.scale.replicas, ObjectReference.to(autoscaler)
        patch = {"metadata": {"resourceVersion": target.resource_version}, "spec": {"replicas": wanted}}
        workloads = self._client.resource(target.served.type)
        try:
            await workloads.patch(target.key.name, patch, target.key.namespace, subresource="scale")
        except Conflict:
            raise
        except ApiError as error:
            text = f"New size: {wanted}; reason: {why}; error: {error}"
            self._recorder.event(whom, events.WARNING, events.FAILED_RESCALE, text)
            failed = f"the HPA controller was unable to update the target scale: {error}"
            draft.note(Condition(ABLE_TO_SCALE, False, "FailedUpdateScale", failed))
            draft.desired_replicas = current
            return
        text = f"the HPA controller was able to update the target scale to {wanted}"
        draft.note(Condition(ABLE_TO_SCALE, True, "SucceededRescale", text))
        draft.scaled(wanted)
        self._recorder.event(whom, events.NORMAL, events.SUCCESSFUL_RESCALE, f"New size: {wanted}; reason: {why}")
        periods = (policy.period_seconds for policy in _policies(autoscaler.spec.behavior))
        longest = max((capacity.SETTLING, *periods))
        self._memory[key] = limits.scaled(self._memory[key], current, wanted, self._clock.now(), longest)

    async def _write(self, autoscaler: FederatedHPA, draft: StatusDraft) -> None:
        try:
            await self._commit.commit(autoscaler, lambda hpa: msgspec.structs.replace(hpa, status=draft.status))
        except ApiError as error:
            self._warn(autoscaler, events.FAILED_UPDATE_STATUS, str(error))
            raise

    def _warn(self, autoscaler: FederatedHPA, reason: str, text: str) -> None:
        self._recorder.event(ObjectReference.to(autoscaler), events.WARNING, reason, text)

    def _longest(self, behavior: HorizontalPodAutoscalerBehavior | None) -> float:
        """How long recommendations matter."""
        rules = (behavior.scale_up, behavior.scale_down) if behavior is not None else ()
        windows = (rule.stabilization_window_seconds or 0 for rule in rules if rule is not None)
        return max((self._options.stabilization, *windows))

    def _until_next(self, namespace: str) -> float:
        """Seconds until the moment at which the autoscalers of a namespace look; namespaces are spread out."""
        period = self._options.period
        offset = zlib.crc32(namespace.encode()) % 1000 / 1000 * period
        return max(SHORTEST_WAIT, period - (self._clock.now() - offset) % period)


def _policies(behavior: HorizontalPodAutoscalerBehavior | None) -> list[HPAScalingPolicy]:
    rules = (behavior.scale_up, behavior.scale_down) if behavior is not None else ()
    return [policy for rule in rules if rule is not None for policy in rule.policies]


def _spec_changed(change: Change[FederatedHPA]) -> list[Key]:
    if change.new is None or change.old is None:
        return [change.key]
    before, after = change.old.value, change.new.value
    changed = before.spec != after.spec or before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
    return [change.key] if changed else []
