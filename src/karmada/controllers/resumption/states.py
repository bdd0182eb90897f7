"""The states of the objects of a group, as one digest: equal only if nothing in any of them differs.

An object's state is its uid, its resourceVersion and a checksum of its content: a server that was restored from a
backup may come to a resourceVersion for the second time. Of a cluster counts what Works and their way there depend on;
its report about itself changes all the time. A cluster that is not ready, or whose objects are not known, has no state:
what happens there has not been followed.
"""

from hashlib import blake2b
from typing import Any
from zlib import crc32

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.config.v1alpha1 import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from karmada.api.names import execution_space
from karmada.api.policy.v1alpha1 import (
    ClusterOverridePolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    PropagationPolicy,
)
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.bindings import OF_BINDING, BindingKey
from karmada.controllers.clusters import is_ready
from karmada.controllers.context import Context
from karmada.controllers.member_watches import MemberWatches
from karmada.controllers.resumption.group import Group
from karmada.controllers.templates import Templates
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.connections import MANAGED

SIZE = 16
"""Bytes of a digest."""


class States:
    """Reads the states of groups from the caches that controllers share."""

    def __init__(self, context: Context, templates: Templates, copies: MemberWatches) -> None:
        of = context.informers.of
        self._templates = templates
        self._copies = copies
        self.bindings = of(ResourceBinding)
        self.works = of(Work)
        self.clusters = of(Cluster)
        self.policies, self.wide_policies = of(PropagationPolicy), of(ClusterPropagationPolicy)
        self.overrides, self.wide_overrides = of(OverridePolicy), of(ClusterOverridePolicy)
        self.scripts = of(ResourceInterpreterCustomization)
        self.webhooks = of(ResourceInterpreterWebhookConfiguration)
        self._around: dict[str, bytes] = {}
        """By namespace: what is the same for all groups in it."""
        self._facts: dict[str, tuple[str, bytes]] = {}
        """By cluster: the state it was looked at in, and what of it counts."""
        for informer in (self.overrides, self.wide_overrides, self.scripts):
            informer.add_handler(self._changed)

    @property
    def informers(self) -> tuple[Informer[Any], ...]:
        """What has to be loaded before anything can be said, beside templates and members' objects."""
        policies = (self.policies, self.wide_policies, self.overrides, self.wide_overrides)
        return self.bindings, self.works, self.clusters, *policies, self.scripts, self.webhooks

    def digest(self, key: BindingKey, group: Group) -> bytes | None:
        """The states of a group; None where one of its objects is missing or not known, or where a webhook may answer
        otherwise from one time to the next."""
        which = Key(key.namespace, group.name)
        binding = self.bindings.item(Key(*key))
        template = self._item(self._templates.cached(group.type), which)
        policy = self.policy(group.policy)
        if binding is None or template is None or policy is None or self.webhooks.all_items():
            return None
        parts = [self._surroundings(key.namespace), *map(state_of, (binding, template, policy))]
        works = self.works.indexed_items(OF_BINDING, group.permanent_id)
        if len(works) != len(group.clusters):
            return None
        found = {work.key: work for work in works}
        for name in group.clusters:
            work = found.get(Key(execution_space(name), group.work))
            copy, facts = self.copy(name, group.type, which), self._cluster(name)
            if work is None or copy is None or facts is None:
                return None
            parts += (state_of(work), state_of(copy), facts)
        return blake2b(b"\0".join(parts), digest_size=SIZE).digest()

    def policy(self, key: Key) -> Item[PropagationPolicy] | Item[ClusterPropagationPolicy] | None:
        """A policy, cluster-wide without a namespace."""
        return self.policies.item(key) if key.namespace else self.wide_policies.item(key)

    def copy(self, cluster: str, type_: GroupVersionResource, key: Key) -> Item[JSONObject] | None:
        """An object in a member, if what Karmada manages there is followed."""
        return self._item(self._copies.of(cluster, type_, MANAGED), key)

    def is_open(self, name: str) -> bool:
        """Whether the control plane itself brings Works to a cluster now."""
        return self._cluster(name) is not None

    @staticmethod
    def _item(informer: Informer[JSONObject] | None, key: Key) -> Item[JSONObject] | None:
        return informer.item(key) if informer is not None and informer.has_synced else None

    def _cluster(self, name: str) -> bytes | None:
        item = self.clusters.item(Key("", name))
        if item is None:
            return None
        known = self._facts.get(name)
        if known is None or known[0] != item.resource_version:
            known = self._facts[name] = (item.resource_version, _facts(item.value))
        return known[1] or None

    def _surroundings(self, namespace: str) -> bytes:
        known = self._around.get(namespace)
        if known is None:
            scripts, wide = self.scripts.all_items(), self.wide_overrides.all_items()
            items: list[Item[Any]] = [*self.overrides.all_items(namespace), *wide, *scripts]
            states = sorted(b"%s %s" % (str(item.key).encode(), state_of(item)) for item in items)
            known = self._around[namespace] = blake2b(b"\0".join(states), digest_size=SIZE).digest()
        return known

    def _changed(self, changes: list[Change[Any]]) -> None:
        self._around.clear()


def state_of(item: Item[Any]) -> bytes:
    """Which state of which object an item is."""
    return b"%s %s %d" % (item.uid.encode(), item.resource_version.encode(), crc32(item.body))


def _facts(cluster: Cluster) -> bytes:
    """What of a cluster decides about Works and the way there; taints come and go, and are the scheduler's. Empty for
    one that takes no Works from here."""
    if cluster.spec.sync_mode != "Push" or not is_ready(cluster) or cluster.metadata.deletion_timestamp is not None:
        return b""
    spec = msgspec.structs.replace(cluster.spec, taints=())
    labels = sorted(cluster.metadata.labels.items())
    return msgspec.json.encode((cluster.metadata.uid, labels, spec))
