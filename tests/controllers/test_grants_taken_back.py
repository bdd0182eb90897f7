"""What an administrator takes back from a role, quota or endpoint leaves the copies, whatever policies of its namespace
say: people of a namespace write these, and would keep their grants by them."""

import pytest
from tests.controllers.plane import WORKS, on_a_plane
from tests.controllers.recorded import recorded
from tests.controllers.test_detector import start

from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy, PropagationPolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.binding import BindingController
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.transport import GroupVersionResource

RBAC = "rbac.authorization.k8s.io"
ROLE_BINDINGS = GroupVersionResource(RBAC, "v1", "rolebindings")
BINDINGS, POLICIES = type_of(ResourceBinding), type_of(PropagationPolicy)
OVERRIDES, WIDE_OVERRIDES = type_of(OverridePolicy), type_of(ClusterOverridePolicy)
PEOPLE = ["alice", "bob"]
SELECTORS = [{"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding"}]
MISSING = {"plaintext": [{"path": "/no/such/path", "operator": "replace", "value": 1}]}
GRANTING = {"plaintext": [{"path": "/subjects/0/name", "operator": "replace", "value": "mallory"}]}
LABELLING = {"labelsOverrider": [{"operator": "add", "value": {"tier": "front"}}]}


def policy(name="p", **spec):
    labels = {"propagationpolicy.karmada.io/permanent-id": f"id-of-{name}"}
    finalizers = ["karmada.io/propagation-policy-controller"]
    metadata = {"name": name, "namespace": "default", "labels": labels, "finalizers": finalizers}
    return {"metadata": metadata, "spec": {"resourceSelectors": SELECTORS, "placement": {}, **spec}}


def override(overriders, **metadata):
    return {"metadata": {"name": "o", **metadata}, "spec": {"overrideRules": [{"overriders": overriders}]}}


def subjects(*people):
    return [{"apiGroup": RBAC, "kind": "User", "name": name} for name in people]


async def copy(plane):
    """The RoleBinding as it goes into the member."""
    [work] = (await plane.client.resource(WORKS).list()).items
    [manifest] = work["spec"]["workload"]["manifests"]
    return manifest


async def granted(plane):
    return [one["name"] for one in (await copy(plane))["subjects"]]


async def grant(plane):
    """A RoleBinding that a policy of its namespace brought into a member."""
    await plane.cluster("m1")
    start(plane)
    templates = Templates(plane.context)
    plane.supervisor.start("templates of bindings", templates.run)
    plane.start(BindingController(plane.context, templates).controller)
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"}
    devs = {"metadata": {"name": "devs", "namespace": "default"}, "roleRef": role, "subjects": subjects(*PEOPLE)}
    await plane.client.resource(ROLE_BINDINGS).create(devs)
    await plane.client.resource(POLICIES).create(policy())
    await plane.clock.sleep(10)
    marks = {"labels": {"resourcebinding.karmada.io/permanent-id": "one"}}
    scheduled = {"metadata": marks, "spec": {"clusters": [{"name": "m1"}]}}
    await plane.client.resource(BINDINGS).patch("devs-rolebinding", scheduled, "default")
    await plane.clock.sleep(10)
    assert await granted(plane) == PEOPLE


async def take_back(plane):
    """Have an administrator take the grant back from Alice."""
    await plane.clock.sleep(60)
    assert await granted(plane) == PEOPLE
    await plane.client.resource(ROLE_BINDINGS).patch("devs", {"subjects": subjects("bob")}, "default")
    await plane.clock.sleep(60)


@pytest.mark.parametrize("overriders", [MISSING, GRANTING], ids=["a missing path", "another subject"])
def test_an_override_of_the_namespace_that_fails_keeps_no_grant(overriders):
    async def scenario(plane):
        await grant(plane)
        await plane.client.resource(WIDE_OVERRIDES).create(override(LABELLING))
        await plane.client.resource(OVERRIDES).create(override(overriders, namespace="default"))
        await take_back(plane)
        assert await granted(plane) == ["bob"]
        assert (await copy(plane))["metadata"]["labels"]["tier"] == "front"
        [(type_, _, kind, message)] = await recorded(plane, "ApplyOverridePolicyFailed")
        assert (type_, kind) == ("Warning", "RoleBinding")
        assert message.startswith("Apply override policy(o) for cluster(m1) failed. The copy has no overrides of its ")

    on_a_plane(scenario)


def test_a_copy_is_not_made_without_the_override_of_an_administrator():
    async def scenario(plane):
        await grant(plane)
        await plane.client.resource(WIDE_OVERRIDES).create(override(MISSING))
        await take_back(plane)
        assert await granted(plane) == PEOPLE

    on_a_plane(scenario)
