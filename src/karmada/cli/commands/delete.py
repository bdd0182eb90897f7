"""`karmadactl delete`."""

from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.deleting import until_gone
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tables import spelled_kind
from karmada.cli.session import Session
from karmada.cli.writing import Named, chosen, dry_run, refused
from karmada.machinery.errors import ApiError, NotFound

_CASCADES = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}


async def run(session: Session, flags: Values) -> int:
    """Delete what was named, and wait until it is gone."""
    hub = session.hub(flags)
    if flags.raw:
        session.out.write((await hub.transport.raw("DELETE", flags.raw)).decode())
        return 0
    if flags.all_namespaces and len(flags.arguments) > 1:
        raise CommandError("a resource cannot be retrieved by name across all namespaces")
    wanted = await chosen(hub, flags, flags.arguments)
    if not wanted:
        session.warn("No resources found")
        return 0
    if flags.interactive and not _agreed(session, wanted):
        session.print("deletion is cancelled")
        return 0
    failures: list[tuple[Named, ApiError]] = []
    deleted: list[tuple[Named, str]] = []
    for one in wanted:
        try:
            deleted.append((one, await _delete(session, flags, one)))
        except ApiError as error:
            if not error.status:
                raise
            if not (isinstance(error, NotFound) and flags.ignore_not_found):
                failures.append((one, error))
    if flags.wait and not dry_run(flags).suffix:
        await until_gone(session, flags, deleted)
    for one, failure in failures:
        await refused(session, hub, one, failure, "deleting")
    return int(bool(failures))


async def _delete(session: Session, flags: Values, one: Named) -> str:
    """Delete one object; its uid."""
    from karmada.machinery.resource import Propagation

    resource = one.resource(session.hub(flags), flags)
    dry = dry_run(flags)
    if flags.cascade not in _CASCADES:
        raise CommandError(f"invalid cascade value ({flags.cascade}). Must be background, foreground, or orphan")
    grace = 0 if flags.force and flags.grace_period < 0 else 1 if flags.now else flags.grace_period
    live: dict[str, Any] = await resource.get(one.name, one.namespace)
    if not dry.client:
        await resource.delete(
            one.name,
            one.namespace,
            propagation=Propagation(_CASCADES[flags.cascade]),
            grace_seconds=grace if grace >= 0 else None,
            dry_run=dry.server,
        )
    if flags.output == "name":
        session.print(one.spelled)
    else:
        where = f" from {one.namespace} namespace" if one.namespace else ""
        word = "force deleted" if flags.force else "deleted"
        session.print(f'{spelled_kind(one.kind)} "{one.name}" {word}{where}{dry.suffix}')
    return str(live["metadata"].get("uid", ""))


def _agreed(session: Session, wanted: list[Named]) -> bool:
    session.print("You are about to delete the following resource(s):")
    for one in wanted:
        session.print(one.spelled)
    session.out.write("Do you want to continue? (y/N): ")
    session.out.flush()
    return session.stdin.readline().strip().lower() in ("y", "yes")


COMMAND = Command(
    "delete",
    "([-f FILENAME] | [-k DIRECTORY] | TYPE [(NAME | -l label | --all)])",
    "Delete objects of the control plane by file, name or selector. What was propagated goes with its template.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        common.ALL_NAMESPACES,
        *common.FILES,
        common.SELECTOR,
        common.FIELD_SELECTOR,
        common.DRY_RUN,
        Flag("all", False, "Delete all objects of the kind in the namespace."),
        Flag("cascade", "background", "background, foreground or orphan.", bare="background"),
        Flag("force", False, "Do not wait for a graceful end."),
        Flag("grace-period", -1, "Seconds that objects get to end; negative: as they say themselves."),
        Flag("ignore-not-found", False, "Take objects that do not exist as no failure."),
        Flag("interactive", False, "Ask first.", "i"),
        Flag("now", False, "The same as --grace-period=1."),
        Flag("output", "", "name prints names only.", "o"),
        Flag("raw", "", "A path to delete on the server, as it is."),
        common.waiting("timeout", 0.0, "How long to wait; 0 waits as long as it takes."),
        Flag("wait", True, "Wait until the objects are gone."),
    ),
    examples="""
karmadactl delete deployment nginx
karmadactl delete -f deployment.yaml
""",
)
