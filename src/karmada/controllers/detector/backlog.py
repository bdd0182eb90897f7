"""The templates of each namespace that were created and that the detector has not looked at yet."""

from karmada.controllers.detector.policy_index import TemplateKey


class TemplateBacklog:
    """Counts what waits for its first reconcile. What a restart finds, what is updated or deleted, and what is tried
    again does not count: how much of it there can be is bounded by the objects that exist."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[TemplateKey]] = {}
        """By namespace, "" for cluster-scoped ones; only namespaces that have any."""

    def add(self, key: TemplateKey) -> None:
        """A template was created."""
        self._waiting.setdefault(key.namespace, set()).add(key)

    def discard(self, key: TemplateKey) -> None:
        """A template is being reconciled."""
        keys = self._waiting.get(key.namespace)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._waiting[key.namespace]

    def size(self, namespace: str) -> int:
        """How many templates of a namespace wait."""
        return len(self._waiting.get(namespace, ()))
