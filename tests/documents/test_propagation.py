"""Document 001: every PropagationPolicy, with the placement it stands for."""

import pytest

pytestmark = pytest.mark.tools

SERVICE_AND_CONFIG = """
apiVersion: v1
kind: Service
metadata: {name: nginx-svc}
spec: {selector: {app: nginx}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: nginx-config, labels: {app: nginx}}
data: {workers: "4"}
"""


def nginx(documents, replicas):
    return documents.manifest("000-02", {"replicas: 1": f"replicas: {replicas}"})


def test_the_basic_policy_divides_by_weight_and_takes_service_and_config_along(documents):
    documents.apply(nginx(documents, 3))
    documents.apply(SERVICE_AND_CONFIG)
    documents.apply(documents.manifest("001-07"))
    documents.eventually(documents.placement, {"member-cluster-1": 2, "member-cluster-2": 1})
    for member in ("member-cluster-1", "member-cluster-2"):
        documents.eventually(lambda member=member: documents.get("service", "nginx-svc", context=member))
        documents.eventually(lambda member=member: documents.get("configmap", "nginx-config", context=member))


def test_the_cluster_policy_takes_a_namespace_to_production(documents):
    documents.kubectl("create", "namespace", "nginx-system")
    try:
        documents.apply(documents.manifest("001-08"))

        def placed():
            binding = documents.get("crb", "nginx-system-namespace")
            return {share["name"] for share in binding["spec"]["clusters"]}

        documents.eventually(placed, {"member-cluster-1", "member-cluster-2"})
    finally:
        documents.kubectl("delete", "namespace", "nginx-system")


def test_dynamic_weights_follow_what_is_available(documents):
    documents.apply(nginx(documents, 9))
    documents.apply(documents.manifest("001-09"))
    placed = documents.eventually(documents.placement)
    assert sum(placed.values()) == 9
    assert placed["member-cluster-1"] > placed["member-cluster-2"] > 0
    kept = documents.get("pp", "nginx-dynamic")["spec"]["placement"]["replicaScheduling"]
    assert kept["replicaDivisionPreference"] == "Dynamic"
    assert kept["dynamicWeight"] == "AvailableReplicas"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("001-14", {"cluster-a": 6, "cluster-b": 6, "cluster-c": 6}, id="duplicated"),
        pytest.param("001-15", {"cluster-a": 3, "cluster-b": 2, "cluster-c": 1}, id="divided by weight"),
        pytest.param("001-18", {"cluster-a": 6}, id="a standby cluster of weight 0"),
    ],
)
def test_six_replicas_are_placed(documents, policy, expected):
    documents.apply(nginx(documents, 6))
    documents.apply(documents.manifest(policy))
    documents.eventually(documents.placement, expected)


def test_replicas_gather_in_few_clusters_of_two_regions(documents):
    """Two regions are there to choose from; of their clusters `Aggregated` uses as few as have room, as recorded."""
    documents.apply(nginx(documents, 6))
    documents.apply(documents.manifest("001-16"))
    documents.eventually(documents.placement, {"member-cluster-1": 6})
    documents.kubectl("delete", "deployment", "nginx")
    large = {"image: nginx:latest": 'image: nginx:latest\n        resources: {requests: {cpu: "1"}}'}
    documents.apply(documents.manifest("000-02", {"replicas: 1": "replicas: 10", **large}))
    documents.eventually(lambda: set(documents.placement()), {"member-cluster-1", "member-cluster-2"})
    assert sum(documents.placement().values()) == 10


def test_two_regions_at_least_must_be_there(documents):
    documents.kubectl("label", "cluster", "member-cluster-2", "environment-")
    try:
        documents.apply(nginx(documents, 6))
        documents.apply(documents.manifest("001-16"))

        def verdict():
            conditions = documents.get("rb", "nginx-deployment")["status"]["conditions"]
            return next((c["status"], c["message"]) for c in conditions if c["type"] == "Scheduled")

        status, message = documents.eventually(verdict)
        assert status == "False"
        assert "region is less than spreadConstraint.MinGroups" in message
    finally:
        documents.kubectl("label", "cluster", "member-cluster-2", "environment=production")


def test_groups_are_the_values_of_a_label(documents):
    """Three clusters have the label; the fewest groups allowed are taken, of equals the first by name."""
    documents.apply(nginx(documents, 1))
    documents.apply(documents.manifest("001-17"))
    documents.eventually(documents.placement, {"member-cluster-1": 1, "member-cluster-2": 1})
    why = documents.karmadactl("why", "deployment/nginx")
    (row,) = [line for line in why.splitlines() if "did not have label topology.kubernetes.io/zone" in line]
    assert " and 5 more " in row


def test_the_policies_run_one_after_another_without_errors(documents):
    """They claim the same Deployment; the later ones wait their turn."""
    documents.apply(nginx(documents, 6))
    for policy in ("001-14", "001-15", "001-16", "001-17"):
        documents.apply(documents.manifest(policy))
    documents.eventually(documents.placement, {"cluster-a": 6, "cluster-b": 6, "cluster-c": 6})
    documents.kubectl("delete", "pp", "duplicated-policy", "-n", "default")
    documents.eventually(
        lambda: (
            documents.get("deployment", "nginx")["metadata"]["annotations"]["propagationpolicy.karmada.io/name"]
            != "duplicated-policy"
        )
    )


def test_a_weight_that_is_said_twice_is_refused(documents):
    """A form that contradicts the canonical field beside it names both."""
    text = documents.manifest(
        "001-09",
        {
            "replicaDivisionPreference: Dynamic": "replicaDivisionPreference: Dynamic\n      weightPreference:"
            "\n        staticWeightList: [{targetCluster: {clusterNames: [member1]}, weight: 1}]"
        },
    )
    refusal = documents.apply(text, succeeds=False)
    assert "dynamicWeight" in refusal
    assert "staticWeightList" in refusal
