"""HorizontalPodAutoscalers on CPU and memory: replicas follow what pods use.

Scaling up is immediate; scaling down follows the highest recommendation of the stabilisation window. Behaviour policies
other than the window, and metrics other than resources, are not simulated: such a metric makes the autoscaler inactive
and says so in its condition.
"""

import math

from karmada.api import label_selector
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result, own_key
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import GroupVersionResource, JSONObject, Request, Verb
from karmada.simulator.workloads.conditions import with_condition
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import AUTOSCALERS
from karmada.simulator.workloads.views import Pod, amount, requests_of

COMPONENT = "horizontal-pod-autoscaler"
PERIOD = 15.0
TOLERANCE = 0.1
STABLE = 300
_READY = ("AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size")


class Unmeasurable(Exception):
    """A metric that cannot be computed; the text goes to the condition."""


class AutoscalerController:
    """Reconciles HorizontalPodAutoscalers."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._autoscalers = context.trees(AUTOSCALERS)
        self._commit = Committer(context.client.resource(AUTOSCALERS))
        self._recommended: dict[Key, list[tuple[float, int]]] = {}
        self.controller = context.controller(COMPONENT, self.reconcile, (self._autoscalers, context.pods))
        self.controller.watch(self._autoscalers, own_key)

    async def reconcile(self, key: Key) -> Result:
        """Look at one autoscaler's pods and scale its target."""
        scaler = self._autoscalers.get(key.name, key.namespace)
        if scaler is None:
            self._recommended.pop(key, None)
            return DONE
        target = scaler["spec"]["scaleTargetRef"]
        try:
            scale, where = await self._scale(target, key.namespace)
        except NotFound as error:
            await self._report(scaler, {}, [("AbleToScale", "False", "FailedGetScale", error.message)])
            return RequeueAfter(PERIOD)
        current = int(scale["spec"].get("replicas") or 0)
        selector = label_selector.parse((scale.get("status") or {}).get("selector") or "")
        pods = [
            pod
            for pod in self._context.pods.values(key.namespace)
            if pod.is_active and selector.matches(pod.metadata.labels or {})
        ]
        outside, limited = bounded(scaler, current)
        if current and outside != current:
            # Nothing has to be measured for that.
            bound = "below Spec.MinReplicas" if outside > current else "above Spec.MaxReplicas"
            await self._rescale(scaler, scale, where, outside, f"Current number of replicas {bound}")
            status = {"currentReplicas": current, "desiredReplicas": outside, "lastScaleTime": self._context.now()}
            await self._report(scaler, status, [_READY, ("ScalingLimited", *limited)])
            return RequeueAfter(PERIOD)
        try:
            measured, wanted = self._measure(scaler, pods, current)
        except Unmeasurable as error:
            conditions = [
                (
                    "AbleToScale",
                    "True",
                    "SucceededGetScale",
                    "the HPA controller was able to get the target's current scale",
                ),
                ("ScalingActive", "False", "FailedGetResourceMetric", str(error)),
            ]
            await self._report(scaler, {"currentReplicas": current}, conditions)
            return RequeueAfter(PERIOD)
        wanted, limited = bounded(scaler, wanted)
        wanted = self._stabilised(key, scaler, current, wanted)
        if wanted != current and current:
            reason = f"resource utilization {'above' if wanted > current else 'below'} target"
            await self._rescale(scaler, scale, where, wanted, reason)
        status = {"currentReplicas": current, "desiredReplicas": wanted, "currentMetrics": measured}
        if wanted != current:
            status["lastScaleTime"] = self._context.now()
        await self._report(
            scaler,
            status,
            [
                _READY,
                (
                    "ScalingActive",
                    "True",
                    "ValidMetricFound",
                    "the HPA was able to successfully calculate a replica count",
                ),
                ("ScalingLimited", *limited),
            ],
        )
        return RequeueAfter(PERIOD)

    async def _rescale(
        self, scaler: JSONObject, scale: JSONObject, where: GroupVersionResource, wanted: int, reason: str
    ) -> None:
        metadata = scaler["metadata"]
        name, body = scaler["spec"]["scaleTargetRef"]["name"], scale | {"spec": {"replicas": wanted}}
        await self._context.client.transport.send(
            Request(Verb.UPDATE, where, metadata["namespace"], name, "scale", {}, body)
        )
        text = f"New size: {wanted}; reason: {reason}"
        self._context.event(COMPONENT, scaler, "Normal", "SuccessfulRescale", text)

    async def _scale(self, target: JSONObject, namespace: str) -> tuple[JSONObject, GroupVersionResource]:
        where = (await self._context.client.mapper.of_kind(target["apiVersion"], target["kind"])).type
        return await self._context.client.resource(where).get(target["name"], namespace, "scale"), where

    def _measure(self, scaler: JSONObject, pods: list[Pod], current: int) -> tuple[list[JSONObject], int]:
        ready = [pod for pod in pods if pod.is_ready]
        if not ready:
            raise Unmeasurable("no ready pod to take metrics from")
        measured, wanted = [], 0
        for metric in scaler["spec"].get("metrics") or [_usual()]:
            if metric["type"] != "Resource":
                raise Unmeasurable(f"metrics of type {metric['type']} are not simulated")
            name, target = metric["resource"]["name"], metric["resource"]["target"]
            used = [self._used(pod, name) for pod in ready]
            average = sum(used) // len(used)
            shown: JSONObject = {"averageValue": f"{average}m" if name == "cpu" else str(average)}
            if target["type"] == "Utilization":
                requested = [requests_of(pod.spec).get(name, 0) for pod in ready]
                if not all(requested):
                    raise Unmeasurable(f"failed to get {name} utilization: missing request for {name}")
                percent = sum(used) * 100 // sum(requested)
                ratio = percent / target["averageUtilization"]
                shown["averageUtilization"] = percent
            else:
                ratio = average / max(1, amount(name, target["averageValue"]))
            measured.append({"type": "Resource", "resource": {"name": name, "current": shown}})
            wanted = max(wanted, current if abs(ratio - 1) <= TOLERANCE else math.ceil(len(ready) * ratio))
        return measured, wanted

    def _used(self, pod: Pod, name: str) -> int:
        used = self._context.usage.of(pod)
        return used.cpu if name == "cpu" else used.memory

    def _stabilised(self, key: Key, scaler: JSONObject, current: int, wanted: int) -> int:
        down = ((scaler["spec"].get("behavior") or {}).get("scaleDown") or {}).get("stabilizationWindowSeconds")
        now = self._context.clock.now()
        window = STABLE if down is None else down
        recent = [(at, size) for at, size in self._recommended.get(key, []) if at > now - window]
        self._recommended[key] = [*recent, (now, wanted)]
        if wanted >= current:
            return wanted
        return min(current, max([wanted, *(size for _, size in recent)]))

    async def _report(
        self, scaler: JSONObject, fields: JSONObject, conditions: list[tuple[str, str, str, str]]
    ) -> None:
        stamp = self._context.now()

        def decide(seen: JSONObject) -> JSONObject:
            status = (seen.get("status") or {}) | fields
            listed = status.get("conditions")
            for type_, holds, reason, text in conditions:
                listed = with_condition(listed, type_, holds, reason, text, stamp)
            status.setdefault("desiredReplicas", 0)
            return seen | {"status": status | {"conditions": listed}}

        try:
            await self._commit.commit(scaler, decide)
        except ApiError as error:
            if not error.transient:
                raise


def bounded(scaler: JSONObject, wanted: int) -> tuple[int, tuple[str, str, str]]:
    """The size within the autoscaler's limits, and what to say about it."""
    least = scaler["spec"].get("minReplicas") or 1
    most = scaler["spec"]["maxReplicas"]
    if wanted > most:
        return most, ("True", "TooManyReplicas", "the desired replica count is more than the maximum replica count")
    if wanted < least:
        return least, ("True", "TooFewReplicas", "the desired replica count is less than the minimum replica count")
    return wanted, ("False", "DesiredWithinRange", "the desired count is within the acceptable range")


def _usual() -> JSONObject:
    target = {"type": "Utilization", "averageUtilization": 80}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}
