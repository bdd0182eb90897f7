"""`karmadactl why` on what goes wrong with policies, overrides and room: the reason, and a remedy that helps."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.world import World

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "IMAGE", resources: {requests: {cpu: CPU}}}]}
"""
POLICY = """
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: NAME}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, SELECTOR}]
  placement: PLACEMENT
"""
OVERRIDE = """
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: limits}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  overrideRules: [{targetCluster: {clusterNames: [member2]}, overriders: OVERRIDERS}]
"""
DIVIDED = "replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted"
TWO = f"{{clusterAffinity: {{clusterNames: [member1, member2]}}, {DIVIDED}}}}}"

DYNAMIC = f"{{{DIVIDED}, weightPreference: {{dynamicWeight: AvailableReplicas}}}}}}"


def web(cpu: str = "10m", image: str = "nginx:1.25") -> str:
    return WEB.replace("CPU", cpu).replace("IMAGE", image)


def policy(placement: str, selector: str = "name: web", name: str = "web") -> str:
    return POLICY.replace("PLACEMENT", placement).replace("SELECTOR", selector).replace("NAME", name)


def override(overriders: str) -> str:
    return OVERRIDE.replace("OVERRIDERS", overriders)


class Case:
    """A namespace with objects, and what the command says of the Deployment."""

    def __init__(self, federation: World, *texts: str) -> None:
        self.space = federation.namespace()
        self._federation = federation
        for text in texts:
            outcome = federation.run("apply", "-n", self.space, "-f", "-", stdin=text)
            assert outcome.code == 0, outcome.err

    def until(self, holds: Callable[[dict[str, Any]], Any]) -> str:
        """The text, once the JSON output is as expected."""
        words = ("why", "deployment/web", "-n", self.space)

        def settled() -> bool:
            return bool(holds(json.loads(self._federation.run(*words, "-o", "json").out)))

        try:
            self._federation.eventually(settled)
        except AssertionError:
            pytest.fail(self._federation.run(*words).out)
        return self._federation.run(*words).out

    def whole(self) -> str:
        return self.until(lambda result: result["broken"] is None)

    def broken(self, link: str, part: str = "") -> str:
        def holds(result: dict[str, Any]) -> bool:
            return str(result["broken"]).startswith(link) and part in json.dumps(result, ensure_ascii=False)

        return self.until(holds)


def row(text: str, cluster: str) -> str:
    """The line of a cluster in the table, with single blanks."""
    return next(" ".join(line.split()) for line in text.splitlines() if line.split()[:1] == [cluster])


def test_a_typo_beside_a_name_that_is_right_is_doubted(federation: World) -> None:
    text = Case(federation, web(), policy("{clusterAffinity: {clusterNames: [member1, membr2]}}")).whole()
    doubt = "clusterAffinity.clusterNames names membr2, which is no member (did you mean member2?)"
    assert f"! {doubt}" in text
    assert f"Nothing is broken, but is this meant? {doubt}." in text


def test_a_spread_over_more_clusters_than_there_are_is_doubted_before_any_cluster(federation: World) -> None:
    spread = (
        "{clusterAffinity: {clusterNames: [member1]}, spreadConstraints: [{spreadByField: cluster, minGroups: 700}]}"
    )
    text = Case(federation, web(), policy(spread)).broken("scheduling", "minGroups")
    assert (
        "What to do: Lower minGroups of the spread constraint by cluster, or join more clusters: it asks for 700"
        in text
    )


def test_an_override_that_fails_names_its_policy(federation: World) -> None:
    wrong = override("{plaintext: [{path: /spec/nope/deep, operator: replace, value: 1}]}")
    case = Case(federation, wrong, web(), policy(TWO))
    text = case.broken("overrides")
    assert f"✗ overrides   the copy for member2 cannot be made: OverridePolicy {case.space}/limits: " in text
    assert f"What to do: Correct OverridePolicy {case.space}/limits.\n" in text


@pytest.mark.parametrize(
    "overriders",
    [
        "{replicasOverrider: [{value: 1}]}",
        "{plaintext: [{path: /spec/replicas, operator: replace, value: 1}]}",
    ],
    ids=["replicasOverrider", "plaintext"],
)
def test_replicas_that_an_override_sets_are_not_waited_for(federation: World, overriders: str) -> None:
    fewer = override(overriders)
    text = Case(federation, fewer, web(), policy("{clusterAffinity: {clusterNames: [member2]}}")).whole()
    assert "1 override policy takes effect" in text
    assert "override policies let member2 run 1" in text
    assert "✓ status          1 of 1 replica is ready" in text


def test_no_room_names_the_resource_what_is_wanted_and_what_is_free(federation: World) -> None:
    text = Case(federation, web("7"), policy(DYNAMIC)).broken("scheduling", "a replica asks for")
    for name in ("member1", "member2", "member3"):
        assert "room for 0: a replica asks for cpu 7, " in row(text, name)
        assert row(text, name).endswith(" free in all, but not on one node by its grades of nodes or its estimator")
    assert "What to do: Make room, ask for less, or let the placement include more clusters: member1, which" in text
    assert "takes 0 of 3 (a replica asks for cpu 7, " in text


def test_too_little_in_all_is_reported_as_such(federation: World) -> None:
    text = Case(federation, web("900"), policy(DYNAMIC)).broken("scheduling", "a replica asks for")
    assert "room for 0: a replica asks for cpu 900, " in row(text, "member1")
    assert row(text, "member1").endswith(" free")  # how much depends on the pods of other tests


def test_labels_are_shown_as_wanted_and_as_they_are(federation: World) -> None:
    placement = "{clusterAffinity: {labelSelector: {matchLabels: {tier: bronze}}}}"
    text = Case(federation, web(), policy(placement)).broken("scheduling", "wants tier=bronze")
    assert row(text, "member1").endswith("wants tier=bronze; it has tier=gold")
    assert row(text, "member2").endswith("wants tier=bronze; it has no tier")
    assert "karmadactl label cluster member1 tier=bronze --overwrite" in text


def test_the_policy_that_holds_it_is_no_loser(federation: World) -> None:
    case = Case(federation, web(), policy(TWO), policy(TWO, "labelSelector: {matchLabels: {app: web}}", "wide"))
    text = case.whole()
    assert f"✓ policy          PropagationPolicy {case.space}/web selects it by name\n" in text
    assert f"PropagationPolicy {case.space}/wide selects it too, but selects by labels, which is less specific" in text
    assert f"{case.space}/web selects it too" not in text


def test_the_nearest_miss_is_the_advice(federation: World) -> None:
    far = policy(TWO, "labelSelector: {matchLabels: {app: other}}", "a-labels")
    case = Case(federation, web(), far, policy(TWO, "name: wbe", "b-near"))
    text = case.broken("policy")
    near = f"PropagationPolicy {case.space}/b-near selects the name wbe, not web: correct name"
    assert f"What to do: {near}.\n" in text
    assert text.index(near) < text.index("a-labels")


def test_a_suggested_command_names_a_pod_that_is_there(federation: World) -> None:
    text = web(image="crash:1")
    case = Case(federation, text, policy("{clusterAffinity: {clusterNames: [member3]}}"))
    broken = case.broken("member member3", "--previous")
    command = next(line for line in broken.splitlines() if "karmadactl logs" in line)
    pods = federation.run("get", "pods", "-s", "members", "-C", "member3", "-n", case.space, "-o", "name").out
    name = command.partition("karmadactl logs ")[2].split()[0]
    assert f"pod/{name}\n" in pods
    assert f"-n {case.space} -C member3 --previous" in command
