"""Scenarios the documents describe in prose."""

import pytest

pytestmark = pytest.mark.tools

FIVE = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: five}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: nginx}
  - {apiVersion: v1, kind: PersistentVolumeClaim, name: data}
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 3}
        - {targetCluster: {clusterNames: [member2]}, weight: 2}
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: standard
  resources: {requests: {storage: 1Gi}}
"""


def override(kind, api_version, name, path, values):
    rules = "".join(
        f"""
  - targetCluster: {{clusterNames: [{cluster}]}}
    overriders:
      plaintext: [{{path: "{path}", operator: add, value: {value}}}]"""
        for cluster, value in values.items()
    )
    return f"""
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {{name: {name}}}
spec:
  resourceSelectors: [{{apiVersion: {api_version}, kind: {kind}, name: {name}}}]
  overrideRules:{rules}
"""


def test_five_replicas_three_on_one_cloud_and_two_on_another(documents):
    documents.apply(documents.manifest("000-02", {"replicas: 1": "replicas: 5"}))
    documents.apply(FIVE)
    documents.eventually(documents.placement, {"member1": 3, "member2": 2})


def test_each_cloud_has_its_own_storage_class(documents):
    classes = {"member1": "aliyun-csi-disk", "member2": "aws-ebs-csi-driver"}
    documents.apply(override("PersistentVolumeClaim", "v1", "data", "/spec/storageClassName", classes))
    documents.apply(FIVE)
    documents.apply(CLAIM)

    def arrived():
        return {name: documents.get("pvc", "data", context=name)["spec"]["storageClassName"] for name in classes}

    documents.eventually(arrived, classes)


def test_each_cluster_has_its_own_node_affinity(documents):
    def affinity(value):
        terms = f"[{{matchExpressions: [{{key: pool, operator: In, values: [{value}]}}]}}]"
        return f"{{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {terms}}}}}}}"

    wanted = {"member1": affinity("blue"), "member2": affinity("green")}
    documents.apply(override("Deployment", "apps/v1", "nginx", "/spec/template/spec/affinity", wanted))
    documents.apply(FIVE)
    documents.apply(documents.manifest("000-02", {"replicas: 1": "replicas: 5"}))

    def pools():
        return {
            name: documents.get("deployment", "nginx", context=name)["spec"]["template"]["spec"]["affinity"][
                "nodeAffinity"
            ]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"]
            for name in wanted
        }

    documents.eventually(pools, {"member1": ["blue"], "member2": ["green"]})


CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.example.com}
spec:
  group: example.com
  names: {kind: Ship, plural: ships, singular: ship}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {cannons: {type: integer}}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: ships}
spec:
  resourceSelectors:
  - {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: ships.example.com}
  - {apiVersion: example.com/v1, kind: Ship}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
"""
SHIP = """
apiVersion: example.com/v1
kind: Ship
metadata: {name: victory, namespace: default}
spec: {cannons: 104}
"""


def test_a_custom_kind_and_its_objects_travel(documents):
    documents.apply(CRD)
    try:
        documents.eventually(lambda: documents.apply(SHIP))
        for member in ("member1", "member2"):
            documents.eventually(
                lambda member=member: documents.get("ship", "victory", context=member)["spec"], {"cannons": 104}
            )
    finally:
        documents.kubectl("delete", "ship", "--all", "-n", "default")
        documents.kubectl("delete", "crd", "ships.example.com")


EDGE = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: edge}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: nginx}]
  placement: {clusterAffinity: {clusterNames: [edge]}}
"""


def test_a_pull_member_works_without_any_credential_in_the_control_plane(documents):
    """Works, status and proxy, with `--report-secrets None`."""
    cluster = documents.get("cluster", "edge")["spec"]
    assert cluster["syncMode"] == "Pull"
    assert "secretRef" not in cluster
    assert "edge" not in documents.kubectl("get", "secrets", "-n", "karmada-cluster")
    documents.apply(documents.manifest("000-02"))
    documents.apply(EDGE)
    documents.eventually(lambda: documents.get("deployment", "nginx")["status"]["readyReplicas"], 1)
    path = "/apis/cluster.karmada.io/v1alpha1/clusters/edge/proxy/apis/apps/v1/namespaces/default/deployments/nginx"
    assert '"name":"nginx"' in documents.kubectl("get", "--raw", path).replace(": ", ":")
