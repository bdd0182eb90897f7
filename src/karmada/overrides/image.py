"""imageOverrider: changes registry, repository or tag of image names."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from karmada.api.policy.v1alpha1 import ImageOverrider
from karmada.overrides.effort import IMAGE, LONGEST_IMAGE, Effort
from karmada.overrides.errors import OverrideError
from karmada.overrides.image_name import ImageName, ImageNameError, parse_image
from karmada.overrides.pods import JSONObject, containers


def override_images(resource: JSONObject, overriders: Iterable[ImageOverrider], effort: Effort) -> None:
    """Apply the overriders one after another, each to the outcome of those before it."""
    for overrider in overriders:
        if overrider.predicate is None:
            found = containers(resource)
            effort.spend(IMAGE * len(found))
            for container in found:
                container["image"] = _changed(_image_of(container), overrider)
        else:
            effort.spend(IMAGE)
            holder, key = _find(resource, overrider.predicate.path)
            holder[key] = _changed(holder[key], overrider)


def _image_of(container: JSONObject) -> str:
    image = container.get("image") or ""
    if not isinstance(image, str):
        raise OverrideError(f"the image of container {container.get('name')!r} is not a string")
    return image


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
        case _:
            raise OverrideError(f"unsupported image component({overrider.component})")
    changed = str(image)
    if len(changed) > max(LONGEST_IMAGE, len(text)):  # as long in every container
        raise OverrideError(f"an image would have more than {LONGEST_IMAGE} characters")
    return changed


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


def _find(resource: JSONObject, path: str) -> tuple[JSONObject, str]:
    """The object and key of the text at a slash-separated path, which may lead through lists of objects."""
    parts = path.strip("/").split("/")
    holder: Any = resource
    steps = iter(parts[:-1])
    for part in steps:
        node = holder.get(part)
        if isinstance(node, list):
            node = _element(node, next(steps, parts[-1]), path)
        elif not isinstance(node, dict):
            raise _not_found(path, f"path({part}) of rawObj's type is not map[string]interface{{}} and []interface{{}}")
        holder = node
    if not isinstance(holder.get(parts[-1]), str):
        raise _not_found(path, f"failed to convert path({parts[-1]}) to string")
    if path != "/" + "/".join(parts):
        raise OverrideError("imagePath should be start with / character")
    return holder, parts[-1]


def _element(node: list[Any], step: str, path: str) -> JSONObject:
    if not step.isdecimal():
        raise _not_found(path, f"path({step}) of rawObj's is not number")
    found = node[int(step)] if int(step) < len(node) else None
    if not isinstance(found, dict):
        raise _not_found(path, f"path({step}) of rawObj's is no object")
    return found


def _not_found(path: str, why: str) -> OverrideError:
    return OverrideError(f"failed to obtain imageValue with predicate path({path}), error: {why}")
