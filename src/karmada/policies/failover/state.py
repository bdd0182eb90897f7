"""State preservation: values of the evicted copy's status that its replacement receives as labels."""

from collections.abc import Iterable

from karmada.api.codec import tree
from karmada.api.jsonpath import JSONPathError, parse
from karmada.api.policy.v1alpha1 import StatePreservation
from karmada.api.work.v1alpha2 import AggregatedStatusItem


class StateUnavailable(Exception):
    """The state cannot be read yet; evicting now would lose it. The message names cluster or path."""


def preserved_labels(
    preservation: StatePreservation | None, observed: Iterable[AggregatedStatusItem], cluster: str
) -> dict[str, str]:
    """The labels that the rules read from the status in a cluster; raises `StateUnavailable`."""
    if preservation is None or not preservation.rules:
        return {}
    item = next((item for item in observed if item.cluster_name == cluster), None)
    status = tree(item.status) if item is not None else None
    if status is None:
        raise StateUnavailable(f"the application status has not yet been collected from Cluster({cluster})")
    labels = {}
    for rule in preservation.rules:
        try:
            labels[rule.alias_label_name] = parse(rule.json_path).render(status, allow_missing=False)
        except JSONPathError as error:
            raise StateUnavailable(f"statePreservation path {rule.json_path} in cluster {cluster}: {error}") from error
    return labels
