"""Takes out of a manifest what belongs to the control plane's own copy and must not reach a member."""

from collections.abc import Set
from typing import Any

JSONObject = dict[str, Any]

_METADATA = {
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
}
_CONTROLLER_UID = {"controller-uid", "batch.kubernetes.io/controller-uid"}
_JOB_NAME = {"job-name", "batch.kubernetes.io/job-name"}
_DEPLOYMENT_ANNOTATIONS = {
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
}
_SERVICE_ACCOUNT_UID = "kubernetes.io/service-account.uid"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def prune(manifest: JSONObject) -> None:
    """Prune in place."""
    prune_metadata(manifest)
    manifest.pop("status", None)
    match manifest.get("apiVersion"), manifest.get("kind"):
        case "apps/v1", "Deployment":
            _drop(_map(manifest, "metadata", "annotations"), _DEPLOYMENT_ANNOTATIONS)
        case "batch/v1", "Job":
            _prune_job(manifest)
        case "v1", "ServiceAccount":
            _prune_service_account(manifest)
        case "v1", "Service":
            _prune_service(manifest)
        case "v1", "Secret":
            if manifest.get("type") == "kubernetes.io/service-account-token":
                _drop(_map(manifest, "metadata", "annotations"), {_SERVICE_ACCOUNT_UID})
                manifest.pop("data", None)
        case "v1", "PersistentVolumeClaim":
            noted = _map(manifest, "metadata", "annotations")
            if noted.get(_SELECTED_NODE):
                del noted[_SELECTED_NODE]


def prune_metadata(manifest: JSONObject) -> None:
    """Drop what every API server writes itself, in place."""
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        _drop(metadata, _METADATA)


def _prune_job(manifest: JSONObject) -> None:
    spec = _map(manifest, "spec")
    if not spec.get("manualSelector"):
        _drop(_map(spec, "selector", "matchLabels"), _CONTROLLER_UID)
        _drop(_map(spec, "template", "metadata", "labels"), _CONTROLLER_UID | _JOB_NAME)
    spec.pop("ttlSecondsAfterFinished", None)


def _prune_service_account(manifest: JSONObject) -> None:
    secrets = manifest.get("secrets")
    if isinstance(secrets, list):
        generated = f"{_map(manifest, 'metadata').get('name', '')}-token-"
        manifest["secrets"] = [s for s in secrets if not str(_map(s).get("name", "")).startswith(generated)]


def _prune_service(manifest: JSONObject) -> None:
    spec = _map(manifest, "spec")
    address = spec.get("clusterIP")
    if isinstance(address, str) and address != "None":
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)


def _map(node: Any, *path: str) -> JSONObject:
    """The map at a path; an empty one, not attached, when there is none."""
    for part in path:
        node = node.get(part) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def _drop(entries: JSONObject, keys: Set[str]) -> None:
    for key in entries.keys() & keys:
        del entries[key]
