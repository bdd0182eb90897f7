"""The one way to write a Work that carries an object to a member, or from it.

A controller describes the Work with `work_for` and hands it to a `WorkWriter`, which merges it into what is there with
one guarded patch, or creates it; nothing is written when nothing differs.
"""

from collections.abc import Callable, Mapping, Sequence

from karmada.api import finalizers, names
from karmada.api.meta import ObjectMeta, OwnerReference
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.created_works import CreatedWorks
from karmada.machinery.client import Client
from karmada.machinery.committer import Committer, Created, Written
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Item
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.works.build import Draft, WorkTerminating
from karmada.works.owner import WorkOfAnother

WRITE_ERRORS = (ApiError, WorkTerminating, WorkOfAnother)
"""What `WorkWriter.write` raises: each fails the Work of one cluster only."""
Merge = Callable[[Work | None], Work]
"""From the Work that is there, or None, to the Work as it should be."""


def work_for(
    cluster: str,
    manifest: JSONObject,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: OwnerReference | None = None,
    holds: Sequence[str] = (finalizers.WORK,),
    suspended: bool | None = None,
    name: str = "",
) -> Draft:
    """A Work in a cluster's execution space, called after the object it carries unless `name` says otherwise.

    `manifest` is taken over and changed. `holds` are its finalizers. A `suspended` Work is not dispatched.
    """
    metadata = manifest["metadata"]
    work = ObjectMeta(
        name=name or names.work_name(manifest["kind"], metadata["name"], metadata.get("namespace", "")),
        namespace=names.execution_space(cluster),
        finalizers=tuple(holds),
        labels=dict(labels or {}),
        annotations=dict(annotations or {}),
        owner_references=(owner,) if owner is not None else (),
    )
    return Draft(work, manifest, suspend_dispatching=suspended, preserve_resources_on_deletion=None)


def owners_of_kind(kind: str, work: Item[Work]) -> list[str]:
    """The names of a Work's owners of a kind; none of one that cannot be read."""
    try:
        references = work.value.metadata.owner_references
    except ValueError:
        return []
    return [reference.name for reference in references if reference.kind == kind]


class WorkWriter:
    """Writes and deletes Works, starting from what the informer of Works shows."""

    def __init__(self, client: Client, works: Informer[Work], created: CreatedWorks | None = None) -> None:
        """`created`: where to note the Works that are created."""
        self._works = works
        self._created = created
        self._commit = Committer(client.of(Work))

    async def write(self, draft: Draft, merge: Merge | None = None, seen: Work | None = None) -> bool:
        """Make the Work what the draft says; whether it had to be written. Raises `WRITE_ERRORS`.

        `merge` replaces `draft.merged`, for who keeps more of the Work that is there; `seen` replaces what the informer
        shows.
        """
        which = draft.metadata
        known = seen if seen is not None else self._works.get(which.name, which.namespace)
        outcome = await self._commit.ensure(which.name, which.namespace, merge or draft.merged, known)
        if self._created is not None and isinstance(outcome, Created):
            self._created.add(outcome.value.metadata.uid)
        return isinstance(outcome, Created | Written)

    async def update(self, work: Work, decide: Callable[[Work], Work]) -> bool:
        """Make a Work that is there what `decide` says; whether it had to be written."""
        return isinstance(await self._commit.commit(work, decide), Written)

    async def remove(self, work: Work, unwanted: Callable[[Work], bool] = lambda _: True) -> None:
        """Delete a Work if it is unwanted in the very state it has then; one that is going already is left."""
        if work.metadata.deletion_timestamp is None:
            await self._commit.remove(work, unwanted)
