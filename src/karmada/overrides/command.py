"""commandOverrider and argsOverrider: append to, or drop from, a container's word list."""

from collections.abc import Iterable
from typing import Literal

from karmada.api.policy.v1alpha1 import CommandArgsOverrider
from karmada.overrides.effort import Effort
from karmada.overrides.errors import OverrideError
from karmada.overrides.pods import JSONObject, called


def override_words(
    resource: JSONObject, field: Literal["command", "args"], overriders: Iterable[CommandArgsOverrider], effort: Effort
) -> None:
    """Apply the overriders in order; a container that does not exist is passed over."""
    for overrider in overriders:
        for container in called(resource, overrider.container_name, effort):
            _edit(container, field, overrider, effort)


def _edit(container: JSONObject, field: str, overrider: CommandArgsOverrider, effort: Effort) -> None:
    words = container.get(field) or []
    if not isinstance(words, list):
        raise OverrideError(f"{field} of container {container.get('name')!r} is not a list")
    effort.spend(len(words) + len(overrider.value))
    match overrider.operator:
        case "add":
            words = [*words, *overrider.value]
        case "remove":
            removed = frozenset(overrider.value)
            words = [word for word in words if not isinstance(word, str) or word not in removed]
        case _:
            return
    if words or field in container:
        container[field] = words
