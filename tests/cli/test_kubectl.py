"""The real kubectl on the control plane: what is applied again is unchanged, waiting ends, fields are explained."""

import json
import os
import subprocess
from collections.abc import Callable, Sequence

import pytest
from tests.cli.world import World
from tests.programs import kubectl

pytestmark = pytest.mark.tools

POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors:
    - {apiVersion: apps/v1, kind: Deployment, name: web}
    - {apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: web}}}
    - {apiVersion: v1, kind: ConfigMap}
  placement:
    clusterTolerations: [{key: gpu, operator: Exists, effect: NoSchedule}]
    spreadConstraints: [{maxGroups: 2}]
    replicaScheduling: {replicaSchedulingType: Divided}
  propagateDeps: true
  failover: {application: {purgeMode: Gracefully, decisionConditions: {tolerationSeconds: 60}}}
"""
OVERRIDES = """
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  overrideRules:
    - targetCluster: {clusterNames: [member1]}
      overriders:
        labelsOverrider: [{operator: add, value: {where: member1}}]
        imageOverrider: [{component: Tag, operator: replace, value: "1.27"}]
"""
WIDE = """
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: SPACE}
spec:
  resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: SPACE}]
  placement: {spreadConstraints: [{spreadByField: region, maxGroups: 1}, {}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterOverridePolicy
metadata: {name: SPACE}
spec:
  resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: SPACE}]
  overrideRules: [{overriders: {annotationsOverrider: [{operator: add, value: {a: b}}]}}]
"""
OTHERS = """
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: quota}
spec: {overall: {cpu: "1000m"}, staticAssignments: [{clusterName: member1, hard: {cpu: "500m"}}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterTaintPolicy
metadata: {name: SPACE}
spec:
  taints: [{key: SPACE, effect: NoSchedule}]
  addOnConditions: [{conditionType: Ready, operator: In, statusValues: ["Unknown"]}]
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
  behavior: {scaleUp: {policies: [{type: Pods, value: 1, periodSeconds: 60}]}}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules: [{name: nights, schedule: "0 22 * * *", targetReplicas: 1}]
---
apiVersion: networking.karmada.io/v1alpha1
kind: MultiClusterService
metadata: {name: web}
spec:
  types: [CrossCluster]
  ports: [{port: 80}]
  providerClusters: [{name: member1}]
  consumerClusters: [{name: member2}]
---
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: SPACE}
spec:
  target: {apiVersion: example.io/v1, kind: SPACE}
  customizations: {replicaRevision: {luaScript: "function ReviseReplica(o, n) return o end"}}
---
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata: {name: SPACE}
spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, name: none, namespace: SPACE}]}
---
apiVersion: remedy.karmada.io/v1alpha1
kind: Remedy
metadata: {name: SPACE}
spec:
  clusterAffinity: {clusterNames: [none]}
  actions: [TrafficControl]
  decisionMatches: [{clusterConditionMatch: {conditionType: X, operator: Equal, conditionStatus: "True"}}]
"""

Kubectl = Callable[..., str]
VERSIONS = dict.fromkeys(
    ("resourcebindings.work.karmada.io", "clusterresourcebindings.work.karmada.io"), "work.karmada.io/v1alpha2"
)


@pytest.fixture
def run(federation: World) -> Kubectl:
    def run(*words: str, stdin: str = "", fails: bool = False) -> str:
        environment = os.environ | {"KUBECONFIG": str(federation.kubeconfig), "HOME": str(federation.folder)}
        done = subprocess.run(
            [kubectl(), *words], input=stdin, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stdout + done.stderr if fails else done.stdout

    return run


def outcomes(text: str) -> set[str]:
    return {line.rpartition(" ")[2] for line in text.splitlines()}


def versions(run: Kubectl, space: str, kinds: Sequence[str]) -> list[str]:
    return [
        json.loads(run("get", kind, "-n", space, "-o", "json", "web"))["metadata"]["resourceVersion"] for kind in kinds
    ]


@pytest.mark.parametrize("manifest", [POLICY, OVERRIDES, WIDE, OTHERS], ids=["policy", "overrides", "wide", "others"])
def test_an_object_applied_twice_is_unchanged(federation: World, run: Kubectl, manifest: str) -> None:
    space = federation.namespace()
    text = manifest.replace("SPACE", space)
    assert outcomes(run("apply", "-n", space, "-f", "-", stdin=text)) == {"created"}
    assert outcomes(run("apply", "-n", space, "-f", "-", stdin=text)) == {"unchanged"}
    run("delete", "-n", space, "--wait=false", "-f", "-", stdin=text)


@pytest.mark.parametrize("manifest", [POLICY, OVERRIDES], ids=["policy", "overrides"])
def test_our_own_apply_agrees(federation: World, run: Kubectl, manifest: str) -> None:
    space = federation.namespace()
    file = federation.folder / f"{space}.yaml"
    file.write_text(manifest)
    run("apply", "-n", space, "-f", str(file))
    assert outcomes(federation.run("apply", "-n", space, "-f", str(file)).out) == {"unchanged"}


def test_applying_twice_on_the_server_writes_once(federation: World, run: Kubectl) -> None:
    space = federation.namespace()
    text = POLICY + "---" + OVERRIDES
    run("apply", "--server-side", "-n", space, "-f", "-", stdin=text)
    before = versions(run, space, ["pp", "op"])
    run("apply", "--server-side", "-n", space, "-f", "-", stdin=text)
    assert versions(run, space, ["pp", "op"]) == before


def test_an_applied_policy_reaches_its_own_namespace_only_and_spreads_by_its_defaults(
    federation: World, run: Kubectl
) -> None:
    space, other = federation.namespace(), federation.namespace()
    run("apply", "-n", space, "-f", "-", stdin=POLICY)
    for where in (space, other):
        run("create", "configmap", "settings", "-n", where)
    words = ("get", "rb", "settings-configmap", "-n", space, "-o", "json")
    binding = federation.eventually(lambda: json.loads(run(*words)))
    assert binding["spec"]["placement"]["spreadConstraints"] == [
        {"spreadByField": "cluster", "maxGroups": 2, "minGroups": 1}
    ]
    assert run("get", "rb", "-n", other, "-o", "name") == ""


def test_a_selector_of_another_namespace_is_still_refused(federation: World, run: Kubectl) -> None:
    space = federation.namespace()
    text = POLICY.replace("kind: ConfigMap", "kind: ConfigMap, namespace: elsewhere")
    refused = run("apply", "-n", space, "-f", "-", stdin=text, fails=True)
    assert "namespace of resource selector must be the same as the namespace of the policy" in refused


WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}
"""


@pytest.fixture
def space(federation: World, run: Kubectl) -> str:
    """A namespace with a Deployment that runs in two members."""
    name = federation.namespace()
    run("apply", "-n", name, "-f", "-", stdin=WEB)
    return name


def test_a_template_can_be_waited_for_by_its_condition(run: Kubectl, space: str) -> None:
    printed = run("wait", "--for=condition=Available", "deployment/web", "-n", space, "--timeout=60s")
    assert printed == "deployment.apps/web condition met\n"
    template = json.loads(run("get", "deployment", "web", "-n", space, "-o", "json"))
    assert template["status"]["availableReplicas"] == 4
    run("wait", "--for=condition=Progressing", "deployment/web", "-n", space, "--timeout=60s")


@pytest.mark.parametrize("words", [("logs", "deployment/web"), ("exec", "deployment/web", "--", "true")])
def test_pods_of_a_template_are_not_waited_for_in_vain(run: Kubectl, space: str, words: tuple[str, ...]) -> None:
    refused = run("-n", space, *words[:2], "--pod-running-timeout=100s", *words[2:], fails=True)
    assert "no pods with app=web in the control plane: pods run in member clusters" in refused
    assert f"karmadactl logs -l app=web -n {space} --all-clusters" in refused


def test_watching_pods_is_still_possible(run: Kubectl, space: str) -> None:
    """`kubectl get --watch` goes on until its own time is over."""
    assert "no pods with" not in run("get", "pods", "-l", "app=web", "-n", space, "--watch", "--request-timeout=1s")


def test_every_field_of_a_kind_is_explained(run: Kubectl) -> None:
    for path in ("cluster", "cluster.spec", "cluster.status", "propagationpolicy.spec.placement"):
        assert "<no description>" not in run("explain", path)


def test_every_kind_of_karmada_is_explained(run: Kubectl) -> None:
    own = [name for name in run("api-resources", "-o", "name").split() if name.endswith(".karmada.io")]
    assert len(own) > 15
    bare: list[str] = []
    for name in own:
        plural, _, group = name.partition(".")
        version = f"--api-version={VERSIONS.get(name, f'{group}/v1alpha1')}"
        whole = run("explain", plural, version)
        fields = run("explain", f"{plural}.spec", version) if "  spec\t<" in whole else ""
        bare += [name] if "<no description>" in whole + fields else []
    assert bare == []
