"""Whoever writes an admission policy, or puts it into force, may read the parameters that its expressions read.

Messages of a policy show its parameters to those it warns or refuses: to write policies would be to read Secrets.
"""

import orjson

from karmada.api.field_errors import forbidden
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.failures import invalid
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.apiserver.watchcache import Kind, WatchCache

_GROUP = "admissionregistration.k8s.io"
_POLICIES: tuple[Kind, ...] = ((_GROUP, "validatingadmissionpolicies"), (_GROUP, "mutatingadmissionpolicies"))
_POLICIES_OF: dict[Kind, Kind] = {
    (_GROUP, "validatingadmissionpolicybindings"): _POLICIES[0],
    (_GROUP, "mutatingadmissionpolicybindings"): _POLICIES[1],
}
_ANYTHING = ("*", "*", "*")
"""What is asked for where it cannot be known what parameters are."""


class ParameterRights:
    """Refuses policies and bindings with parameters that their writer may not read."""

    kinds = (*_POLICIES, *_POLICIES_OF)
    operations = (Operation.CREATE, Operation.UPDATE)

    def __init__(self, store: WatchCache, catalog: Catalog, authorizer: Authorizer) -> None:
        self._store = store
        self._catalog = catalog
        self._authorizer = authorizer

    def applies(self, request: AdmissionRequest) -> bool:
        """Specs."""
        return not request.subresource

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Ask for the right to what is new."""
        if request.object is None:
            return
        spec, old = request.object["spec"], (request.old or {}).get("spec") or {}
        judge = self._judge_binding if request.type.stored_as in _POLICIES_OF else self._judge_policy
        error = judge(request, spec, old)
        if error is not None:
            name = request.object["metadata"].get("name") or ""
            raise invalid(request.type.group, request.type.kind, name, [error])

    def _judge_policy(self, request: AdmissionRequest, spec: JSONObject, old: JSONObject) -> FieldError | None:
        kind = spec.get("paramKind")
        if kind is None or kind == old.get("paramKind"):
            return None
        if self._may(request.user, "get", self._resource(kind), "*", "*"):
            return None
        named = f"kind={kind.get('kind', '')}, apiVersion={kind.get('apiVersion', '')}"
        why = f'must have "get" permission on all objects of the referenced paramKind ({named})'
        return forbidden("spec.paramKind", f"user {request.user.name} {why}")

    def _judge_binding(self, request: AdmissionRequest, spec: JSONObject, old: JSONObject) -> FieldError | None:
        reference, policy = spec.get("paramRef"), spec.get("policyName") or ""
        if reference is None or (reference, policy) == (old.get("paramRef"), old.get("policyName") or ""):
            return None
        name = reference.get("name") or ""
        verb = "get" if name else "list"
        asked = self._resource(self._kind_of(_POLICIES_OF[request.type.stored_as], policy))
        if self._may(request.user, verb, asked, reference.get("namespace") or "", name):
            return None
        where = (
            "for all groups, versions and resources" if asked == _ANYTHING else "on the object referenced by paramRef"
        )
        return forbidden("spec.paramRef", f'user {request.user.name} does not have "{verb}" permission {where}')

    def _kind_of(self, policies: Kind, name: str) -> JSONObject | None:
        """The kind of a policy's parameters, if that is known yet."""
        item = self._store.get(policies, "", name)
        kind: JSONObject | None = orjson.loads(item.body)["spec"].get("paramKind") if item is not None else None
        return kind

    def _resource(self, kind: JSONObject | None) -> tuple[str, str, str]:
        """Group, version and resource of parameters."""
        if kind is None:
            return _ANYTHING
        group, _, version = (kind.get("apiVersion") or "").rpartition("/")
        served = self._catalog.by_kind(group, version, kind.get("kind") or "")
        return group, version, served.type.plural if served is not None else "*"

    def _may(self, user: UserInfo, verb: str, resource: tuple[str, str, str], namespace: str, name: str) -> bool:
        return self._authorizer.authorize(user, Attributes(verb, *resource, "", namespace, name)).allowed
