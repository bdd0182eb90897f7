"""commandOverrider and argsOverrider: append to, or drop from, a container's word list."""

from collections.abc import Iterable
from typing import Literal

from karmada.api.policy.v1alpha1 import CommandArgsOverrider
from karmada.overrides.errors import OverrideError
from karmada.overrides.pods import JSONObject, containers


def override_words(
    resource: JSONObject, field: Literal["command", "args"], overriders: Iterable[CommandArgsOverrider]
) -> None:
    """Apply the overriders in order; a container that does not exist is passed over."""
    for overrider in overriders:
        for container in containers(resource):
            if container.get("name") == overrider.container_name:
                _edit(container, field, overrider)


def _edit(container: JSONObject, field: str, overrider: CommandArgsOverrider) -> None:
    words = container.get(field) or []
    if not isinstance(words, list):
        raise OverrideError(f"{field} of container {container.get('name')!r} is not a list")
    match overrider.operator:
        case "add":
            words = [*words, *overrider.value]
        case "remove":
            words = [word for word in words if word not in overrider.value]
        case _:
            return
    if words or field in container:
        container[field] = words
