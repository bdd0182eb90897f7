"""Who allocates a ResourceClaim, and who speaks for its devices, needs more than the right to its status.

An allocation is the scheduler's: it takes the right to `resourceclaims/binding`. What is said of a device is its
driver's: it takes `resourceclaims/driver` with the driver's name, for the node of a claim that has one or for any node.
"""

from collections.abc import Iterator

from karmada.api.field_errors import forbidden as forbidden_field
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth.decisions import forbidden
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.apiserver.auth.service_accounts import split_user_name
from karmada.apiserver.builtin.strategies.device_statuses import device_id
from karmada.apiserver.failures import invalid
from karmada.apiserver.resources import FieldError, JSONObject

_GROUP, _CLAIMS = "resource.k8s.io", "resourceclaims"
_NODE = "authentication.kubernetes.io/node-name"


class ClaimRights:
    """Refuses statuses of claims that are not the writer's to write."""

    kinds = ((_GROUP, _CLAIMS),)
    operations = (Operation.UPDATE,)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def applies(self, request: AdmissionRequest) -> bool:
        """Statuses."""
        return request.subresource == "status"

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Ask for the rights to what has changed."""
        new, old = (((obj or {}).get("status") or {}) for obj in (request.object, request.old))
        errors = [*self._bound(request, new, old), *self._spoken(request, new, old)]
        if errors:
            raise invalid(request.type.group, request.type.kind, request.name, errors)

    def _bound(self, request: AdmissionRequest, new: JSONObject, old: JSONObject) -> Iterator[FieldError]:
        if all((new.get(field) or None) == (old.get(field) or None) for field in ("allocation", "reservedFor")):
            return
        asked = Attributes(request.verb, _GROUP, request.type.version, _CLAIMS, "binding")
        if why := self._refusal(request.user, [asked]):
            what = f'resource="resourceclaims/binding", verb="{asked.verb}" permission: {why}'
            changed = "changing status.allocation or status.reservedFor requires"
            yield forbidden_field("status.allocation", f"{changed} {what}")

    def _spoken(self, request: AdmissionRequest, new: JSONObject, old: JSONObject) -> Iterator[FieldError]:
        allocation = new.get("allocation")
        if allocation is None:
            return  # Then nothing is said of devices.
        near = ["associated-node"] if _node_of(request.user) == _node(allocation) != "" else []
        verbs = [f"{where}:{request.verb}" for where in (*near, "arbitrary-node")]
        for driver in _drivers(new, old):
            place = (_GROUP, request.type.version, _CLAIMS, "driver", request.namespace, driver)
            if why := self._refusal(request.user, [Attributes(verb, *place) for verb in verbs]):
                what = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission: {why}'
                yield forbidden_field("status.devices", f"changing status.devices requires {what}")

    def _refusal(self, user: UserInfo, ways: list[Attributes]) -> str:
        """Why a user may do none of some things."""
        decisions = [self._authorizer.authorize(user, asked) for asked in ways]
        if any(decision.allowed for decision in decisions):
            return ""
        return forbidden(user, ways[0], decisions[0].reason).message


def _drivers(new: JSONObject, old: JSONObject) -> list[str]:
    """The drivers of devices of which something else is said than before."""
    before = {device_id(device): device for device in old.get("devices") or ()}
    after = {device_id(device): device for device in new.get("devices") or ()}
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return sorted({str(key[0]) for key in changed})


def _node(allocation: JSONObject) -> str:
    """The one node on which an allocation can be used; empty where there may be several."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions") or len(terms[0].get("matchFields") or ()) != 1:
        return ""
    field = terms[0]["matchFields"][0]
    values = field.get("values") or []
    named = field.get("key") == "metadata.name" and field.get("operator") == "In" and len(values) == 1
    return str(values[0]) if named else ""


def _node_of(user: UserInfo) -> str:
    """The node on which a service account's pod runs."""
    nodes = user.extra.get(_NODE, ())
    return nodes[0] if split_user_name(user.name) is not None and len(nodes) == 1 else ""
