"""What an administrator takes back from a role, quota or endpoint leaves the copies, whatever policies of its namespace
say: people of a namespace write these, and would keep their grants by them."""

import pytest
from tests.controllers.plane import CONFIG_MAPS, WORKS, on_a_plane
from tests.controllers.recorded import recorded
from tests.controllers.test_detector import start

from karmada.api.policy.v1alpha1 import (
    ClusterOverridePolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    PropagationPolicy,
)
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.binding import BindingController
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.errors import Unavailable
from karmada.machinery.transport import GroupVersionResource, Verb

RBAC = "rbac.authorization.k8s.io"
ROLE_BINDINGS = GroupVersionResource(RBAC, "v1", "rolebindings")
BINDINGS, POLICIES = type_of(ResourceBinding), type_of(PropagationPolicy)
OVERRIDES, WIDE_OVERRIDES = type_of(OverridePolicy), type_of(ClusterOverridePolicy)
PEOPLE = ["alice", "bob"]
SELECTORS = [{"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding"}]
MISSING = {"plaintext": [{"path": "/no/such/path", "operator": "replace", "value": 1}]}
GRANTING = {"plaintext": [{"path": "/subjects/0/name", "operator": "replace", "value": "mallory"}]}
TOO_LARGE = {"annotationsOverrider": [{"operator": "add", "value": {"large": "a" * 300_000}}]}
NO_LABELS = {"plaintext": [{"path": "/metadata/labels", "operator": "add", "value": {"no key!": {}}}]}
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


def devs():
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"}
    return {
        "metadata": {"name": "devs", "namespace": "default", "labels": {"v": "1"}},
        "roleRef": role,
        "subjects": subjects(*PEOPLE),
    }


async def copy(plane):
    """The RoleBinding as it goes into the member."""
    [work] = (await plane.client.resource(WORKS).list()).items
    [manifest] = work["spec"]["workload"]["manifests"]
    return manifest


async def granted(plane):
    return [one["name"] for one in (await copy(plane))["subjects"]]


async def grant(plane, selectors=SELECTORS):
    """A RoleBinding that a policy of its namespace brought into a member."""
    await plane.cluster("m1")
    start(plane)
    templates = Templates(plane.context)
    plane.supervisor.start("templates of bindings", templates.run)
    plane.start(BindingController(plane.context, templates).controller)
    await plane.client.resource(ROLE_BINDINGS).create(devs())
    await plane.client.resource(POLICIES).create(policy(resourceSelectors=selectors))
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


@pytest.mark.parametrize(
    "overriders",
    [MISSING, GRANTING, TOO_LARGE, NO_LABELS],
    ids=["a missing path", "another subject", "too large", "labels that are none"],
)
def test_an_override_of_the_namespace_that_fails_or_is_refused_keeps_no_grant(overriders):
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


async def deleted(plane):
    await plane.client.resource(POLICIES).delete("p", "default")


async def held_by_a_finalizer(plane):
    held = {"metadata": {"finalizers": ["karmada.io/propagation-policy-controller", "tenant.example/held"]}}
    await plane.client.resource(POLICIES).patch("p", held, "default")
    await deleted(plane)


async def aimed_elsewhere(plane):
    selectors = [{**SELECTORS[0], "name": "another"}]
    await plane.client.resource(POLICIES).patch("p", {"spec": {"resourceSelectors": selectors}}, "default")


async def waiting(plane):
    await plane.client.resource(POLICIES).patch("p", {"spec": {"dependentOverrides": ["no-such"]}}, "default")


async def released_and_waiting(plane):
    await deleted(plane)
    await plane.client.resource(POLICIES).create(policy("q", dependentOverrides=["no-such"]))


async def refused(plane):
    wanted = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "no-such"}
    await plane.client.resource(POLICIES).patch("p", {"spec": {"schedulePriority": wanted}}, "default")


@pytest.mark.parametrize(
    "change", [deleted, held_by_a_finalizer, aimed_elsewhere, waiting, released_and_waiting, refused]
)
def test_a_policy_of_the_namespace_that_lets_go_or_cannot_be_applied_keeps_no_grant(change):
    async def scenario(plane):
        await grant(plane)
        await change(plane)
        await take_back(plane)
        assert await granted(plane) == ["bob"]

    on_a_plane(scenario)


def test_a_policy_of_the_namespace_that_no_longer_selects_what_it_holds_keeps_no_grant():
    async def scenario(plane):
        await grant(plane, [{**SELECTORS[0], "labelSelector": {"matchLabels": {"v": "1"}}}])
        narrowed = {"metadata": {"labels": {"v": "2"}}, "subjects": subjects("bob")}
        await plane.client.resource(ROLE_BINDINGS).patch("devs", narrowed, "default")
        await plane.clock.sleep(60)
        assert await granted(plane) == ["bob"]

    on_a_plane(scenario)


def test_a_policy_that_goes_keeps_no_grant_while_it_cannot_let_go_of_its_resource():
    async def scenario(plane):
        async def refuse(request):
            if request.resource == ROLE_BINDINGS and request.verb is Verb.PATCH:
                raise Unavailable("away")

        await grant(plane)
        plane.transport.before = refuse
        await held_by_a_finalizer(plane)
        await take_back(plane)
        assert await granted(plane) == ["bob"]
        marks = (await plane.client.resource(ROLE_BINDINGS).get("devs", "default"))["metadata"]["labels"]
        assert "propagationpolicy.karmada.io/permanent-id" in marks

    on_a_plane(scenario)


async def followed(plane, type_, name, kind):
    """Whether the binding of a resource is of the state that the resource has now."""
    resource = await plane.client.resource(type_).get(name, "default")
    binding = await plane.client.resource(BINDINGS).get(f"{name}-{kind}", "default")
    return binding["spec"]["resource"]["resourceVersion"] == resource["metadata"]["resourceVersion"]


def test_a_policy_that_waits_says_so():
    async def scenario(plane):
        await grant(plane)
        await waiting(plane)
        await take_back(plane)
        [(type_, _, kind, message)] = await recorded(plane, "ApplyPolicyFailed")
        assert (type_, kind) == ("Warning", "RoleBinding")
        assert message == "Apply policy(default/p) waits for override policy no-such, which does not exist"

    on_a_plane(scenario)


def test_a_policy_that_let_go_before_a_cache_showed_its_binding_keeps_no_grant():
    async def scenario(plane):
        start(plane)
        await plane.client.resource(ROLE_BINDINGS).create(devs())
        await plane.clock.sleep(5)
        plane.transport.held = {BINDINGS}
        await plane.client.resource(POLICIES).create(policy())
        await plane.clock.sleep(5)
        await deleted(plane)
        await plane.clock.sleep(5)
        await plane.client.resource(ROLE_BINDINGS).patch("devs", {"subjects": subjects("bob")}, "default")
        await plane.clock.sleep(5)
        assert not await followed(plane, ROLE_BINDINGS, "devs", "rolebinding")
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        assert await followed(plane, ROLE_BINDINGS, "devs", "rolebinding")

    on_a_plane(scenario)


def test_a_lazy_policy_of_the_namespace_takes_over_no_old_grant():
    async def scenario(plane):
        await grant(plane)
        await deleted(plane)
        await plane.client.resource(POLICIES).create(policy("q", activationPreference="Lazy"))
        await plane.clock.sleep(60)
        assert await followed(plane, ROLE_BINDINGS, "devs", "rolebinding")

    on_a_plane(scenario)


def test_a_binding_follows_nothing_of_an_object_that_has_only_its_name():
    async def scenario(plane):
        await grant(plane)
        await deleted(plane)
        await plane.clock.sleep(5)
        earlier = {"spec": {"resource": {"uid": "earlier", "resourceVersion": "1"}}}
        await plane.client.resource(BINDINGS).patch("devs-rolebinding", earlier, "default")
        await plane.client.resource(ROLE_BINDINGS).patch("devs", {"subjects": subjects("bob")}, "default")
        await plane.clock.sleep(60)
        binding = await plane.client.resource(BINDINGS).get("devs-rolebinding", "default")
        assert binding["spec"]["resource"]["uid"] == "earlier"

    on_a_plane(scenario)


@pytest.mark.parametrize("change", [deleted, waiting])
def test_other_kinds_stay_as_they_are_when_their_policy_lets_go_or_waits(change):
    async def scenario(plane):
        start(plane)
        settings = {"metadata": {"name": "settings", "namespace": "default"}}
        await plane.client.resource(CONFIG_MAPS).create(settings)
        await plane.client.resource(POLICIES).create(
            policy(resourceSelectors=[{"apiVersion": "v1", "kind": "ConfigMap"}])
        )
        await plane.clock.sleep(10)
        await change(plane)
        await plane.clock.sleep(10)
        await plane.client.resource(CONFIG_MAPS).patch("settings", {"data": {"v": "2"}}, "default")
        await plane.clock.sleep(60)
        assert not await followed(plane, CONFIG_MAPS, "settings", "configmap")

    on_a_plane(scenario)


def test_what_a_cluster_wide_policy_waits_for_holds_changes_back():
    async def scenario(plane):
        start(plane)
        await plane.client.resource(ROLE_BINDINGS).create(devs())
        metadata = {"name": "p", "labels": {"clusterpropagationpolicy.karmada.io/permanent-id": "id-of-p"}}
        policies = plane.client.resource(type_of(ClusterPropagationPolicy))
        await policies.create({"metadata": metadata, "spec": {"resourceSelectors": SELECTORS, "placement": {}}})
        await plane.clock.sleep(10)
        await policies.patch("p", {"spec": {"dependentOverrides": ["no-such"]}})
        await plane.clock.sleep(10)
        await plane.client.resource(ROLE_BINDINGS).patch("devs", {"subjects": subjects("bob")}, "default")
        await plane.clock.sleep(60)
        assert not await followed(plane, ROLE_BINDINGS, "devs", "rolebinding")

    on_a_plane(scenario)


def test_a_copy_is_not_made_without_the_override_of_an_administrator():
    async def scenario(plane):
        await grant(plane)
        await plane.client.resource(WIDE_OVERRIDES).create(override(MISSING))
        await take_back(plane)
        assert await granted(plane) == PEOPLE

    on_a_plane(scenario)
