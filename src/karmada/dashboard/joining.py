"""The commands by which a cluster joins, ready to be run: the address of the control plane, and a credential where one
can be made. Whatever is made is made with the rights of whoever asks, for one cluster, and is good for an hour.
"""

import re
import shlex
from typing import NamedTuple

from karmada.apiserver.auth.kubeconfig import kubeconfig, written
from karmada.dashboard.answers import Refusal, bad_request
from karmada.dashboard.credential import ACCOUNT
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import JSONObject
from karmada.machinery.client import Client
from karmada.machinery.clock import rfc3339
from karmada.machinery.errors import NotFound
from karmada.membership import objects, token
from karmada.membership.agent_grant import Grant
from karmada.membership.cluster_info import unverified_target
from karmada.membership.installation import CLUSTER_INFO
from karmada.membership.refusal import Refused
from karmada.membership.registration import check_name

SECONDS = 3600
ADMINISTRATORS = "system:masters"
_ADDRESS = re.compile(r"https://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._/-]*)?")
"""Addresses that mean themselves in a shell: whoever may write `cluster-info` must not write commands for others."""


class Hub(NamedTuple):
    """How new members reach the control plane."""

    server: str
    authority: bytes


async def join(visit: Visit) -> JSONObject:
    """The commands for a cluster: `setup` first if there is one, then `command`; `ends` is when they are of no use."""
    body = visit.body()
    name, mode = body.get("name"), body.get("mode")
    if not isinstance(name, str):
        raise bad_request("name: give the cluster a name")
    try:
        check_name(name)
    except Refused as error:
        raise bad_request(f"name: {error}") from None
    hub = await _hub(visit.context.hub)
    match mode:
        case "Pull":
            return await _registering(visit, name, hub)
        case "Push":
            return await _joining(visit, name, hub)
    raise bad_request("mode: must be Push or Pull")


async def _hub(client: Client) -> Hub:
    try:
        found = await client.resource(objects.CONFIG_MAPS).get(CLUSTER_INFO, "kube-public")
        target = unverified_target(str((found.get("data") or {}).get("kubeconfig") or ""))
    except (NotFound, Refused):
        message = "the control plane does not say where it is: ConfigMap kube-public/cluster-info is missing or empty"
        raise Refusal(409, "Conflict", f"{message}; karmadactl init writes it") from None
    if not _ADDRESS.fullmatch(target.server) or not target.authority:
        raise Refusal(409, "Conflict", "ConfigMap kube-public/cluster-info holds no https address with its authority")
    return Hub(target.server, target.authority.data)


async def _registering(visit: Visit, name: str, hub: Hub) -> JSONObject:
    made = token.new_token()
    clock = visit.dashboard.clock
    about = f"for {name}, made in the dashboard by {visit.credential.user.name}"
    grant = Grant(clusters=(name,))
    await token.create(visit.context.hub, made, ttl=SECONDS, description=about, grant=grant, clock=clock)
    command = f"{token.register_command(hub.server, made, hub.authority)} --cluster-name {name}"
    return {"setup": "", "command": command, "ends": rfc3339(clock.now() + SECONDS)}


async def _joining(visit: Visit, name: str, hub: Hub) -> JSONObject:
    """With a kubeconfig of the user's own: a new token of a service account, or the administrator's file that is here
    already. Others use the one they have, as nobody can make them another."""
    user = visit.credential.user
    command = f"karmadactl join {name}"
    if user.name.startswith(ACCOUNT):
        space, _, account = user.name.removeprefix(ACCOUNT).partition(":")
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": SECONDS},
        }
        given = await visit.context.hub.resource(objects.SERVICE_ACCOUNTS).submit(account, "token", request, space)
        config = kubeconfig(hub.server, hub.authority, user=account, token=given["status"]["token"])
        file = f"karmada-for-{name}.kubeconfig"
        setup = f"(umask 077 && cat > {file}) <<'EOF'\n{written(config)}EOF"
        ends = str(given["status"].get("expirationTimestamp") or "")
        return {"setup": setup, "command": f"{command} --kubeconfig {file}", "ends": ends}
    if visit.dashboard.administrator and ADMINISTRATORS in user.groups:
        command += f" --kubeconfig {shlex.quote(visit.dashboard.administrator)}"
    return {"setup": "", "command": command, "ends": ""}
