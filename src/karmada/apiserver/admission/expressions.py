"""CEL expressions of admission: match conditions of webhooks, and everything in admission policies."""

from collections.abc import Iterable
from typing import Any

from karmada.apiserver import cel
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.admission.reviews import user_info
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.apiserver.auth.service_accounts import group_names, user_name
from karmada.apiserver.cel import authorization
from karmada.apiserver.resources import JSONObject

_VARIABLES = dict.fromkeys(
    (
        "object",
        "oldObject",
        "request",
        "namespaceObject",
        "params",
        "variables",
        authorization.VARIABLE,
        authorization.REQUEST_VARIABLE,
    ),
    cel.DYN,
)


class Expressions:
    """Evaluates expressions about one request; named variables are computed when first used."""

    def __init__(
        self,
        request: AdmissionRequest,
        authorizer: Authorizer,
        namespace: JSONObject | None,
        params: JSONObject | None = None,
    ) -> None:
        self._user = request.user
        self._authorizer = authorizer
        self._values: dict[str, Any] = {
            "object": request.object,
            "oldObject": request.old,
            "request": _request(request),
            "namespaceObject": namespace,
            "params": params,
            "variables": {},
            authorization.VARIABLE: authorization.authorizer(),
            authorization.REQUEST_VARIABLE: _request_check(request),
        }

    def define(self, name: str, expression: str) -> None:
        """Add a variable; one that cannot be computed is an error only where it is used."""
        try:
            value = self.evaluate(expression)
        except cel.EvaluationError:
            return
        self._values["variables"] = {**self._values["variables"], name: value}

    def evaluate(self, expression: str) -> Any:
        """The value of an expression; raises `CompileError` or `EvaluationError`."""
        with authorization.answering(self._answer):
            return cel.compile(expression, _VARIABLES).evaluate(self._values)

    def hold(self, conditions: Iterable[JSONObject]) -> bool:
        """Whether all match conditions hold: one that does not decides, whatever fails; raises `EvaluationError`."""
        errors = []
        for condition in conditions:
            expression = condition["expression"]
            try:
                if self.evaluate(expression) is not True:
                    return False
            except (cel.CompileError, cel.EvaluationError) as error:
                errors.append(error_text(expression, error))
        if errors:
            raise cel.EvaluationError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
        return True

    def _answer(self, account: tuple[str, str] | None, attributes: dict[str, str]) -> tuple[bool, str]:
        user = UserInfo(user_name(*account), group_names(account[0])) if account else self._user
        version = "" if "path" in attributes else "*"
        decision = self._authorizer.authorize(user, Attributes(version=version, **attributes))
        return decision.allowed, decision.reason


def error_text(expression: str, error: Exception) -> str:
    """What is said of an expression that has no value."""
    if isinstance(error, cel.CompileError):
        return f"compilation error: {error}"
    return f"expression '{expression}' resulted in error: {error}"


def _request_check(request: AdmissionRequest) -> JSONObject:
    type_ = request.type
    return authorization.request_check(type_.group, type_.plural, request.subresource, request.namespace, request.name)


def _request(request: AdmissionRequest) -> JSONObject:
    type_ = request.type
    group, version, kind = request.kind or (type_.group, type_.version, type_.kind)
    named_kind = {"group": group, "version": version, "kind": kind}
    resource = {"group": type_.group, "version": type_.version, "resource": type_.plural}
    return {
        "kind": named_kind,
        "resource": resource,
        "subResource": request.subresource,
        "requestKind": named_kind,
        "requestResource": resource,
        "requestSubResource": request.subresource,
        "name": request.name,
        "namespace": request.namespace,
        "operation": request.operation.value,
        "userInfo": {"groups": [], "extra": {}, "uid": "", **user_info(request.user)},
        "dryRun": request.dry_run,
        "options": request.options,
    }
