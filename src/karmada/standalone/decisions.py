"""`/decisions/<namespace>/<name>` on the embedded API server: who may read a binding may read how it was decided."""

from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.requests.model import Answer
from karmada.scheduler.decision_history import DecisionHistory
from karmada.scheduler.decisions_route import PREFIX, binding_at, reported

ROOT = PREFIX.strip("/")


class DecisionsPage:
    """Implements `apiserver.pages.OwnPage`."""

    def __init__(self, ring: DecisionHistory) -> None:
        self._ring = ring

    def about(self, path: str) -> Attributes | None:
        """The binding."""
        key = binding_at(path)
        if key is None:
            return None
        plural = "resourcebindings" if key.namespace else "clusterresourcebindings"
        return Attributes("get", "work.karmada.io", "v1alpha2", plural, "", key.namespace, key.name)

    async def answer(self, path: str) -> Answer:
        """The decisions about it, newest first."""
        key = binding_at(path)
        assert key is not None, "asked only for what it is about"
        return Answer(200, reported(self._ring, key))
