"""An agent makes itself known: its Cluster in the control plane, and the credentials it is configured to report.

On a restart the Cluster is there already; then only what it reports is brought up to date. It never takes over the
name of another cluster. A request that fails for the moment is no reason to give up: all of it is tried again.
"""

import logging

from karmada.agent.options import AgentOptions
from karmada.machinery.backoff import Backoff, BackoffPolicy
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.errors import (
    AlreadyExists,
    Conflict,
    NotFound,
    ServerError,
    Timeout,
    TooManyRequests,
    Unavailable,
)
from karmada.machinery.transport import JSONObject
from karmada.membership import objects, registration
from karmada.membership.agent_grant import REMEDY
from karmada.membership.credentials import cluster_id, obtain
from karmada.membership.refusal import Refused
from karmada.membership.registration import Description
from karmada.membership.reporting import CREDENTIALS, IMPERSONATOR

log = logging.getLogger(__name__)

PAUSES = BackoffPolicy(initial=0.5, maximum=10.0, jitter=0.5)
MOMENTARY = (AlreadyExists, Conflict, ServerError, Timeout, TooManyRequests, Unavailable)
"""Failures that say nothing about the request itself."""


async def enrol(hub: Client, member: Client, options: AgentOptions, clock: Clock) -> JSONObject:
    """Have the control plane know the cluster; its Cluster object. Raises what no repetition can mend."""
    backoff = Backoff(PAUSES, clock.random())
    while True:
        try:
            return await _enrol(hub, member, options, clock)
        except MOMENTARY as error:
            pause = backoff.next()
            log.warning("cluster %s is not enrolled yet, tried again in %.1f s: %s", options.cluster, pause, error)
            await clock.sleep(pause)


async def _enrol(hub: Client, member: Client, options: AgentOptions, clock: Clock) -> JSONObject:
    name = options.cluster
    registration.check_name(name)
    identity = await cluster_id(member)
    about = Description(
        name,
        options.api_endpoint,
        "Pull",
        options.space,
        options.provider,
        options.region,
        options.zones,
        options.insecure,
        options.proxy,
    )
    owners = await registration.secret_owners(hub, about)
    known = await _known(hub, name)
    if known is not None and known["spec"].get("id") not in (None, "", identity):
        raise Refused(
            f"the cluster name {name} belongs to another cluster (ID {known['spec']['id']}): "
            "register under another name"
        )
    credentials, impersonator = CREDENTIALS in options.report_secrets, IMPERSONATOR in options.report_secrets
    secrets: list[JSONObject] = []
    if credentials or impersonator:
        made = await obtain(member, name, options.space, clock)
        token = made.impersonator_token if impersonator else b""
        secrets = registration.secrets_of(about, made if credentials else None, token)
        await registration.write_secrets(hub, about, secrets, owners)
    if known is None:
        wanted = registration.cluster_object(about, identity, credentials=credentials, impersonator=impersonator)
        known = await hub.resource(objects.CLUSTERS).create(wanted)
        for field in registration.untaken(wanted["spec"], known["spec"]):
            log.warning("spec.%s of cluster %s was not taken: %s", field, name, REMEDY)
    await registration.own_secrets(hub, about, secrets, known)
    return known


async def _known(hub: Client, name: str) -> JSONObject | None:
    try:
        return await hub.resource(objects.CLUSTERS).get(name)
    except NotFound:
        return None
