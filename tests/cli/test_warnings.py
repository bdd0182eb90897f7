"""What is accepted and will not do what it seems to say: the server warns every client at once."""

from pathlib import Path

import pytest
from tests.cli.samples import SHOP
from tests.cli.world import World

POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {{name: {name}}}
spec:
  {more}
  resourceSelectors: [{{apiVersion: apps/v1, kind: {kind}, name: web}}]
  placement: {{clusterAffinity: {{clusterNames: [{clusters}]}}}}
"""


def apply(federation: World, folder: Path, text: str) -> list[str]:
    file = folder / "objects.yaml"
    file.write_text(text)
    outcome = federation.run("apply", "-f", str(file), "-n", federation.namespace())
    assert outcome.code == 0, outcome.err
    return outcome.err.splitlines()


@pytest.mark.parametrize(
    ("spec", "warnings"),
    [
        ({}, []),
        (
            {"clusters": "member1, membr2"},
            ['Warning: spec.placement.clusterAffinity.clusterNames: there is no cluster "membr2"'],
        ),
        (
            {"kind": "Deploymnt"},
            ['Warning: spec.resourceSelectors[0]: the control plane serves no kind "Deploymnt" in "apps/v1"'],
        ),
        (
            {"more": "preemption: Always"},
            ["Warning: spec.preemption has no effect: the feature gate PropagationPolicyPreemption is off"],
        ),
    ],
    ids=["all well", "cluster", "kind", "gate"],
)
def test_a_policy_that_leads_nowhere_brings_a_warning(
    federation: World, tmp_path: Path, spec: dict[str, str], warnings: list[str]
) -> None:
    words = {"name": "here", "kind": "Deployment", "clusters": "member1", "more": ""} | spec
    assert apply(federation, tmp_path, POLICY.format(**words)) == warnings


def test_an_override_for_an_unknown_cluster_brings_a_warning(federation: World, tmp_path: Path) -> None:
    text = """
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: there}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  overrideRules:
  - targetCluster: {clusterNames: [nowhere]}
    overriders: {labelsOverrider: [{operator: add, value: {a: b}}]}
"""
    wanted = 'Warning: spec.overrideRules[0].targetCluster.clusterNames: there is no cluster "nowhere"'
    assert apply(federation, tmp_path, text) == [wanted]


def test_an_object_on_which_nothing_acts_brings_a_warning(federation: World, tmp_path: Path) -> None:
    text = """
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: idle}
spec: {taints: [{key: a, effect: NoSchedule}]}
"""
    wanted = "Warning: nothing acts on this ClusterTaintPolicy: the feature gate Failover is off"
    try:
        assert apply(federation, tmp_path, text) == [wanted]
    finally:
        federation.run("delete", "clustertaintpolicy", "idle")


def test_why_repeats_what_has_no_effect(federation: World, tmp_path: Path) -> None:
    """The warning at admission scrolls away; `why` repeats it."""
    space = federation.namespace()
    file = tmp_path / "objects.yaml"
    more = "preemption: Always\n  priority: 9"
    policy = POLICY.format(name="early", kind="Deployment", clusters="member1", more=more).replace("web", "shop")
    file.write_text(SHOP.partition("---")[0] + "---" + policy)
    assert federation.run("apply", "-f", str(file), "-n", space).code == 0
    federation.eventually(lambda: federation.run("why", "deployment/shop", "-n", space).code == 0)
    output = federation.run("why", "deployment/shop", "-n", space).out
    reason = "spec.preemption has no effect: the feature gate PropagationPolicyPreemption is off"
    assert f"! PropagationPolicy {space}/early: {reason}" in output
    assert f"Nothing is broken, but is this meant? PropagationPolicy {space}/early: {reason}." in output


def test_why_says_that_nothing_acts_on_an_object(federation: World, tmp_path: Path) -> None:
    space = federation.namespace()
    text = """
apiVersion: networking.karmada.io/v1alpha1
kind: MultiClusterService
metadata: {name: idle}
spec: {types: [CrossCluster]}
---
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata: {name: SPACE}
spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, name: none, namespace: default}]}
"""
    file = tmp_path / "objects.yaml"
    file.write_text(text.replace("SPACE", space))
    assert federation.run("apply", "-f", str(file), "-n", space).code == 0
    idle = federation.run("why", "multiclusterservice/idle", "-n", space)
    reason = "nothing acts on this MultiClusterService: the feature gate MultiClusterService is off"
    assert (idle.code, f"✗ controller  {reason}\n" in idle.out) == (1, True), idle.out
    busy = federation.run("why", f"workloadrebalancer/{space}")
    assert (busy.code, "✓ controller  WorkloadRebalancer is a kind of the control plane" in busy.out) == (0, True)
    federation.run("delete", "workloadrebalancer", space)
