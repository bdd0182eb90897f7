"""What `pods/resize` may change: requests and limits of cpu and memory, within the pod's quality of service."""

from karmada.api.field_errors import FieldError, forbidden, invalid
from karmada.apiserver.builtin.strategies.pod import quality_of_service
from karmada.apiserver.builtin.strategies.pod_validation import spec_errors
from karmada.apiserver.resources import JSONObject

CONTAINERS = ("containers", "initContainers")
_MUTABLE = ("cpu", "memory")
_TAKEN = ("resources", "resizePolicy")


def resized(current: JSONObject, wanted: JSONObject) -> JSONObject:
    """The current spec with the resources of the wanted one; containers are the same in number and order."""
    spec = dict(current)
    for field in CONTAINERS:
        if current.get(field):
            by_name = {container.get("name"): container for container in wanted.get(field) or ()}
            spec[field] = [_with(old, by_name.get(old["name"], old), _TAKEN) for old in current[field]]
    return _with(spec, wanted, ("resources",))


def resize_errors(old: JSONObject, new: JSONObject) -> list[FieldError]:
    """Why a spec that `resized` made is refused."""
    errors = spec_errors(new, "spec")
    before = quality_of_service(old)
    if quality_of_service(new) != before:
        errors.append(invalid("spec", before, "Pod QOS Class may not change as a result of resizing"))
    for field in CONTAINERS:
        for index, (was, now) in enumerate(zip(old.get(field) or (), new.get(field) or (), strict=True)):
            for part in ("requests", "limits"):
                left = _amounts(was, part).keys() - _amounts(now, part).keys()
                if left:
                    place = f"spec.{field}[{index}].resources.{part}"
                    errors.append(forbidden(place, f"resource {part} cannot be removed"))
    if _beyond(old) != _beyond(new):
        errors.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return errors


def _with(old: JSONObject, new: JSONObject, names: tuple[str, ...]) -> JSONObject:
    kept = {name: value for name, value in old.items() if name not in names}
    return kept | {name: new[name] for name in names if new.get(name) is not None}


def _amounts(container: JSONObject, part: str) -> JSONObject:
    return (container.get("resources") or {}).get(part) or {}


def _beyond(spec: JSONObject) -> JSONObject:
    """A spec without what a resize may change."""
    rest = _fixed(spec)
    for field in CONTAINERS:
        rest[field] = [_fixed(container) for container in spec.get(field) or ()]
    return rest


def _fixed(owner: JSONObject) -> JSONObject:
    resources = dict(owner.get("resources") or {})
    resources.pop("claims", None)  # those must exist, and may change
    for part in ("requests", "limits"):
        amounts = {name: value for name, value in (resources.pop(part, None) or {}).items() if name not in _MUTABLE}
        if amounts:
            resources[part] = amounts
    return {**owner, "resources": resources}
