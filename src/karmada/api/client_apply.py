"""Client-side apply: an object remembers in an annotation what was applied last, and a patch is made from that.

The annotation is shared with kubectl, Helm and others, so its text is exactly theirs: the applied object without the
annotation itself, as JSON with sorted keys, and a line feed.
"""

from typing import Any

import orjson

from karmada.api import merge_patch, strategic_diff
from karmada.api.annotations import LAST_APPLIED_CONFIGURATION
from karmada.api.go_text import escape_html
from karmada.api.strategic_merge import MergeSchema

JSONObject = dict[str, Any]


class LastAppliedError(ValueError):
    """The annotation of a live object holds no object. `name` is the object's; its content is not repeated."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"the annotation {LAST_APPLIED_CONFIGURATION} of {name!r} is not a JSON object: remove it and apply again"
        )


def remember(wanted: JSONObject) -> JSONObject:
    """The wanted object with the annotation that records it."""
    metadata = wanted.get("metadata") or {}
    annotations = {
        key: value for key, value in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED_CONFIGURATION
    }
    bare = {**wanted, "metadata": {**metadata, "annotations": annotations}}
    text = escape_html(orjson.dumps(bare, option=orjson.OPT_SORT_KEYS).decode()) + "\n"
    return {**bare, "metadata": {**metadata, "annotations": {**annotations, LAST_APPLIED_CONFIGURATION: text}}}


def recorded(live: JSONObject) -> JSONObject | None:
    """What was applied last to a live object; None when it was made without apply."""
    metadata = live.get("metadata") or {}
    text = (metadata.get("annotations") or {}).get(LAST_APPLIED_CONFIGURATION)
    if not text:
        return None
    try:
        original = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise LastAppliedError(str(metadata.get("name", ""))) from error
    if not isinstance(original, dict):
        raise LastAppliedError(str(metadata.get("name", "")))
    return original


def patch(wanted: JSONObject, live: JSONObject, schema: MergeSchema | None) -> JSONObject:
    """What turns the live object into the wanted one; empty when nothing is left to do.

    With a schema it is a strategic merge patch, without one (custom resources) a merge patch.
    """
    original, modified = recorded(live) or {}, remember(wanted)
    if schema is None:
        return merge_patch.create_three_way(original, modified, live)
    return strategic_diff.create_three_way(original, modified, live, schema)
