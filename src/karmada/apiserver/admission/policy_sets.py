"""Admission policies and their bindings: which are in force for a request, and with which parameters."""

from collections.abc import Iterator
from typing import NamedTuple

import orjson

from karmada.api import label_selector
from karmada.apiserver.admission import matching
from karmada.apiserver.admission.configurations import Configurations
from karmada.apiserver.admission.expressions import Expressions
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.auth.model import Authorizer
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import WatchCache

_GROUP = "admissionregistration.k8s.io"


class InForce(NamedTuple):
    """A policy that a binding puts into force."""

    policy: JSONObject
    binding: JSONObject

    @property
    def names(self) -> str:
        """Both as messages name them."""
        return f"'{self.policy['metadata']['name']}' with binding '{self.binding['metadata']['name']}'"

    @property
    def ignores_failures(self) -> bool:
        """Whether a failed evaluation lets the request pass."""
        return bool(self.policy["spec"].get("failurePolicy") == "Ignore")


class NoParameters(Exception):
    """A binding's parameters cannot be found."""


class PolicySet:
    """The policies of one kind: `validating` or `mutating`."""

    def __init__(self, store: WatchCache, catalog: Catalog, authorizer: Authorizer, kind: str) -> None:
        self._store = store
        self._authorizer = authorizer
        self._catalog = catalog
        self._policies = Configurations(
            store,
            (_GROUP, f"{kind}admissionpolicies"),
            lambda found: {policy["metadata"]["name"]: policy for policy in found},
        )
        self._bindings = Configurations(store, (_GROUP, f"{kind}admissionpolicybindings"), lambda found: found)

    def applies(self, request: AdmissionRequest) -> bool:
        """Whether any policy is in force."""
        return bool(self._bindings.get()) and not matching.is_exempt(request)

    def in_force(self, request: AdmissionRequest) -> Iterator[InForce]:
        """The policies that concern a request, in the order of their bindings' names."""
        for binding in self._bindings.get():
            policy = self._policies.get().get((binding.get("spec") or {}).get("policyName") or "")
            if policy is not None and self._concerns(policy, binding, request):
                yield InForce(policy, binding)

    def _concerns(self, policy: JSONObject, binding: JSONObject, request: AdmissionRequest) -> bool:
        constraints = policy["spec"].get("matchConstraints") or {}
        if not self._matches(constraints, request, needs_rules=True):
            return False
        return self._matches(binding["spec"].get("matchResources") or {}, request, needs_rules=False)

    def _matches(self, constraints: JSONObject, request: AdmissionRequest, needs_rules: bool) -> bool:
        policy = constraints.get("matchPolicy") or "Equivalent"
        rules = constraints.get("resourceRules")
        if (rules or needs_rules) and matching.match_rules(rules or (), policy, request, self._catalog) is None:
            return False
        excluded = constraints.get("excludeResourceRules") or ()
        if excluded and matching.match_rules(excluded, policy, request, self._catalog) is not None:
            return False
        item = self._store.get(("", "namespaces"), "", request.namespace)
        labels = item.index.labels if item is not None else {}
        if not matching.selects_namespace(constraints.get("namespaceSelector"), request, labels):
            return False
        return matching.selects_object(constraints.get("objectSelector"), request)

    def expressions(self, request: AdmissionRequest, params: JSONObject | None) -> Expressions:
        """What expressions of a policy see of a request."""
        item = self._store.get(("", "namespaces"), "", request.namespace) if request.namespace else None
        namespace: JSONObject | None = orjson.loads(item.body) if item is not None else None
        return Expressions(request, self._authorizer, namespace, params)

    def params(self, active: InForce, request: AdmissionRequest) -> Iterator[JSONObject | None]:
        """The parameter objects with which a policy is evaluated; None for a policy without. Raises `NoParameters`."""
        kind, reference = active.policy["spec"].get("paramKind"), active.binding["spec"].get("paramRef")
        if kind is None:
            yield None
            return
        if reference is None:
            return
        group, _, version = kind["apiVersion"].rpartition("/")
        served = self._catalog.by_kind(group, version, kind["kind"])
        if served is None:
            named = f"'{kind['apiVersion']}, Kind={kind['kind']}'"
            raise NoParameters(f"failed to find resource referenced by paramKind: {named}")
        namespace = (reference.get("namespace") or request.namespace) if served.type.namespaced else ""
        if reference.get("name"):
            item = self._store.get(served.key, namespace, reference["name"])
            found = [item] if item is not None else []
        else:
            selector = label_selector.from_json(reference.get("selector") or {})
            found = self._store.list(served.key, namespace, lambda item: selector.matches(item.index.labels)).items
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise NoParameters("no params found for policy binding with `Deny` parameterNotFoundAction")
        for item in found:
            yield orjson.loads(item.body)
