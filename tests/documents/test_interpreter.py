"""Document 001: the interpreter customisation, with its three dialects of Lua functions."""

import pytest

pytestmark = pytest.mark.tools


def test_the_customisation_counts_aggregates_judges_and_retains(documents):
    documents.apply(documents.manifest("001-27"))
    documents.apply(documents.manifest("000-02", {"replicas: 1": "replicas: 3"}))
    documents.apply(documents.manifest("001-07"))
    documents.eventually(documents.placement, {"member-cluster-1": 2, "member-cluster-2": 1})

    def aggregated():
        status = documents.get("deployment", "nginx")["status"]
        return {key: status.get(key) for key in ("replicas", "readyReplicas", "availableReplicas")}

    documents.eventually(aggregated, {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3})

    def health():
        items = documents.get("rb", "nginx-deployment")["status"]["aggregatedStatus"]
        return {item["clusterName"]: item["health"] for item in items}

    documents.eventually(health, {"member-cluster-1": "Healthy", "member-cluster-2": "Healthy"})

    documents.kubectl("--context", "member-cluster-2", "scale", "deployment", "nginx", "--replicas=4")
    documents.kubectl("label", "deployment", "nginx", "touched=yes")

    def copy():
        found = documents.get("deployment", "nginx", context="member-cluster-2")
        return found["metadata"]["labels"].get("touched"), found["spec"]["replicas"]

    documents.eventually(copy, ("yes", 4))
