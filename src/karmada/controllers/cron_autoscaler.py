"""CronFederatedHPA: scales a workload, or the bounds of a FederatedHPA, when the rules' times come.

The status is the only memory: it announces each rule's next fire, and a fire is claimed there before it is executed
(`karmada.policies.autoscaling.executions`). What was missed while nobody ran is made up for by the last missed fire of
each rule, in the order of their times, unless it is more than an hour old.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from time import perf_counter

import msgspec

from karmada.api import cron, events
from karmada.api.autoscaling.v1alpha1 import CronFederatedHPA
from karmada.controllers.context import Context
from karmada.controllers.metrics import ERROR, SUCCESS
from karmada.controllers.scale_targets import ScaleError, ScaleTargets
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.clock import parse_rfc3339
from karmada.machinery.committer import Absent, Committer, Written
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.errors import ApiError, Conflict, ServerError, Timeout, TooManyRequests, Unavailable
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.throttle import TokenBucket
from karmada.policies.autoscaling import executions
from karmada.policies.autoscaling.executions import Fire, Histories

COMPONENT = "cronfederatedhpa-controller"
ATTEMPTS = 5
PATIENCE = 60.0
"""Seconds within which a target must be scaled, with all attempts."""
PAUSES = BackoffPolicy(initial=1.0, maximum=8.0)
LANE_LIMIT = 2
"""CronFederatedHPAs of one namespace that are looked at together: a target that cannot be scaled takes minutes."""
FIRES, FIRES_RATE = 300, 5.0
"""Fires that a namespace may have at once, and a second: each is three writes, and rules may fire every second."""
REMEMBERED = 4096
"""Namespaces whose fires are counted."""
SHORTEST_WAIT = 0.05
LONGEST_WAIT = 3600.0
"""Seconds after which the clock is looked at again, whenever the next fire is: it may have been set."""
_LONGEST_MESSAGE = 1024
_PASSING = (Conflict, ServerError, Timeout, TooManyRequests, Unavailable)


class CronAutoscalerController:
    """Executes the rules of CronFederatedHPAs on time, each fire at most once."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._figures = context.metrics
        self._autoscalers: Informer[CronFederatedHPA] = context.informers.of(CronFederatedHPA)
        self._commit = Committer(context.client.of(CronFederatedHPA))
        self._targets = ScaleTargets(context.client)
        self._recorder = context.recorder(COMPONENT)
        self._fires: OrderedDict[str, TokenBucket] = OrderedDict()
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            needs=(self._autoscalers,),
            lane=lambda key: key.namespace,
            lane_limit=LANE_LIMIT,
            deadline=10 * PATIENCE,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._autoscalers, _spec_changed)

    async def reconcile(self, key: Key) -> Result:
        """Execute the fires of one CronFederatedHPA that have come, and wait for the next."""
        seen = self._autoscalers.get(key.name, key.namespace)
        if seen is None or seen.metadata.deletion_timestamp is not None:
            return DONE
        with self._figures.cron_autoscale.timing():
            return await self._look_after(seen)

    async def _look_after(self, seen: CronFederatedHPA) -> Result:
        self._report_bad_rules(seen)
        now = self._clock.now()
        autoscaler = await self._write(seen, lambda hpa: executions.announced(_histories(hpa), hpa.spec.rules, now))
        if autoscaler is None:
            return DONE
        for fire in executions.due(_histories(autoscaler), autoscaler.spec.rules, now):
            if pause := self._pace(autoscaler.metadata.namespace):
                return RequeueAfter(pause)
            autoscaler = await self._execute(autoscaler, fire)
            if autoscaler is None:
                return DONE
        return RequeueAfter(_wait(_histories(autoscaler), self._clock.now()))

    def _pace(self, namespace: str) -> float:
        """Seconds until a fire of a namespace may be executed; one that may be now is counted."""
        now = self._clock.monotonic()
        fires = self._fires.pop(namespace, None) or TokenBucket(FIRES, FIRES_RATE, now)
        self._fires[namespace] = fires
        if len(self._fires) > REMEMBERED:
            self._fires.popitem(last=False)
        if (pause := fires.wait(now)) > 0:
            return max(pause, 1.0)
        fires.take(1, now)
        return 0.0

    async def _execute(self, autoscaler: CronFederatedHPA, fire: Fire) -> CronFederatedHPA | None:
        """Execute a fire unless somebody has; what the CronFederatedHPA is then, None once it is gone."""
        claim = await self._commit.commit(autoscaler, lambda hpa: _claimed(hpa, fire, self._clock.now()))
        if not isinstance(claim, Written):
            return None if isinstance(claim, Absent) else claim.value
        started = perf_counter()
        failure = await self._attempt(claim.value, fire)
        self._figures.cron_rule.observe(perf_counter() - started, ERROR if failure else SUCCESS)
        whom = ObjectReference.to(autoscaler)
        if failure:
            self._recorder.event(whom, events.WARNING, events.SCALE_FAILED, failure)
        try:
            return await self._write(
                claim.value,
                lambda hpa: executions.ended(_histories(hpa), fire, failure, self._clock.now()),
            )
        except ApiError as error:
            self._recorder.event(whom, events.WARNING, events.UPDATE_STATUS_FAILED, str(error))
            raise

    async def _attempt(self, autoscaler: CronFederatedHPA, fire: Fire) -> str:
        """Scale, several times if need be; what went wrong, or nothing."""
        if fire.is_missed:
            return f"rule {fire.rule.name}: the fire of {fire.scheduled} was missed by {fire.lateness:.0f} s"
        try:
            async with asyncio.timeout(PATIENCE):
                await self._scale(autoscaler, fire)
        except TimeoutError:
            return f"rule {fire.rule.name}: the target was not scaled within {PATIENCE:.0f} s"
        except (ApiError, ScaleError) as error:
            return str(error)[:_LONGEST_MESSAGE]
        return ""

    async def _scale(self, autoscaler: CronFederatedHPA, fire: Fire) -> None:
        target, namespace = autoscaler.spec.scale_target_ref, autoscaler.metadata.namespace
        for attempt in range(ATTEMPTS):
            try:
                await self._targets.scale(target, namespace, fire.rule)
                break
            except _PASSING:
                if attempt == ATTEMPTS - 1:
                    raise
                await self._clock.sleep(PAUSES.pause(attempt))

    async def _write(
        self, seen: CronFederatedHPA, decide: Callable[[CronFederatedHPA], Histories]
    ) -> CronFederatedHPA | None:
        outcome = await self._commit.commit(seen, lambda hpa: _with(hpa, decide(hpa)))
        return None if isinstance(outcome, Absent) else outcome.value

    def _report_bad_rules(self, autoscaler: CronFederatedHPA) -> None:
        for rule in autoscaler.spec.rules:
            try:
                cron.parse(rule.schedule, rule.time_zone or "")
            except cron.CronError as error:
                text = f"rule {rule.name} never fires: {error}"
                self._recorder.event(ObjectReference.to(autoscaler), events.WARNING, events.START_RULE_FAILED, text)


def _histories(autoscaler: CronFederatedHPA) -> Histories:
    return autoscaler.status.execution_histories


def _with(autoscaler: CronFederatedHPA, histories: Histories) -> CronFederatedHPA:
    if histories == _histories(autoscaler):
        return autoscaler
    status = msgspec.structs.replace(autoscaler.status, execution_histories=histories)
    return msgspec.structs.replace(autoscaler, status=status)


def _claimed(autoscaler: CronFederatedHPA, fire: Fire, now: float) -> CronFederatedHPA:
    """A CronFederatedHPA whose fire is claimed, unless its rule was changed or suspended meanwhile."""
    if fire.rule not in autoscaler.spec.rules:
        return autoscaler
    return _with(autoscaler, executions.claimed(_histories(autoscaler), fire, now))


def _wait(histories: Histories, now: float) -> float:
    """Seconds until the next fire."""
    fires = [parse_rfc3339(item.next_execution_time) for item in histories if item.next_execution_time]
    return min(LONGEST_WAIT, max(SHORTEST_WAIT, min(fires, default=now + LONGEST_WAIT) - now))


def _spec_changed(change: Change[CronFederatedHPA]) -> list[Key]:
    if change.new is None:
        return []
    return [change.key] if change.old is None or change.old.value.spec != change.new.value.spec else []
