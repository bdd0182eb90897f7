"""Unjoin: take a push cluster out of the federation, and what joining left out of the member.

It always ends. The control plane empties the cluster's execution space, which takes Karmada's objects out of a member
that can be reached; a member that stays unreachable becomes not ready, and is released without it. Whoever cannot wait
forces it: then the finalizers are taken off, and what stays behind in the member is said.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from karmada.api import conditions, finalizers, labels, names
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.committer import Committer
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects
from karmada.membership.credentials import cluster_id
from karmada.membership.refusal import Refused, Unfinished

WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
OF_WORKS = (finalizers.WORK, finalizers.ENDPOINT_SLICE, finalizers.ENDPOINT_SLICE_DISPATCH)
COLLECTED = {labels.ENDPOINT_SLICE_MANAGED_BY, labels.MULTI_CLUSTER_SERVICE_NAME}
"""Labels of Works that hold what was collected in a member, or only mark it: nothing dispatches them."""
PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Left:
    """How it ended: what could not be taken away, as lines for the person who asked; empty when nothing remains."""

    behind: tuple[str, ...] = ()


async def unjoin(
    hub: Client,
    name: str,
    member: Client | None = None,
    *,
    space: str = names.CLUSTER_NAMESPACE,
    force: bool = False,
    wait: float = 60.0,
    dry_run: bool = False,
    clock: Clock = REAL,
) -> Left:
    """Take a cluster out. Without a client for it, nothing is cleaned up in the member beyond its Works."""
    cluster = await registered(hub, name)
    if cluster["spec"].get("syncMode") == "Pull":
        raise Refused(
            f"cluster {name} is a Pull mode member cluster, please use command `unregister` "
            "if you want to continue unregistering the cluster"
        )
    if member is not None:
        await check_same(member, cluster)
    if dry_run:
        return Left()
    behind = await remove_cluster(hub, name, force=force, wait=wait, clock=clock)
    if member is not None:
        behind += await clean_member(hub, member, name, space, force)
    return Left(tuple(behind))


async def registered(hub: Client, name: str) -> JSONObject:
    """The Cluster of a member."""
    try:
        return await hub.resource(objects.CLUSTERS).get(name)
    except NotFound:
        raise Refused(f"no cluster object {name} found in karmada control Plane") from None


async def check_same(member: Client, cluster: JSONObject) -> None:
    """Refuse to clean up in a cluster that is not the one that leaves; one that does not answer is not asked."""
    known = cluster["spec"].get("id", "")
    try:
        identity = await cluster_id(member)
    except ApiError:
        return
    if known and identity != known:
        name = cluster["metadata"]["name"]
        raise Refused(
            f"the kubeconfig given leads to another cluster (ID {identity}) than {name} (ID {known}): "
            "check --cluster-kubeconfig and --cluster-context"
        )


async def remove_cluster(hub: Client, name: str, *, force: bool, wait: float, clock: Clock) -> list[str]:
    """Delete a Cluster and see it off; returns what stays behind in the member when it was forced or is not ready."""
    clusters = hub.resource(objects.CLUSTERS)
    until = clock.monotonic() + wait
    seen: JSONObject = {}
    held: list[str] = []
    try:
        seen, held = await clusters.get(name), await _dispatched(hub, name)
        await clusters.delete(name)
        while clock.monotonic() < until:
            seen = await clusters.get(name)
            await clock.sleep(PAUSE)
    except NotFound:
        return held if _is_lost(seen) else []  # Works of a member that is not ready are released without it
    if not force:
        reasons = await _obstacles(hub, name)
        raise Unfinished(
            f"cluster {name} has not left within {wait:g} s: {reasons}. It goes on leaving by itself; "
            "with --force it is released at once and its objects stay in the member"
        )
    behind = await _strip_works(hub, name)
    await _strip(hub, objects.CLUSTERS, name, "", finalizers.CLUSTER)
    return held if _is_lost(seen) else behind


async def clean_member(hub: Client, member: Client, name: str, space: str, force: bool) -> list[str]:
    """Take away what joining made in the member; the namespace only when nobody else uses it."""
    account = names.member_service_account(name)
    role = names.member_role(account)
    wanted = [
        (objects.CLUSTER_ROLE_BINDINGS, role, ""),
        (objects.CLUSTER_ROLES, role, ""),
        (objects.SERVICE_ACCOUNTS, account, space),
    ]
    behind: list[str] = []
    try:
        for type_, what, where in wanted:
            await discard(member, type_, what, where)
        if await _is_unused(hub, member, space):
            await discard(member, objects.SERVICE_ACCOUNTS, names.IMPERSONATOR, space)
            await discard(member, objects.NAMESPACES, space)
    except ApiError as error:
        if not force:
            raise Unfinished(f"cluster {name} has left, but its member could not be cleaned up: {error}") from error
        behind = [f"{type_.resource}/{what}" for type_, what, _ in wanted] + [f"namespaces/{space}"]
    return behind


async def discard(client: Client, type_: GroupVersionResource, name: str, space: str = "") -> None:
    """Delete an object that may be gone already."""
    try:
        await client.resource(type_).delete(name, space)
    except NotFound:
        return


async def _is_unused(hub: Client, member: Client, space: str) -> bool:
    """Whether the namespace in the member is Karmada's own and holds no account of another federation."""
    if await cluster_id(hub) == await cluster_id(member):
        return False
    try:
        found = await member.resource(objects.NAMESPACES).get(space)
    except NotFound:
        return False
    if (found["metadata"].get("labels") or {}).get(labels.SYSTEM) != labels.TRUE:
        return False
    accounts = (await member.resource(objects.SERVICE_ACCOUNTS).list(Scope(space))).items
    return {account["metadata"]["name"] for account in accounts} <= {"default", names.IMPERSONATOR}


async def _obstacles(hub: Client, name: str) -> str:
    space = names.execution_space(name)
    works = await _works(hub, name)
    if works:
        shown = ", ".join(work["metadata"]["name"] for work in works[:3])
        more = f" and {len(works) - 3} more" if len(works) > 3 else ""
        return f"its member does not delete the objects of {len(works)} Works in {space} ({shown}{more})"
    return "workloads are still bound to it"


async def _strip_works(hub: Client, name: str) -> list[str]:
    """Release the cluster's Works; returns the objects in the member that stay there."""
    space = names.execution_space(name)
    works = await _works(hub, name)
    for work in works:
        await _strip(hub, WORKS, work["metadata"]["name"], space, *OF_WORKS)
        await discard(hub, WORKS, work["metadata"]["name"], space)
    await discard(hub, objects.NAMESPACES, space)
    return _held(works)


async def _works(hub: Client, name: str) -> list[JSONObject]:
    return (await hub.resource(WORKS).list(Scope(names.execution_space(name)))).items


async def _dispatched(hub: Client, name: str) -> list[str]:
    """The objects that were dispatched to a cluster; who may not list them can have it leave all the same."""
    try:
        return _held(await _works(hub, name))
    except ApiError as error:
        return [f"what its Works brought there, which could not be listed: {error}"]


def _held(works: Iterable[JSONObject]) -> list[str]:
    """The objects in a member that Works are for, as people read them; what was collected there is the member's own."""
    held = []
    for work in works:
        if work["spec"].get("suspendDispatching") and COLLECTED & (work["metadata"].get("labels") or {}).keys():
            continue
        for manifest in (work.get("spec") or {}).get("workload", {}).get("manifests") or ():
            metadata = manifest.get("metadata") or {}
            where = names.namespaced_key(metadata.get("namespace", ""), metadata.get("name", ""))
            held.append(f"{manifest.get('kind', '')} {where}")
    return held


def _is_lost(cluster: JSONObject) -> bool:
    """Whether a cluster is not ready any more; in one that has never reported nothing was put."""
    found = (cluster.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == conditions.READY and condition["status"] != "True" for condition in found)


async def _strip(hub: Client, type_: GroupVersionResource, name: str, space: str, *own: str) -> None:
    """Take finalizers of Karmada's own off an object; those of others stay."""
    resource = hub.resource(type_)
    try:
        found = await resource.get(name, space)
    except NotFound:
        return

    def decide(current: JSONObject) -> JSONObject:
        kept = [item for item in current["metadata"].get("finalizers") or () if item not in own]
        return {**current, "metadata": {**current["metadata"], "finalizers": kept}}

    await Committer(resource).commit(found, decide)
