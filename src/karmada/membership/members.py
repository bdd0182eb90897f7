"""How controllers reach members: the seam between what is done there and how one gets there.

`membership` implements it for push clusters from Cluster objects and their Secrets; the agent for its own cluster.
A controller follows any kind of a member by `Member.informer`, and reads once by `Member.client`.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from karmada.api.cluster.v1alpha1 import Cluster, ResourceModel
from karmada.machinery.client import Client
from karmada.machinery.errors import BadAnswer
from karmada.machinery.informers.factory import Projection
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import EVERYTHING, Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.summary import Summary


class MemberUnavailable(Exception):
    """The member cannot be reached or no client can be built for it; the message says why. Never a verdict."""


class Member(Protocol):
    """A connected member."""

    @property
    def name(self) -> str:
        """The cluster's name."""
        ...

    @property
    def client(self) -> Client:
        """Access to its API server."""
        ...

    async def count(self, models: Sequence[ResourceModel]) -> Summary:
        """Its nodes, what they offer and what of it is taken."""
        ...

    def trouble(self) -> str:
        """Why its nodes and pods cannot be read; empty when nothing is known to be wrong."""
        ...

    def blame(self, error: BadAnswer) -> None:
        """It sent what no server may send: nothing is asked of it for a while."""
        ...

    def on_offence(self, act: Callable[[], None]) -> None:
        """Have something done whenever it is cut off, in place of what was done before."""
        ...

    def complaint(self) -> str:
        """What it did wrong that it is cut off or suspected for; empty when nothing."""
        ...

    def managed(self, type_: GroupVersionResource) -> Informer[JSONObject]:
        """The shared informer of the objects Karmada manages there; it starts when first asked for."""
        ...

    def informer(
        self, type_: GroupVersionResource, scope: Scope = EVERYTHING, project: Projection | None = None
    ) -> Informer[JSONObject]:
        """The shared informer of any collection there, or of the part in `scope` (namespace, label, field selectors).

        It starts when first asked for and ends with the connection. `project` drops from each object what nobody reads.
        Until it has loaded, reads raise `NotSynced`: ask `has_synced`, never wait for a member.
        """
        ...


class Members(Protocol):
    """The members this process takes care of."""

    def concerns(self, cluster: Cluster) -> bool:
        """Whether a cluster is this process's business: push clusters for the control plane, its own for an agent."""
        ...

    async def connect(self, cluster: Cluster) -> Member:
        """The connection to a member, made once and renewed when the Cluster or its Secret changes."""
        ...

    async def forget(self, name: str) -> None:
        """The cluster is gone: stop following it."""
        ...
