"""Which object a copy is: what nobody between template and member may change.

A policy of one namespace that could rewrite kind, name or namespace of a copy would write any object into any member.
"""

from typing import Any, NamedTuple

from karmada.api import management

JSONObject = dict[str, Any]

HEAD = ("apiVersion", "kind")
METADATA = ("name", "namespace", "uid")
MAPS = {"labels": frozenset(management.LABELS), "annotations": frozenset(management.ANNOTATIONS)}
"""Where Karmada's own entries are, and which they are."""
_FIELDS = (*HEAD, *(f"metadata.{field}" for field in (*METADATA, *MAPS)))
_UID = _FIELDS.index("metadata.uid")


class IdentityChanged(Exception):
    """A copy is no longer the object that its template is; it must not be written."""


class Identity(NamedTuple):
    """Which object a resource is, and the management labels and annotations it carries."""

    fields: tuple[Any, ...]
    labels: JSONObject
    annotations: JSONObject

    @classmethod
    def of(cls, resource: Any) -> "Identity":
        """The identity of a resource, whatever its shape."""
        metadata = _metadata(resource)
        return cls(_fields(resource, metadata), _managed("labels", metadata), _managed("annotations", metadata))

    def changed_in(self, resource: Any) -> str:
        """The first field that is another in `resource`, or management entry that is new or another there; empty when
        it is the same object. One that lost management entries is the same object: see `restore`."""
        now = Identity.of(resource)
        for name, before, after in zip(_FIELDS, self.fields, now.fields, strict=True):
            # Labels that were none may become some: only the reverse loses what was there.
            if before != after and before is not False:
                return name
        for name, had, has in (("labels", self.labels, now.labels), ("annotations", self.annotations, now.annotations)):
            for key, value in has.items():
                if had.get(key) != value:
                    return f"metadata.{name}[{key}]"
        return ""

    def require(self, resource: Any, who: str) -> None:
        """Raise `IdentityChanged` when `who` made another object of a copy. A copy on its way to a member has no uid;
        it may be given the member's."""
        now = _fields(resource, _metadata(resource))
        if now == self.fields:
            return
        for index, (before, after) in enumerate(zip(self.fields, now, strict=True)):
            if before != after and (before or index != _UID):
                raise IdentityChanged(
                    f"{who} changed {_FIELDS[index]}, which decides which object a copy is: not allowed"
                )

    def restore(self, resource: JSONObject) -> None:
        """Give a copy exactly the management labels and annotations its template has."""
        metadata = resource["metadata"]
        for name, had in (("labels", self.labels), ("annotations", self.annotations)):
            if _managed(name, metadata) != had:
                kept = {key: value for key, value in (metadata.get(name) or {}).items() if key not in MAPS[name]}
                metadata[name] = {**kept, **had}


def touched_by(pointer: str) -> bool:
    """Whether a JSON pointer leads to a part of an object's identity or to a management label or annotation. What lies
    above them (all labels, all metadata) can be written without changing them: the copy shows."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    match steps:
        case [field, *_] if field in HEAD:
            return True
        case ["metadata", field, *_] if field in METADATA:
            return True
        case ["metadata", name, key, *_]:
            return is_managed(name, key)
    return False


def is_managed(name: str, key: str) -> bool:
    """Whether a label or annotation (`name` says which) is Karmada's to write."""
    return key in MAPS.get(name, ())


def _metadata(resource: Any) -> JSONObject:
    metadata = resource.get("metadata") if isinstance(resource, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _fields(resource: Any, metadata: JSONObject) -> tuple[Any, ...]:
    """What `_FIELDS` names; of labels and annotations only whether they are maps at all."""
    head = resource if isinstance(resource, dict) else {}
    return (
        head.get("apiVersion"),
        head.get("kind"),
        metadata.get("name") or "",
        metadata.get("namespace") or "",
        metadata.get("uid") or "",
        isinstance(metadata.get("labels") or {}, dict),
        isinstance(metadata.get("annotations") or {}, dict),
    )


def _managed(name: str, metadata: JSONObject) -> JSONObject:
    entries = metadata.get(name)
    if not entries or not isinstance(entries, dict):
        return {}
    return {key: entries[key] for key in MAPS[name] & entries.keys()}
