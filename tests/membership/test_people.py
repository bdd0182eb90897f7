"""What people who may view or edit may do with Karmada's own kinds, and what admission refuses them still."""

from typing import Any

import pytest
from tests.membership.world import World, eventually

from karmada.api.policy.v1alpha1 import OverridePolicy, PropagationPolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.apiserver.auth.model import UserInfo
from karmada.machinery.client import Client, type_of
from karmada.machinery.errors import ApiError, Forbidden
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects

BINDINGS, WORKS, POLICIES = type_of(ResourceBinding), type_of(Work), type_of(PropagationPolicy)
ID = "resourcebinding.karmada.io/permanent-id"
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "team-a", "name": "settings"}


async def person(world: World, name: str, role: str, namespace: str = "") -> Client:
    """Somebody who has one role, in a namespace or everywhere."""
    title, subject = f"{name}-{role}", objects.user_subject(name)
    if namespace:
        tree = objects.role_binding(title, namespace, subject)
    else:
        tree = objects.cluster_role_binding(title, subject)
    tree["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    await world.hub.resource(objects.ROLE_BINDINGS if namespace else objects.CLUSTER_ROLE_BINDINGS).create(tree)
    return Client(world.plane.server.direct(UserInfo(name, ("system:authenticated",))))


async def team(world: World, *names: str) -> None:
    for name in names:
        await world.hub.resource(objects.NAMESPACES).create({"metadata": {"name": name}})


async def may(client: Client, verb: str, type_: GroupVersionResource, namespace: str) -> bool:
    """Whether the control plane lets somebody do something; what is wrong with the request itself does not count."""
    collection = client.resource(type_)
    tree = {"metadata": {"name": "x", "namespace": namespace}}
    try:
        match verb:
            case "list":
                await collection.list(Scope(namespace))
            case "create":
                await collection.create(tree)
            case _:
                await collection.delete("x", namespace)
    except Forbidden as refusal:
        return "denied the request" in str(refusal)
    except ApiError:
        return True
    return True


@pytest.mark.parametrize(
    ("role", "everywhere", "allowed"),
    [
        ("view", True, {("list", "policies"), ("list", "bindings")}),
        ("edit", True, {("list", "policies"), ("list", "bindings"), ("list", "works"), ("create", "policies")}),
        ("edit", False, {("list", "policies"), ("list", "bindings"), ("create", "policies")}),
        ("admin", False, {("list", "policies"), ("list", "bindings"), ("create", "policies")}),
    ],
    ids=["view everywhere", "edit everywhere", "edit in a namespace", "admin of a namespace"],
)
async def test_works_are_not_to_be_viewed_and_bindings_not_to_be_written(
    world: World, role: str, everywhere: bool, allowed: set[tuple[str, str]]
) -> None:
    await team(world, "team-a", "karmada-es-m1")
    client = await person(world, "ann", role, "" if everywhere else "team-a")
    places = {"policies": (POLICIES, "team-a"), "bindings": (BINDINGS, "team-a"), "works": (WORKS, "karmada-es-m1")}

    async def same() -> bool:
        found = {
            (verb, what)
            for verb in ("list", "create", "delete")
            for what, (type_, namespace) in places.items()
            if await may(client, verb, type_, namespace)
        }
        expected = allowed | ({("delete", "policies")} if ("create", "policies") in allowed else set())
        assert found == expected
        return True

    await eventually(same)


async def tenant(world: World) -> Client:
    """A tenant who, against the advice, may write bindings in its namespace."""
    await team(world, "team-a", "team-b")
    rule = {"apiGroups": ["work.karmada.io"], "resources": ["*"], "verbs": ["*"]}
    role = objects.cluster_role("binder", [rule], {})
    await world.hub.resource(objects.CLUSTER_ROLES).create(role)
    await person(world, "mallory", "edit", "team-a")
    return await person(world, "mallory", "binder", "team-a")


def binding(**resource: Any) -> dict[str, Any]:
    named = {key: value for key, value in {**CONFIG_MAP, **resource}.items() if value}
    return {"metadata": {"name": "b", "namespace": "team-a"}, "spec": {"resource": named, "clusters": [{"name": "m"}]}}


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
@pytest.mark.parametrize("namespace", ["team-b", "karmada-cluster", ""], ids=["another's", "reserved", "none"])
async def test_a_tenants_binding_for_what_is_not_its_own_is_refused(world: World, namespace: str, version: str) -> None:
    client = await tenant(world)
    collection = client.resource(BINDINGS._replace(version=version))
    with pytest.raises(Forbidden, match="of its own namespace only"):
        await collection.create(binding(namespace=namespace))
    await collection.create(binding())
    with pytest.raises(Forbidden, match="of its own namespace only"):
        await collection.patch("b", {"spec": {"resource": {"namespace": namespace or None}}}, "team-a")


async def test_the_permanent_id_of_a_binding_stays_what_it_was_created_with(world: World) -> None:
    """A restored binding keeps its id; naming another's gains nothing (tests/controllers/test_tenants.py)."""
    client = await tenant(world)
    forged = {"metadata": {"labels": {ID: "victim"}}}
    collection = client.resource(BINDINGS)
    tree = binding()
    tree["metadata"] |= {"labels": {ID: "restored"}}
    made = await collection.create(tree)
    assert made["metadata"]["labels"][ID] == "restored"
    for change in (forged, {"metadata": {"labels": {ID: None}}}, {"metadata": {"labels": None}}):
        with pytest.raises(Forbidden, match="cannot be changed"):
            await collection.patch("b", change, "team-a")
    with pytest.raises(Forbidden, match="cannot be changed"):
        await collection.update({**made, "metadata": {**made["metadata"], **forged["metadata"]}})
    await collection.patch("b", forged, "team-a", subresource="status")
    assert (await collection.get("b", "team-a"))["metadata"]["labels"][ID] == made["metadata"]["labels"][ID]


async def test_a_tenants_override_that_rewrites_what_an_object_is_is_refused(world: World) -> None:
    client = await tenant(world)
    change = {"path": "/kind", "operator": "replace", "value": "ClusterRoleBinding"}
    spec = {"overrideRules": [{"overriders": {"plaintext": [change]}}]}
    policy = {"metadata": {"name": "o", "namespace": "team-a"}, "spec": spec}
    with pytest.raises(Forbidden, match=r"spec\.overrideRules\[0\]\.overriders\.plaintext\[0\]\.path: Forbidden"):
        await client.resource(type_of(OverridePolicy)).create(policy)
