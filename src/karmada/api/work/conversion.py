"""Bindings between their versions.

Fields that both versions know under the same name carry over. What one replica needs and how many there are stand in
`spec.resource` in v1alpha1 and in `spec` in v1alpha2, so they move. Everything else v1alpha1 does not know, and drops.
"""

from collections.abc import Mapping
from typing import Any

from karmada.api import codec
from karmada.api.base import Struct
from karmada.api.work import v1alpha1, v1alpha2

_OLD = "work.karmada.io/v1alpha1"
_NEW = "work.karmada.io/v1alpha2"
_TYPES: Mapping[tuple[str, str], type[Struct]] = {
    (_OLD, "ResourceBinding"): v1alpha1.ResourceBinding,
    (_OLD, "ClusterResourceBinding"): v1alpha1.ClusterResourceBinding,
    (_NEW, "ResourceBinding"): v1alpha2.ResourceBinding,
    (_NEW, "ClusterResourceBinding"): v1alpha2.ClusterResourceBinding,
}


class UnknownVersionError(ValueError):
    """An object or a wish that is not about a version of a binding."""


def convert(binding: dict[str, Any], api_version: str) -> dict[str, Any]:
    """The binding, of either scope, in the wanted version. The tree that was given is left alone."""
    kind, given_version = binding.get("kind", ""), binding.get("apiVersion", "")
    given, wanted = _type(given_version, kind), _type(api_version, kind)
    tree = codec.to_tree(codec.from_tree(binding, given))
    if given is wanted:
        return tree
    _move_replicas(tree["spec"], down=api_version == _OLD)
    return codec.to_tree(codec.from_tree(tree | {"apiVersion": api_version}, wanted))


def _type(api_version: str, kind: str) -> type[Struct]:
    try:
        return _TYPES[api_version, kind]
    except KeyError:
        raise UnknownVersionError(f"there is no binding {kind!r} in version {api_version!r}") from None


def _move_replicas(spec: dict[str, Any], *, down: bool) -> None:
    resource = spec["resource"]
    if down:
        request = spec.get("replicaRequirements", {}).get("resourceRequest")
        moved = {"replicas": spec.get("replicas"), "resourcePerReplicas": request}
        resource.update({name: value for name, value in moved.items() if value})
        return
    if replicas := resource.get("replicas"):
        spec["replicas"] = replicas
    if request := resource.get("resourcePerReplicas"):
        spec["replicaRequirements"] = {"resourceRequest": request}
