"""The comparison of records with what a start finds.

It waits for what records are about: collections of the control plane, kinds of templates, and objects in members, which
are followed here as the controllers do. What is not known in time has no state, and is looked at as after any start.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping

from karmada.api.names import execution_space
from karmada.controllers.bindings import BindingKey
from karmada.controllers.drift import ObjectKey
from karmada.controllers.resumption.group import Group, Record
from karmada.controllers.resumption.parts import Controllers
from karmada.controllers.resumption.states import States
from karmada.machinery.discovery import UnknownKind
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import GroupVersionResource
from karmada.machinery.workqueue.initial_load import turns
from karmada.membership.members import MemberUnavailable

PATIENCE = 60.0
"""Seconds that members and kinds have to show what they have, unless it is known that they cannot: a large member takes
long on a busy machine, and to look at all its objects takes longer."""
TURN = 16
"""Bindings that are compared before others get their turn."""
Kind = tuple[GroupVersionResource, str, str]
"""A kind as the control plane serves it and as bindings name it: its apiVersion and kind."""


async def compare(states: States, controllers: Controllers, records: Mapping[BindingKey, Record]) -> None:
    """Have controllers leave alone what is as it was left."""
    kinds: set[Kind] = {(one.group.type, one.group.api_version, one.group.kind) for one in records.values()}
    clusters = {name for one in records.values() for name in one.group.clusters}
    await asyncio.gather(
        *(_templates(controllers, kind) for kind in kinds),
        *(_member(states, controllers, name, kinds) for name in sorted(clusters)),
    )
    for number, (key, record) in enumerate(records.items(), 1):
        if states.digest(key, record.group) == record.digest:
            _settle(states, controllers, key, record.group)
        if not number % TURN:
            await turns().next()


async def _templates(controllers: Controllers, kind: Kind) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await controllers.templates.followed(kind[0])


async def _member(states: States, controllers: Controllers, name: str, kinds: Iterable[Kind]) -> None:
    cluster = states.clusters.get(name)
    if cluster is None or not states.is_open(name):
        return
    with contextlib.suppress(TimeoutError, ApiError, UnknownKind, MemberUnavailable):
        async with asyncio.timeout(PATIENCE):
            member = await controllers.members.connect(cluster)
            for type_, api_version, kind in kinds:
                served = await member.client.mapper.of_kind(api_version, kind)
                if served.type != type_:
                    continue
                informer = member.managed(type_)
                while not await informer.is_loaded(1.0) and informer.reflector.failure is None:
                    pass
                if informer.has_synced:
                    # What was loaded is compared; a Work that is not as it was left waits for its turn already.
                    controllers.execution.following.follow(name, type_, informer, replay=False)
                    controllers.work_status.following.follow(name, type_, informer, replay=False)


def _settle(states: States, controllers: Controllers, key: BindingKey, group: Group) -> None:
    which = Key(key.namespace, group.name)
    controllers.settle(key, group)
    for name in group.clusters:
        work = states.works.item(Key(execution_space(name), group.work))
        copy = states.copy(name, group.type, which)
        assert work is not None
        assert copy is not None
        controllers.settle_work(work, ObjectKey(name, group.type, which), copy)
