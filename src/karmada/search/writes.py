"""Objects that clients read through the proxy and send back: what the proxy put into them is taken out again."""

from typing import Any

import orjson

from karmada.api.annotations import CACHED_FROM_CLUSTER
from karmada.apiserver import protobuf
from karmada.machinery.httpserver.failure import bad_request
from karmada.search.resource_versions import member_version

_JSON = ("application/json", "application/merge-patch+json", "application/strategic-merge-patch+json")


def for_member(body: bytes, content_type: str, cluster: str) -> tuple[bytes, str]:
    """A request body as the member must see it, and its content type: its own resourceVersion, no annotation of ours.

    What cannot be read is passed on unchanged: the member says what is wrong with it.
    """
    media = content_type.split(";", 1)[0].strip() or "application/json"
    if not body:
        return body, content_type
    try:
        if media == protobuf.MEDIA_TYPE:
            tree, content_type = protobuf.decode(body), "application/json"
        elif media in _JSON:
            tree = orjson.loads(body)
        else:
            return body, content_type
    except protobuf.ProtobufError as error:
        raise bad_request(f"the object cannot be read: {error}") from None
    except ValueError:
        return body, content_type
    if not isinstance(tree, dict):
        return body, content_type
    changed = _cleaned(tree.get("metadata"), cluster) | _cleaned(tree.get("preconditions"), cluster)
    return (orjson.dumps(tree) if changed or media == protobuf.MEDIA_TYPE else body), content_type


def _cleaned(part: Any, cluster: str) -> bool:
    if not isinstance(part, dict):
        return False
    changed = False
    annotations = part.get("annotations")
    if isinstance(annotations, dict) and annotations.pop(CACHED_FROM_CLUSTER, None) is not None:
        changed = True
    version = part.get("resourceVersion")
    if isinstance(version, str) and (own := member_version(version, cluster)) is not None:
        part["resourceVersion"] = own
        changed = True
    return changed
