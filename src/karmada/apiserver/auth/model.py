"""Identity and authorisation as types: who asks for what, and what the answer is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import msgspec


@dataclass(frozen=True, slots=True)
class UserInfo:
    """An authenticated (or impersonated) identity."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """What is asked, as RBAC sees it. Requests for paths have no version; of them only `verb` and `path` count."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def is_resource(self) -> bool:
        """Whether the request is on a resource rather than on a path."""
        return bool(self.resource or self.version)


class Decision(NamedTuple):
    """Allowed or not; `reason` is for people."""

    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    """Decides synchronously from memory: authorisation is on the path of every request."""

    def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        """Whether `user` may do what `attributes` describe."""
        ...
