"""`/configuration` on the embedded API server: its version, the feature gates and flags that decide where workloads go,
the kinds on which nothing acts, and why nothing can be written, if so.

Nothing of it is secret; who may list clusters may read it.
"""

from collections.abc import Mapping

import orjson

from karmada.api.feature_gates import FeatureGates
from karmada.api.version import VERSION
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.requests.model import Answer

ROOT = "configuration"


class ConfigurationPage:
    """Implements `apiserver.pages.OwnPage`."""

    def __init__(
        self, gates: FeatureGates, flags: dict[str, bool], idle: Mapping[tuple[str, str], str], read_only: str = ""
    ) -> None:
        page = {
            "version": VERSION,
            "featureGates": dict(gates.items()),
            "flags": flags,
            "idleKinds": {f"{plural}.{group}": reason for (group, plural), reason in idle.items()},
        }
        self._page = orjson.dumps(page | ({"readOnly": read_only} if read_only else {}))

    def about(self, path: str) -> Attributes | None:
        """The clusters."""
        if path.strip("/") != ROOT:
            return None
        return Attributes("list", "cluster.karmada.io", "v1alpha1", "clusters")

    async def answer(self, path: str) -> Answer:
        """Gates and flags."""
        return Answer(200, self._page)
