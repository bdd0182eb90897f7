"""Document 001: the OverridePolicies, and what arrives in each cluster."""

import pytest

pytestmark = pytest.mark.tools
BOTH = ("member-cluster-1", "member-cluster-2")


@pytest.fixture
def propagated(documents):
    """nginx with a sidecar of resources and arguments, on its way to both clusters."""
    documents.apply(documents.manifest("000-02", {"replicas: 1": "replicas: 2"}))
    return documents


def copies(documents):
    return {member: documents.get("deployment", "nginx", context=member) for member in BOTH}


def container(deployment):
    return deployment["spec"]["template"]["spec"]["containers"][0]


def test_each_cluster_gets_its_own_variant(propagated):
    propagated.apply(propagated.manifest("001-10"))
    propagated.apply(propagated.manifest("001-07"))
    images = {
        "member-cluster-1": "registry-1.example.com/nginx:v1.0.0-cluster1",
        "member-cluster-2": "registry-2.example.com/nginx:latest",
    }
    propagated.eventually(lambda: {name: container(copy)["image"] for name, copy in copies(propagated).items()}, images)
    first, second = copies(propagated).values()
    assert first["spec"]["replicas"] == 3
    assert container(first)["args"] == ["--config=/etc/nginx/cluster1.conf"]
    assert container(first)["resources"] == {
        "limits": {"cpu": "2", "memory": "2Gi"},
        "requests": {"cpu": "500m", "memory": "512Mi"},
    }
    assert second["metadata"]["labels"]["cluster"] == "member-cluster-2"
    assert second["metadata"]["annotations"]["monitoring.example.com/enabled"] == "true"
    assert container(second).get("args") is None
    assert propagated.placement() == {"member-cluster-1": 1, "member-cluster-2": 1}, "the binding shows the schedule"


def test_structured_patches_are_applied_in_production(propagated):
    propagated.apply(propagated.manifest("001-11"))
    propagated.apply(propagated.manifest("001-07"))

    def environments():
        return {
            name: {entry["name"]: entry["value"] for entry in container(copy)["env"]}
            for name, copy in copies(propagated).items()
        }

    wanted = {"ENVIRONMENT": "production", "LOG_LEVEL": "warn"}
    propagated.eventually(environments, dict.fromkeys(BOTH, wanted))
    for copy in copies(propagated).values():
        [term] = copy["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"][
            "preferredDuringSchedulingIgnoredDuringExecution"
        ]
        assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"


def test_labels_that_exist_are_never_changed_by_add_if_absent(propagated):
    propagated.kubectl("label", "deployment", "nginx", "cluster=mine")
    propagated.apply(propagated.manifest("001-10"))
    propagated.apply(propagated.manifest("001-07"))
    propagated.eventually(
        lambda: container(propagated.get("deployment", "nginx", context="member-cluster-2"))["image"],
        "registry-2.example.com/nginx:latest",
    )
    copy = propagated.get("deployment", "nginx", context="member-cluster-2")
    assert copy["metadata"]["labels"]["cluster"] == "mine"


def test_an_unknown_container_is_named_in_an_event(propagated):
    propagated.apply(propagated.manifest("001-10").replace("containerName: nginx", "containerName: absent"))
    propagated.apply(propagated.manifest("001-07"))
    propagated.eventually(lambda: '"absent"' in propagated.kubectl("get", "events", "-n", "default"))
