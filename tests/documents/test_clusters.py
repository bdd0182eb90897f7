"""Documents 001 and 002: clusters by manifest, by command, and never twice."""

import base64
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools
NAME = "member-cluster-1"


def ready(documents, name):
    conditions = documents.get("cluster", name)["status"]["conditions"]
    return next(c["status"] for c in conditions if c["type"] == "Ready")


def member_kubeconfig(documents, name) -> Path:
    return documents.home / "members" / name / "kubeconfig"


def test_a_cluster_is_registered_by_manifest_with_a_kubeconfig_in_its_secret(documents):
    """`spec.zone` becomes one of the zones, as recorded, and may be applied again; the taint for clusters that are not
    ready goes when it is."""
    before = documents.get("cluster", NAME)
    documents.kubectl("delete", "cluster", NAME)
    kubeconfig = member_kubeconfig(documents, NAME).read_text()
    address = before["spec"]["apiEndpoint"]
    documents.apply(
        documents.manifest("001-05", {"<base64-encoded-kubeconfig>": base64.b64encode(kubeconfig.encode()).decode()})
    )
    try:
        manifest = documents.manifest("001-04", {"https://member-1.example.com:6443": address})
        documents.apply(manifest)
        documents.eventually(lambda: ready(documents, NAME), "True")
        spec = documents.get("cluster", NAME)["spec"]
        assert spec["zones"] == ["us-west-2a"]
        assert (spec["provider"], spec["region"]) == ("AWS", "us-west-2")
        documents.eventually(lambda: not documents.get("cluster", NAME)["spec"].get("taints"))
        documents.apply(manifest)
        documents.eventually(lambda: not documents.get("cluster", NAME)["spec"].get("taints"))
        assert documents.get("cluster", NAME)["spec"]["zones"] == ["us-west-2a"]
    finally:
        documents.kubectl("delete", "cluster", NAME, "--ignore-not-found")
        documents.kubectl("delete", "secret", f"{NAME}-secret", "-n", "karmada-system", "--ignore-not-found")
        documents.karmadactl(
            "join",
            NAME,
            f"--cluster-kubeconfig={member_kubeconfig(documents, NAME)}",
            "--karmada-context=karmada",
            "--cluster-provider=AWS",
            "--cluster-region=us-west-2",
        )
        labels = ("environment=production", "region=us-west", "topology.kubernetes.io/zone=us-west-2a")
        documents.kubectl("label", "cluster", NAME, *labels)
        documents.eventually(lambda: ready(documents, NAME), "True")


def test_a_cluster_leaves_and_joins_and_cannot_join_twice(documents):
    name = "member-cluster-3"
    kubeconfig = f"--cluster-kubeconfig={member_kubeconfig(documents, name)}"
    documents.karmadactl("unjoin", name)
    documents.kubectl("get", "cluster", name, succeeds=False)
    documents.karmadactl("join", name, kubeconfig, "--karmada-context=karmada")
    documents.eventually(lambda: ready(documents, name), "True")
    again = documents.karmadactl("join", "another-name", kubeconfig, "--karmada-context=karmada", succeeds=False)
    assert "the cluster ID" in again
    identity = documents.get("namespace", "kube-system", context=name)["metadata"]["uid"]
    assert documents.get("cluster", name)["spec"]["id"] == identity


def test_a_pull_member_registers_with_a_token_made_in_the_control_plane(documents):
    """The command that document 002 describes: it holds the address, a token and what the address must prove."""
    command = documents.karmadactl("token", "create", "--print-register-command").split()
    address = documents.get("configmap", "cluster-info", "kube-public")["data"]["kubeconfig"]
    assert command[:2] == ["karmadactl", "register"]
    assert f'"https://{command[2]}"' in address
    token = command[command.index("--token") + 1]
    assert token in documents.karmadactl("token", "list")
    assert command[command.index("--discovery-token-ca-cert-hash") + 1].startswith("sha256:")
    name = "edge"
    config = f"--kubeconfig={member_kubeconfig(documents, name)}"
    output = documents.karmadactl(*command[1:], config, "--cluster-name", name, "--dry-run")
    assert "preflight" in output
    documents.karmadactl("token", "delete", token)
