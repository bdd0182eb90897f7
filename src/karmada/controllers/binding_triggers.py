"""Which bindings to reconcile when Works, clusters or override policies change.

The binding controller notes what a binding could not have yet; the change that may bring it enqueues the binding.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import DecodeError
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBindingSpec
from karmada.controllers.bindings import Binding, BindingKey, Bindings, owners_of
from karmada.controllers.clusters import is_ready, stays
from karmada.controllers.override_choices import file_bindings, meant
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.works.build import is_divided, keep_set, targets
from karmada.works.owner import made_for


class BindingTriggers:
    """Handlers of changes, and what bindings wait for."""

    def __init__(self, bindings: Bindings, clusters: Informer[Cluster], enqueue: Callable[[BindingKey], None]) -> None:
        self._bindings = bindings
        self._clusters = clusters
        self._enqueue = enqueue
        for informer in bindings.informers:
            file_bindings(informer)
        self.leaving: set[str] = set()
        """Uids of the Works that were deleted here, or stand in the way of others, and are not gone yet."""
        self.without: dict[str, set[BindingKey]] = {}
        """Bindings that lack a Work for a cluster chosen for them, which was not there or left, by its name."""
        self.blocked: dict[Key, set[BindingKey]] = {}
        """Bindings that found a Work of another in the place of their own, by that Work."""
        self.moving: set[BindingKey] = set()
        """Bindings whose moves wait for what members report."""

    def works_changed(self, changes: list[Change[Work]]) -> None:
        """A Work that was deleted here is gone: perhaps it is wanted again since, which the cache did not show then.
        One that somebody else deleted stays deleted, unless another is waiting for its place. A Work that the cache
        shows only now may have become unwanted before: the binding was then looked at without it."""
        for change in changes:
            if self.moving and change.old is not None:
                for key in made_for(change.item.body):
                    if (waits := BindingKey(*key)) in self.moving:
                        self._enqueue(waits)
            if change.new is None:
                self._went(change.item)
            elif not _is_readable(change.new):
                for owner in made_for(change.new.body):
                    self._enqueue(BindingKey(*owner))
            elif change.old is None and not change.initial:
                self._appeared(change.new.value)

    def _went(self, work: Item[Work]) -> None:
        for waiting in sorted(self.blocked.pop(work.key, ())):
            self._enqueue(waiting)
        was_deleted_here = work.uid in self.leaving
        self.leaving.discard(work.uid)
        cluster = work.key.namespace.removeprefix(names.EXECUTION_SPACE_PREFIX)
        has_left = self._clusters.has_synced and not stays(self._clusters.get(cluster))
        for key in (BindingKey(*owner) for owner in made_for(work.body)):
            if was_deleted_here:
                self._enqueue(key)
            elif has_left and self._wants(key, cluster):
                self.without.setdefault(cluster, set()).add(key)

    def _wants(self, key: BindingKey, cluster: str) -> bool:
        binding = self._known(key)
        if binding is None or binding.metadata.deletion_timestamp is not None:
            return False
        return any(target.name == cluster for target in targets(binding.spec))

    def _known(self, key: BindingKey) -> Binding | None:
        """A binding that can be read; before the first load each will be looked at anyway."""
        if not all(informer.has_synced for informer in self._bindings.informers):
            return None
        with contextlib.suppress(DecodeError):
            return self._bindings.get(key)
        return None

    def _appeared(self, work: Work) -> None:
        for key in owners_of(work):
            binding = self._known(key)
            kept = keep_set(binding.spec) if binding is not None else ()
            if binding is not None and work.metadata.namespace not in map(names.execution_space, kept):
                self._enqueue(key)

    def cluster_changed(self, change: Change[Cluster]) -> list[BindingKey]:
        """Bindings that waited for a cluster to appear, or whose moves wait for it to be ready."""
        name = change.key.name
        if change.new is None:
            self.without[name] = {key for key in self.without.pop(name, ()) if self._wants(key, name)}
            return []
        found = set(self.moving) if self.moving and _readiness_changed(change) else set()
        return sorted(found | self.without.pop(name, set()) if stays(change.new.value) else found)

    def overrides_changed(self, changes: list[Change[OverridePolicy]] | list[Change[ClusterOverridePolicy]]) -> None:
        """Look again at the bindings whose templates an override policy selects or selected."""
        if not all(informer.has_synced for informer in self._bindings.informers):
            return
        for change in changes:
            if change.initial:
                continue
            specs = [item.value.spec for item in (change.old, change.new) if item is not None]
            if len(specs) > 1 and specs[0] == specs[1]:
                continue
            namespace = change.key.namespace
            for bindings in self._bindings.informers[: 1 if namespace else None]:
                for key in meant(bindings, specs, namespace):
                    self._enqueue(BindingKey(*key))


def _readiness_changed(change: Change[Cluster]) -> bool:
    if change.old is None or change.new is None:
        return True
    return is_ready(change.old.value) != is_ready(change.new.value)


def _is_readable(item: Item[Any]) -> bool:
    try:
        return item.value is not None
    except DecodeError:
        return False


def spec_changed(change: Change[Any]) -> list[BindingKey]:
    """A binding that changed in something that its Works have: not in its status, which others write all the time, nor
    in its placement, which is the scheduler's until clusters come of it."""
    if change.old is not None and change.new is not None:
        before, after = change.old.value, change.new.value
        if before.metadata.deletion_timestamp == after.metadata.deletion_timestamp and (
            before.metadata.generation == after.metadata.generation or _is_for_the_scheduler(before.spec, after.spec)
        ):
            return []
    return [BindingKey(*change.key)]


def _is_for_the_scheduler(before: ResourceBindingSpec, after: ResourceBindingSpec) -> bool:
    """Whether two specs differ in their placement only, and Works have nothing of the difference."""
    same = msgspec.structs.replace(before, placement=after.placement) == after
    return same and is_divided(before.placement) == is_divided(after.placement)
