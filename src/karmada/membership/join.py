"""Join: make a cluster a member that the control plane reaches by itself (push mode).

In the member it leaves a namespace, two service accounts with tokens and a role; in the control plane two Secrets and
the Cluster, which owns them. Refused before anything is written: a bad name, a name that is taken, a cluster that is a
member already under whatever name, the control plane itself. Who loses a race for either takes back what it made.
"""

from collections.abc import Mapping

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import AlreadyExists, Forbidden, NotFound
from karmada.machinery.http.target import Target
from karmada.machinery.transport import JSONObject
from karmada.membership import objects, registration
from karmada.membership.credentials import cluster_id, obtain
from karmada.membership.refusal import Refused
from karmada.membership.registration import Description
from karmada.membership.unjoin import clean_member


def describe(name: str, target: Target, **fields: str) -> Description:
    """A description whose address and trust come from how the person who joins reaches the member."""
    zones = tuple(zone for zone in fields.pop("zones", "").split(",") if zone)
    return Description(
        name,
        target.server,
        insecure=target.insecure,
        proxy_url=target.proxy,
        proxy_headers=dict(target.proxy_headers),
        zones=zones,
        **fields,
    )


async def join(
    member: Client,
    hub: Client,
    about: Description,
    *,
    marks: Mapping[str, str] | None = None,
    dry_run: bool = False,
    clock: Clock = REAL,
) -> JSONObject:
    """Make a cluster a member and return its Cluster object (the one that would be written in a dry run).

    `marks` are annotations that it has from the beginning.
    """
    registration.check_name(about.name)
    identity = await cluster_id(member)
    if identity == await cluster_id(hub):
        raise Refused(
            "the kubeconfig given leads to the control plane itself, which cannot be its own member: "
            "check --cluster-kubeconfig and --cluster-context"
        )
    owners = await registration.secret_owners(hub, about)
    await registration.check_new(hub, about.name, identity)
    await registration.check_unclaimed(hub, about.name)
    wanted = registration.cluster_object(about, identity)
    if marks:
        wanted["metadata"]["annotations"] = dict(marks)
    if dry_run:
        return wanted
    credentials = await obtain(member, about.name, about.namespace, clock)
    await registration.ensure_space(hub, about)
    secrets = registration.secrets_of(about, credentials, credentials.impersonator_token)
    try:
        await registration.write_secrets(hub, about, secrets, owners)
        cluster = await hub.resource(objects.CLUSTERS).create(wanted)
    except (AlreadyExists, Forbidden, Refused) as error:
        # Somebody was faster, with this name or with this cluster; or it may not be.
        await registration.take_back_secrets(hub, about, secrets)
        if await _is_another(hub, about.name, identity):
            await clean_member(hub, member, about.name, about.namespace, force=True)
        if isinstance(error, Forbidden) and "registered as" not in str(error):
            raise
        message = f"the cluster ID {identity} or the cluster name {about.name} has been registered"
        raise Refused(message) from error
    await registration.own_secrets(hub, about, secrets, cluster)
    return cluster


async def _is_another(hub: Client, name: str, identity: str) -> bool:
    """Whether no cluster of this name and identity is a member, so that its accounts are of no use to anybody."""
    try:
        known = await hub.resource(objects.CLUSTERS).get(name)
    except NotFound:
        return True
    return bool(known["spec"].get("id") != identity)


def joined_line(name: str) -> str:
    """What is printed when it is done."""
    return f"cluster({name}) is joined successfully"
