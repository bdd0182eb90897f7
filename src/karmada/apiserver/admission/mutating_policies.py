"""MutatingAdmissionPolicies: changes in CEL, as an applied configuration or as a JSON patch.

Deletions are not seen: there is nothing to change. One failed mutation does not keep the next from being tried; all
failures of policies that do not ignore them are reported together.
"""

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from karmada.api import json_patch
from karmada.apiserver import cel
from karmada.apiserver.admission.expressions import error_text
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.admission.policy_sets import InForce, NoParameters, PolicySet
from karmada.apiserver.builtin.catalog import definition_name
from karmada.apiserver.cel.constructors import mismatches, untyped
from karmada.apiserver.managedfields.checking import atomics, misfit
from karmada.apiserver.managedfields.merging import merge
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.schema.definitions import definition
from karmada.machinery.httpserver.failure import Failure

_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
Decode = Callable[[AdmissionRequest, JSONObject], JSONObject]


class MutatingPolicies:
    """The admission plugin of mutating policies."""

    operations = (Operation.CREATE, Operation.UPDATE, Operation.CONNECT)

    def __init__(self, policies: PolicySet, decode: Decode) -> None:
        self._policies = policies
        self._decode = decode
        self.applies = policies.applies

    async def validate(self, request: AdmissionRequest) -> None:
        """Nothing to validate."""

    async def mutate(self, request: AdmissionRequest) -> None:
        """Let every policy in force change the object."""
        invocations: list[tuple[InForce, JSONObject | None]] = []
        unconfigured: list[str] = []
        for active in self._policies.in_force(request):
            try:
                invocations += [(active, params) for params in self._policies.params(active, request)]
            except NoParameters as missing:
                if not active.ignores_failures:
                    unconfigured.append(_denial(active, f"failed to configure binding: {missing}"))
        failures = []
        for active, params in invocations:
            found = list(self._change(active, request, params))
            failures += [_denial(active, text) for text in found if not active.ignores_failures]
        if unconfigured or failures:
            raise _denied(request, unconfigured + failures, "Forbidden" if unconfigured else "Invalid")

    def _change(self, active: InForce, request: AdmissionRequest, params: JSONObject | None) -> Iterator[str]:
        """Change the object; what fails of it."""
        spec = active.policy["spec"]
        try:
            if not self._policies.expressions(request, params).hold(spec.get("matchConditions") or ()):
                return
        except cel.EvaluationError as error:
            yield str(error)
            return
        if request.object is None:
            return
        for mutation in spec.get("mutations") or ():
            form = "jsonPatch" if mutation.get("patchType") == "JSONPatch" else "applyConfiguration"
            expression = (mutation.get(form) or {}).get("expression") or ""
            expressions = self._policies.expressions(request, params)
            for variable in spec.get("variables") or ():
                expressions.define(variable["name"], untyped(variable["expression"]))
            try:
                value = expressions.evaluate(untyped(expression))
            except (cel.CompileError, cel.EvaluationError) as error:
                yield error_text(expression, error)
                continue
            try:
                if wrong := mismatches(expression):
                    raise _NotApplied("type mismatch: " + "\n".join(wrong))
                changed = _patched(request, value) if form == "jsonPatch" else _applied(request, value)
            except _NotApplied as error:
                yield str(error)
            else:
                request.object = self._decode(request, changed)


def _denial(active: InForce, text: str) -> str:
    return f"policy {active.names} denied request: {text}"


def _denied(request: AdmissionRequest, texts: list[str], reason: str) -> Failure:
    details: JSONObject = {"name": request.name, "group": request.type.group, "kind": request.type.plural}
    details = {key: value for key, value in details.items() if value}
    details["causes"] = [{"message": text} for text in texts]
    return Failure(403, reason, texts[0], details)


class _NotApplied(Exception):
    """The value of an expression cannot be applied to the object."""


def _patched(request: AdmissionRequest, operations: Any) -> JSONObject:
    """The object after a JSON patch; a test that fails leaves it as it is."""
    assert request.object is not None
    for one in operations:
        if one.get("op") not in _OPERATIONS:
            raise _NotApplied(f"JSON Patch: Unexpected kind: {one.get('op')}")
    try:
        return _copied(json_patch.apply(request.object, operations, replace_may_create=True))
    except json_patch.JSONPatchError as error:
        if "testing value" in str(error):
            return request.object
        raise _NotApplied(f"JSON Patch: {error}") from None


def _applied(request: AdmissionRequest, config: Any) -> JSONObject:
    """The object with an applied configuration; parts that can only be replaced as a whole must not be mentioned."""
    assert request.object is not None
    # A subresource with a kind of its own has the schema of that kind.
    schema = request.type.schema if request.kind is None else definition(definition_name(*request.kind))
    if not isinstance(config, dict):
        raise _NotApplied("error applying patch: the expression gives no object")
    if wrong := misfit(config, schema):
        raise _NotApplied(f"error applying patch: failed to convert patch object to typed object: {wrong}")
    if whole := atomics(config, schema):
        text = f"may not mutate atomic arrays, maps or structs: {', '.join(whole)}"
        raise _NotApplied(f"error applying patch: invalid ApplyConfiguration: {text}")
    return _copied(merge(request.object, config, schema))


def _copied(obj: JSONObject) -> JSONObject:
    copy: JSONObject = orjson.loads(orjson.dumps(obj))
    return copy
