"""API groups beside Kubernetes' own: resource types with handlers and admission, for any server of this project."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from karmada.apiserver.admission.model import AdmissionPlugin
from karmada.apiserver.requests.pipeline import Specials
from karmada.apiserver.resources import ResourceType


@dataclass(frozen=True, slots=True)
class LocalApi:
    """API groups that a process serves: in the embedded API server, or in a `groupserver.GroupServer` of their own.

    Objects live in the server's own store. A handler replaces the verbs of a resource that is not stored
    (`(group, plural, "")`) or answers a subresource such as `(group, "clusters", "proxy")`. A type that is `open` is
    answered by its handler alone, whatever subresource is asked for; with `*` as its plural it stands for every
    resource of its group version that no other type names.
    """

    types: Sequence[ResourceType]
    handlers: Specials = field(default_factory=dict)
    admission: Sequence[AdmissionPlugin] = ()
    """Changes and judges the objects of these groups, before webhooks do."""
