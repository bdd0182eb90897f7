"""Document 001: the commands of operators, as written but for the path of the kubeconfig."""

import pytest

pytestmark = pytest.mark.tools


@pytest.fixture
def running(documents):
    """The nginx of the documents in both of their clusters."""
    documents.apply(documents.manifest("000-02", {"replicas: 1": "replicas: 3"}))
    documents.apply(documents.manifest("001-07"))
    documents.eventually(documents.placement, {"member-cluster-1": 2, "member-cluster-2": 1})
    documents.eventually(lambda: documents.get("deployment", "nginx")["status"]["readyReplicas"], 3)
    return documents


def columns(text):
    return text.splitlines()[0].split()


def test_clusters_are_listed(running):
    listing = running.kubectl("--kubeconfig", str(running.kubeconfig), "get", "clusters")
    assert columns(listing) == ["NAME", "VERSION", "MODE", "READY", "AGE"]
    assert columns(running.karmadactl("get", "clusters"))[0] == "NAME"


def test_bindings_works_and_policies_have_short_names(running):
    listing = running.kubectl("--kubeconfig", str(running.kubeconfig), "get", "rb,work", "-A")
    assert "resourcebinding.work.karmada.io/nginx-deployment" in listing
    assert "work.work.karmada.io/nginx-" in listing
    policies = running.kubectl("--kubeconfig", str(running.kubeconfig), "get", "pp,cpp", "-A")
    assert "propagationpolicy.policy.karmada.io/nginx-propagation" in policies


def test_the_template_shows_the_sum(running):
    text = running.kubectl("--kubeconfig", str(running.kubeconfig), "get", "deploy", "nginx", "-o", "yaml")
    for line in ("  replicas: 3", "  readyReplicas: 3", "  availableReplicas: 3"):
        assert line in text


def test_the_binding_and_the_work_look_as_printed(running):
    """Document 001 prints both; ours have the same fields with the same meaning."""

    def details():
        status = running.get("rb", "nginx-deployment")["status"]
        conditions = {c["type"]: c["status"] for c in status["conditions"]}
        members = {
            item["clusterName"]: (item["applied"], item["status"]["readyReplicas"])
            for item in status["aggregatedStatus"]
        }
        return conditions, members

    expected = (
        {"Scheduled": "True", "FullyApplied": "True"},
        {"member-cluster-1": (True, 2), "member-cluster-2": (True, 1)},
    )
    running.eventually(details, expected)
    [name] = [
        line.split()[0]
        for line in running.kubectl("get", "work", "-n", "karmada-es-member-cluster-1").splitlines()
        if line.startswith("nginx-")
    ]
    work = running.get("work", name, "karmada-es-member-cluster-1")
    [manifest] = work["spec"]["workload"]["manifests"]
    assert manifest["spec"]["replicas"] == 2
    assert {c["type"]: c["status"] for c in work["status"]["conditions"]}["Applied"] == "True"
    [item] = work["status"]["manifestStatuses"]
    assert item["identifier"]["kind"] == "Deployment"
    assert item["status"]["readyReplicas"] == 2


def test_a_cluster_is_described(running):
    text = running.karmadactl("describe", "cluster", "member-cluster-1")
    assert "member-cluster-1" in text
    assert "Ready" in text


def test_logs_of_all_clusters_name_their_cluster_and_pod(running):
    lines = running.karmadactl("logs", "-l", "app=nginx", "--all-clusters").splitlines()
    named = {line.split()[0].strip("[]").split("/")[0] for line in lines if line}
    assert {"member-cluster-1", "member-cluster-2"} <= named, lines[:5]


def test_a_shell_runs_in_a_pod_of_a_cluster(running):
    """On a terminal, as the document's `exec -it` asks for one."""
    name = running.kubectl("--context", "member-cluster-1", "get", "pods", "-o", "name").splitlines()[0]
    pod = name.removeprefix("pod/")
    output = running.on_a_terminal("exec", "-it", pod, "--cluster=member-cluster-1", "--", "sh", types="echo hello\n")
    assert "\nhello\r\n" in output


def test_karmadactl_is_also_a_plugin_of_kubectl(running):
    names = [line.split()[0] for line in running.kubectl("karmada", "get", "clusters").splitlines()]
    assert {"NAME", "member-cluster-1", "member-cluster-2"} <= set(names)
