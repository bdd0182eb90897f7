"""Federated quota enforcement: says in every FederatedResourceQuota what the bindings of its namespace use.

Runs with the gate FederatedQuotaEnforcement. The webhook books a change before it is written; this controller counts
what really was: at once when a quota or its limits are new or a binding is gone (a second later for each ten thousand
there are), a second after one uses less, which no webhook gives back, and a while after any booking, so that one whose
binding was never written does not stay. With the gate
FederatedQuotaTree a quota may count the namespaces of a label selector (`policies.quota_tree`), and is counted at once
when the labels of a namespace change.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from karmada.api import events
from karmada.api.annotations import QUOTA_NAMESPACES
from karmada.api.label_selector import Selector
from karmada.api.names import SYSTEM_NAMESPACE
from karmada.api.policy.v1alpha1 import FederatedResourceQuota
from karmada.api.quantity import Quantity
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.context import Context
from karmada.machinery.committer import Committer, Written
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.events import ObjectReference
from karmada.machinery.flags import seconds
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.options import flag
from karmada.machinery.transport import JSONObject
from karmada.membership.objects import NAMESPACES
from karmada.policies import quota_tree
from karmada.policies.quota import Amounts, difference, overall_used, total, usage

COMPONENT = "federated-resource-quota-enforcement-controller"
PERIOD = 300.0
SETTLING = 10.0
"""Seconds after which what was booked has been written, if it ever will be, and is known here."""
FREED = 1.0
"""Seconds after which what a binding no longer uses is given back: what was booked just before is known by then."""
STEP = 200
"""Bindings that are counted in one go."""
PACE = 10_000
"""Bindings that are counted in a second, while some go one after another."""


@dataclass(frozen=True, slots=True)
class QuotaOptions:
    """How often quotas are recounted."""

    period: float = flag(PERIOD, seconds, "How often quotas are recounted.", "--federated-resource-quota-sync-period")


class QuotaEnforcementController:
    """Keeps `overallUsed` of every FederatedResourceQuota at what the bindings that it counts use."""

    def __init__(self, context: Context, period: float = PERIOD) -> None:
        """`period`: seconds between two counts of a quota without events; 0 for none."""
        self._period = period
        self._quotas: Informer[FederatedResourceQuota] = context.informers.of(FederatedResourceQuota)
        self._bindings: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        self._namespaces: Informer[JSONObject] | None = None
        """None without the gate: quotas count their own namespace."""
        if context.gates.enabled(quota_tree.GATE):
            self._namespaces = context.informers.resource(NAMESPACES)
            self._namespaces.add_handler(self._namespaces_changed)
        self._last: dict[Key, int] = {}
        """How many bindings were counted last, by quota."""
        self._commit = Committer(context.client.of(FederatedResourceQuota))
        self._recorder = context.recorder(COMPONENT)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            workers=2,
            needs=(self._quotas, self._bindings, *([self._namespaces] if self._namespaces is not None else ())),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self._quotas.add_handler(self._quotas_changed)
        self._bindings.add_handler(self._bindings_changed)

    async def reconcile(self, key: Key) -> Result:
        """Count what is used of one quota."""
        quota = self._quotas.get(key.name, key.namespace)
        if quota is None or quota.metadata.deletion_timestamp is not None:
            return DONE
        counted = self._counted_namespaces(quota)
        items = [item for namespace in counted for item in self._bindings.all_items(namespace)]
        self._last[key] = len(items)
        parts: list[Amounts] = []
        for start in range(0, len(items), STEP):
            specs = (item.value.spec for item in items[start : start + STEP])
            parts.append(overall_used(specs, quota.spec.overall))
            await asyncio.sleep(0)
        used = total(parts)
        outcome = await self._commit.commit(quota, lambda current: _counted(current, quota, used))
        if isinstance(outcome, Written):
            text = f"Collect status of FederatedResourceQuota({key.namespace}/{key.name}) succeed."
            self._recorder.event(
                ObjectReference.to(quota), events.NORMAL, events.COLLECT_OVERALL_STATUS.succeeded, text
            )
        return RequeueAfter(self._period) if self._period else DONE

    def _quotas_changed(self, changes: list[Change[FederatedResourceQuota]]) -> None:
        for change in changes:
            if change.new is None:
                self._last.pop(change.key, None)
                continue
            before, after = change.old.value if change.old else None, change.new.value
            if before is None or before.spec.overall != after.spec.overall or _selects(before) != _selects(after):
                self.controller.enqueue(change.key)
            elif before.status.overall_used != after.status.overall_used:
                self.controller.queue.add_after(change.key, SETTLING)

    def _bindings_changed(self, changes: list[Change[ResourceBinding]]) -> None:
        for change in changes:
            if change.initial or not self._quotas.has_synced:
                continue
            before, after = (usage(item.value.spec) if item else {} for item in (change.old, change.new))
            if before != after:
                uses_less = any(amount.sign() < 0 for amount in difference(after, before).values())
                for key in self._counting(change.key.namespace):
                    if change.new is None:
                        pause = self._pause(key)
                    else:
                        pause = max(FREED, self._pause(key)) if uses_less else SETTLING
                    self.controller.queue.add_after(key, pause)

    def _pause(self, quota: Key) -> float:
        """Seconds in which bindings that go are counted together: each count of a quota reads all there are."""
        count = self._last.get(quota, 0)
        return count / PACE if count > STEP else 0.0

    def _namespaces_changed(self, changes: list[Change[JSONObject]]) -> None:
        """Quotas that select a namespace now, or did before, are counted again."""
        for change in changes:
            if change.initial or not self._quotas.has_synced:
                continue
            before, after = (_labels(item.value) if item else None for item in (change.old, change.new))
            if before != after:
                for key, selector in self._selecting():
                    if any(labels is not None and selector.matches(labels) for labels in (before, after)):
                        self.controller.enqueue(key)

    def _counted_namespaces(self, quota: FederatedResourceQuota) -> list[str]:
        selector = self._selector(quota)
        if selector is None or self._namespaces is None:
            return [quota.metadata.namespace]
        items = self._namespaces.all_items()
        return [item.key.name for item in items if selector.matches(_labels(item.value))]

    def _counting(self, namespace: str) -> list[Key]:
        """The quotas that count a namespace."""
        items = self._quotas.all_items(namespace)
        found = [item.key for item in items if self._selector(item.value) is None]
        if self._namespaces is not None and self._namespaces.has_synced:
            item = self._namespaces.item(Key("", namespace))
            labels = _labels(item.value) if item is not None else {}
            found += [key for key, selector in self._selecting() if selector.matches(labels)]
        return found

    def _selecting(self) -> list[tuple[Key, Selector]]:
        """The quotas that select namespaces."""
        found = ((item.key, self._selector(item.value)) for item in self._quotas.all_items(SYSTEM_NAMESPACE))
        return [(key, selector) for key, selector in found if selector is not None]

    def _selector(self, quota: FederatedResourceQuota) -> Selector | None:
        if self._namespaces is None:
            return None
        return quota_tree.selector_of(quota.metadata.namespace, quota.metadata.annotations)


def _selects(quota: FederatedResourceQuota) -> str | None:
    return quota.metadata.annotations.get(QUOTA_NAMESPACES)


def _labels(namespace: JSONObject) -> Mapping[str, str]:
    return namespace["metadata"].get("labels") or {}


def _counted(current: FederatedResourceQuota, seen: FederatedResourceQuota, used: Amounts) -> FederatedResourceQuota:
    """A quota with what was counted, unless somebody booked meanwhile: that was not counted yet."""
    status = current.status
    if status.overall_used != seen.status.overall_used or current.spec.overall != seen.spec.overall:
        return current
    if {name: Quantity.parse(amount) for name, amount in status.overall_used.items()} != used:
        spelled = {name: str(amount) for name, amount in used.items()}
        status = msgspec.structs.replace(status, overall_used=spelled)
    return msgspec.structs.replace(current, status=msgspec.structs.replace(status, overall=current.spec.overall))
