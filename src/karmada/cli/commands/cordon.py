"""`karmadactl cordon`: a taint that keeps new workloads away."""

from functools import partial

from karmada.api.taints import UNSCHEDULABLE
from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.reading import CLUSTERS, named_cluster
from karmada.cli.session import Session
from karmada.cli.taints import Taint, taints_of, write


async def run(session: Session, flags: Values) -> None:
    """Cordon a cluster."""
    await mark(session, flags, cordoned=True)


async def mark(session: Session, flags: Values, *, cordoned: bool) -> None:
    """Add or remove the taint."""
    if not flags.arguments:
        raise CommandError("cluster name is required")
    word = "cordoned" if cordoned else "uncordoned"
    hub = session.hub(flags)
    for name in flags.arguments:
        cluster = await named_cluster(hub, name)
        if any(map(_is_cordon, taints_of(cluster))) == cordoned:
            session.print(f"{name} cluster already {word}")
            continue
        if not flags.dry_run:
            await write(hub.client.resource(CLUSTERS), cluster, partial(_with_cordon, cordoned=cordoned))
        session.print(f"{name} cluster {word}")


def _with_cordon(taints: list[Taint], cordoned: bool) -> list[Taint]:
    kept = [taint for taint in taints if not _is_cordon(taint)]
    return [*kept, {"key": UNSCHEDULABLE, "effect": "NoSchedule"}] if cordoned else kept


def _is_cordon(taint: Taint) -> bool:
    return (taint["key"], taint["effect"]) == (UNSCHEDULABLE, "NoSchedule")


COMMAND = Command(
    "cordon",
    "CLUSTER",
    "Let no new workloads be placed on a cluster; those that are there stay.",
    run,
    (*common.CONNECTION, common.SWITCH_DRY_RUN),
    examples="karmadactl cordon member1",
    takes_members=True,
)
