"""The control plane's side of a new member: is it one we know, its Secrets, its Cluster object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from karmada.api import name_rules, names
from karmada.machinery.client import Client
from karmada.machinery.committer import Committer
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import JSONObject
from karmada.membership import objects
from karmada.membership.credentials import MemberCredentials, ensure
from karmada.membership.refusal import Refused

LONGEST_NAME = 48


@dataclass(frozen=True, slots=True)
class Description:
    """What is said about a cluster when it becomes a member."""

    name: str
    endpoint: str = ""
    sync_mode: str = "Push"
    namespace: str = names.CLUSTER_NAMESPACE
    provider: str = ""
    region: str = ""
    zones: Sequence[str] = ()
    insecure: bool = False
    proxy_url: str = ""
    proxy_headers: Mapping[str, str] = field(default_factory=dict)


def check_name(name: str) -> None:
    """Refuse names that no cluster can have."""
    if not name:
        raise Refused("cluster name is required")
    problems = name_rules.dns_label(name)
    if not problems and len(name) > LONGEST_NAME:
        problems = [f"must be no more than {LONGEST_NAME} characters"]
    if problems:
        raise Refused(f"invalid cluster name({name}): {','.join(problems)}")


async def check_new(hub: Client, name: str, identity: str) -> None:
    """Refuse a name or a cluster that is a member already."""
    for cluster in (await hub.resource(objects.CLUSTERS).list()).items:
        if cluster["metadata"]["name"] == name or (cluster.get("spec") or {}).get("id") == identity:
            raise Refused(f"the cluster ID {identity} or the cluster name {name} has been registered")


def cluster_object(
    about: Description, identity: str, *, credentials: bool = True, impersonator: bool = True
) -> JSONObject:
    """The Cluster of a new member."""
    spec: JSONObject = {"syncMode": about.sync_mode, "id": identity}
    own, other = objects.secret_names(about.name)
    if credentials:
        spec["secretRef"] = {"namespace": about.namespace, "name": own}
    if impersonator:
        spec["impersonatorSecretRef"] = {"namespace": about.namespace, "name": other}
    optional: JSONObject = {
        "apiEndpoint": about.endpoint,
        "provider": about.provider,
        "region": about.region,
        "zones": list(about.zones),
        "insecureSkipTLSVerification": about.insecure,
        "proxyURL": about.proxy_url,
        "proxyHeader": dict(about.proxy_headers),
    }
    spec |= {name: value for name, value in optional.items() if value}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": about.name},
        "spec": spec,
    }


async def write_secrets(
    hub: Client, about: Description, credentials: MemberCredentials | None, impersonator_token: bytes
) -> None:
    """Have the cluster's Secrets hold these credentials; what is not given is not written."""
    own, other = objects.secret_names(about.name)
    if credentials is not None:
        data = {"caBundle": credentials.authority, "token": credentials.token}
        await _replace(hub, objects.secret(own, about.namespace, data))
    if impersonator_token:
        await _replace(hub, objects.secret(other, about.namespace, {"token": impersonator_token}))


async def own_secrets(hub: Client, about: Description, cluster: JSONObject) -> None:
    """Have the cluster's Secrets go with the cluster."""
    owner = objects.owned_by(cluster)
    for name in objects.secret_names(about.name):
        patch: JSONObject = {"metadata": {"ownerReferences": [owner]}}
        try:
            await hub.resource(objects.SECRETS).patch(name, patch, about.namespace)
        except NotFound:
            continue


async def ensure_space(hub: Client, about: Description) -> None:
    """Have the namespace of the Secrets exist."""
    await ensure(hub, objects.NAMESPACES, objects.namespace(about.namespace))


async def _replace(hub: Client, wanted: JSONObject) -> None:
    metadata = wanted["metadata"]
    committer = Committer(hub.resource(objects.SECRETS))

    def decide(current: JSONObject | None) -> JSONObject:
        return wanted if current is None else {**current, "data": wanted["data"]}

    await committer.ensure(metadata["name"], metadata["namespace"], decide)
