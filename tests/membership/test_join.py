from typing import Any

import pytest
import yaml

from karmada.apiserver.auth.kubeconfig import kubeconfig
from karmada.machinery.resource import Scope
from karmada.membership import objects
from karmada.membership.credentials import cluster_id, obtain
from karmada.membership.join import join
from karmada.membership.refusal import Refused
from karmada.membership.registration import Description


async def test_a_joined_cluster_becomes_ready_over_https(world: Any) -> None:
    member = await world.member("member1")
    cluster = await join(member.client, world.hub, member.describe(provider="acme", region="east", zones=("a", "b")))
    spec = cluster["spec"]
    assert spec["id"] == await cluster_id(member.client)
    assert spec["secretRef"] == {"namespace": "karmada-cluster", "name": "member1"}
    assert spec["impersonatorSecretRef"] == {"namespace": "karmada-cluster", "name": "member1-impersonator"}
    assert (spec["provider"], spec["region"], spec["zones"]) == ("acme", "east", ["a", "b"])
    ready = await world.ready("member1")
    assert ready.status.kubernetes_version
    assert ready.status.api_enablements


async def test_joining_leaves_the_recorded_objects_on_both_sides(world: Any) -> None:
    member = await world.member("member1")
    cluster = await join(member.client, world.hub, member.describe())
    accounts = await member.client.resource(objects.SERVICE_ACCOUNTS).list(Scope("karmada-cluster"))
    assert {a["metadata"]["name"] for a in accounts.items} >= {"karmada-impersonator", "karmada-member1"}
    role = await member.client.resource(objects.CLUSTER_ROLES).get("karmada-controller-manager:karmada-member1")
    assert role["rules"] == list(objects.EVERYTHING)
    assert role["metadata"]["labels"] == {"karmada.io/system": "true"}
    binding = await member.client.resource(objects.CLUSTER_ROLE_BINDINGS).get(
        "karmada-controller-manager:karmada-member1"
    )
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "karmada-member1", "namespace": "karmada-cluster"}
    ]
    for name, keys in (("member1", {"caBundle", "token"}), ("member1-impersonator", {"token"})):
        secret = await world.hub.resource(objects.SECRETS).get(name, "karmada-cluster")
        assert set(secret["data"]) == keys
        assert secret["metadata"]["labels"] == {"karmada.io/system": "true"}
        assert secret["metadata"]["ownerReferences"] == [objects.owned_by(cluster)]


@pytest.mark.parametrize("name", ["member1", "other"], ids=["same name", "other name"])
async def test_a_cluster_joins_once(world: Any, name: str) -> None:
    member = await world.member("member1")
    await join(member.client, world.hub, member.describe())
    identity = await cluster_id(member.client)
    with pytest.raises(Refused, match=f"the cluster ID {identity} or the cluster name {name} has been registered"):
        await join(member.client, world.hub, member.describe(name), dry_run=True)


async def test_the_control_plane_is_not_its_own_member(world: Any) -> None:
    with pytest.raises(Refused, match=r"leads to the control plane itself.*check --cluster-kubeconfig"):
        await join(world.hub, world.hub, Description("itself", "https://192.0.2.1"))
    assert not (await world.hub.resource(objects.CLUSTERS).list()).items
    assert not (await world.hub.resource(objects.SERVICE_ACCOUNTS).list(Scope("karmada-cluster"))).items


async def test_a_name_belongs_to_one_cluster(world: Any) -> None:
    first, second = await world.member("member1"), await world.member("member1")
    await join(first.client, world.hub, first.describe())
    with pytest.raises(Refused, match="the cluster name member1 has been registered"):
        await join(second.client, world.hub, second.describe())


async def test_a_dry_run_writes_nothing(world: Any) -> None:
    member = await world.member("member1")
    await join(member.client, world.hub, member.describe(), dry_run=True)
    assert not (await world.hub.resource(objects.CLUSTERS).list()).items
    namespaces = (await member.client.resource(objects.NAMESPACES).list()).items
    assert "karmada-cluster" not in {n["metadata"]["name"] for n in namespaces}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "cluster name is required"),
        ("Bad_Name", r"invalid cluster name\(Bad_Name\): a lowercase RFC 1123 label must consist of"),
        ("x" * 49, "must be no more than 48 characters"),
    ],
    ids=["none", "capitals", "too long"],
)
async def test_bad_names_are_refused(world: Any, name: str, message: str) -> None:
    member = await world.member("member1")
    with pytest.raises(Refused, match=message):
        await join(member.client, world.hub, Description(name, member.endpoint))


async def test_a_cluster_written_by_hand_with_a_kubeconfig_becomes_ready(world: Any) -> None:
    member = await world.member("by-hand")
    await join(member.client, world.hub, member.describe("temporary"), dry_run=True)
    made = await obtain(member.client, "by-hand", "karmada-cluster")
    config = kubeconfig("https://192.0.2.1:6443", made.authority, token=made.token.decode())
    secret = objects.secret("by-hand", "default", {"kubeconfig": yaml.safe_dump(config).encode()})
    await world.hub.resource(objects.SECRETS).create(secret)
    await world.hub.resource(objects.CLUSTERS).create(
        {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": "by-hand"},
            "spec": {
                "syncMode": "Push",
                "apiEndpoint": member.endpoint,
                "secretRef": {"namespace": "default", "name": "by-hand"},
            },
        }
    )
    await world.ready("by-hand")
