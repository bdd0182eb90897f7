"""What containers ask for: names of resources, amounts of them, requests within limits.

Resources of Kubernetes itself may be given to more than there is; those that other domains name, and huge pages, may
not: who asks for them says a limit, and asks for all of it.
"""

from karmada.api.field_errors import FieldError, duplicate, forbidden, invalid, not_found, required
from karmada.api.quantity import Quantity, QuantityError
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, dns_label, qualified_name, quantity_of
from karmada.apiserver.failures import MAX_CAUSE_CHARACTERS
from karmada.apiserver.schema.metadata import key_problems

_OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
_STANDARD = frozenset(
    (
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "storage"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers", "requests.storage"),
        *("requests.cpu", "requests.memory", "requests.ephemeral-storage"),
        *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
    )
)
STANDARD = frozenset((*_OF_CONTAINERS, *_STANDARD))
"""Names of resources that are no others' to give."""
_HUGE, _HUGE_REQUESTED = "hugepages-", "requests.hugepages-"


def container_resource(field: str, name: str) -> Errors:
    """The name of something that a container can ask for."""
    if name in _OF_CONTAINERS:
        return []
    errors = qualified_name(field, name)
    if "/" not in name and not name.startswith(_HUGE):
        if not errors and name not in _STANDARD and not name.startswith(_HUGE_REQUESTED):
            errors.append(invalid(field, name, "must be a standard resource type or fully qualified"))
        return [*errors, invalid(field, name, "must be a standard resource for containers")]
    if not _is_native(name) and not is_extended(name):
        errors.append(invalid(field, name, "doesn't follow extended resource name standard"))
    return errors


def resource_errors(path: str, resources: JSONObject) -> Errors:
    """Requests and limits."""
    limits = resources.get("limits") or {}
    requests = resources.get("requests") or {}
    errors: Errors = []
    for name, amount in limits.items():
        place = f"{path}.limits[{name}]"
        errors += container_resource(place, name) + _amount(place, name, amount) + _pages(place, name, amount)
    for name, amount in requests.items():
        place = f"{path}.requests[{name}]"
        errors += container_resource(place, name) + _amount(place, name, amount)
        errors += _within(name, amount, limits.get(name), path) + _pages(place, name, amount)
    names = [*limits, *requests]
    if any(name.startswith(_HUGE) for name in names) and not {"cpu", "memory"} & set(names):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors


class PodClaims:
    """The claims of a pod by name. Complaints list them as often as an answer has room for."""

    def __init__(self, names: list[str]) -> None:
        self.names = frozenset(names)
        listed = f": {', '.join(names)}" if names else " which is empty"
        self._text = f": must be one of the names in pod.spec.resourceClaims{listed}"
        self._room = MAX_CAUSE_CHARACTERS

    def unknown(self, place: str, name: str) -> FieldError:
        """The complaint about a name that is none of them."""
        error = not_found(place, name)
        if self._room < 0:
            return error
        self._room -= len(self._text)
        return error._replace(message=error.message + self._text)


def claim_errors(path: str, claims: list[JSONObject], known: PodClaims) -> Errors:
    """Claims of the pod that a container uses, as a whole or a request of it."""
    errors: Errors = []
    seen: set[str] = set()
    in_part: set[str] = set()
    for index, claim in enumerate(claims):
        name, request, place = claim.get("name") or "", claim.get("request") or "", f"{path}[{index}]"
        if not name:
            errors.append(required(place))
            continue
        key = f"{name}/{request}" if request else name
        if name in seen or key in seen or (not request and name in in_part):
            errors.append(duplicate(place, name if name in seen else key))
        if request and name not in seen:
            errors += dns_label(f"{place}.request", request)
        seen.add(key)
        if request:
            in_part.add(name)
        if name not in known.names:
            errors.append(known.unknown(place, name))
    return errors


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether another domain has named it."""
    return not _is_native(name) and not name.startswith("requests.") and not key_problems(name)


def _amount(field: str, name: str, amount: str) -> Errors:
    errors: Errors = []
    if quantity_of(amount).sign() < 0:
        errors.append(invalid(field, amount, "must be greater than or equal to 0"))
    if is_extended(name) and quantity_of(amount).milli_value() % 1000:
        errors.append(invalid(field, amount, "must be an integer"))
    return errors


def _pages(field: str, name: str, amount: str) -> Errors:
    """Huge pages are whole ones of the size in the name."""
    if not name.startswith(_HUGE):
        return []
    try:
        size = Quantity.parse(name.removeprefix(_HUGE)).milli_value()
    except QuantityError:
        size = 0
    if size and quantity_of(amount).milli_value() % size == 0:
        return []
    return [invalid(field, amount, f"{amount} is not positive integer multiple of {name}")]


def may_be_overcommitted(name: str) -> bool:
    """Whether limits may exceed requests."""
    return _is_native(name) and not name.startswith(_HUGE)


def _within(name: str, amount: str, limit: str | None, path: str) -> Errors:
    shared = may_be_overcommitted(name)
    if limit is None:
        return [] if shared else [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    if quantity_of(amount) > quantity_of(limit):
        return [invalid(f"{path}.requests", amount, f"must be less than or equal to {name} limit of {limit}")]
    if not shared and quantity_of(amount) != quantity_of(limit):
        return [invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limit}")]
    return []
