"""Document 000: the example of an nginx in two clusters, command by command, and the Work by hand."""

import json

import pytest

pytestmark = pytest.mark.tools


@pytest.fixture
def example(documents, tmp_path, monkeypatch):
    """The two files of the example, applied with its own commands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nginx-deployment.yaml").write_text(documents.manifest("000-02"))
    (tmp_path / "propagation-policy.yaml").write_text(documents.manifest("000-03"))
    for name in ("nginx-deployment.yaml", "propagation-policy.yaml"):
        documents.kubectl("--context", "karmada-apiserver", "apply", "--validate=strict", "-f", name)
    documents.eventually(documents.placement, {"member1": 1, "member2": 1})
    return documents


def test_the_binding_is_listed(example):
    listing = example.kubectl("--context", "karmada-apiserver", "get", "resourcebinding", "-n", "default")
    assert listing.splitlines()[0].split() == ["NAME", "SCHEDULED", "FULLYAPPLIED", "AGE"]
    assert "nginx-deployment" in listing


@pytest.mark.parametrize("member", ["member1", "member2"])
def test_each_member_runs_one_replica(example, member):
    def running():
        found = example.kubectl("--context", member, "get", "deployment", "nginx", "-n", "default")
        return "1/1" in found

    example.eventually(running)


def test_works_are_listed_by_cluster(example):
    def listed():
        works = example.kubectl("get", "work", "-A", "--context", "karmada-apiserver")
        return {line.split()[0] for line in works.splitlines() if " nginx-" in line}

    example.eventually(listed, {"karmada-es-member1", "karmada-es-member2"})


def test_the_binding_aggregates_what_members_report(example):
    def reported():
        text = example.kubectl(
            "--context", "karmada-apiserver", "get", "resourcebinding", "-n", "default", "-o", "json"
        )
        [binding] = json.loads(text)["items"]
        return {
            item["clusterName"]: (item["applied"], item["status"]["availableReplicas"])
            for item in binding["status"]["aggregatedStatus"]
        }

    example.eventually(reported, {"member1": (True, 1), "member2": (True, 1)})


def test_a_work_by_hand_is_delivered_read_updated_and_deleted(documents):
    text = documents.manifest("000-01")
    documents.apply(text)
    shown = documents.kubectl("get", "work", "nginx-default-member1", "-n", "karmada-es-member1", "-o", "yaml")
    assert "image: nginx:latest" in shown

    def replicas():
        return documents.get("deployment", "nginx", context="member1")["spec"]["replicas"]

    documents.eventually(replicas, 1)
    documents.apply(text.replace("replicas: 1", "replicas: 2"))
    documents.eventually(replicas, 2)

    def applied():
        work = documents.get("work", "nginx-default-member1", "karmada-es-member1")
        return {c["type"]: c["status"] for c in work["status"]["conditions"]}.get("Applied")

    documents.eventually(applied, "True")
    documents.kubectl("delete", "work", "nginx-default-member1", "-n", "karmada-es-member1")
    missing = ("--context", "member1", "get", "deployment", "nginx", "-n", "default", "--ignore-not-found")
    documents.eventually(lambda: documents.kubectl(*missing) == "")
