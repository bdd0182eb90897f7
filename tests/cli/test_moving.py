"""Commands that preview moves, make them and list them."""

import json
from collections.abc import Iterator

import pytest
from tests.cli.samples import apply
from tests.cli.world import World

from karmada.cli.output.simulation import NOT_BY_ITSELF

APP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: "nginx:1.25", resources: {requests: {cpu: 10m}}}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: NAME}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: NAME}]
  placement:
    clusterAffinity: {clusterNames: CLUSTERS}
    spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 1}]
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}
---
"""


def app(name: str, *clusters: str) -> str:
    return APP.replace("NAME", name).replace("CLUSTERS", json.dumps(clusters))


def targets(federation: World, namespace: str, name: str) -> dict[str, int]:
    answer = federation.run("get", "resourcebinding", f"{name}-deployment", "-n", namespace, "-o", "json")
    spec = json.loads(answer.out)["spec"] if answer.code == 0 else {}
    return {target["name"]: target["replicas"] for target in spec.get("clusters", ())}


@pytest.fixture(scope="module")
def apps(federation: World) -> Iterator[str]:
    """`free` may run in two clusters, `bound` only in one; both are there."""
    namespace = federation.namespace()
    apply(federation, app("free", "member1", "member2") + app("bound", "member1"), namespace, ready=2)
    yield namespace
    federation.run("uncordon", "member1")
    federation.run("uncordon", "member2")


def test_a_failure_is_simulated_with_every_move_and_everything_without_room(federation: World, apps: str) -> None:
    home = next(iter(targets(federation, apps, "free")))
    outcome = federation.run("simulate", "--cluster-down", "member1", "-n", apps)
    assert outcome.code == 1, "something has no room"
    lines = {" ".join(line.split()[:2]): line for line in outcome.out.splitlines() if line.startswith("Deployment")}
    assert "no room: 0/" in lines[f"Deployment {apps}/bound"]
    if home == "member1":
        assert lines[f"Deployment {apps}/free"].endswith("moves")
    assert "1 have no room." in outcome.out
    assert NOT_BY_ITSELF in outcome.out
    evicting = ("--feature-gates", "Failover=true", "--enable-no-execute-taint-eviction")
    assert NOT_BY_ITSELF not in federation.run("simulate", "--cluster-down", "member1", "-n", apps, *evicting).out
    wrong = federation.run("simulate", "--cluster-down", "memebr1")
    assert (wrong.code, wrong.out) == (1, "")
    assert "--cluster-down: there is no cluster memebr1" in wrong.err


def test_a_cluster_is_drained_of_what_has_room_elsewhere_and_the_rest_stays(federation: World, apps: str) -> None:
    home = next(iter(targets(federation, apps, "free")))
    other = "member2" if home == "member1" else "member1"
    preview = federation.run("drain", home, "-n", apps, "--dry-run")
    assert targets(federation, apps, "free") == {home: 2}
    assert "moves" in preview.out
    outcome = federation.run("drain", home, "-n", apps, "--timeout", "60s")
    assert f"Deployment {apps}/free: moved to {other}:2" in outcome.out
    assert targets(federation, apps, "free") == {other: 2}
    assert targets(federation, apps, "bound") == {"member1": 2}
    if home == "member1":
        assert outcome.code == 1
        assert f"Deployment {apps}/bound stays in member1: no other cluster has room for it" in outcome.err
    again = federation.run("drain", home, "-n", apps)
    assert f"{home} cluster already cordoned" in again.out

    def history() -> str:
        shown = federation.run("history", "deployment/free", "-n", apps).out
        return shown if "EvictWorkloadFromClusterSucceed" in shown else ""

    assert f"Evict from cluster {home} succeed." in federation.eventually(history)
    federation.run("uncordon", home)


def test_workloads_are_rebalanced_and_those_that_are_not_propagated_are_named(federation: World, apps: str) -> None:
    outcome = federation.run("rebalance", "deployment/free", "-n", apps)
    assert outcome.code == 0
    assert outcome.out.splitlines()[1].split() == ["Deployment", f"{apps}/free", "Successful"]
    failed = federation.run("rebalance", "deployment/nobody", "-n", apps)
    assert failed.code == 1
    assert "ReferencedBindingNotFound" in failed.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("drain",), "write the name of one cluster"),
        (("drain", "member1", "--max-moves", "0"), "--max-moves 0: write 1 or more"),
        (("drain", "memebr1"), "memebr1"),
        (("rebalance",), "name workloads: karmadactl rebalance deployment/web"),
        (("rebalance", "deployment"), "name the deployments to place anew: deployment/NAME"),
    ],
)
def test_bad_input_is_refused_in_one_line(federation: World, words: tuple[str, ...], message: str) -> None:
    outcome = federation.run(*words)
    assert outcome.code == 1
    assert message in outcome.err
