"""`karmadactl unjoin`."""

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.commands.join import MEMBER_FLAGS
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.progress import Waiting
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> None:
    """Take a cluster out."""
    if not flags.arguments:
        raise CommandError("cluster name is required")
    from karmada.membership.unjoin import unjoin

    (name,) = flags.arguments
    member = None
    if flags.cluster_kubeconfig or flags.cluster_context:
        member = session.outside(name, flags.cluster_kubeconfig, flags.cluster_context or name).client
    hub = session.hub(flags).client
    options = {"space": flags.cluster_namespace, "force": flags.force, "wait": flags.wait}
    if flags.dry_run:
        await unjoin(hub, name, member, dry_run=True, **options)
        return
    with Waiting(session, f"waiting for cluster {name} to leave"):
        left = await unjoin(hub, name, member, **options)
    for line in left.behind:
        session.warn(f"left behind in {name}: {line}")


COMMAND = Command(
    "unjoin",
    "CLUSTER_NAME --cluster-kubeconfig=<KUBECONFIG>",
    "Take a Push cluster out of the federation.\n\n"
    "What Karmada put there is removed from it. --force lets go of a cluster that does not answer: what stays behind\n"
    "in it is listed.",
    run,
    (
        *common.CONNECTION,
        *MEMBER_FLAGS,
        common.SWITCH_DRY_RUN,
        Flag("force", False, "Let go of the cluster when it has not left in time, whatever stays behind in it."),
        common.waiting("wait", 60.0, "How long to wait for the cluster to leave."),
    ),
    examples="karmadactl unjoin member1 --cluster-kubeconfig=$HOME/.kube/member1.config",
    takes_members=True,
)
