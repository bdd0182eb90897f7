"""ValidatingAdmissionPolicies: rules in CEL, put into force by bindings that may give them parameters."""

from collections.abc import Iterator
from typing import NamedTuple

import orjson

from karmada.api import label_selector
from karmada.apiserver import cel
from karmada.apiserver.admission import matching
from karmada.apiserver.admission.configurations import Configurations
from karmada.apiserver.admission.expressions import Expressions
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.failures import Failure
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.store import ObjectStore

_GROUP = "admissionregistration.k8s.io"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


class Violation(NamedTuple):
    """A rule that does not hold."""

    message: str
    reason: str


class ValidatingPolicies:
    """The admission plugin of validating policies."""

    def __init__(self, store: ObjectStore, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._policies = Configurations(
            store,
            (_GROUP, "validatingadmissionpolicies"),
            lambda found: {policy["metadata"]["name"]: policy for policy in found},
        )
        self._bindings = Configurations(store, (_GROUP, "validatingadmissionpolicybindings"), lambda found: found)

    def applies(self, request: AdmissionRequest) -> bool:
        """Whether any policy is in force."""
        return bool(self._bindings.get()) and not matching.is_exempt(request)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Judge the request by every binding; the first denial wins, after all warnings."""
        denial: Failure | None = None
        for binding in self._bindings.get():
            policy = self._policies.get().get(binding["spec"]["policyName"])
            if policy is None or not self._concerns(policy, binding, request):
                continue
            for violation in self._violations(policy, binding, request):
                actions = binding["spec"].get("validationActions") or ("Deny",)
                names = f"'{policy['metadata']['name']}' with binding '{binding['metadata']['name']}'"
                if "Warn" in actions:
                    text = f"Validation failed for ValidatingAdmissionPolicy {names}: {violation.message}"
                    request.warnings.append(text)
                if "Deny" in actions and denial is None:
                    denial = _denied(request, names, violation)
        if denial is not None:
            raise denial

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

    def _violations(self, policy: JSONObject, binding: JSONObject, request: AdmissionRequest) -> Iterator[Violation]:
        spec = policy["spec"]
        fails = spec.get("failurePolicy") != "Ignore"
        try:
            for params in self._params(policy, binding, request):
                yield from self._judge(spec, request, params, fails)
        except _NoParameters as missing:
            if fails:
                yield Violation(str(missing), "Invalid")

    def _judge(
        self, spec: JSONObject, request: AdmissionRequest, params: JSONObject | None, fails: bool
    ) -> Iterator[Violation]:
        expressions = Expressions(request, self._namespace(request), params)
        for condition in spec.get("matchConditions") or ():
            try:
                if expressions.evaluate(condition["expression"]) is not True:
                    return
            except (cel.CompileError, cel.EvaluationError) as error:
                if fails:
                    yield Violation(_error(condition["expression"], error), "Invalid")
                return
        for variable in spec.get("variables") or ():
            expressions.define(variable["name"], variable["expression"])
        for validation in spec.get("validations") or ():
            try:
                holds = expressions.evaluate(validation["expression"])
            except (cel.CompileError, cel.EvaluationError) as error:
                if fails:
                    yield Violation(_error(validation["expression"], error), "Invalid")
                continue
            if holds is not True:
                yield Violation(_message(expressions, validation), validation.get("reason") or "Invalid")

    def _namespace(self, request: AdmissionRequest) -> JSONObject | None:
        item = self._store.get(("", "namespaces"), "", request.namespace) if request.namespace else None
        if item is None:
            return None
        namespace: JSONObject = orjson.loads(item.body)
        return namespace

    def _params(
        self, policy: JSONObject, binding: JSONObject, request: AdmissionRequest
    ) -> Iterator[JSONObject | None]:
        kind, reference = policy["spec"].get("paramKind"), binding["spec"].get("paramRef")
        if kind is None:
            yield None
            return
        if reference is None:
            return
        group, _, version = kind["apiVersion"].rpartition("/")
        served = self._catalog.by_kind(group, version, kind["kind"])
        if served is None:
            raise _NoParameters(
                f"failed to find resource referenced by paramKind: '{kind['apiVersion']}, Kind={kind['kind']}'"
            )
        namespace = ""
        if served.type.namespaced:
            namespace = reference.get("namespace") or request.namespace
        if reference.get("name"):
            item = self._store.get(served.key, namespace, reference["name"])
            found = [item] if item is not None else []
        else:
            selector = label_selector.from_json(reference.get("selector") or {})
            found = self._store.list(served.key, namespace, lambda item: selector.matches(item.index.labels)).items
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise _NoParameters("no params found for policy binding with `Deny` parameterNotFoundAction")
        for item in found:
            yield orjson.loads(item.body)


class _NoParameters(Exception):
    """A binding's parameters cannot be found."""


def _message(expressions: Expressions, validation: JSONObject) -> str:
    expression = validation.get("messageExpression")
    if expression:
        try:
            text = expressions.evaluate(expression)
        except (cel.CompileError, cel.EvaluationError):
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text.strip()
    message = (validation.get("message") or "").strip()
    return message or f"failed expression: {validation['expression'].strip()}"


def _error(expression: str, error: Exception) -> str:
    if isinstance(error, cel.CompileError):
        return f"compilation error: {error}"
    return f"expression '{expression}' resulted in error: {error}"


def _denied(request: AdmissionRequest, names: str, violation: Violation) -> Failure:
    type_ = request.type
    text = f"ValidatingAdmissionPolicy {names} denied request: {violation.message}"
    subject = f"{type_.plural}.{type_.group}" if type_.group else type_.plural
    details: JSONObject = {"name": request.name, "group": type_.group, "kind": type_.plural}
    details = {key: value for key, value in details.items() if value}
    details["causes"] = [{"message": text}]
    reason = violation.reason
    message = f'{subject} "{request.name}" is forbidden: {text}'
    return Failure(_CODES.get(reason, 422), reason, message, details)
