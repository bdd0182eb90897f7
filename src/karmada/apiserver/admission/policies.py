"""ValidatingAdmissionPolicies: rules in CEL that requests must satisfy."""

from collections.abc import Iterator
from typing import NamedTuple

from karmada.apiserver import cel
from karmada.apiserver.admission.expressions import Expressions, error_text
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.admission.policy_sets import InForce, NoParameters, PolicySet
from karmada.apiserver.resources import JSONObject
from karmada.machinery.httpserver.failure import Failure

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


class Violation(NamedTuple):
    """A rule that does not hold."""

    message: str
    reason: str


class ValidatingPolicies:
    """The admission plugin of validating policies."""

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies
        self.applies = policies.applies

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Judge the request by every binding; the first denial wins, after all warnings."""
        denial: Failure | None = None
        for active in self._policies.in_force(request):
            actions = active.binding["spec"].get("validationActions") or ("Deny",)
            for violation in self._violations(active, request):
                if "Warn" in actions:
                    text = f"Validation failed for ValidatingAdmissionPolicy {active.names}: {violation.message}"
                    request.warnings.append(text)
                if "Deny" in actions and denial is None:
                    text = f"ValidatingAdmissionPolicy {active.names} denied request: {violation.message}"
                    denial = _denied(request, text, violation.reason)
        if denial is not None:
            raise denial

    def _violations(self, active: InForce, request: AdmissionRequest) -> Iterator[Violation]:
        try:
            for params in self._policies.params(active, request):
                yield from self._judge(active, request, params)
        except NoParameters as missing:
            if not active.ignores_failures:
                yield Violation(str(missing), "Invalid")

    def _judge(self, active: InForce, request: AdmissionRequest, params: JSONObject | None) -> Iterator[Violation]:
        spec = active.policy["spec"]
        expressions = self._policies.expressions(request, params)
        try:
            if not expressions.hold(spec.get("matchConditions") or ()):
                return
        except cel.EvaluationError as error:
            if not active.ignores_failures:
                yield Violation(str(error), "Invalid")
            return
        for variable in spec.get("variables") or ():
            expressions.define(variable["name"], variable["expression"])
        for validation in spec.get("validations") or ():
            try:
                holds = expressions.evaluate(validation["expression"])
            except (cel.CompileError, cel.EvaluationError) as error:
                if not active.ignores_failures:
                    yield Violation(error_text(validation["expression"], error), "Invalid")
                continue
            if holds is not True:
                yield Violation(_message(expressions, validation), validation.get("reason") or "Invalid")


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


def _denied(request: AdmissionRequest, text: str, reason: str) -> Failure:
    """The refusal of a policy."""
    type_ = request.type
    subject = f"{type_.plural}.{type_.group}" if type_.group else type_.plural
    details: JSONObject = {"name": request.name, "group": type_.group, "kind": type_.plural}
    details = {key: value for key, value in details.items() if value}
    details["causes"] = [{"message": text}]
    return Failure(_CODES.get(reason, 422), reason, f'{subject} "{request.name}" is forbidden: {text}', details)
