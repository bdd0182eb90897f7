"""MutatingAdmissionPolicies: changes in CEL, as an applied configuration or as a JSON patch.

The expressions build typed objects (`Object{spec: Object.spec{replicas: 3}}`, `JSONPatch{op: "add", ...}`). The engine
has no such types: the constructors are rewritten to maps, which hold the same.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson

from karmada.api import json_patch
from karmada.apiserver import cel
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.admission.policies import denied, error_text
from karmada.apiserver.admission.policy_sets import InForce, NoParameters, PolicySet
from karmada.apiserver.managedfields.merging import merge
from karmada.apiserver.resources import JSONObject

Decode = Callable[[AdmissionRequest, JSONObject], JSONObject]

_TOKEN = re.compile(
    r"""(?P<string>r?\"\"\".*?\"\"\"|r?'''.*?'''|r?"(?:\\.|[^"\\])*"|r?'(?:\\.|[^'\\])*')"""
    r"""|(?P<type>(?:Object(?:\.\w+)*|JSONPatch)\s*\{)"""
    r"""|(?P<field>(?<![\w.])[A-Za-z_]\w*(?=\s*:(?!:)))"""
    r"""|(?P<open>[{(\[])|(?P<close>[})\]])""",
    re.DOTALL,
)


@lru_cache(maxsize=1024)
def untyped(expression: str) -> str:
    """The expression with constructors of objects rewritten to maps."""
    parts: list[str] = []
    inside: list[bool] = []
    """For each open bracket, whether its members are fields."""
    end = 0
    for token in _TOKEN.finditer(expression):
        parts.append(expression[end : token.start()])
        text = token.group()
        end = token.end()
        if token.lastgroup == "type":
            inside.append(True)
            text = "{"
        elif token.lastgroup == "open":
            inside.append(False)
        elif token.lastgroup == "close" and inside:
            inside.pop()
        elif token.lastgroup == "field" and inside and inside[-1]:
            text = f'"{text}"'
        parts.append(text)
    return "".join([*parts, expression[end:]])


class MutatingPolicies:
    """The admission plugin of mutating policies."""

    def __init__(self, policies: PolicySet, decode: Decode) -> None:
        self._policies = policies
        self._decode = decode
        self.applies = policies.applies

    async def validate(self, request: AdmissionRequest) -> None:
        """Nothing to validate."""

    async def mutate(self, request: AdmissionRequest) -> None:
        """Let every policy in force change the object."""
        if request.object is None:
            return
        for active in self._policies.in_force(request):
            try:
                for params in self._policies.params(active, request):
                    self._change(active, request, params)
            except NoParameters as missing:
                self._fail(active, request, str(missing))

    def _change(self, active: InForce, request: AdmissionRequest, params: JSONObject | None) -> None:
        spec = active.policy["spec"]
        expressions = self._policies.expressions(request, params)
        expression = ""
        try:
            for condition in spec.get("matchConditions") or ():
                expression = condition["expression"]
                if expressions.evaluate(expression) is not True:
                    return
            for variable in spec.get("variables") or ():
                expressions.define(variable["name"], untyped(variable["expression"]))
            for mutation in spec.get("mutations") or ():
                form = "jsonPatch" if mutation.get("patchType") == "JSONPatch" else "applyConfiguration"
                expression = (mutation.get(form) or {}).get("expression") or ""
                value = expressions.evaluate(untyped(expression))
                request.object = self._decode(request, _changed(request, form, value))
                expressions = self._policies.expressions(request, params)
        except (cel.CompileError, cel.EvaluationError, json_patch.JSONPatchError, TypeError) as error:
            self._fail(active, request, error_text(expression, error))

    def _fail(self, active: InForce, request: AdmissionRequest, text: str) -> None:
        if not active.ignores_failures:
            raise denied(request, f"MutatingAdmissionPolicy {active.names} denied request: {text}", "Invalid")


def _changed(request: AdmissionRequest, form: str, value: Any) -> JSONObject:
    assert request.object is not None
    if form == "jsonPatch":
        result = json_patch.apply(request.object, value)
    else:
        if not isinstance(value, dict):
            raise TypeError("the expression gives no object")
        result = merge(request.object, value, request.type.schema)
    copy: JSONObject = orjson.loads(orjson.dumps(result))
    return copy
