"""Admission of objects that have a component read a Secret and show what is in it to an address.

The component may read every Secret, and both are said by the object. Whoever says either must be allowed to read that
Secret.
"""

from collections.abc import Sequence
from typing import Any

from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.auth.model import Attributes, Authorizer
from karmada.apiserver.failures import forbidden
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind


class NamedSecrets:
    """Lets nobody use a Secret by objects of one kind who may not read it. An `AdmissionPlugin`; `connect` comes before
    the first request."""

    _authorizer: Authorizer

    def __init__(self, kind: Kind, references: Sequence[str], where: Sequence[str]) -> None:
        """Fields with dots: those that name a Secret, and those that say where it is shown."""
        self.kinds = (kind,)
        self._references = references
        self._where = where

    def connect(self, authorizer: Authorizer) -> None:
        """Ask this one who may read what."""
        self._authorizer = authorizer

    def applies(self, request: AdmissionRequest) -> bool:
        """Writes of what is in the spec."""
        return request.object is not None and not request.subresource

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing is changed."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Ask about each Secret that is named, or shown elsewhere, since this write."""
        new, old = request.object, request.old
        goes_elsewhere = any(_value(new, field) != _value(old, field) for field in self._where)
        for field in self._references:
            reference = _value(new, field)
            if not isinstance(reference, dict) or not (goes_elsewhere or reference != _value(old, field)):
                continue
            namespace, name = reference.get("namespace") or "", reference.get("name") or ""
            wanted = Attributes("get", "", "v1", "secrets", "", namespace, name)
            if not self._authorizer.authorize(request.user, wanted).allowed:
                why = f"{field}: you may not read Secret {namespace}/{name}, which is shown to the address"
                raise forbidden(request.type.group, request.type.plural, request.name, f"{why}: name one that you may")


def _value(tree: JSONObject | None, field: str) -> Any:
    """What a field holds; None if that is nothing."""
    node: Any = tree
    for part in field.split("."):
        node = node.get(part) if isinstance(node, dict) else None
    return node or None
