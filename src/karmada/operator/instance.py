"""One pass over one instance: writes what can be written now, and says what it waits for.

Level-triggered: every pass looks at everything from the start, so a pass may end anywhere and the next goes on there.
Groups are written in the order in which they need each other, so an upgrade rolls etcd, then API servers, then those
that they call, then all others, each only when what it needs runs in its new form.
"""

import base64
import datetime
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass

import orjson

from karmada.api.counting import counted
from karmada.api.labels import APP_INSTANCE, APP_MANAGED_BY
from karmada.api.operator.v1alpha1 import Karmada
from karmada.apiserver.auth.pki import Authority
from karmada.install.certificates import KARMADA, PART, Issuer, leaves
from karmada.install.control_plane import connect, connect_addon, disconnect_addon, install, serves
from karmada.install.naming import Names
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.transport import JSONObject
from karmada.operator.host import Host, Refused
from karmada.operator.plan import MANAGER, RUNNING, Plan, plan, wanted_leaves
from karmada.operator.secrets import (
    STORE,
    authorities_of,
    digest,
    is_good,
    known_names,
    of_authority,
    signing_key,
    stored,
)
from karmada.operator.settings import ADDONS, ETCD, SERVER, domain_of, parts_of, server_of

DAY = 86400
VALIDITY = 365
REFILL = datetime.timedelta(minutes=5)
"""After this time the kinds and roles inside a control plane are compared again."""
Filled = MutableMapping[str, datetime.datetime]
"""When control planes got their kinds and roles, by what their objects and API servers were then."""
Open = Callable[[bytes], Client]
"""A client for what a kubeconfig opens."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a pass came."""

    waiting: str = ""
    """What it waits for; empty when everything is as it should be."""
    version: str = ""
    """Of the API server."""


class Instance:
    """An instance and the host cluster it lives in."""

    def __init__(
        self, karmada: Karmada, host: Host, image: str, open_: Open, now: datetime.datetime, filled: Filled
    ) -> None:
        self._karmada = karmada
        self._host = host
        self._image = image
        self._open = open_
        self._now = now
        self._filled = filled
        self._names = Names(karmada.metadata.name)

    async def advance(self) -> Outcome:
        """Go on as far as possible; raises `Refused` and `ApiError`."""
        draft = plan(self._karmada, self._image)
        outside = await self._outside(draft)
        if outside is None:
            return Outcome("an address of the API server's Service")
        hosts, server = outside
        certificates = wanted_leaves(self._karmada, hosts, server)
        needed = draft.mounted | {self._names.of("karmada-admin-config")}
        authorities = await self._authorities()
        secrets = {tree["metadata"]["name"]: tree for tree in await self._plain(authorities[KARMADA])}
        for leaf in certificates:
            if leaf.secret in needed:
                found = await self._host.own_secret(leaf.secret)
                authority = authorities[leaf.authority]
                if found is None or not is_good(found, leaf, authority, self._now):
                    found = self._issuer().leaf(leaf, authority)
                secrets[leaf.secret] = found | {"apiVersion": "v1", "kind": "Secret"}
        await self._host.apply(_trimmed(secret) for secret in secrets.values())
        wanted = draft.with_digests({name: digest(secret) for name, secret in secrets.items()})
        await self._check(wanted)
        config = base64.b64decode(secrets[self._names.of("karmada-admin-config")]["data"]["karmada.config"])
        return await self._bring_up(wanted, config, authorities[KARMADA].certificate_pem, server)

    async def _bring_up(self, wanted: Plan, config: bytes, authority: bytes, server: str) -> Outcome:
        for group in (wanted.store, wanted.server):
            await self._host.apply(group)
            if waiting := await self._host.waits_for(group):
                return Outcome(waiting)
        inside = f"https://{self._names.of(SERVER)}.{self._host.namespace}.svc:5443"
        hub = self._open(_inside(config, inside))
        try:
            version = await _version_of(hub)
            if version is None:
                return Outcome(f"an answer of {inside}")
            await self._fill(hub, server or inside, authority)
            await self._host.apply(wanted.called)
            if waiting := await self._host.waits_for(wanted.called):
                return Outcome(waiting, version)
            await connect(hub, self._host.namespace, authority, self._names)
            if not await serves(hub):
                return Outcome("the group of clusters, which the API server does not reach yet", version)
            await self._host.apply(wanted.others)
            if waiting := await self._host.waits_for(wanted.others):
                return Outcome(waiting, version)
            if waiting := await self._connect_addons(hub, authority):
                return Outcome(waiting, version)
        finally:
            await hub.close()
        await self._host.prune(wanted.everything, ())
        return Outcome("", version)

    async def _connect_addons(self, hub: Client, authority: bytes) -> str:
        """Register the groups of the addons that are wanted and remove those of the others; what is waited for."""
        parts = parts_of(self._karmada)
        for name in ADDONS:
            if name not in parts:
                await disconnect_addon(hub, name, self._host.namespace, self._names)
                continue
            await connect_addon(hub, name, self._host.namespace, authority, self._names)
            if parts[name].replicas and not await serves(hub, name):
                return f"the groups of {name}, which the API server does not reach yet"
        return ""

    async def _fill(self, hub: Client, server: str, authority: bytes) -> None:
        """Have kinds and roles exist inside; not again with every pass while something else is waited for."""
        uid = self._karmada.metadata.uid
        known = f"{uid} {self._karmada.metadata.generation} {server} {hash(authority)}"
        if known in self._filled and self._now - self._filled[known] < REFILL:
            return
        await install(hub, server, authority)
        for old in [one for one in self._filled if one.startswith(f"{uid} ")]:
            del self._filled[old]
        self._filled[known] = self._now

    async def remove(self) -> bool:
        """Delete everything that the operator made; whether nothing is left."""
        every = leaves(self._host.namespace, domain_of(self._karmada), (), (), self._names)
        names = known_names(self._names, every)
        return await self._host.prune((), names) == 0

    async def _authorities(self) -> dict[str, Authority]:
        name = self._names.of(STORE)
        store = await self._host.own_secret(name)
        authorities = authorities_of(store, await self._own_authority())
        await self._host.apply([stored(name, self._issuer(), authorities)])
        return authorities

    async def _own_authority(self) -> Authority | None:
        """The authority that the user gives."""
        custom = self._karmada.spec.custom_certificate
        if custom is None or custom.api_server_ca_cert is None:
            return None
        name, field = custom.api_server_ca_cert.name, "spec.customCertificate.apiServerCACert"
        if custom.api_server_ca_cert.namespace not in ("", self._host.namespace):
            raise Refused(f"{field}.namespace: only Secrets of the Karmada's own namespace are read")
        found = await self._host.secret(name)
        data = (found or {}).get("data") or {}
        try:
            return Authority.load(base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]))
        except (KeyError, ValueError):
            raise Refused(f"{field}: secret/{name} must have tls.crt and tls.key of an authority") from None

    async def _plain(self, authority: Authority) -> list[JSONObject]:
        """Secrets that are no certificate of anybody."""
        issue, name = self._issuer(), signing_key(self._names)
        key = await self._host.own_secret(name)
        signing = issue.signing_key(name) if key is None else key | {"apiVersion": "v1", "kind": "Secret"}
        return [*of_authority(self._names, issue, authority), signing]

    def _issuer(self) -> Issuer:
        custom = self._karmada.spec.custom_certificate
        days = (custom.leaf_cert_validity_days if custom is not None else None) or VALIDITY
        labels = PART | {APP_INSTANCE: self._names.instance, APP_MANAGED_BY: MANAGER}
        return Issuer(self._host.namespace, labels, days * DAY)

    async def _outside(self, wanted: Plan) -> tuple[Sequence[str], str] | None:
        """Further names of the API server and where administrators reach it; None while that is not known."""
        type_ = server_of(self._karmada).service_type
        if type_ in ("", "ClusterIP"):
            return (), ""
        # Its address is in its certificate, so the Service is there before everything else.
        name = self._names.of(SERVER)
        await self._host.apply(tree for tree in wanted.server if tree["kind"] == "Service")
        found = await self._host.service(name)
        if found is None:
            return None
        if type_ == "LoadBalancer":
            for entry in ((found.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
                if address := entry.get("hostname") or entry.get("ip"):
                    return [address], f"https://{address}:5443"
            return None
        port = found["spec"]["ports"][0].get("nodePort")
        address = await self._host.node_address()
        return ([address], f"https://{address}:{port}") if port and address else None

    async def _check(self, wanted: Plan) -> None:
        """Refuse what would leave the data of a running instance behind."""
        here = {(tree["kind"], tree["metadata"]["name"]) for tree in (*wanted.store, *wanted.server)}
        for part, kinds in ((SERVER, RUNNING), (ETCD, RUNNING[1:])):
            for kind in kinds:
                name = self._names.of(part)
                if (kind, name) not in here and await self._host.workload({"kind": kind, "metadata": {"name": name}}):
                    raise Refused(
                        f"{kind.lower()}/{name} holds this instance's data, or serves it, and would not any more: an "
                        "instance keeps its flavour and its etcd; put the object back, or make another instance"
                    )
        for tree in wanted.store:
            if tree["kind"] == "StatefulSet" and (found := await self._host.workload(tree)) is not None:
                has, replicas = found["spec"].get("replicas", 1), tree["spec"]["replicas"]
                if has != replicas:
                    raise Refused(
                        f"spec.components.etcd.local.replicas: {ETCD} has {counted(has, 'member')} and cannot get "
                        f"{replicas} by itself: put it back, or move to another instance by a snapshot"
                    )


def _inside(config: bytes, server: str) -> bytes:
    """A kubeconfig for the instance's Service."""
    tree = orjson.loads(config)
    tree["clusters"][0]["cluster"]["server"] = server
    return orjson.dumps(tree)


def _trimmed(secret: JSONObject) -> JSONObject:
    """A Secret as it is wanted, without what the server noted on it."""
    about = secret["metadata"]
    metadata = {"name": about["name"], "namespace": about["namespace"], "labels": about["labels"]}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": secret["data"]}


async def _version_of(hub: Client) -> str | None:
    """The version of an API server; None if it does not answer."""
    try:
        return str(orjson.loads(await hub.transport.raw("GET", "/version"))["gitVersion"])
    except ApiError:
        return None
