"""Unregister: take a pull cluster out of the federation, and its agent out of the member.

The agent stays until the Cluster is gone, as it is what empties the member. An agent that is gone already is no
obstacle: the control plane lets its Works go once it is known to be silent, or at once with `force`.
"""

from karmada.api import names
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError
from karmada.membership import objects
from karmada.membership.agent_roles import agent_roles
from karmada.membership.refusal import Refused
from karmada.membership.register import AGENT, remove_agent
from karmada.membership.unjoin import Left, check_same, clean_member, discard, registered, remove_cluster


async def unregister(
    hub: Client,
    member: Client,
    name: str,
    *,
    agent_space: str = names.SYSTEM_NAMESPACE,
    agent: str = AGENT,
    space: str = names.CLUSTER_NAMESPACE,
    force: bool = False,
    wait: float = 60.0,
    dry_run: bool = False,
    clock: Clock = REAL,
) -> Left:
    """Take a cluster out; `agent` is the name of its Deployment."""
    cluster = await registered(hub, name)
    if cluster["spec"].get("syncMode") == "Push":
        raise Refused(
            f"cluster {name} is a Push mode member cluster, please use command `unjoin` "
            "if you want to continue unjoining the cluster"
        )
    await check_same(member, cluster)
    if dry_run:
        return Left()
    behind = await remove_cluster(hub, name, force=force, wait=wait, clock=clock)
    behind += await clean_control_plane(hub, name, space)
    await remove_agent(member, agent_space, agent)
    behind += await clean_member(hub, member, name, space, force)
    return Left(tuple(behind))


async def clean_control_plane(hub: Client, name: str, space: str) -> list[str]:
    """Take the agent's roles away, so that its certificate is worth nothing. What may not be deleted is reported."""
    behind = []
    for type_, role, where in agent_roles(name, space):
        try:
            await discard(hub, type_, role, where)
        except ApiError:
            behind.append(f"{type_.resource}/{role} in the control plane")
    for secret in objects.secret_names(name):
        try:
            await discard(hub, objects.SECRETS, secret, space)
        except ApiError:
            behind.append(f"secrets/{secret} in the control plane")
    return behind
