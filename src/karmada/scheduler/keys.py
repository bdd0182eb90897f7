"""Names of bindings of both kinds."""

from typing import NamedTuple


class BindingKey(NamedTuple):
    """Names a binding; the namespace is empty for a ClusterResourceBinding."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
