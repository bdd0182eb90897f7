"""In-process API groups: resource types with handlers, served as if they were the server's own."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from karmada.apiserver.requests.pipeline import Specials
from karmada.apiserver.resources import ResourceType


@dataclass(frozen=True, slots=True)
class LocalApi:
    """A group of types that this process serves.

    Objects live in the server's own store. A handler replaces the verbs of a resource that is not stored
    (`(group, plural, "")`) or answers a subresource such as `(group, "clusters", "proxy")`.
    """

    types: Sequence[ResourceType]
    handlers: Specials = field(default_factory=dict)
