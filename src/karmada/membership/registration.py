"""The control plane's side of a new member: is it one we know, its Secrets, its Cluster object."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from karmada.api import annotations, name_rules, names
from karmada.machinery.client import Client
from karmada.machinery.committer import Committer
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import JSONObject
from karmada.membership import objects
from karmada.membership.credentials import MemberCredentials, ensure
from karmada.membership.refusal import Refused


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
    if not problems and len(name) > names.LONGEST_CLUSTER_NAME:
        problems = [f"must be no more than {names.LONGEST_CLUSTER_NAME} characters"]
    if not problems and names.denotes_derived(name):
        problems = [f"names that end in {names.impersonation_secret('')} are those of other clusters' Secrets"]
    if problems:
        raise Refused(f"invalid cluster name({name}): {','.join(problems)}")


async def check_new(hub: Client, name: str, identity: str) -> None:
    """Refuse a name or a cluster that is a member already."""
    for cluster in (await hub.resource(objects.CLUSTERS).list()).items:
        if cluster["metadata"]["name"] == name or (cluster.get("spec") or {}).get("id") == identity:
            raise Refused(f"the cluster ID {identity} or the cluster name {name} has been registered")


async def check_unclaimed(hub: Client, name: str) -> None:
    """Refuse a name under which an agent has registered: it would read the Secrets that are written for it."""
    try:
        await hub.resource(objects.CLUSTER_ROLE_BINDINGS).get(objects.registration_record(name))
    except NotFound:
        return
    raise Refused(
        f"an agent has registered under the name {name} and could read this cluster's credentials: take another name, "
        f"or take the agent's rights away first (delete ClusterRoleBinding {objects.registration_record(name)})"
    )


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


def untaken(wanted: JSONObject, known: JSONObject) -> list[str]:
    """The fields of a wanted spec that the control plane did not take."""
    return [field for field, value in wanted.items() if value and known.get(field) != value]


def secrets_of(about: Description, credentials: MemberCredentials | None, impersonator: bytes) -> list[JSONObject]:
    """The cluster's Secrets with these credentials; what is not given has none."""
    own, other = objects.secret_names(about.name)
    made = []
    if credentials is not None:
        data = {"caBundle": credentials.authority, "token": credentials.token}
        made.append(objects.secret(own, about.namespace, data))
    if impersonator:
        made.append(objects.secret(other, about.namespace, {"token": impersonator}))
    if about.sync_mode == "Pull":
        for secret in made:
            secret["metadata"]["annotations"] = {annotations.AGENT_SECRET: about.name}
    return made


def is_agents_secret(secret: JSONObject, cluster: str) -> bool:
    """Whether the agent of a cluster wrote this Secret: nothing in it is new to whoever is that agent."""
    return (secret["metadata"].get("annotations") or {}).get(annotations.AGENT_SECRET) == cluster


async def secret_owners(hub: Client, about: Description) -> set[str]:
    """The uids of the Clusters that own the cluster's Secrets now. Read before its name is found to be free, they are
    those of Clusters that left."""
    found: set[str] = set()
    for name in objects.secret_names(about.name):
        try:
            found |= set(_owners(await hub.resource(objects.SECRETS).get(name, about.namespace)))
        except NotFound:
            continue
    return found


async def write_secrets(hub: Client, about: Description, secrets: Sequence[JSONObject], owners: Set[str]) -> None:
    """Have Secrets hold what is given; those of a Cluster that is not among `owners` (uids) are refused."""
    committer = Committer(hub.resource(objects.SECRETS))
    for wanted in secrets:

        def decide(current: JSONObject | None, wanted: JSONObject = wanted) -> JSONObject:
            if current is None:
                return wanted
            if set(_owners(current)) - owners:
                raise Refused(f"the cluster name {about.name} has been registered")
            return {**current, "data": wanted["data"], "metadata": _as_written(current, wanted)}

        await committer.ensure(wanted["metadata"]["name"], about.namespace, decide)


async def own_secrets(hub: Client, about: Description, secrets: Sequence[JSONObject], cluster: JSONObject) -> None:
    """Have Secrets belong to the cluster, with what is given in them whoever wrote them before."""
    for wanted in secrets:
        owner = {"ownerReferences": [objects.owned_by(cluster)]}
        mark = (wanted["metadata"].get("annotations") or {}).get(annotations.AGENT_SECRET)
        metadata = owner | {"annotations": {annotations.AGENT_SECRET: mark}}
        patch: JSONObject = {"metadata": metadata, "data": wanted["data"]}
        try:
            await hub.resource(objects.SECRETS).patch(wanted["metadata"]["name"], patch, about.namespace)
        except NotFound:
            await hub.resource(objects.SECRETS).create({**wanted, "metadata": wanted["metadata"] | owner})


async def take_back_secrets(hub: Client, about: Description, secrets: Sequence[JSONObject]) -> None:
    """Remove Secrets that were written in vain; those that somebody else owns or wrote stay."""
    resource = hub.resource(objects.SECRETS)
    for wanted in secrets:

        def vain(current: JSONObject, wanted: JSONObject = wanted) -> bool:
            return not _owners(current) and current.get("data") == wanted["data"]

        try:
            found = await resource.get(wanted["metadata"]["name"], about.namespace)
        except NotFound:
            continue
        await Committer(resource).remove(found, vain)


async def ensure_space(hub: Client, about: Description) -> None:
    """Have the namespace of the Secrets exist."""
    await ensure(hub, objects.NAMESPACES, objects.namespace(about.namespace))


def _as_written(current: JSONObject, wanted: JSONObject) -> JSONObject:
    """The metadata of a Secret with the mark of whoever writes it now, and no other's."""
    kept = {k: v for k, v in (current["metadata"].get("annotations") or {}).items() if k != annotations.AGENT_SECRET}
    return {**current["metadata"], "annotations": kept | (wanted["metadata"].get("annotations") or {})}


def _owners(secret: JSONObject) -> list[str]:
    references = secret["metadata"].get("ownerReferences") or ()
    return [reference["uid"] for reference in references if reference.get("kind") == "Cluster"]
