"""Keeps the records of bindings: noted when something happens to one, written once nothing has for a while.

A binding is recorded in the state that caches show, so it has to be the state that everybody has acted on: nothing
about it is queued, in process or due, and nothing has happened lately whose event might be on its way here still.
"""

import logging
from typing import Any

from karmada.api import names
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.bindings import OF_BINDING, BindingKey, owners_of
from karmada.controllers.detector.policies import CLAIMED_BY_POLICY
from karmada.controllers.drift import ObjectKey
from karmada.controllers.resumption.group import Group, Record, Records
from karmada.controllers.resumption.order import group_of, is_delivered, is_held
from karmada.controllers.resumption.parts import Controllers
from karmada.controllers.resumption.states import States
from karmada.machinery.discovery import ApiResource
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.transport import JSONObject
from karmada.machinery.workqueue.initial_load import turns
from karmada.policies.claims import claim_of

log = logging.getLogger(__name__)
TURN = 8
"""Bindings that are judged before others get their turn."""
AT_ONCE = 256
"""Records that are written together: whoever dies in between has no others to make again."""


class Keeper:
    """Notes what happens to bindings, and records those that are in order."""

    def __init__(self, states: States, controllers: Controllers, records: Records, known: set[BindingKey]) -> None:
        """`known`: bindings that have a record."""
        self._states = states
        self._controllers = controllers
        self._records = records
        self._known = known
        self._touched: set[BindingKey] = set()
        """Bindings that something happened to since the last time."""
        self._works: set[Key] = set()
        """Works that something happened to since then, or that were reported."""
        self._quiet: set[BindingKey] = set()
        """Bindings that something happened to before that."""

    def follow(self) -> None:
        """Begin; what a start found and did not leave alone is judged first."""
        states, settled = self._states, self._controllers.detector.settled
        self._touched = {BindingKey(*item.key) for item in states.bindings.all_items() if item.key not in settled}
        self._touched |= {key for key in self._known if states.bindings.item(Key(*key)) is None}
        states.bindings.add_handler(self._bindings_changed)
        states.works.add_handler(self._works_changed)
        for policies in (states.policies, states.wide_policies):
            policies.add_handler(self._policies_changed)
        for others in (states.overrides, states.wide_overrides, states.scripts, states.webhooks):
            others.add_handler(self._everything_changed)
        self._controllers.templates.add_handler(self._templates_changed)
        self._controllers.reporter.on_report = self._reported

    async def keep(self) -> None:
        """Record bindings to which nothing has happened since the last time."""
        works, self._works = self._works, set()
        for key in works:
            item = self._states.works.item(key)
            if item is not None:
                self._touch_owners(item.value)
        due = self._quiet - self._touched
        self._quiet, self._touched = self._touched, set()
        changed: dict[BindingKey, Record | None] = {}
        for number, binding in enumerate(due, 1):
            if binding not in self._touched:
                self._judge(binding, changed)
            if not number % TURN:
                await turns().next()
            if len(changed) >= AT_ONCE:
                await self._write(changed)
                changed = {}
        await self._write(changed)

    async def _write(self, changed: dict[BindingKey, Record | None]) -> None:
        if changed:
            try:
                await self._records.write(changed)
            except Exception as error:
                log.warning("what was done is not kept over a restart: %s", error)

    def _judge(self, key: BindingKey, changed: dict[BindingKey, Record | None]) -> None:
        group = self._group(key)
        works = self._states.works.indexed_items(OF_BINDING, group.permanent_id) if group is not None else []
        if group is not None and self._controllers.is_pending(key, group, [work.key for work in works]):
            self._quiet.add(key)
            return
        record = self._record(key, group) if group is not None else None
        if record is not None or key in self._known:
            changed[key] = record
            (self._known.discard if record is None else self._known.add)(key)

    def _group(self, key: BindingKey) -> Group | None:
        binding = self._states.bindings.get(key.name, key.namespace)
        if binding is None:
            return None
        reference = binding.spec.resource
        type_ = self._controllers.templates.type_of(reference.api_version, reference.kind)
        group = group_of(binding, type_) if type_ is not None else None
        policy = self._states.policy(group.policy) if group is not None else None
        return group if group is not None and policy is not None and is_held(binding, group, policy.value) else None

    def _record(self, key: BindingKey, group: Group) -> Record | None:
        states = self._states
        binding, which = states.bindings.get(key.name, key.namespace), Key(key.namespace, group.name)
        assert binding is not None
        for item in states.works.indexed_items(OF_BINDING, group.permanent_id):
            cluster = names.cluster_of_execution_space(item.key.namespace)
            copy = states.copy(cluster, group.type, which)
            if copy is None or not is_delivered(item.value, binding, group):
                return None
            if not self._controllers.is_reported(item, ObjectKey(cluster, group.type, which), copy):
                return None
        digest = states.digest(key, group)
        return Record(digest, group) if digest is not None else None

    def _touch(self, key: BindingKey) -> None:
        self._touched.add(key)
        self._controllers.detector.settled.discard(Key(*key))

    def _touch_owners(self, work: Work) -> None:
        for owner in owners_of(work):
            self._touch(owner)

    def _reported(self, work: Key) -> None:
        self._works.add(work)

    def _bindings_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            if not change.initial:
                self._touch(BindingKey(*change.key))

    def _works_changed(self, changes: list[Change[Work]]) -> None:
        for change in changes:
            if change.new is None:
                self._touch_owners(change.item.value)
            elif not change.initial:
                self._works.add(change.key)

    def _templates_changed(self, resource: ApiResource, changes: list[Change[JSONObject]]) -> None:
        for change in changes:
            if not change.initial and change.key.namespace:
                self._touch(BindingKey(change.key.namespace, names.binding_name(resource.kind, change.key.name)))

    def _policies_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            if not change.initial:
                permanent_id = claim_of(change.item.value).permanent_id
                for item in self._states.bindings.indexed_items(CLAIMED_BY_POLICY, permanent_id):
                    self._touch(BindingKey(*item.key))

    def _everything_changed(self, changes: list[Change[Any]]) -> None:
        if not all(change.initial for change in changes):
            for item in self._states.bindings.all_items():
                self._touch(BindingKey(*item.key))
