"""Takes the objects of Works out of a member, or leaves them to it without any trace of Karmada.

Only what Karmada manages is touched, and only in the state it was seen in. An object that another Work has taken over
is that one's.
"""

from collections.abc import Iterable

import orjson

from karmada.controllers.drift import AppliedVersions, ObjectKey
from karmada.controllers.metrics import SUCCESS, PipelineMetrics, labels_of
from karmada.machinery.codec import TREE, untrusted_tree
from karmada.machinery.discovery import ApiResource, UnknownKind, split_api_version
from karmada.machinery.errors import NotFound
from karmada.machinery.informers.cache import Key
from karmada.machinery.resource import Propagation, Resource
from karmada.machinery.transport import JSONObject
from karmada.membership.members import Member
from karmada.works.member import is_owned, of_another_work, released


class MemberDeletion:
    """Deletes the objects of Works from a member, or releases them without any mark of Karmada."""

    def __init__(self, metrics: PipelineMetrics, versions: AppliedVersions) -> None:
        self._metrics = metrics
        self._versions = versions

    async def delete(self, manifest: JSONObject, member: Member) -> None:
        """Have the object that a manifest made deleted."""
        found = await _ours(manifest, member)
        if found is not None:
            await self._delete(*found, member, Propagation.BACKGROUND)

    async def stop(self, manifest: JSONObject, member: Member) -> bool:
        """Have the object deleted after all that it owns; whether it is gone, and with it all that ran."""
        found = await _ours(manifest, member)
        if found is None:
            return True
        if not found[0]["metadata"].get("deletionTimestamp"):
            await self._delete(*found, member, Propagation.FOREGROUND)
        return await _ours(manifest, member) is None

    async def _delete(
        self, observed: JSONObject, collection: Resource[bytes], member: Member, propagation: Propagation
    ) -> None:
        state = TREE.identity(observed)
        self._versions.forget(ObjectKey(member.name, collection.type, Key(state.namespace, state.name)))
        try:
            await collection.delete(state.name, state.namespace, only_if=state, propagation=propagation)
        except NotFound:
            return
        self._metrics.deleted[labels_of(SUCCESS, observed, member.name)] += 1

    async def release(self, manifest: JSONObject, member: Member) -> None:
        """Leave the object that a manifest made to the member."""
        found = await _ours(manifest, member)
        if found is not None:
            observed, collection = found
            await collection.update(orjson.dumps(released(observed)))


async def _ours(manifest: JSONObject, member: Member) -> tuple[JSONObject, Resource[bytes]] | None:
    """The member's object that a manifest made, and its collection."""
    mapper, metadata = member.client.mapper, manifest["metadata"]
    try:
        served = await mapper.of_kind(manifest["apiVersion"], manifest["kind"])
    except UnknownKind:
        group, _ = split_api_version(manifest["apiVersion"])
        is_stale = manifest["apiVersion"] in mapper.stale
        found = None if is_stale else _in_another_version(mapper.known, group, manifest["kind"])
        if found is None:
            if any(split_api_version(version)[0] == group for version in mapper.stale):
                raise  # it may be in a version of which the member says nothing right now
            return None  # objects go with their kind, and a Work of one that was never served must not stay for ever
        served = found
    collection = member.client.encoded(served.type)
    try:
        observed = untrusted_tree(await collection.get(metadata["name"], metadata.get("namespace", "")))
    except NotFound:
        return None
    return (observed, collection) if is_owned(manifest, observed) and not of_another_work(manifest, observed) else None


def _in_another_version(known: Iterable[ApiResource], group: str, kind: str) -> ApiResource | None:
    """A kind as the member serves it since it ended the version of a manifest: the objects are the same."""
    return next((each for each in known if (each.type.group, each.kind) == (group, kind)), None)
