"""Document 001: the policy that has clusters give up replicas when they run short."""

import pytest

pytestmark = pytest.mark.tools
FULL = "member-cluster-2"
CPU = 'resources: {requests: {cpu: "1"}}'
BALLAST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: ballast, namespace: default}
spec:
  selector: {matchLabels: {app: ballast}}
  template:
    metadata: {labels: {app: ballast}}
    spec: {containers: [{name: ballast, image: "nginx:1.25", resources: {requests: {cpu: "5"}}}]}
"""


def test_a_cluster_that_is_too_full_gives_up_replicas_that_fit_elsewhere(documents):
    """No more of them than bring it under the threshold; what was done is in the policy's status and in an event."""
    wanted = {"replicas: 1": "replicas: 6", "image: nginx:latest": "image: nginx:latest\n        " + CPU}
    documents.apply(documents.manifest("000-02", wanted))
    documents.apply(documents.manifest("001-09"))
    placed = documents.eventually(documents.placement)
    assert sum(placed.values()) == 6
    documents.kubectl("--context", FULL, "apply", "-f", "-", stdin=BALLAST)
    try:
        documents.eventually(lambda: allocated(documents) >= 5 + placed[FULL], seconds=60)
        documents.apply(documents.manifest("001-19"))

        def status():
            return documents.get("replicaschedulingpolicy", "replica-reschedule")["status"]

        [moved] = documents.eventually(lambda: status()["rescheduled"])
        kept = int(0.8 * 8) - 5
        assert status()["overloadedClusters"] == [FULL]
        assert moved["fromCluster"] == FULL
        assert moved["replicas"] == placed[FULL] - kept
        documents.eventually(documents.placement, {"member-cluster-1": 6 - kept, FULL: kept})
        documents.eventually(lambda: documents.get("deployment", "nginx", context=FULL)["spec"]["replicas"], kept)
        documents.eventually(lambda: "DescheduleBindingSucceed" in documents.kubectl("get", "events", "-n", "default"))
    finally:
        documents.kubectl("--context", FULL, "delete", "-f", "-", stdin=BALLAST)


def allocated(documents):
    """Processors taken in the cluster that gets full, as the control plane knows it."""
    text = documents.get("cluster", FULL)["status"]["resourceSummary"]["allocated"]["cpu"]
    return int(text.removesuffix("m")) / (1000 if text.endswith("m") else 1)
