"""Topic `dependencies`: bindings of what other resources need."""

from typing import Any

from karmada.api.codec import from_tree, to_tree
from karmada.api.work.v1alpha2 import BindingSnapshot, ResourceBinding
from karmada.policies.dependencies import AttachedToAnother, attach, delete_snapshot, merge_snapshots
from karmada.testing.golden.case import Failed, Topic
from karmada.testing.golden.compare import first_difference


def _attach(given: dict[str, Any]) -> dict[str, Any]:
    others = {
        (binding.metadata.namespace, binding.metadata.name): binding
        for binding in (from_tree(item, ResourceBinding) for item in given.get("otherBindings") or [])
    }

    def find(namespace: str, name: str) -> ResourceBinding:
        if (namespace, name) not in others:
            raise Failed(f'resourcebindings.work.karmada.io "{name}" not found')
        return others[namespace, name]

    existing = given.get("existingAttachedBinding")
    try:
        outcome = attach(
            given["dependency"],
            from_tree(given["independentBinding"], ResourceBinding),
            from_tree(existing, ResourceBinding) if existing else None,
            find,
        )
    except AttachedToAnother as error:
        raise Failed(str(error)) from error
    tree = to_tree(outcome.binding)
    events = [f"Warning DependencyPolicyConflict {outcome.complaint}"] if outcome.conflicts else []
    return {"binding": {"metadata": tree["metadata"], "spec": tree["spec"]}, "events": events}


def _merge(given: dict[str, Any]) -> dict[str, Any]:
    merged = merge_snapshots(_snapshots(given.get("existing")), _snapshots(given.get("new")))
    return {"result": [to_tree(snapshot) for snapshot in merged]}


def _delete(given: dict[str, Any]) -> dict[str, Any]:
    left = delete_snapshot(
        _snapshots(given.get("existing")), given.get("deleteNamespace", ""), given.get("deleteName", "")
    )
    return {"result": [to_tree(snapshot) for snapshot in left]}


def _snapshots(trees: list[dict[str, Any]] | None) -> list[BindingSnapshot]:
    return [from_tree(item, BindingSnapshot) for item in trees or []]


def _compare(expected: Any, actual: Any) -> str | None:
    """That it fails counts; the wording is ours."""
    if isinstance(expected, dict) and isinstance(actual, dict) and "error" in expected and "error" in actual:
        return None
    return first_difference(expected, actual)


TOPIC = Topic(
    "dependencies",
    {
        "dependencies.Attach": _attach,
        "dependencies.MergeSnapshots": _merge,
        "dependencies.DeleteSnapshot": _delete,
    },
    compare=_compare,
)
