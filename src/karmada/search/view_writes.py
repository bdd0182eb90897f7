"""Changes through the view of templates: those that would carry its names into members are refused."""

from typing import Any

import orjson

from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.search.view import InCluster

_SHOWN_ONLY = ("name", "ownerReferences")
"""Fields of metadata that the view shows otherwise than the member has them."""
_POINTERS = tuple(f"/metadata/{field}/" for field in _SHOWN_ONLY)
_PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json")


def for_member(verb: str, body: bytes, content_type: str, shown: str, meant: InCluster) -> bytes:
    """The body of a request on an object of the view as its member must see it; raises 400 for what cannot be."""
    media = content_type.split(";", 1)[0].strip()
    if verb == "update":
        raise _refused("an object is not sent back whole", meant)
    if verb == "patch" and media not in _PATCHES:
        raise _refused("an object is not applied", meant)
    if verb not in ("create", "patch") or not body:
        return body
    try:
        tree = orjson.loads(body)
    except ValueError:
        return body  # The member says what is wrong with it.
    if isinstance(tree, list):
        if any(map(_moves, tree)):
            raise _refused("names and owners are not patched", meant)
        return body
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    if not isinstance(metadata, dict):
        return body
    named = metadata.get("name") == shown
    if verb == "patch" and (metadata.keys() & _SHOWN_ONLY) - ({"name"} if named else set()):
        raise _refused("names and owners are not patched", meant)
    if not named:
        return body
    metadata["name"] = meant.name
    return orjson.dumps(tree)


def _moves(operation: Any) -> bool:
    """Whether an operation of a JSON patch touches a name or owners, or all of the metadata."""
    if not isinstance(operation, dict):
        return False
    paths = [path for path in (operation.get("path"), operation.get("from")) if isinstance(path, str)]
    return any(path in ("", "/metadata") or f"{path}/".startswith(_POINTERS) for path in paths)


def _refused(what: str, meant: InCluster) -> Failure:
    remedy = f"patch something else, or ask clusters/{meant.cluster}/proxy for {meant.name}"
    return bad_request(f"through the view of templates {what}, as names and owners are others there: {remedy}")
