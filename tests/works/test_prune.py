"""What of a template never reaches a member, by kind."""

from typing import Any

import pytest

from karmada.works.prune import prune

SERVER = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
    "ownerReferences",
    "finalizers",
)


def pruned(api_version: str, kind: str, metadata: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "n", **(metadata or {})}, **fields}
    prune(manifest)
    return {name: value for name, value in manifest.items() if name not in ("apiVersion", "kind")}


def test_what_the_server_keeps_of_an_object_goes_and_its_status() -> None:
    kept = {"name": "n", "labels": {"a": "b"}}
    assert pruned("v1", "ConfigMap", {**dict.fromkeys(SERVER, 1), "labels": {"a": "b"}}, status={}) == {
        "metadata": kept
    }


@pytest.mark.parametrize("metadata", [None, "text", []])
def test_metadata_that_is_none_is_left_alone(metadata: Any) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    prune(manifest)
    assert manifest["metadata"] == metadata


def test_what_a_deployment_controller_noted_goes_of_deployments_alone() -> None:
    noted = {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/revision-history": "1",
        "deployment.kubernetes.io/desired-replicas": "1",
        "deployment.kubernetes.io/max-replicas": "1",
        "mine": "1",
    }
    assert pruned("apps/v1", "Deployment", {"annotations": dict(noted)})["metadata"]["annotations"] == {"mine": "1"}
    assert pruned("apps/v1", "ReplicaSet", {"annotations": dict(noted)})["metadata"]["annotations"] == noted


def job(manual: bool | None) -> dict[str, Any]:
    made = {
        "controller-uid": "1",
        "batch.kubernetes.io/controller-uid": "1",
        "job-name": "n",
        "batch.kubernetes.io/job-name": "n",
        "a": "b",
    }
    selector = {"matchLabels": dict(made)}
    spec = {"selector": selector, "template": {"metadata": {"labels": dict(made)}}, "ttlSecondsAfterFinished": 5}
    found = pruned("batch/v1", "Job", spec={**spec, **({} if manual is None else {"manualSelector": manual})})["spec"]
    assert "ttlSecondsAfterFinished" not in found
    return {
        "selector": sorted(found["selector"]["matchLabels"]),
        "template": sorted(found["template"]["metadata"]["labels"]),
    }


@pytest.mark.parametrize("manual", [None, False])
def test_labels_that_a_job_controller_generated_go(manual: bool | None) -> None:
    assert job(manual) == {"selector": ["a", "batch.kubernetes.io/job-name", "job-name"], "template": ["a"]}


def test_labels_that_a_user_chose_for_a_job_stay() -> None:
    every = ["a", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"]
    assert job(True) == {"selector": every, "template": every}


def test_generated_tokens_of_a_service_account_go() -> None:
    secrets = [{"name": "n-token-x"}, {"name": "mine"}, {"name": "other-token-x"}, "odd"]
    found = pruned("v1", "ServiceAccount", secrets=secrets)
    assert found["secrets"] == [{"name": "mine"}, {"name": "other-token-x"}, "odd"]
    assert "secrets" not in pruned("v1", "ServiceAccount")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "type": "ClusterIP"}, {"type": "ClusterIP"}),
        ({"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "None", "clusterIPs": ["None"]}),
        ({"clusterIP": 5}, {"clusterIP": 5}),
        ({"clusterIP": ""}, {}),
        ({"type": "ClusterIP"}, {"type": "ClusterIP"}),
    ],
)
def test_the_address_of_a_service_goes_unless_it_is_headless(given, kept) -> None:
    assert pruned("v1", "Service", spec=given)["spec"] == kept


def test_the_token_of_a_service_account_is_the_members() -> None:
    noted = {"kubernetes.io/service-account.uid": "1", "kubernetes.io/service-account.name": "a"}
    token = "kubernetes.io/service-account-token"
    found = pruned("v1", "Secret", {"annotations": dict(noted)}, type=token, data={"token": "x"})
    assert found == {
        "metadata": {"name": "n", "annotations": {"kubernetes.io/service-account.name": "a"}},
        "type": token,
    }
    other = pruned("v1", "Secret", {"annotations": dict(noted)}, type="Opaque", data={"token": "x"})
    assert (other["metadata"]["annotations"], other["data"]) == (noted, {"token": "x"})


def test_the_node_that_was_selected_for_a_claim_goes() -> None:
    noted = {"volume.kubernetes.io/selected-node": "node-1", "a": "b"}
    assert pruned("v1", "PersistentVolumeClaim", {"annotations": noted})["metadata"]["annotations"] == {"a": "b"}
    assert pruned("v1", "PersistentVolumeClaim")["metadata"] == {"name": "n"}
