"""`karmadactl unregister`."""

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.commands.join import MEMBER_FLAGS, member_context, one_at_a_time
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.progress import Waiting
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> None:
    """Take a Pull cluster out."""
    if not flags.arguments:
        raise CommandError("invalid cluster name(): must be not empty")
    one_at_a_time(flags.arguments)
    if not flags.cluster_kubeconfig:
        raise CommandError(
            "--cluster-kubeconfig is required to specify KUBECONFIG file path to access unregistering member cluster"
        )
    from karmada.membership.unregister import unregister

    (name,) = flags.arguments
    member = session.outside(name, flags.cluster_kubeconfig, member_context(session, flags, name)).client
    hub = session.outside("hub", flags.karmada_config, flags.karmada_context).client
    if flags.dry_run:
        await unregister(hub, member, name, agent_space=flags.namespace, space=flags.cluster_namespace, dry_run=True)
        return
    with Waiting(session, f"waiting for cluster {name} to leave"):
        left = await unregister(
            hub,
            member,
            name,
            agent_space=flags.namespace,
            agent=flags.agent_name,
            space=flags.cluster_namespace,
            force=flags.force,
            wait=flags.wait,
        )
    for line in left.behind:
        session.warn(f"left behind in {name}: {line}")


COMMAND = Command(
    "unregister",
    "CLUSTER_NAME",
    "Take a Pull cluster out of the federation, and its agent out of the cluster.",
    run,
    (
        *MEMBER_FLAGS,
        Flag("agent-name", "karmada-agent", "Name of the agent's Deployment."),
        Flag("karmada-config", "", "Path of the kubeconfig of the control plane."),
        common.KARMADA_CONTEXT,
        Flag("namespace", "karmada-system", "Namespace of the agent.", "n"),
        common.SWITCH_DRY_RUN,
        Flag("force", False, "Release the cluster when it has not left in time, whatever stays behind in it."),
        common.waiting("wait", 60.0, "How long to wait for the cluster to leave."),
    ),
    examples="karmadactl unregister member1 --cluster-kubeconfig=member1.config --karmada-config=karmada.config",
)
