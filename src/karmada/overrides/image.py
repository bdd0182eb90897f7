"""imageOverrider: changes registry, repository or tag of image names."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from karmada.api.policy.v1alpha1 import ImageOverrider
from karmada.overrides.errors import OverrideError
from karmada.overrides.image_name import ImageName, ImageNameError, parse_image
from karmada.overrides.pods import JSONObject, containers


def override_images(resource: JSONObject, overriders: Iterable[ImageOverrider]) -> None:
    """Apply the overriders one after another, each to the outcome of those before it."""
    for overrider in overriders:
        if overrider.predicate is None:
            for container in containers(resource):
                if isinstance(container.get("image"), str):
                    container["image"] = _changed(container["image"], overrider)
        else:
            holder, key = _find(resource, overrider.predicate.path)
            holder[key] = _changed(holder[key], overrider)


def _changed(text: str, overrider: ImageOverrider) -> str:
    try:
        image = parse_image(text)
    except ImageNameError as error:
        raise OverrideError(f"failed to parse image value({text}), error: {error}") from error
    match overrider.component:
        case "Registry":
            image = replace(image, registry=_edited(image.registry, overrider))
        case "Repository":
            image = replace(image, repository=_edited(image.repository, overrider))
        case "Tag":
            image = _with_edited_version(image, overrider)
    return str(image)


def _edited(part: str, overrider: ImageOverrider) -> str:
    match overrider.operator:
        case "add":
            return part + overrider.value
        case "replace":
            return overrider.value
        case "remove":
            return ""
        case _:
            return part


def _with_edited_version(image: ImageName, overrider: ImageOverrider) -> ImageName:
    if overrider.operator == "remove":
        return replace(image, tag="", digest="")
    return image.with_version(_edited(image.version, overrider))


def _find(resource: JSONObject, path: str) -> tuple[Any, Any]:
    """The container (dict or list) and key of the text at a slash-separated path."""
    node: Any = resource
    parts = path.strip("/").split("/")
    holder: Any = None
    key: Any = None
    for part in parts:
        holder = node
        if isinstance(node, dict):
            key = part
            node = node.get(part)
        elif isinstance(node, list):
            if not part.isdecimal():
                raise _not_found(path, f"path({part}) of rawObj's is not number")
            key = int(part)
            if key >= len(node):
                raise _not_found(path, f"path({part}) of rawObj's is out of range")
            node = node[key]
        if not isinstance(node, dict | list) and part is not parts[-1]:
            raise _not_found(path, f"path({part}) of rawObj's type is not map[string]interface{{}} and []interface{{}}")
    if not isinstance(node, str):
        raise _not_found(path, f"path({parts[-1]}) of rawObj's type is not string")
    return holder, key


def _not_found(path: str, why: str) -> OverrideError:
    return OverrideError(f"failed to obtain imageValue with predicate path({path}), error: {why}")
