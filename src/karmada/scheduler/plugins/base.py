"""What a plugin is.

A filter says why a cluster will not do; a score says how good it is, from 0 to 100. Both are pure: the same cluster,
request and peers give the same answer. `aspect` is the part of the request an answer depends on, as something hashable:
answers are remembered per cluster and aspect, so two requests with equal aspects must get equal answers. A plugin that
returns None as its aspect is asked every time.
"""

from collections.abc import Hashable
from typing import Protocol, runtime_checkable

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.scheduler.core.request import Request


@runtime_checkable
class Filter(Protocol):
    """Rejects clusters."""

    @property
    def name(self) -> str:
        """As `--plugins` spells it."""
        ...

    @property
    def spares_targets(self) -> bool:
        """Whether clusters the binding already goes to are never rejected."""
        ...

    def aspect(self, request: Request) -> Hashable | None:
        """What of the request the answer depends on."""
        ...

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        """Why the cluster will not do, or None."""
        ...


@runtime_checkable
class Score(Protocol):
    """Ranks clusters."""

    @property
    def name(self) -> str:
        """As `--plugins` spells it."""
        ...

    def score(self, cluster: Cluster, request: Request) -> int:
        """From 0 to 100, greater is better."""
        ...
