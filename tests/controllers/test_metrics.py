"""The figures of clusters, whatever the clusters say."""

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.controllers.metrics import PipelineMetrics


def cluster(name, **allocatable):
    spec, summary = {"syncMode": "Pull"}, {"allocatable": allocatable}
    return from_tree({"metadata": {"name": name}, "spec": spec, "status": {"resourceSummary": summary}}, Cluster)


def test_a_cluster_that_reports_no_amounts_costs_nobody_their_figures():
    metrics = PipelineMetrics()
    metrics.clusters = lambda: [cluster("m1", cpu="a lot", memory="1Ki"), cluster("m2", cpu="2")]
    found = {
        (sample.name, sample.labels["member_cluster"]): sample.value
        for family in metrics.collect()
        for sample in family.samples
        if "allocatable" in sample.name
    }
    assert found == {("cluster_memory_allocatable_bytes", "m1"): 1024, ("cluster_cpu_allocatable_number", "m2"): 2}
