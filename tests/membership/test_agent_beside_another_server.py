"""An agent beside an API server that knows nothing of agents: roles, karmada-webhook and the aggregated server hold it.

Every verb is tried on every resource, in several namespaces and under several names, as requests and not as questions.
"""

import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from karmada.aggregated.server import ClusterServer, Trust
from karmada.api.crd.definition import definitions
from karmada.api.feature_gates import DEFAULTS
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.pki import server_names
from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.direct import DirectTransport
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, Forbidden
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.membership.agent_roles import agent_objects
from karmada.membership.certificate import make_request
from karmada.membership.credentials import ensure
from karmada.webhook.configurations import by_url, configurations
from karmada.webhook.lookup import ClientLookup
from karmada.webhook.main import context_of, parser
from karmada.webhook.reviews import Settings
from karmada.webhook.server import WebhookServer

GROUPS = ("system:karmada:agents", "system:karmada:registration:member1", "system:authenticated")
AGENT = UserInfo("system:karmada:agent:member1", GROUPS)
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
_, REQUEST = make_request("member1")
OWN_SPACE, OTHER_SPACE = "karmada-es-member1", "karmada-es-member2"
SPACES = ("", "default", "kube-system", "karmada-system", "karmada-cluster", OWN_SPACE, OTHER_SPACE)
NAMES = ("member1", "member2", "member1-impersonator", "member2-impersonator", "member1-renewal", "default")
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")

READ: dict[str, tuple[str, set[str] | None]] = {
    "secrets": ("karmada-cluster", {"member1", "member1-impersonator"}),
    "leases": ("karmada-cluster", {"member1"}),
    "certificatesigningrequests": ("", {"member1-renewal"}),
    "works": (OWN_SPACE, None),
    "clusters": ("", {"member1"}),
    "resourceinterpretercustomizations": ("", None),
    "resourceinterpreterwebhookconfigurations": ("", None),
}
"""What may be read: the namespace and the names (None for all)."""
WRITTEN: dict[str, tuple[str, set[str] | None, set[str]]] = {
    "secrets": ("karmada-cluster", {"member1", "member1-impersonator"}, {"create", "patch"}),
    "leases": ("karmada-cluster", {"member1"}, {"create", "patch", "update"}),
    "works": (OWN_SPACE, None, {"create", "patch", "update", "delete"}),
    "clusters": ("", {"member1"}, {"create", "delete"}),
    "events": (OWN_SPACE, None, {"create", "patch", "update"}),
    # What a request asks for is judged when it is approved.
    "certificatesigningrequests": ("", {"member1-renewal"}, {"create"}),
}
"""What may be written: the namespace, the names (None for all), and how."""
EVERYBODY = {"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"}


class Stage(NamedTuple):
    """Servers as an agent reaches them, and as an administrator does."""

    front: Client
    clusters: Client
    admin: Client
    types: list[GroupVersionResource]
    namespaced: set[GroupVersionResource]

    def client(self, type_: GroupVersionResource) -> Client:
        return self.clusters if type_ == objects.CLUSTERS else self.front


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        front = await stack.enter_async_context(ApiServer())
        admin = Client(front.direct(ADMIN))
        for wanted in definitions():
            await admin.resource(CRDS).create(wanted)
        for space in ("karmada-cluster", "karmada-system"):
            await ensure(admin, objects.NAMESPACES, objects.namespace(space))
        for name in ("member1", "member2"):
            for made in agent_objects(name, name):
                await ensure(admin, made.type, made.tree)
            for secret in objects.secret_names(name):
                await admin.resource(objects.SECRETS).create(objects.secret(secret, "karmada-cluster", {"token": b"x"}))
        behind = await stack.enter_async_context(ClusterServer(MemoryStorage(), admin, Trust()))
        owner = Client(behind.direct())
        for name in ("member1", "member2"):
            await owner.resource(objects.CLUSTERS).create(cluster(name))
        await _have_asked(stack, front, admin, tmp_path)
        served = [t for t in builtin_types() if t.subresources is not None]
        types = {GroupVersionResource(t.group, t.version, t.plural): t.namespaced for t in served}
        for custom in definitions():
            spec = custom["spec"]
            for version in spec["versions"]:
                type_ = GroupVersionResource(spec["group"], version["name"], spec["names"]["plural"])
                types[type_] = spec["scope"] == "Namespaced"
        types[objects.CLUSTERS] = False
        yield Stage(
            Client(front.direct(AGENT)),
            Client(DirectTransport(behind.dispatcher, AGENT, "tests")),
            admin,
            list(types),
            {type_ for type_, namespaced in types.items() if namespaced},
        )


async def _have_asked(stack: AsyncExitStack, front: ApiServer, admin: Client, folder: Path) -> None:
    """Have the API server ask karmada-webhook."""
    authority = front.identity.authority
    certificate, key = authority.issue_server("karmada-webhook", server_names(("127.0.0.1",)))
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    lookup = ClientLookup()
    lookup.client = admin
    webhook = WebhookServer(Settings(lookup, DEFAULTS))
    port = await webhook.listen("127.0.0.1", 0, context_of(parser().parse(["--cert-dir", str(folder)])))
    stack.push_async_callback(webhook.close)
    config = by_url(f"https://127.0.0.1:{port}", base64.b64encode(authority.certificate_pem).decode())
    for wanted in configurations(config):
        plural = wanted["kind"].lower() + "s"
        await admin.resource(GroupVersionResource("admissionregistration.k8s.io", "v1", plural)).create(wanted)


def cluster(name: str, **spec: Any) -> dict[str, Any]:
    tree = {"syncMode": "Pull"} | spec
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": tree,
    }


def body(type_: GroupVersionResource, namespace: str, name: str) -> dict[str, Any]:
    """An object that is valid for the kinds whose admission matters."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    tree: dict[str, Any] = {"metadata": metadata}
    if type_ == objects.CLUSTERS:
        tree |= {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "spec": {"syncMode": "Pull"}}
    if type_ == LEASES:
        tree["spec"] = {"holderIdentity": "x", "leaseDurationSeconds": 40}
    if type_ == REQUESTS:
        request = {"signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
        tree["spec"] = request | {"request": base64.b64encode(REQUEST).decode()}
    if type_.resource == "events":
        tree["involvedObject"] = {"kind": "Work", "name": name, "namespace": namespace}
    return tree


async def attempt(stage: Stage, verb: str, type_: GroupVersionResource, namespace: str, name: str) -> bool:
    """Whether a request of the agent was let through, whatever came of it."""
    resource = stage.client(type_).resource(type_)
    scope = Scope(namespace, fields=f"metadata.name={name}")
    try:
        if verb == "get":
            await resource.get(name, namespace)
        elif verb == "list":
            await resource.list(scope)
        elif verb == "watch":
            async with resource.watch(scope):
                pass
        elif verb == "create":
            await resource.create(body(type_, namespace, name), namespace)
        elif verb == "update":
            await resource.update(body(type_, namespace, name))
        elif verb == "patch":
            await resource.patch(name, {"metadata": {"annotations": {"a": "b"}}}, namespace)
        elif verb == "delete":
            await resource.delete(name, namespace)
        else:
            await resource.delete_collection(scope)
    except Forbidden:
        return False
    except ApiError:
        return True
    return True


def expected(verb: str, type_: GroupVersionResource, namespace: str, name: str) -> bool:
    plural = type_.resource
    if plural in EVERYBODY and verb == "create":
        return True
    if verb in ("get", "list", "watch"):
        known = READ.get(plural)
        reading = {"leases": {"get"}, "secrets": {"get"}, "certificatesigningrequests": {"get"}}.get(plural)
        if known is None or (reading and verb not in reading):
            return False
        return namespace == known[0] and (known[1] is None or name in known[1])
    if plural == "certificatesigningrequests" and verb == "delete":
        return name == "member1-renewal"
    written = WRITTEN.get(plural)
    if written is None or verb not in written[2] or type_.group == "events.k8s.io":
        return False
    return namespace == written[0] and (written[1] is None or name in written[1])


def places(stage: Stage) -> Iterator[tuple[GroupVersionResource, str, str]]:
    for type_ in stage.types:
        for namespace, name in product(SPACES if type_ in stage.namespaced else ("",), NAMES):
            yield type_, namespace, name


async def test_every_verb_on_every_resource_ends_where_it_should(stage: Stage) -> None:
    wrong = []
    for (type_, namespace, name), verb in product(list(places(stage)), VERBS):
        if type_ in stage.namespaced and not namespace and verb not in ("list", "watch", "deletecollection"):
            continue
        if verb == "delete" and type_ == objects.CLUSTERS and name == "member1":
            continue  # allowed, and would change what the others find
        allowed = await attempt(stage, verb, type_, namespace, name)
        if allowed != expected(verb, type_, namespace, name):
            wrong.append((verb, f"{type_.group}/{type_.resource}", namespace, name, allowed))
    assert not wrong, wrong[:20]


async def test_the_webhook_judges_events_about_clusters(stage: Stage) -> None:
    events = stage.front.resource(GroupVersionResource("", "v1", "events"))
    for cluster in ("member1", "member2"):
        about = {"kind": "Cluster", "name": cluster, "namespace": OWN_SPACE}
        made = {"metadata": {"name": cluster, "namespace": OWN_SPACE}, "involvedObject": about}
        if cluster == "member1":
            await events.create(made, OWN_SPACE)
        else:
            with pytest.raises(Forbidden, match="no events about other clusters"):
                await events.create(made, OWN_SPACE)


async def test_the_webhook_judges_works_that_begin_to_speak_for_a_binding(stage: Stage) -> None:
    works, own = stage.front.resource(WORKS), {"name": "w", "namespace": OWN_SPACE}
    tree: dict[str, Any] = {"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "spec": {"workload": {}}}
    marks: dict[str, Any] = {
        "labels": {"resourcebinding.karmada.io/permanent-id": "known"},
        "annotations": {"resourcebinding.karmada.io/namespace": "shop", "resourcebinding.karmada.io/name": "web"},
    }
    for field in marks:
        with pytest.raises(Forbidden, match="made for a binding by the control plane only"):
            await works.create({**tree, "metadata": {**own, field: marks[field]}}, OWN_SPACE)
    await works.create({**tree, "metadata": {**own, "labels": {"a": "b"}}}, OWN_SPACE)
    with pytest.raises(Forbidden, match="made for a binding by the control plane only"):
        await works.patch("w", {"metadata": marks}, OWN_SPACE)
    await stage.admin.resource(WORKS).patch("w", {"metadata": marks}, OWN_SPACE)
    await works.patch("w", {"metadata": {"finalizers": ["karmada.io/execution-controller"]}}, OWN_SPACE)


async def test_the_webhook_judges_what_agents_report(stage: Stage) -> None:
    """The aggregated server judges Clusters itself."""
    works = stage.front.resource(WORKS)
    tree: dict[str, Any] = {"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "spec": {"workload": {}}}
    await works.create({**tree, "metadata": {"name": "w", "namespace": OWN_SPACE}}, OWN_SPACE)
    which = {"ordinal": 0, "version": "v1", "kind": "ConfigMap", "resource": "configmaps", "name": "c"}

    def report(length: int) -> dict[str, Any]:
        return {"status": {"manifestStatuses": [{"identifier": which, "status": {"text": "x" * length}}]}}

    await works.patch("w", report(1), OWN_SPACE, subresource="status")
    with pytest.raises(Forbidden, match="at most 262144 bytes together"):
        await works.patch("w", report(300_000), OWN_SPACE, subresource="status")
    _, validating = configurations(by_url("https://127.0.0.1", "Q0E="))
    (webhook,) = (one for one in validating["webhooks"] if one["name"] == "agent.karmada.io")
    judged = {resource for rule in webhook["rules"] for resource in rule["resources"]}
    assert {"clusters", "clusters/status", "works", "works/status"} <= judged
    summary = {"allocatable": {"a": "1" * 70_000}}
    clusters = stage.clusters.resource(objects.CLUSTERS)
    with pytest.raises(Forbidden, match="has at most 65536 bytes"):
        await clusters.patch("member1", {"status": {"resourceSummary": summary}}, subresource="status")


async def test_the_webhook_is_asked_for_agents_only_and_says_why(stage: Stage) -> None:
    minted = objects.token_secret("default", "karmada-cluster")
    with pytest.raises(Forbidden, match=r'admission webhook "agent.karmada.io" denied the request: the agent of'):
        await stage.front.resource(objects.SECRETS).create(minted)
    await stage.admin.resource(objects.SECRETS).create(minted)
    await stage.admin.resource(objects.SECRETS).delete("member1", "karmada-cluster")
    minted["metadata"]["name"] = "member1"
    with pytest.raises(Forbidden, match="Opaque"):
        await stage.front.resource(objects.SECRETS).create(minted)
    await stage.front.resource(objects.SECRETS).create(objects.secret("member1", "karmada-cluster", {"token": b"y"}))


@pytest.mark.parametrize(
    "spec",
    [
        {"syncMode": "Push", "apiEndpoint": "https://evil"},
        {"secretRef": {"namespace": "karmada-cluster", "name": "member2"}},
        {"impersonatorSecretRef": {"namespace": "karmada-cluster", "name": "member2-impersonator"}},
    ],
    ids=["push", "stolen secret", "stolen impersonator"],
)
async def test_the_aggregated_server_refuses_what_would_lure_the_control_plane(
    stage: Stage, spec: dict[str, Any]
) -> None:
    with pytest.raises(Forbidden):
        await stage.clusters.resource(objects.CLUSTERS).create(cluster("member1", **spec))
