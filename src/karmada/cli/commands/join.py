"""`karmadactl join`."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.session import Session

if TYPE_CHECKING:
    from karmada.cli.access import Access

MEMBER_FLAGS = (
    Flag("cluster-kubeconfig", "", "Path of the kubeconfig of the cluster."),
    Flag("cluster-context", "", "Context of the cluster in its kubeconfig."),
    Flag("cluster-namespace", "karmada-cluster", "Namespace of Karmada's own objects about the cluster."),
)
DESCRIPTION_FLAGS = (
    Flag("cluster-provider", "", "Provider of the cluster."),
    Flag("cluster-region", "", "Region of the cluster."),
    Flag("cluster-zones", [], "Zones of the cluster."),
)


async def run(session: Session, flags: Values) -> None:
    """Make a cluster a member."""
    if not flags.arguments:
        raise CommandError("cluster name is required")
    one_at_a_time(flags.arguments)
    from karmada.membership.join import describe, join, joined_line
    from karmada.membership.registration import check_name

    (name,) = flags.arguments
    check_name(name)
    member = session.outside(name, flags.cluster_kubeconfig, member_context(session, flags, name))
    about = describe(
        name,
        member.target,
        namespace=flags.cluster_namespace,
        provider=flags.cluster_provider,
        region=flags.cluster_region,
        zones=",".join(flags.cluster_zones),
    )
    await _check_answers(member)
    await join(member.client, session.hub(flags).client, about, dry_run=flags.dry_run)
    if not flags.dry_run:
        session.print(joined_line(name))


def one_at_a_time(names: Sequence[str]) -> None:
    """Refuse more than one cluster."""
    if len(names) > 1:
        raise CommandError(f"one cluster at a time: {names[0]} or {names[1]}?")


async def _check_answers(member: "Access") -> None:
    """Refuse a member that cannot be talked to, so that nobody looks for the fault in the control plane."""
    from karmada.explain.connection import connection
    from karmada.machinery.errors import Timeout, Unavailable

    try:
        await member.transport.raw("GET", "/version")
    except (Timeout, Unavailable) as error:
        if error.status:
            raise
        raise CommandError(f"cluster {member.name} does not answer: {connection(error, member.name)}") from None


def member_context(session: Session, flags: Values, name: str) -> str:
    """The context of a member: the one given, one named like it, or the current one of a kubeconfig of its own."""
    from karmada.machinery.http.kubeconfig import default_paths, load

    if flags.cluster_context or not flags.cluster_kubeconfig:
        return str(flags.cluster_context or name)
    paths = default_paths(flags.cluster_kubeconfig, session.environment)
    if not any(map(os.path.isfile, paths)):
        return ""
    return name if name in load(paths).contexts else ""


COMMAND = Command(
    "join",
    "CLUSTER_NAME --cluster-kubeconfig=<KUBECONFIG>",
    "Make a cluster a member that the control plane reaches by itself (Push mode).\n\n"
    "In the cluster it leaves a service account by which the control plane gets in; `unjoin` takes it away again.",
    run,
    (
        *common.CONNECTION,
        *MEMBER_FLAGS,
        *DESCRIPTION_FLAGS,
        common.SWITCH_DRY_RUN,
        Flag("karmada-as", "", "User to act as in the control plane."),
        Flag("karmada-as-group", [], "Groups to act as in the control plane.", repeated=True),
        Flag("karmada-as-uid", "", "UID to act as in the control plane."),
    ),
    examples="""
karmadactl join member1 --cluster-kubeconfig=$HOME/.kube/member1.config
karmadactl join member1 --cluster-kubeconfig=$HOME/.kube/all.config --cluster-context=kind-member1
""",
)
