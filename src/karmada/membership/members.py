"""How controllers reach members: the seam between what is done there and how one gets there.

`membership` implements it for push clusters from Cluster objects and their Secrets; the agent for its own cluster.
A controller follows any kind of a member by `Member.informer`, reads once by `Member.client`, and asks many members the
same question by `ask_members`, where no member delays or fails another.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from karmada.api.cluster.v1alpha1 import Cluster, ResourceModel
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, BadAnswer
from karmada.machinery.informers.factory import Projection
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import EVERYTHING, Scope
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.summary import Summary

T = TypeVar("T")
ANSWER_SECONDS = 5.0
"""How long a member may take to answer one question of `ask_members`."""


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


async def ask_members(
    members: Members,
    clusters: Iterable[Cluster],
    question: Callable[[Member], Awaitable[T]],
    seconds: float = ANSWER_SECONDS,
) -> dict[str, T | MemberUnavailable]:
    """Ask many members at once; by cluster the answer, or why there is none.

    Each has `seconds` of its own for connecting and answering, so the call takes no longer than that. Clusters that are
    not this process's business are left out.
    """
    concerned = [cluster for cluster in clusters if members.concerns(cluster)]
    answers = await asyncio.gather(*(_ask(members, cluster, question, seconds) for cluster in concerned))
    return {cluster.metadata.name: answer for cluster, answer in zip(concerned, answers, strict=True)}


async def _ask(
    members: Members, cluster: Cluster, question: Callable[[Member], Awaitable[T]], seconds: float
) -> T | MemberUnavailable:
    try:
        async with asyncio.timeout(seconds):
            return await question(await members.connect(cluster))
    except TimeoutError:
        return MemberUnavailable(f"no answer of {cluster.metadata.name} within {seconds:g} s")
    except ApiError as error:
        return MemberUnavailable(f"{cluster.metadata.name}: {error}")
    except MemberUnavailable as error:
        return error
