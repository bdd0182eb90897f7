"""resourcesOverrider: merges limits and requests into a container's resources."""

from collections.abc import Iterable

from karmada.api.policy.v1alpha1 import ResourcesOverrider
from karmada.overrides.effort import Effort
from karmada.overrides.errors import OverrideError
from karmada.overrides.pods import JSONObject, called


def override_resources(resource: JSONObject, overriders: Iterable[ResourcesOverrider], effort: Effort) -> None:
    """Merge amounts; a container that does not exist is an error, as nobody would notice otherwise."""
    for overrider in overriders:
        named = called(resource, overrider.container_name, effort)
        if not named:
            raise OverrideError(
                f'resourcesOverrider: no container named "{overrider.container_name}" in {resource.get("kind")} '
                f'"{(resource.get("metadata") or {}).get("name", "")}"'
            )
        for container in named:
            resources = container["resources"] = container.get("resources") or {}
            if not isinstance(resources, dict):
                raise OverrideError(f'resourcesOverrider: resources of "{overrider.container_name}" is not an object')
            for field, amounts in (("limits", overrider.value.limits), ("requests", overrider.value.requests)):
                if amounts:
                    resources[field] = {**(resources.get(field) or {}), **amounts}
                    effort.spend(len(resources[field]))
