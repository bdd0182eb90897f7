"""`karmadactl taint`."""

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.reading import CLUSTERS, named_cluster
from karmada.cli.session import Session
from karmada.cli.taints import Changes, Taint, change, parse, taints_of, write


async def run(session: Session, flags: Values) -> None:
    """Change the taints of clusters."""
    kind, *rest = flags.arguments or [""]
    if kind not in ("cluster", "clusters"):
        raise CommandError(f'invalid resource type "{kind}": only clusters have taints; write taint clusters NAME …')
    names = [word for word in rest if not _is_taint(word)]
    words = [word for word in rest if _is_taint(word)]
    if not names:
        raise CommandError("cluster name is required")
    if not words:
        raise CommandError("at least one taint update is required")
    wanted = parse(words)
    hub = session.hub(flags)
    for name in names:
        session.print(f"cluster/{name} {await _taint(hub, name, wanted, flags)}")


async def _taint(hub: Access, name: str, wanted: Changes, flags: Values) -> str:
    """Change the taints of one cluster; the word for what happened."""

    def decide(taints: list[Taint]) -> tuple[list[Taint], str]:
        return change(name, taints, wanted, flags.overwrite)

    cluster = await named_cluster(hub, name)
    _, word = decide(taints_of(cluster))
    if not flags.dry_run:
        await write(hub.client.resource(CLUSTERS), cluster, lambda taints: decide(taints)[0])
    return word


def _is_taint(word: str) -> bool:
    return "=" in word or ":" in word or word.endswith("-")


COMMAND = Command(
    "taint",
    "CLUSTER NAME KEY_1=VAL_1:TAINT_EFFECT_1 ... KEY_N=VAL_N:TAINT_EFFECT_N",
    "Change the taints of clusters.\n\n"
    "NoSchedule keeps new workloads away; NoExecute also moves those that do not tolerate it.",
    run,
    (
        *common.CONNECTION,
        common.SWITCH_DRY_RUN,
        Flag("overwrite", False, "Replace taints that exist with another value."),
    ),
    examples="""
karmadactl taint clusters member1 dedicated=batch:NoSchedule
karmadactl taint clusters member1 dedicated:NoSchedule-
""",
    takes_members=True,
)
