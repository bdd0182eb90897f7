"""resourcesOverrider: merges limits and requests into a container's resources."""

from collections.abc import Iterable

from karmada.api.policy.v1alpha1 import ResourcesOverrider
from karmada.overrides.errors import OverrideError
from karmada.overrides.pods import JSONObject, containers


def override_resources(resource: JSONObject, overriders: Iterable[ResourcesOverrider]) -> None:
    """Merge amounts; a container that does not exist is an error, as nobody would notice otherwise."""
    for overrider in overriders:
        named = [c for c in containers(resource) if c.get("name") == overrider.container_name]
        if not named:
            raise OverrideError(
                f'resourcesOverrider: no container named "{overrider.container_name}" in {resource.get("kind")} '
                f'"{(resource.get("metadata") or {}).get("name", "")}"'
            )
        for container in named:
            resources = container["resources"] = container.get("resources") or {}
            if not isinstance(resources, dict):
                raise OverrideError(f'resourcesOverrider: resources of "{overrider.container_name}" is not an object')
            if overrider.value.limits:
                resources["limits"] = {**(resources.get("limits") or {}), **overrider.value.limits}
            if overrider.value.requests:
                resources["requests"] = {**(resources.get("requests") or {}), **overrider.value.requests}
