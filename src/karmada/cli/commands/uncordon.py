"""`karmadactl uncordon`."""

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.commands.cordon import mark
from karmada.cli.flags import Values
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> None:
    """Take the taint away."""
    await mark(session, flags, cordoned=False)


COMMAND = Command(
    "uncordon",
    "CLUSTER",
    "Let workloads be placed on a cluster again.",
    run,
    (*common.CONNECTION, common.SWITCH_DRY_RUN),
    examples="karmadactl uncordon member1",
    takes_members=True,
)
