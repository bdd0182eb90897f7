"""What an agent's credential is worth: its own objects, and nothing else, whatever it asks for."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planes import stored

from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.apiserver.builtin import builtin_types
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden
from karmada.membership import objects
from karmada.membership.agent_roles import agent_objects
from karmada.membership.credentials import ensure
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

GROUPS = ("system:karmada:agents", "system:karmada:registration:member1", "system:authenticated")
AGENT = UserInfo("system:karmada:agent:member1", GROUPS)
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate", "bind", "*")
SPACES = ("karmada-es-member1", "karmada-es-member2")
READS = {"get", "list", "watch"}
OWN = {
    ("cluster.karmada.io", "clusters", ""): ("", {"member1"}),
    ("cluster.karmada.io", "clusters", "status"): ("", {"member1"}),
    ("cluster.karmada.io", "clusters", "tunnel"): ("", {"member1"}),
    ("", "secrets", ""): ("karmada-cluster", {"member1", "member1-impersonator"}),
    ("coordination.k8s.io", "leases", ""): ("karmada-cluster", {"member1"}),
    ("certificates.k8s.io", "certificatesigningrequests", ""): ("", {"member1-renewal"}),
    ("work.karmada.io", "works", ""): ("karmada-es-member1", None),
    ("work.karmada.io", "works", "status"): ("karmada-es-member1", None),
    ("config.karmada.io", "resourceinterpretercustomizations", ""): ("", None),
    ("config.karmada.io", "resourceinterpreterwebhookconfigurations", ""): ("", None),
}
"""What an agent may read: kind to namespace and names (None for all)."""
EVERYBODY = {("authentication.k8s.io", "selfsubjectreviews"), ("authorization.k8s.io", "selfsubjectaccessreviews")}
EVERYBODY |= {("authorization.k8s.io", "selfsubjectrulesreviews")}


@pytest.fixture(scope="module")
def authorizer() -> RbacAuthorizer:
    async def made() -> RbacAuthorizer:
        async with ControlPlane(ControlPlaneOptions(storage=stored())) as plane:
            for name in ("member1", "member2"):
                for wanted in agent_objects(name, name):
                    await ensure(plane.client, wanted.type, wanted.tree)
            return plane.server.identity.rbac

    return asyncio.run(made())


def may_read(kind: tuple[str, str, str], namespace: str, name: str) -> bool:
    known = OWN.get(kind)
    if known is None:
        return False
    where, only = known
    return (not where or namespace == where) and (only is None or name in only)


def test_an_agent_reads_its_own_and_nothing_else(authorizer: RbacAuthorizer) -> None:
    kinds = {(t.group, t.plural, sub) for t in builtin_types() for sub in ("", *(s.name for s in t.subresources))}
    kinds |= set(OWN) | {("work.karmada.io", "resourcebindings", ""), ("cluster.karmada.io", "clusters", "proxy")}
    kinds |= {("policy.karmada.io", "propagationpolicies", ""), ("*", "*", "")}
    spaces = (
        "",
        "default",
        "kube-system",
        "karmada-system",
        "karmada-cluster",
        "karmada-es-member1",
        "karmada-es-member2",
    )
    names = ("", "member1", "member2", "member1-impersonator", "member2-impersonator", "member1-renewal", "x")
    for group, plural, sub in kinds:
        for namespace in spaces:
            for name in names:
                for verb in VERBS:
                    attributes = Attributes(verb, group, "v1", plural, sub, namespace, name)
                    allowed = authorizer.authorize(AGENT, attributes).allowed
                    if verb in READS and allowed:
                        assert may_read((group, plural, sub), namespace, name), attributes
                    if verb in ("impersonate", "bind", "deletecollection", "*"):
                        assert not allowed, attributes


@settings(max_examples=300)
@given(
    verb=st.sampled_from(VERBS),
    kind=st.sampled_from(
        [*sorted(OWN), ("", "pods", "exec"), ("", "nodes", "proxy"), ("", "serviceaccounts", "token")]
    ),
    namespace=st.sampled_from(["", "default", "karmada-cluster", *SPACES]),
    name=st.text(alphabet="member12-imprsonatwl", max_size=24),
)
def test_no_name_that_is_not_its_own_is_read(
    authorizer: RbacAuthorizer, verb: str, kind: tuple[str, str, str], namespace: str, name: str
) -> None:
    group, plural, sub = kind
    allowed = authorizer.authorize(AGENT, Attributes(verb, group, "v1", plural, sub, namespace, name)).allowed
    if allowed and verb in READS | {"update", "patch", "delete"}:
        assert may_read(kind, namespace, name)


def test_a_bootstrap_token_cannot_write_roles_or_read_anything(authorizer: RbacAuthorizer) -> None:
    groups = ("system:bootstrappers", "system:bootstrappers:karmada:default-cluster-token", "system:authenticated")
    token = UserInfo("system:bootstrap:abcdef", groups)
    for group, plural in (
        ("rbac.authorization.k8s.io", "clusterroles"),
        ("rbac.authorization.k8s.io", "clusterrolebindings"),
        ("", "secrets"),
        ("", "namespaces"),
        ("cluster.karmada.io", "clusters"),
        ("work.karmada.io", "works"),
    ):
        for verb in VERBS:
            attributes = Attributes(verb, group, "v1", plural, "", "karmada-cluster", "member1")
            assert not authorizer.authorize(token, attributes).allowed, attributes


def cluster(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Pull", **spec},
    }


STOLEN = {"namespace": "karmada-cluster", "name": "member2"}


@pytest.mark.parametrize(
    "tree",
    [
        cluster("evil", apiEndpoint="https://evil"),
        cluster("member1", syncMode="Push", apiEndpoint="https://evil"),
        cluster("member1", secretRef=STOLEN, apiEndpoint="https://evil"),
        cluster("member1", impersonatorSecretRef=STOLEN),
    ],
    ids=["other name", "push", "stolen secret", "stolen impersonator"],
)
async def test_an_agent_cannot_lure_the_control_plane(world: Any, tree: dict[str, Any]) -> None:
    for wanted in agent_objects("member1", "member1"):
        await ensure(world.hub, wanted.type, wanted.tree)
    agent = Client(world.plane.server.direct(AGENT))
    with pytest.raises(Forbidden):
        await agent.resource(objects.CLUSTERS).create(tree)
    own = cluster("member1", secretRef={"namespace": "karmada-cluster", "name": "member1"})
    assert (await agent.resource(objects.CLUSTERS).create(own))["metadata"]["uid"]


async def test_an_agent_cannot_have_a_token_minted_by_a_secret(world: Any) -> None:
    for wanted in agent_objects("member1", "member1"):
        await ensure(world.hub, wanted.type, wanted.tree)
    agent = Client(world.plane.server.direct(AGENT))
    with pytest.raises(Forbidden, match="may write no other secrets"):
        await agent.resource(objects.SECRETS).create(objects.token_secret("default", "karmada-cluster"))
    minted = objects.token_secret("default", "karmada-cluster")
    minted["metadata"]["name"] = "member1"
    with pytest.raises(Forbidden, match="Opaque"):
        await agent.resource(objects.SECRETS).create(minted)
