"""A request inside the pipeline: authenticated, authorised, on a served resource; and its answer."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from karmada.apiserver.admission.model import AdmissionChain
from karmada.apiserver.auth.decisions import require
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.requests.conversions import Conversions
from karmada.apiserver.requests.negotiation import JSON, View
from karmada.apiserver.requests.turns import Turns
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Served
from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.httpserver.model import ByteStream, HttpRequest, Pieces


class Call(msgspec.Struct, eq=False):
    """One request. `body` is bytes from the network or a tree handed over by an in-process caller."""

    verb: str
    served: Served
    user: UserInfo
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    subpath: str = ""
    params: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes | JSONObject | list[Any] | None = None
    content_type: str = ""
    view: View = JSON
    agent: str = ""
    """User agent: its product name is the field manager where none is given."""
    warnings: list[str] = msgspec.field(default_factory=list)
    http: HttpRequest | None = None
    """The request on the wire, for subresources that pass it on; None for in-process callers."""
    now: Callable[[], float] = time.time
    """By which the ages in tables are counted."""
    required: list[Attributes] = msgspec.field(default_factory=list)
    """Rights that the call takes beside that to its verb, as long as its answer lasts."""

    def require(self, authorizer: Authorizer, attributes: Attributes) -> None:
        """Refuse the call without a further right."""
        require(authorizer, self.user, attributes)
        self.required.append(attributes)

    def manager(self, given: str) -> str:
        """The field manager of this request."""
        return given or self.agent.split("/", 1)[0] or "unknown"


class Answer(msgspec.Struct, frozen=True, eq=False):
    """An encoded answer; `headers` are for the HTTP dispatcher."""

    code: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}
    pieces: Pieces | None = None
    """Instead of a body, for a caller from outside who gets a large list."""


class Streamed(NamedTuple):
    """An answer that is written piece by piece (logs, proxied responses)."""

    code: int
    chunks: AsyncIterator[bytes]
    content_type: str = "text/plain"
    headers: Mapping[str, str] = {}


class Upgraded(NamedTuple):
    """A connection that another protocol takes over (exec, attach, port-forward)."""

    headers: Mapping[str, str]
    serve: Callable[[ByteStream], Awaitable[None]]


AnyAnswer = Answer | Streamed | Upgraded


@dataclass(slots=True)
class Context:
    """What the verbs work with."""

    store: WatchCache
    catalog: Catalog
    admission: AdmissionChain
    authorizer: Authorizer
    now: Callable[[], float]
    """Seconds since the epoch."""
    uid: Callable[[], str]
    suffix: Callable[[], str]
    """Five random characters for generated names."""
    key_prefix: str = "/registry"
    """What refusals call the place of objects."""
    conversions: Conversions = field(default_factory=Conversions)
    turns: Turns = field(default_factory=Turns)
    """Of those who change an object."""
