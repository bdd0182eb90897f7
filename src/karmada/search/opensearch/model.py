"""An OpenSearch as registries name it, and how it is."""

from typing import NamedTuple

from karmada.api.search.v1alpha1 import OpenSearchConfig


class BackendRef(NamedTuple):
    """Which OpenSearch: registries that name the same share it."""

    addresses: tuple[str, ...]
    namespace: str = ""
    """Of the Secret, as `name` is."""
    name: str = ""

    @classmethod
    def of(cls, config: OpenSearchConfig) -> "BackendRef":
        """The OpenSearch of a registry."""
        secret = config.secret_ref
        return cls(config.addresses, secret.namespace if secret else "", secret.name if secret else "")

    @property
    def key(self) -> str:
        """Under what its documents are kept: other credentials are no other OpenSearch."""
        return "\n".join(self.addresses)


class State(NamedTuple):
    """How a backend is, as a condition says it."""

    well: bool
    reason: str
    message: str


CONNECTING = State(False, "Connecting", "OpenSearch is being connected")
SENT = State(True, "Sent", "changes are sent to OpenSearch")
