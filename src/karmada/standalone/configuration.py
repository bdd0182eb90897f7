"""`/configuration` on the embedded API server: its version, the feature gates and flags that decide where workloads go,
and why nothing can be written, if so.

Nothing of it is secret; who may list clusters may read it.
"""

import orjson

from karmada.api.feature_gates import FeatureGates
from karmada.api.version import VERSION
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.requests.model import Answer

ROOT = "configuration"


class ConfigurationPage:
    """Implements `apiserver.pages.OwnPage`."""

    def __init__(self, gates: FeatureGates, flags: dict[str, bool], read_only: str = "") -> None:
        state = {"readOnly": read_only} if read_only else {}
        self._said = orjson.dumps({"version": VERSION, "featureGates": dict(gates.items()), "flags": flags, **state})

    def about(self, path: str) -> Attributes | None:
        """The clusters."""
        if path.strip("/") != ROOT:
            return None
        return Attributes("list", "cluster.karmada.io", "v1alpha1", "clusters")

    async def answer(self, path: str) -> Answer:
        """Gates and flags."""
        return Answer(200, self._said)
