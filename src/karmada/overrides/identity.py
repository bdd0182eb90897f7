"""Which object a copy is: what nobody between template and member may change.

A policy of one namespace that could rewrite kind, name or namespace of a copy would write any object into any member.
"""

from typing import Any, NamedTuple

from karmada.api import management

JSONObject = dict[str, Any]

HEAD = ("apiVersion", "kind")
METADATA = ("name", "namespace", "uid")
MANAGED_MAPS = (("labels", management.LABELS), ("annotations", management.ANNOTATIONS))


class IdentityChanged(Exception):
    """A copy is no longer the object that its template is; it must not be written."""


class Identity(NamedTuple):
    """Which object a resource is, and the management labels and annotations it carries."""

    fields: dict[str, Any]
    managed: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, resource: Any) -> "Identity":
        """The identity of a resource, whatever its shape."""
        resource = resource if isinstance(resource, dict) else {}
        metadata = resource.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        fields = {field: resource.get(field) for field in HEAD}
        fields |= {f"metadata.{field}": metadata.get(field) or "" for field in METADATA}
        fields |= {f"metadata.{name}": isinstance(metadata.get(name) or {}, dict) for name, _ in MANAGED_MAPS}
        return cls(fields, {name: _present(metadata.get(name), keys) for name, keys in MANAGED_MAPS})

    def changed_in(self, resource: Any) -> str:
        """The first field that is another in `resource`, or management entry that is new or another there; empty when
        it is the same object. One that lost management entries is the same object: see `restore`."""
        now = Identity.of(resource)
        for field, value in now.fields.items():
            # Labels that were none may become some: only the reverse loses what was there.
            if value != self.fields[field] and self.fields[field] is not False:
                return field
        for name, entries in now.managed.items():
            for key, value in entries.items():
                if self.managed[name].get(key) != value:
                    return f"metadata.{name}[{key}]"
        return ""

    def require(self, resource: Any, who: str) -> None:
        """Raise `IdentityChanged` when `who` made another object of a copy. A copy on its way to a member has no uid;
        it may be given the member's."""
        now = Identity.of(resource)
        for field, value in self.fields.items():
            if now.fields[field] != value and (value or field != "metadata.uid"):
                raise IdentityChanged(f"{who} changed {field}, which tells which object a copy is: not allowed")

    def restore(self, resource: JSONObject) -> None:
        """Give a copy exactly the management labels and annotations its template has."""
        metadata = resource["metadata"]
        for name, keys in MANAGED_MAPS:
            had, has = self.managed[name], metadata.get(name)
            if _present(has, keys) != had:
                kept = {key: value for key, value in (has or {}).items() if key not in keys}
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
    return any(name == map_ and key in keys for map_, keys in MANAGED_MAPS)


def _present(entries: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(entries, dict):
        return {}
    return {key: entries[key] for key in keys if key in entries}
