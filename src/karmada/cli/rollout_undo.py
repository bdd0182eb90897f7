"""`karmadactl rollout undo`: gives a Deployment's template what an earlier revision in the members had.

The control plane keeps no revisions; members do, as ReplicaSets. Copies that override policies change are no source:
what they have is not what the template said. What one cluster says runs in all of them afterwards, so all others must
have had the same, unless whoever asks names the clusters whose word counts.
"""

import asyncio
from typing import Any, NamedTuple

from karmada.api import annotations, names
from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.kinds import Wanted
from karmada.cli.reading import in_time
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Scope

JSONObject = dict[str, Any]
REVISION = "deployment.kubernetes.io/revision"
_HASH = "pod-template-hash"
_OVERRIDES = (annotations.APPLIED_CLUSTER_OVERRIDES, annotations.APPLIED_OVERRIDES)


class Earlier(NamedTuple):
    """What a member had: the number of the revision there, the pods of that time, and whether overrides changed it."""

    cluster: str
    revision: int
    template: JSONObject
    overridden: bool


async def earlier(hub: Access, members: list[Access], wanted: Wanted, namespace: str, number: int) -> Earlier:
    """The revision to go back to: of that number, or with 0 the one before the current; members must agree."""
    found = await asyncio.gather(*(_of(hub, member, wanted, namespace, number) for member in members))
    kept = [one for one in found if one is not None]
    plain = [one for one in kept if not one.overridden]
    if not kept:
        target = f"revision {number}" if number else "an earlier revision"
        raise CommandError(f"no cluster has {target} of {wanted.name}: see karmadactl rollout history")
    if not plain:
        raise CommandError(
            f"the copies in {', '.join(one.cluster for one in kept)} are changed by override policies, so their "
            "revisions are not the template's: apply the earlier manifest"
        )
    for other in plain[1:]:
        if other.template != plain[0].template:
            raise CommandError(
                f"revision {plain[0].revision} in {plain[0].cluster} and revision {other.revision} in {other.cluster} "
                "differ: name a cluster with -C and a revision with --to-revision"
            )
    absent = [member.name for member, one in zip(members, found, strict=True) if one is None]
    if silent := [name for name in absent if not await _is_overridden(hub, name, wanted, namespace)]:
        raise CommandError(
            f"{', '.join(silent)} has not had revision {plain[0].revision} of {plain[0].cluster}, which would run "
            "there: see karmadactl rollout history, and name the clusters whose word counts with -C"
        )
    return plain[0]


async def _of(hub: Access, member: Access, wanted: Wanted, namespace: str, number: int) -> Earlier | None:
    sets = await in_time(member, member.resource("apps", "v1", "replicasets").list(Scope(namespace)))
    owned = sorted((item for item in sets.items if owner_of(item) == wanted.name), key=revision_of)
    chosen = [item for item in owned if revision_of(item) == number] if number else owned[-2:-1]
    if not chosen:
        return None
    template = _without_hash(chosen[0]["spec"]["template"])
    return Earlier(
        member.name, revision_of(chosen[0]), template, await _is_overridden(hub, member.name, wanted, namespace)
    )


async def _is_overridden(hub: Access, cluster: str, wanted: Wanted, namespace: str) -> bool:
    name = names.work_name(wanted.kind.kind, wanted.name, namespace)
    try:
        work = await hub.resource("work.karmada.io", "v1alpha1", "works").get(name, names.execution_space(cluster))
    except NotFound:
        return False
    noted = work["metadata"].get("annotations") or {}
    return any(noted.get(key) for key in _OVERRIDES)


def _without_hash(template: JSONObject) -> JSONObject:
    about = template.get("metadata") or {}
    labels = {key: value for key, value in (about.get("labels") or {}).items() if key != _HASH}
    return {**template, "metadata": {**about, "labels": labels}}


def owner_of(item: JSONObject) -> str:
    """The name of the controller that owns an object."""
    owners = item["metadata"].get("ownerReferences") or ()
    return next((str(owner["name"]) for owner in owners if owner.get("controller")), "")


def revision_of(item: JSONObject) -> int:
    """The revision that a ReplicaSet holds."""
    return int((item["metadata"].get("annotations") or {}).get(REVISION) or 0)
