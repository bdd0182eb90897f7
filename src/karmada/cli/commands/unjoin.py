"""`karmadactl unjoin`."""

import os

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.commands.join import MEMBER_FLAGS, member_context, one_at_a_time
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.progress import Waiting
from karmada.cli.session import Session

_REMEDY = "unjoin with the flags of join (--cluster-kubeconfig, --cluster-context) takes it away"


async def run(session: Session, flags: Values) -> None:
    """Take a cluster out."""
    if not flags.arguments:
        raise CommandError("cluster name is required")
    one_at_a_time(flags.arguments)
    from karmada.membership.unjoin import unjoin

    (name,) = flags.arguments
    member = None
    if flags.cluster_kubeconfig or flags.cluster_context or _has_context(session, name):
        member = session.outside(name, flags.cluster_kubeconfig, member_context(session, flags, name)).client
    hub = session.hub(flags).client
    options = {"space": flags.cluster_namespace, "force": flags.force, "wait": flags.wait}
    if flags.dry_run:
        await unjoin(hub, name, member, dry_run=True, **options)
        return
    with Waiting(session, f"waiting for cluster {name} to leave"):
        left = await unjoin(hub, name, member, **options)
    for line in left.behind:
        session.warn(f"left behind in {name}: {line}")
    session.print(f"cluster({name}) is unjoined successfully")
    if member is None:
        session.warn(f"the service account by which {name} was reached stays in it: {_REMEDY}")


def _has_context(session: Session, name: str) -> bool:
    """Whether the usual kubeconfig leads to the cluster under its name, as it did when it joined."""
    from karmada.machinery.http.kubeconfig import default_paths, load

    paths = default_paths("", session.environment)
    return any(map(os.path.isfile, paths)) and name in load(paths).contexts


COMMAND = Command(
    "unjoin",
    "CLUSTER_NAME --cluster-kubeconfig=<KUBECONFIG>",
    "Take a Push cluster out of the federation.\n\n"
    "What Karmada put there is removed from it. To remove the service account that join made, the cluster must be\n"
    "reached as it was then: by the same flags, or by a context of its name. --force releases a cluster that does\n"
    "not answer: what stays behind in it is listed.",
    run,
    (
        *common.CONNECTION,
        *MEMBER_FLAGS,
        common.SWITCH_DRY_RUN,
        Flag("force", False, "Release the cluster when it has not left in time, whatever stays behind in it."),
        common.waiting("wait", 60.0, "How long to wait for the cluster to leave."),
    ),
    examples="karmadactl unjoin member1 --cluster-kubeconfig=$HOME/.kube/member1.config",
    takes_members=True,
)
