"""`karmadactl cordon`: a taint that keeps new workloads away."""

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.reading import CLUSTERS, named_cluster
from karmada.cli.session import Session
from karmada.cli.taints import UNSCHEDULABLE


async def run(session: Session, flags: Values) -> None:
    """Cordon a cluster."""
    await mark(session, flags, cordoned=True)


async def mark(session: Session, flags: Values, *, cordoned: bool) -> None:
    """Add or remove the taint."""
    if not flags.arguments:
        raise CommandError("cluster name is required")
    word = "cordoned" if cordoned else "uncordoned"
    hub = session.hub(flags)
    clusters = hub.client.resource(CLUSTERS)
    for name in flags.arguments:
        cluster = await named_cluster(hub, name)
        taints = list((cluster.get("spec") or {}).get("taints") or ())
        kept = [taint for taint in taints if (taint["key"], taint["effect"]) != (UNSCHEDULABLE, "NoSchedule")]
        if (len(kept) < len(taints)) == cordoned:
            session.print(f"{name} cluster already {word}")
            continue
        if cordoned:
            kept.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
        if not flags.dry_run:
            guard = {"resourceVersion": cluster["metadata"]["resourceVersion"]}
            await clusters.patch(name, {"metadata": guard, "spec": {"taints": kept}})
        session.print(f"{name} cluster {word}")


COMMAND = Command(
    "cordon",
    "CLUSTER",
    "Let no new workloads be placed on a cluster; those that are there stay.",
    run,
    (*common.CONNECTION, common.SWITCH_DRY_RUN),
    examples="karmadactl cordon member1",
    takes_members=True,
)
