"""What `why` finds, on facts made by hand."""

from typing import Any

import msgspec
import pytest
from tests.explain import samples
from tests.explain.samples import cluster, copy, deployment, facts, override, policy, wide_policy

from karmada.api import annotations
from karmada.api.decision import Attempt, Decision, Placed
from karmada.api.policy.v1alpha1 import ClusterAffinity, FailoverBehavior, Placement
from karmada.api.work.v1alpha2 import TargetCluster
from karmada.cli.output.chain import as_text, lay_out
from karmada.explain.why.affinity import HINTS, unknown_names
from karmada.explain.why.chain import chain
from karmada.explain.why.facts import Facts, MemberFacts
from karmada.explain.why.links import Link, first_broken

TWO = [cluster("member1", {"tier": "gold"}), cluster("member2", {"tier": "silver"})]
DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
TYPO = {"targetCluster": {"clusterNames": ["membr2"]}, "weight": 1}
DYNAMIC = {**DIVIDED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}


def link(found: Facts, name: str, focus: str = "") -> Link:
    return next(one for one in chain(found, focus) if one.name == name)


def text_of(found: Facts) -> str:
    links = chain(found)
    lay_out(links)
    return as_text("web", links, colour=False)


def because(one: Link, name: str) -> str:
    return next(row[-1] for row in one.table if row[0] == name)


@pytest.mark.parametrize(
    "placement",
    [
        {"clusterAffinity": {"clusterNames": ["member1", "membr2"]}},
        {"clusterAffinity": {"exclude": ["membr2"]}},
        {"clusterAffinities": [{"affinityName": "a", "clusterNames": ["member1", "membr2"]}]},
        {
            "replicaScheduling": {
                **DIVIDED,
                "weightPreference": {
                    "staticWeightList": [{"targetCluster": {"clusterNames": ["membr2"]}, "weight": 1}]
                },
            }
        },
    ],
)
def test_a_cluster_that_does_not_exist_beside_one_that_does_is_doubted(placement: dict[str, Any]) -> None:
    text = text_of(facts(placement, {"member1": 3}, TWO))
    assert "names membr2, which is no member (did you mean member2?)" in text
    assert "! scheduling" in text
    assert "Nothing is broken.\n" not in text


def test_pods_that_a_quota_forbids_are_explained_by_the_condition_and_the_event() -> None:
    message = 'pods "web-5d" is forbidden: exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1'
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    event = {"type": "Warning", "reason": "FailedCreate", "message": f"Error creating: {message}"}
    found = facts({}, {"member1": 3}, TWO)
    found.members["member1"] = MemberFacts(copy(3, 1, (failure,)), events=[event])
    shown = link(found, "member member1")
    assert shown.text == f"1 of 3 replicas are ready: ReplicaFailure: {message}"
    assert shown.details == [f"Error creating: {message}"]
    assert shown.remedy.startswith("Raise the quota in member1")


def test_an_override_that_fails_is_named() -> None:
    broken = override("limits", "member1", plaintext=[{"path": "/spec/nope/deep", "operator": "replace", "value": 1}])
    found = link(facts({}, {"member1": 3}, TWO, overrides=[broken]), "overrides")
    assert "OverridePolicy default/limits" in found.text
    assert found.remedy == "Correct OverridePolicy default/limits."


def test_an_override_without_which_a_role_is_copied_is_named() -> None:
    broken = override("limits", "member1", plaintext=[{"path": "/spec/nope/deep", "operator": "replace", "value": 1}])
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    roles = [policy("roles", kind)]
    found = facts({}, {"member1": 3}, TWO, overrides=[broken], template=deployment() | kind, policies=roles)
    shown = link(found, "overrides")
    assert (shown.broken, shown.text) == (False, "none take effect")
    [warning] = shown.warnings
    assert warning.startswith("the copy for member1 has no overrides of its namespace: OverridePolicy default/limits")


def test_replicas_that_an_override_sets_are_expected() -> None:
    fewer = override("small", "member2", replicasOverrider=[{"operator": "overwrite", "value": 1}])
    found = facts({}, {"member1": 2, "member2": 2}, TWO, overrides=[fewer], template=deployment(replicas=4, ready=3))
    found.members["member2"] = MemberFacts(copy(1))
    shown = link(found, "status")
    assert (shown.broken, shown.text) == (False, "3 of 3 replicas are ready")
    assert shown.details == ["override policies let member2 run 1"]


def refused(message: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Scheduled", "status": "False", "reason": "Unschedulable", "message": message}]}


def test_no_room_names_the_resource_what_is_wanted_and_what_is_free() -> None:
    small = [cluster("member1", cpu="2", used="1"), cluster("member2", cpu="1", used="800m")]
    found = facts({"replicaScheduling": DYNAMIC}, {}, small, refused("not enough"))
    shown = link(found, "scheduling")
    assert because(shown, "member1") == "room for 2: a replica asks for cpu 500m, 1 free"
    assert because(shown, "member2") == "room for 0: a replica asks for cpu 500m, 200m free"
    assert "member1, which has most room, takes 2 of 3 (a replica asks for cpu 500m, 1 free)" in shown.remedy


def test_labels_that_do_not_match_are_shown_as_wanted_and_as_they_are() -> None:
    placement = {"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "bronze"}}}}
    clusters = [TWO[0], cluster("member2")]
    shown = link(facts(placement, {}, clusters, refused("0/2")), "scheduling")
    assert because(shown, "member1") == "wants tier=bronze; it has tier=gold"
    assert because(shown, "member2") == "wants tier=bronze; it has no tier"
    command = "karmadactl label cluster member1 tier=bronze --overwrite"
    assert shown.remedy == f"Label it ({command}), or change clusterAffinity.labelSelector."


def test_a_placement_of_misspelt_clusters_is_to_be_corrected() -> None:
    shown = link(facts({"clusterAffinity": {"clusterNames": ["membr2"]}}, {}, TWO, refused("0/2")), "scheduling")
    wrong = "clusterAffinity.clusterNames names membr2, which is no member (did you mean member2?)"
    assert shown.remedy == f"Correct the placement: {wrong}."


def test_the_policy_that_holds_a_template_is_not_among_the_losers() -> None:
    stronger = policy("stronger", priority=9)
    found = link(facts({}, {"member1": 3}, TWO, policies=[policy(), stronger]), "policy")
    assert found.text == "PropagationPolicy default/web selects it by name"
    assert found.details == [
        "PropagationPolicy default/stronger would win now; it takes over only with preemption: Always"
    ]


def test_the_nearest_miss_comes_first() -> None:
    misses = [
        policy("a-labels", {"labelSelector": {"matchLabels": {"app": "other"}}}),
        policy("b-far", {"name": "webshop"}),
        policy("c-near", {"name": "wbe"}),
    ]
    unrelated = wide_policy("unrelated", {"name": "database", "namespace": "other"})
    free = deployment(labels={"app": "web"}, annotations={})
    found = link(facts({}, {}, TWO, template=free, policies=misses, cluster_policies=[unrelated]), "policy")
    assert found.remedy == "PropagationPolicy default/c-near selects the name wbe, not web: correct name."
    assert [line.split()[1] for line in found.details] == ["default/c-near", "default/b-far", "default/a-labels"]
    assert "wants app=other; it has app=web" in found.details[-1]


def test_suggested_commands_name_a_pod_that_exists() -> None:
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    pod = {
        "metadata": {"name": "web-7f-x"},
        "status": {"containerStatuses": [{"name": "main", "image": "nginx", "state": state}]},
    }
    found = facts({}, {"member1": 3}, TWO)
    found.members["member1"] = MemberFacts(copy(3, 2), pods=[pod])
    remedy = link(found, "member member1").remedy
    assert remedy == "See what the container says: karmadactl logs web-7f-x -n default -C member1 --previous."


def test_rejected_rows_that_say_the_same_are_one() -> None:
    many = [cluster(f"member{number:02}") for number in range(1, 41)]
    found = facts({"clusterAffinity": {"clusterNames": ["member01", "member02"]}}, {"member01": 3, "member02": 3}, many)
    names = [row[0] for row in link(found, "scheduling").table]
    assert names == ["CLUSTER", "member01", "member02", "member03 and 37 more"]
    names = [row[0] for row in link(found, "scheduling", "member07").table]
    assert names == ["CLUSTER", "member01", "member02", "member03 and 36 more", "member07"]


def test_a_decision_says_whether_it_is_recorded_or_computed_again() -> None:
    found = facts({}, {"member1": 3}, TWO[:1], {"schedulerObservedGeneration": 1})
    again = link(found, "scheduling")
    assert again.data["recomputed"] is True
    assert again.details == [
        "(computed now under default feature gates and without estimators: not the scheduler's own record)"
    ]
    placed = Placed(clusters=(TargetCluster(name="member1", replicas=3),))
    attempt = Attempt(outcome=placed, scores={"member1": {"ClusterLocality": 0}})
    found.recorded, found.recorded_at = Decision(attempts=(attempt,), outcome=placed), "2026-01-01T00:00:00Z"
    recorded = link(found, "scheduling")
    assert (recorded.data["recomputed"], recorded.details) == (
        False,
        ["(recorded by the scheduler at 2026-01-01T00:00:00Z)"],
    )
    assert found.binding is not None
    changed = msgspec.structs.replace(found.binding.metadata, generation=2)
    found.binding = msgspec.structs.replace(found.binding, metadata=changed)
    assert link(found, "scheduling").data["recomputed"] is True


def test_a_name_that_is_nearly_one_is_suggested() -> None:
    found = Facts(samples.KIND, "default", "wbe", others=["web", "database"])
    broken = first_broken(chain(found))
    assert broken is not None
    assert broken.text == "there is no Deployment wbe in namespace default (did you mean web?)"


def with_condition(type_: str, reason: str, message: str) -> dict[str, Any]:
    return {"conditions": [{"type": type_, "status": "True", "reason": reason, "message": message}]}


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (
            with_condition("MovesWaiting", "DisruptionBudget", "replicas stay in member2"),
            "a move waits: replicas stay in member2",
        ),
        (
            with_condition("FailingBack", "PreferredClustersHealthy", "goes back to member1"),
            "failback since : it goes back to",
        ),
    ],
)
def test_moves_that_wait_or_go_back_are_explained(status: dict[str, Any], line: str) -> None:
    scheduled = {"type": "Scheduled", "status": "True", "reason": "Success", "message": ""}
    found = facts({}, {"member1": 3}, TWO, {"conditions": [scheduled, *status["conditions"]]})
    assert link(found, "scheduling").details[0].startswith(line)


def test_an_edit_that_may_not_move_replicas_is_explained() -> None:
    found = facts({"clusterAffinity": {"clusterNames": ["member2"]}}, {"member1": 3}, TWO)
    assert found.binding is not None
    failover = FailoverBehavior(reschedule_triggers=())
    spec = msgspec.structs.replace(found.binding.spec, failover=failover)
    metadata = msgspec.structs.replace(found.binding.metadata, annotations={annotations.APPLIED_PLACEMENT: "{}"})
    found.binding = msgspec.structs.replace(found.binding, spec=spec, metadata=metadata)
    assert "failover.rescheduleTriggers lacks PolicyChange" in link(found, "scheduling").details[0]


def test_a_copy_that_waits_behind_a_fence_says_for_whom() -> None:
    found = facts(
        {}, {"member1": 3}, TWO, with_condition("MovesWaiting", "Fenced", "member1 waits until member2 confirms")
    )
    found.works = {}
    held = link(found, "work member1")
    assert (held.broken, held.text) == (True, "member1 waits until member2 confirms")
    assert "failover.fencing.timeoutSeconds" in held.remedy


def test_hints_are_given_for_a_few_unknown_clusters_only() -> None:
    names = [f"membr{number}" for number in range(HINTS + 5)]
    placement = Placement(cluster_affinity=ClusterAffinity(cluster_names=names))
    found = unknown_names(placement, [cluster("member1")])
    assert len(found) == len(names)
    assert ["did you mean" in each for each in found] == [True] * HINTS + [False] * 5
