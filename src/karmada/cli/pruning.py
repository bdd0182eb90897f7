"""`apply --prune`: what was applied before and is in the files no more is deleted.

Only objects that were applied (they carry what was applied), that the selector chooses, in the namespaces of the files,
of the kinds named, and that have not been applied now.
"""

import asyncio
from typing import Any

from karmada.api.annotations import LAST_APPLIED_CONFIGURATION
from karmada.cli.deleting import until_gone
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.kinds import Wanted
from karmada.cli.reading import Look, objects
from karmada.cli.session import Session
from karmada.cli.writing import Named, dry_run, print_outcome
from karmada.machinery.discovery import ApiResource
from karmada.machinery.resource import Propagation

JSONObject = dict[str, Any]
USUAL = (
    ("v1", "ConfigMap"),
    ("v1", "Endpoints"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "PersistentVolume"),
    ("v1", "Pod"),
    ("v1", "ReplicationController"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("networking.k8s.io/v1", "Ingress"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
)


def check(flags: Values) -> None:
    """Refuse what would delete more than was meant."""
    if flags.prune and not flags.all and not flags.selector:
        raise CommandError(
            "all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all "
            "flag. If you did not mean to prune all resources, specify a label selector"
        )
    if flags.prune and flags.all and flags.selector:
        raise CommandError("cannot set --all and --selector at the same time")
    for text in flags.prune_allowlist:
        _split(text)


def _split(text: str) -> tuple[str, str]:
    """`apps/v1/Deployment` and `core/v1/Pod` as an API version and a kind."""
    words = text.split("/")
    if len(words) != 3:
        raise CommandError(f"invalid GroupVersionKind format: {text}, please follow <group/version/kind>")
    group, version, kind = words
    return (version if group in ("", "core") else f"{group}/{version}"), kind


async def prune(session: Session, flags: Values, namespaces: set[str], kept: set[str]) -> None:
    """Delete what the files have no more."""
    hub = session.hub(flags)
    chosen = [_split(text) for text in flags.prune_allowlist] or USUAL
    kinds = [await hub.kinds.of(*one) for one in chosen]
    places = [(kind, name) for kind in kinds if kind.namespaced for name in sorted(namespaces)]
    places += [(kind, "") for kind in kinds if not kind.namespaced]
    answers = await asyncio.gather(*(_applied(session, flags, kind, name, kept) for kind, name in places))
    found = [one for answer in answers for one in answer]
    dry = dry_run(flags)
    for named, item in found:
        if not dry.client:
            await hub.client.resource(named.kind.type).delete(
                named.name,
                named.namespace,
                propagation=Propagation(flags.cascade.title()),
                grace_seconds=flags.grace_period if flags.grace_period >= 0 else None,
                dry_run=dry.server,
            )
        print_outcome(session, flags, named, "pruned", item)
    if flags.wait and not dry.suffix:
        await until_gone(session, flags, [(named, str(item["metadata"]["uid"])) for named, item in found])


async def _applied(
    session: Session, flags: Values, kind: ApiResource, namespace: str, kept: set[str]
) -> list[tuple[Named, JSONObject]]:
    found = await objects(session.hub(flags), Wanted(kind), Look(namespace, flags.selector))
    return [
        (Named(kind, namespace, item["metadata"]["name"]), item)
        for item in found
        if LAST_APPLIED_CONFIGURATION in (item["metadata"].get("annotations") or {})
        and item["metadata"].get("uid") not in kept
        and not item["metadata"].get("deletionTimestamp")
    ]
