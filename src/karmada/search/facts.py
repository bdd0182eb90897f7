"""What the index knows of an object beside its place: creation, labels, images, state and words. Pure.

The data of Secrets and ConfigMaps is left out.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from karmada.api.annotations import LAST_APPLIED_CONFIGURATION
from karmada.apiserver.printing import cells
from karmada.machinery.transport import JSONObject
from karmada.search.terms import backwards, token, without_tokens

TEXT = 8192
"""Characters of an object that are indexed."""
_WITHOUT_DATA = frozenset({"secrets", "configmaps"})


class Facts(NamedTuple):
    """What is indexed."""

    created: float
    labels: str
    """`key=value`, each on a line of its own between two newlines, as `images` are."""
    images: str
    status: str
    text: str

    def terms(self, cluster: str, kind: str, namespace: str, name: str) -> str:
        """The tokens of all fields of an object at a place."""
        found = [
            ("cluster", cluster),
            ("kind", kind),
            ("namespace", namespace),
            ("name", name),
            ("status", self.status),
        ]
        found += [("label", label) for label in self.labels.split("\n")]
        found += [("image", image) for image in self.images.split("\n")]
        return " ".join(f"{token(field, value)} {backwards(field, value)}" for field, value in found if value)


NO_FACTS = Facts(0.0, "\n", "\n", "", "")
"""Of an object that cannot be read."""


def facts_of(body: bytes, plural: str) -> Facts:
    """The facts of an encoded object; none when a member sent what cannot be read."""
    try:
        obj: JSONObject = orjson.loads(body)
        created = cells.seconds(obj["metadata"].get("creationTimestamp") or "1970-01-01T00:00:00Z")
        labels, images, status = _labels(obj), _images(obj), _status(obj)
        # What people look for most comes first: it is never cut off.
        text = without_tokens(f"{labels}{images}{status} {_text(obj, plural)}")
        return Facts(created, labels, images, status, text)
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError):
        return NO_FACTS


def _labels(obj: JSONObject) -> str:
    labels = obj["metadata"].get("labels") or {}
    return "\n" + "".join(f"{key}={value}\n" for key, value in labels.items())


def _images(obj: JSONObject) -> str:
    spec = cells.part(obj, "spec")
    pod = cells.part(spec, "template", "spec") if "template" in spec else spec
    found = [one.get("image", "") for one in pod.get("containers") or () if isinstance(one, dict)]
    return "\n" + "".join(f"{image}\n" for image in found)


def _status(obj: JSONObject) -> str:
    """What people call the state of an object: why a container waits or ended, else its phase or reason."""
    status = cells.part(obj, "status")
    for one in status.get("containerStatuses") or ():
        for state in (one.get("state") or {}).values() if isinstance(one, dict) else ():
            if isinstance(state, dict) and state.get("reason"):
                return str(state["reason"])
    return str(status.get("phase") or obj.get("reason") or "")


def _text(obj: JSONObject, plural: str) -> str:
    """The words of an object; the data of Secrets and ConfigMaps is left out."""
    obj["metadata"].pop("managedFields", None)
    if plural in _WITHOUT_DATA:
        obj = {"kind": obj.get("kind"), "type": obj.get("type"), "metadata": obj["metadata"]}
        (obj["metadata"].get("annotations") or {}).pop(LAST_APPLIED_CONFIGURATION, None)  # it repeats the data
    text, size = [], 0
    for word in _strings(obj):
        size += len(word) + 1
        if size > TEXT:
            break
        text.append(word)
    return " ".join(text)


def _strings(value: Any) -> Iterator[str]:
    """The texts in a tree, keys of labels included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            if isinstance(part, str):
                yield key
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
