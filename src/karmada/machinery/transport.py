"""What a Kubernetes API request is, and the one seam through which every component sends it.

A `Transport` carries requests to one API server. There are two: `http` (kubeconfig; any conformant server)
and `direct` (the embedded server's own pipeline, in-process: no sockets, no HTTP, no JSON text). No component
may depend on which one it has.

Rules both sides rely on:
- A request that the server refuses raises an `ApiError` (see `machinery.errors`), never returns a non-2xx response.
- `Request.body` given as a dict belongs to the transport from then on: the caller must not touch it again.
- Bytes in responses and events are shared and immutable: the direct transport hands out the server's own cache entries.
- `watch` yields batches in revision order. The stream ends normally when the server closes it; it raises
  `Gone` when the revision is compacted, other `ApiError`s for error events, `Unavailable` when the connection breaks.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from karmada.machinery.codec import Identity

JSONObject = dict[str, Any]


class GroupVersionResource(NamedTuple):
    """Names a collection on an API server, e.g. apps/v1 deployments; the core group is the empty string."""

    group: str
    version: str
    resource: str


class Verb(StrEnum):
    """Request verbs as authorisation knows them."""

    GET = "get"
    LIST = "list"
    WATCH = "watch"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    DELETE_COLLECTION = "deletecollection"


class PatchType(StrEnum):
    """Content types of patches."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Request(NamedTuple):
    """One API request on a resource; `params` are the query parameters by their wire names."""

    verb: Verb
    resource: GroupVersionResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    params: Mapping[str, str] = {}
    body: bytes | JSONObject | list[Any] | None = None
    patch_type: PatchType | None = None
    accept: str = ""
    """A specific media type (tables, partial metadata, discovery); empty means plain JSON."""
    timeout: float = 30.0


class EventType(StrEnum):
    """Types of watch events a transport yields; errors are raised instead."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class Held(Protocol):
    """An encoded object that the server of this process holds, perhaps in less room than it takes."""

    @property
    def body(self) -> bytes:
        """The object."""
        ...


class WatchEvent(NamedTuple):
    """One watch event; `object` is the encoded object, `which` what is in it already known to be.

    Whoever keeps the object keeps `held` instead where there is one: a second copy would take room. Whoever changes the
    object leaves `held` out.
    """

    type: EventType
    object: bytes
    which: "Identity | None" = None
    held: Held | None = None


WatchStream = AsyncIterator[list[WatchEvent]]


class Transport(Protocol):
    """Carries requests to one API server as one identity."""

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch with the encoded response object."""
        ...

    def watch(self, request: Request) -> AbstractAsyncContextManager[WatchStream]:
        """Open a watch; leaving the context closes it."""
        ...

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource: discovery, OpenAPI, health, version, metrics."""
        ...

    async def close(self) -> None:
        """Release connections; later calls raise."""
        ...
