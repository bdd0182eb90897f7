"""CEL expressions of admission: match conditions of webhooks, and everything in admission policies."""

from typing import Any

from karmada.apiserver import cel
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.admission.reviews import user_info
from karmada.apiserver.resources import JSONObject

_VARIABLES = dict.fromkeys(("object", "oldObject", "request", "namespaceObject", "params", "variables"), "dyn")


class Expressions:
    """Evaluates expressions about one request; named variables are computed when first used."""

    def __init__(
        self, request: AdmissionRequest, namespace: JSONObject | None, params: JSONObject | None = None
    ) -> None:
        self._values: dict[str, Any] = {
            "object": request.object,
            "oldObject": request.old,
            "request": _request(request),
            "namespaceObject": namespace,
            "params": params,
            "variables": {},
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
        return cel.compile(expression, _VARIABLES).evaluate(self._values)


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
