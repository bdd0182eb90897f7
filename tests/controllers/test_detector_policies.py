"""Policies that let go, wait for users, or take over from others."""

import pytest
from tests.controllers.observing import does, once
from tests.controllers.plane import CONFIG_MAPS, NAMESPACES, on_a_plane
from tests.controllers.recorded import recorded
from tests.controllers.test_detector import start
from tests.controllers.test_detector_bindings import (
    BINDINGS,
    CLAIM,
    CLUSTER_ROLES,
    FINALIZER,
    MAPS,
    POLICIES,
    ROLES,
    SETTINGS,
    WIDE,
    WIDE_CLAIM,
    WIDE_POLICIES,
    begin,
    binding,
    gated,
    policy,
    template,
)

from karmada.machinery.errors import Forbidden
from karmada.machinery.transport import GroupVersionResource, Verb

SECRETS = GroupVersionResource("", "v1", "secrets")
ANOTHER = {**MAPS, "name": "another"}


async def change(plane, **data):
    await plane.client.resource(CONFIG_MAPS).patch("settings", {"data": data}, "default")
    await plane.clock.sleep(5)


def test_a_lazy_policy_claims_at_once_and_binds_when_a_user_changes_the_template():
    async def scenario(plane):
        start(plane)
        await plane.client.resource(CONFIG_MAPS).create(SETTINGS)
        await plane.clock.sleep(5)
        await plane.client.resource(POLICIES).create(policy(activationPreference="Lazy"))
        await plane.clock.sleep(5)
        assert (await template(plane))[0] == {CLAIM: "id-of-p"}
        assert await binding(plane) is None
        note = {"metadata": {"annotations": {"work.karmada.io/noted": "by Karmada"}}}
        await plane.client.resource(CONFIG_MAPS).patch("settings", note, "default")
        await plane.clock.sleep(5)
        assert await binding(plane) is None
        await change(plane, v="2")
        made = await binding(plane)
        assert made is not None
        await plane.client.resource(POLICIES).patch("p", {"spec": {"conflictResolution": "Overwrite"}}, "default")
        await plane.clock.sleep(5)
        assert (await binding(plane))["spec"] == made["spec"]
        await change(plane, v="3")
        assert (await binding(plane))["spec"]["conflictResolution"] == "Overwrite"

    on_a_plane(scenario)


def test_a_lazy_policy_that_goes_frees_what_it_claimed_without_a_binding():
    async def scenario(plane):
        start(plane)
        await plane.client.resource(CONFIG_MAPS).create(SETTINGS)
        tree = policy(activationPreference="Lazy")
        tree["metadata"]["finalizers"] = ["karmada.io/propagation-policy-controller"]
        await plane.clock.sleep(5)
        await plane.client.resource(POLICIES).create(tree)
        await plane.clock.sleep(5)
        assert (await template(plane))[0] == {CLAIM: "id-of-p"}
        await plane.client.resource(POLICIES).delete("p", "default")
        await plane.clock.sleep(5)
        assert await template(plane) == ({}, {})
        assert (await plane.client.resource(POLICIES).list()).items == []

    on_a_plane(scenario)


@pytest.mark.parametrize("failures_first", [0, 1])
def test_a_users_change_that_could_not_be_acted_on_is_not_lost_on_a_lazy_policy(failures_first):
    async def scenario(plane):
        await begin(plane, policy(activationPreference="Lazy"))
        left = [Forbidden("not now")] * failures_first

        async def before(request):
            if request.resource == BINDINGS and request.verb in (Verb.CREATE, Verb.PATCH) and left:
                raise left.pop()

        plane.transport.before = before
        await change(plane, v="2")
        assert await binding(plane) is not None

    on_a_plane(scenario)


@pytest.mark.parametrize("wide", [False, True], ids=["namespaced", "cluster-wide"])
def test_what_a_policy_chooses_no_longer_is_freed_and_what_it_still_chooses_is_renewed(wide):
    async def scenario(plane):
        namespace = "" if wide else "default"
        type_, claim = (WIDE_POLICIES, WIDE_CLAIM) if wide else (POLICIES, CLAIM)
        await begin(plane, policy(namespace=namespace), type_)
        other = {"metadata": {"name": "another", "namespace": "default"}}
        await plane.client.resource(CONFIG_MAPS).create(other)
        await plane.clock.sleep(5)
        spec = {"resourceSelectors": [ANOTHER], "conflictResolution": "Overwrite"}
        await plane.client.resource(type_).patch("p", {"spec": spec}, namespace)
        await plane.clock.sleep(5)
        assert await template(plane) == ({}, {})
        assert claim not in (await binding(plane))["metadata"].get("labels", {})
        renewed = await binding(plane, "another-configmap")
        assert renewed["metadata"]["labels"][claim] == "id-of-p"
        assert renewed["spec"]["conflictResolution"] == "Overwrite"

    on_a_plane(scenario)


@pytest.mark.parametrize("wide", [False, True], ids=["namespaced", "cluster-wide"])
def test_a_template_that_could_not_be_freed_with_its_binding_is_freed_later(wide):
    async def scenario(plane):
        type_, claim = (WIDE_POLICIES, WIDE_CLAIM) if wide else (POLICIES, CLAIM)
        await begin(plane, policy(namespace="" if wide else "default"), type_)
        left = [Forbidden("not now")]

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == CONFIG_MAPS and left:
                raise left.pop()

        plane.transport.before = before
        patch = {"spec": {"resourceSelectors": [ANOTHER]}}
        await plane.client.resource(type_).patch("p", patch, "" if wide else "default")
        await plane.clock.sleep(30)
        assert claim not in (await binding(plane))["metadata"].get("labels", {})
        assert (left, await template(plane)) == ([], ({}, {}))

    on_a_plane(scenario)


@pytest.mark.parametrize("claimed", [False, True], ids=["the binding is free", "the binding is claimed"])
def test_a_template_whose_binding_was_freed_before_a_crash_is_freed_at_the_start(claimed):
    async def scenario(plane):
        await plane.client.resource(POLICIES).create(policy(ANOTHER))
        marks = {"labels": {CLAIM: "id-of-p"}}
        marks["annotations"] = {f"propagationpolicy.karmada.io/{key}": value for key, value in NAMED.items()}
        made = await plane.client.resource(CONFIG_MAPS).create({"metadata": SETTINGS["metadata"] | marks})
        resource = {**MAPS, "name": "settings", "namespace": "default", "uid": made["metadata"]["uid"]}
        metadata = {"name": "settings-configmap", "namespace": "default"} | (marks if claimed else {})
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": {"resource": resource}})
        start(plane)
        await plane.clock.sleep(5)
        assert await template(plane) == ({}, {})
        assert CLAIM not in (await binding(plane))["metadata"].get("labels", {})

    on_a_plane(scenario)


def test_a_claim_whose_policy_is_gone_is_taken_off_with_that_of_the_binding():
    async def scenario(plane):
        await begin(plane)
        await plane.client.resource(POLICIES).delete("p", "default")
        await plane.clock.sleep(5)
        await change(plane, v="2")
        assert await template(plane) == ({}, {})
        assert CLAIM not in (await binding(plane))["metadata"].get("labels", {})

    on_a_plane(scenario)


def test_a_template_under_a_policy_that_is_being_deleted_waits_for_the_next():
    async def scenario(plane):
        tree = policy()
        tree["metadata"]["finalizers"] = ["test/hold"]
        await plane.client.resource(POLICIES).create(tree)
        await plane.client.resource(POLICIES).delete("p", "default")
        marks = {"labels": {CLAIM: "id-of-p"}}
        marks["annotations"] = {f"propagationpolicy.karmada.io/{key}": value for key, value in NAMED.items()}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": SETTINGS["metadata"] | marks})
        start(plane)
        await plane.clock.sleep(5)
        await plane.client.resource(POLICIES).create(policy(name="next"))
        await plane.clock.sleep(60)
        assert (await template(plane))[0] == {CLAIM: "id-of-next"}

    on_a_plane(scenario)


NAMED = {"name": "p", "namespace": "default"}


def test_a_template_that_another_controller_took_is_left_to_it():
    async def scenario(plane):
        start(plane)
        marks = {"labels": {"resourcetemplate.karmada.io/claimed-by": "another"}}
        await plane.client.resource(CONFIG_MAPS).create({"metadata": SETTINGS["metadata"] | marks})
        await plane.client.resource(POLICIES).create(policy())
        await plane.clock.sleep(5)
        assert await binding(plane) is None

    on_a_plane(scenario)


def test_a_template_that_was_deleted_before_its_policy_came_is_forgotten():
    async def scenario(plane):
        start(plane)
        templates = plane.client.resource(CONFIG_MAPS)
        await templates.create(SETTINGS)
        await plane.clock.sleep(5)
        await templates.delete("settings", "default")
        await plane.clock.sleep(5)
        await plane.client.resource(POLICIES).create(policy())
        await plane.clock.sleep(5)
        assert (await plane.client.resource(BINDINGS).list()).items == []

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("gate", "preemption", "priority", "refused", "holder"),
    [
        (True, "Always", 2, False, "taker"),
        (True, "Always", 2, True, "taker"),
        (True, "Always", 1, False, "p"),
        (True, "Never", 2, False, "p"),
        (False, "Always", 2, False, "p"),
    ],
    ids=["stronger", "stronger at the second attempt", "as strong", "modest", "without the gate"],
)
def test_a_stronger_policy_takes_over_and_says_so(gate, preemption, priority, refused, holder):
    async def scenario(plane):
        gated(plane, PropagationPolicyPreemption=gate)
        await begin(plane, policy(priority=1))
        left = [Forbidden("not now")] * refused

        async def before(request):
            if request.resource == CONFIG_MAPS and request.verb is Verb.PATCH and left:
                raise left.pop()

        plane.transport.before = before
        named = {**MAPS, "name": "settings"}
        missing = [{**MAPS, "name": "missing"}, {"apiVersion": "example.io/v1", "kind": "Widget", "name": "settings"}]
        taker = policy(*missing, named, name="taker", preemption=preemption, priority=priority)
        await plane.client.resource(POLICIES).create(taker)
        await plane.clock.sleep(20)
        assert (await template(plane))[0][CLAIM] == f"id-of-{holder}"
        assert (await binding(plane))["metadata"]["labels"][CLAIM] == f"id-of-{holder}"
        both = "ropagation policy(default/taker)", "propagation policy(default/p)"
        done = ("Normal", "PreemptPolicySucceed", "ConfigMap", "P{} preempted {} successfully".format(*both))
        failed = ("Warning", "PreemptPolicyFailed", "ConfigMap", "P{} failed to preempt {}: not now".format(*both))
        expected = [done] * (holder == "taker") + [failed] * refused
        assert await recorded(plane, "PreemptPolicySucceed", "PreemptPolicyFailed") == expected
        counts = plane.context.metrics.preemptions
        assert (counts["success"], counts["error"]) == (int(holder == "taker"), int(refused))

    on_a_plane(scenario)


def test_a_policy_of_the_namespace_takes_over_from_a_cluster_wide_one():
    async def scenario(plane):
        gated(plane, PropagationPolicyPreemption=True)
        await begin(plane, policy(namespace=""), WIDE_POLICIES)
        assert WIDE_CLAIM in (await template(plane))[0]
        taker = policy({**MAPS, "name": "settings"}, name="taker", preemption="Always")
        await plane.client.resource(POLICIES).create(taker)
        await plane.clock.sleep(10)
        assert (await template(plane))[0] == {CLAIM: "id-of-taker"}
        ((*_, text),) = await recorded(plane, "PreemptPolicySucceed")
        assert text == "Propagation policy(default/taker) preempted cluster propagation policy(p) successfully"

    on_a_plane(scenario)


def test_nobody_takes_over_what_is_being_deleted():
    async def scenario(plane):
        gated(plane, PropagationPolicyPreemption=True)
        await begin(plane, policy(priority=1))
        templates = plane.client.resource(CONFIG_MAPS)
        await templates.patch("settings", {"metadata": {"finalizers": ["example.com/held"]}}, "default")
        await templates.delete("settings", "default")
        await plane.clock.sleep(5)
        taker = policy({**MAPS, "name": "settings"}, name="taker", preemption="Always", priority=2)
        await plane.client.resource(POLICIES).create(taker)
        await plane.clock.sleep(10)
        assert (await template(plane))[0] == {CLAIM: "id-of-p"}
        assert await recorded(plane, "PreemptPolicySucceed", "PreemptPolicyFailed") == []

    on_a_plane(scenario)


def test_a_policy_takes_over_nothing_of_another_namespace():
    async def scenario(plane):
        gated(plane, PropagationPolicyPreemption=True)
        await begin(plane, policy(namespace=""), WIDE_POLICIES)
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": "other"}})
        named = {**MAPS, "name": "settings", "namespace": "default"}
        taker = policy(named, name="taker", namespace="other", preemption="Always")
        await plane.client.resource(POLICIES).create(taker)
        await plane.clock.sleep(10)
        assert (await template(plane))[0] == {WIDE_CLAIM: "id-of-p"}
        assert await recorded(plane, "PreemptPolicySucceed") == [], "not even for a moment"

    on_a_plane(scenario)


@pytest.mark.parametrize("gate", [True, False])
def test_a_cluster_wide_policy_takes_over_when_the_priority_of_its_rival_falls(gate):
    async def scenario(plane):
        gated(plane, PropagationPolicyPreemption=gate)
        await begin(plane, policy(namespace="", priority=9), WIDE_POLICIES)
        named = {**MAPS, "name": "settings", "namespace": "default"}
        rival = policy(named, name="rival", namespace="", preemption="Always", priority=5)
        await plane.client.resource(WIDE_POLICIES).create(rival)
        await plane.clock.sleep(5)
        assert (await template(plane))[0] == {WIDE_CLAIM: "id-of-p"}
        await plane.client.resource(WIDE_POLICIES).patch("p", {"spec": {"priority": 1}})
        await plane.clock.sleep(5)
        assert (await template(plane))[0] == {WIDE_CLAIM: "id-of-rival" if gate else "id-of-p"}

    on_a_plane(scenario)


async def role(plane):
    return await plane.client.resource(CLUSTER_ROLES).get("role")


@pytest.mark.parametrize("how", ["it chooses another", "it goes", "it is gone"])
def test_a_cluster_scoped_resource_and_its_binding_are_freed_together(how):
    async def scenario(plane):
        start(plane)
        policies = plane.client.resource(WIDE_POLICIES)
        tree = policy(ROLES, namespace="")
        tree["metadata"]["finalizers"] = ["karmada.io/cluster-propagation-policy-controller"]
        await policies.create(tree)
        await plane.client.resource(CLUSTER_ROLES).create({"metadata": {"name": "role"}, "rules": []})
        await plane.clock.sleep(5)
        assert (await role(plane))["metadata"]["labels"] == {WIDE_CLAIM: "id-of-p"}
        if how == "it chooses another":
            await policies.patch("p", {"spec": {"resourceSelectors": [{**ROLES, "name": "another"}]}})
        else:
            if how == "it is gone":
                plane.transport.held = {WIDE_POLICIES}
                await policies.patch("p", {"metadata": {"finalizers": None}})
            await policies.delete("p")
            await plane.clock.sleep(5)
            plane.transport.held = frozenset()
            await plane.clock.sleep(5)
            rules = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
            await plane.client.resource(CLUSTER_ROLES).patch("role", rules)
        await plane.clock.sleep(5)
        bound = await plane.client.resource(WIDE).get("role-clusterrole")
        for metadata in ((await role(plane))["metadata"], bound["metadata"]):
            assert WIDE_CLAIM not in metadata.get("labels", {})
        assert len((await policies.list()).items) == (how == "it chooses another")

    on_a_plane(scenario)


def test_a_policy_that_goes_frees_a_binding_whose_template_is_gone():
    async def scenario(plane):
        tree = policy()
        tree["metadata"]["finalizers"] = [FINALIZER]
        await begin(plane, tree)
        await plane.client.resource(CONFIG_MAPS).delete("settings", "default")
        await plane.clock.sleep(5)
        await plane.client.resource(POLICIES).delete("p", "default")
        await plane.clock.sleep(5)
        assert CLAIM not in (await binding(plane))["metadata"].get("labels", {})
        assert (await plane.client.resource(POLICIES).list()).items == []

    on_a_plane(scenario)


def test_a_policy_that_came_and_went_unseen_does_nothing():
    async def scenario(plane):
        detector = start(plane)
        await plane.clock.sleep(5)
        plane.transport.held = {POLICIES}
        await plane.client.resource(POLICIES).create(policy())
        await plane.client.resource(POLICIES).delete("p", "default")
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        assert (await does(plane, detector.policies, plane.clock.sleep(1)), detector.policies.errors) == ([0], 0)

    on_a_plane(scenario)


def test_a_template_that_goes_while_it_is_claimed_gets_no_binding():
    async def scenario(plane):
        async def gone():
            await plane.client.resource(CONFIG_MAPS).delete("settings", "default")

        once(plane, Verb.PATCH, CONFIG_MAPS, gone)
        await begin(plane)
        assert await binding(plane) is None

    on_a_plane(scenario)


def test_a_template_that_its_users_change_stays_with_the_policy_that_chose_it():
    async def scenario(plane):
        chosen = {**MAPS, "labelSelector": {"matchLabels": {"app": "web"}}}
        start(plane)
        labelled = {"metadata": SETTINGS["metadata"] | {"labels": {"app": "web"}}}
        await plane.client.resource(CONFIG_MAPS).create(labelled)
        await plane.client.resource(POLICIES).create(policy(chosen))
        await plane.clock.sleep(5)
        labels = {"metadata": {"labels": {"app": "other"}}}
        await plane.client.resource(CONFIG_MAPS).patch("settings", labels, "default")
        await plane.clock.sleep(5)
        assert (await template(plane))[0] == {"app": "other", CLAIM: "id-of-p"}

    on_a_plane(scenario)


@pytest.mark.parametrize(("gate", "looks"), [(True, 2), (False, 1)])
def test_others_are_looked_at_when_a_policy_grows_weaker_if_policies_take_over_from_each_other(gate, looks):
    async def scenario(plane):
        gated(plane, PropagationPolicyPreemption=gate)
        detector = start(plane)
        policies = plane.client.resource(POLICIES)
        await policies.create(policy(priority=5))
        await policies.create(policy(name="taker", preemption="Always", priority=3))
        weaker = policies.patch("p", {"spec": {"priority": 1}}, "default")
        assert await does(plane, detector.policies, weaker) == [looks]

    on_a_plane(scenario)
