"""Rules of resources that a pod asks for as a whole."""

from karmada.api.field_errors import forbidden, invalid
from karmada.api.quantity import Quantity
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, quantity_of, unsupported
from karmada.apiserver.builtin.strategies.compute_resources import resource_errors

_HUGE = "hugepages-"
_NAMES = ("cpu", _HUGE, "memory")


def pod_resource_errors(spec: JSONObject, path: str) -> Errors:
    """What a pod asks for as a whole is enough for its containers."""
    resources = spec.get("resources")
    if resources is None:
        return []
    place = f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(place, "may not be set for a windows pod")]
    errors: Errors = []
    if resources.get("claims") is not None:
        errors.append(forbidden(f"{place}.claims", "claims may not be set for Resources at pod-level"))
    for way in ("limits", "requests"):
        for name in resources.get(way) or {}:
            if name not in _NAMES and not name.startswith(_HUGE):
                errors.append(unsupported(f"{place}.{way}[{name}]", name, _NAMES))
    known = {
        way: {name: amount for name, amount in (resources.get(way) or {}).items() if not _is_other(name)}
        for way in ("limits", "requests")
    }
    return errors + resource_errors(place, known) + _enough(spec, place)


def _is_other(name: str) -> bool:
    return name not in _NAMES and not name.startswith(_HUGE)


def _enough(spec: JSONObject, place: str) -> Errors:
    errors: Errors = []
    limits, requests = (spec["resources"].get(way) or {} for way in ("limits", "requests"))
    for name, amount in _together(spec, "requests").items():
        if name in requests and amount > quantity_of(requests[name]):
            text = f"must be greater than or equal to aggregate container requests of {amount}"
            errors.append(invalid(f"{place}.requests[{name}]", requests[name], text))
    for name, amount in _together(spec, "limits").items():
        if name.startswith(_HUGE) and name in limits and amount > quantity_of(limits[name]):
            text = f"must be greater than or equal to aggregate container limits of {amount}"
            errors.append(invalid(f"{place}.limits[{name}]", limits[name], text))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, own in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and quantity_of(own) > quantity_of(limits[name]):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(invalid(f"{place}.containers[{index}][{name}].limits", own, text))
    return errors


def _together(spec: JSONObject, way: str) -> dict[str, Quantity]:
    """What containers need at most at one time: all of them, or the first ones one after the other."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, way))
    beside: dict[str, Quantity] = {}
    largest: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        wanted = _amounts(container, way)
        if container.get("restartPolicy") == "Always":
            _add(total, wanted)
            _add(beside, wanted)
            wanted = {**beside}
        else:
            wanted = {**wanted}
            for name, amount in beside.items():
                wanted[name] = wanted[name] + amount if name in wanted else amount
        for name, amount in wanted.items():
            if name not in largest or amount > largest[name]:
                largest[name] = amount
    for name, amount in largest.items():
        if name not in total or amount > total[name]:
            total[name] = amount
    return total


def _amounts(container: JSONObject, way: str) -> dict[str, Quantity]:
    given = ((container.get("resources") or {}).get(way) or {}).items()
    return {name: quantity_of(amount) for name, amount in given}


def _add(total: dict[str, Quantity], more: dict[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
