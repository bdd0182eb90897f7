"""What a kube-apiserver 1.36.3 says of admission policies and their bindings that are wrong."""

from typing import Any

import pytest
from tests.apiserver.builtin.test_what_is_allowed import errors

GROUP = "admissionregistration.k8s.io"
RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
POLICY = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}
BINDING = {"policyName": "p", "validationActions": ["Deny"]}
UNKNOWN = "compilation failed: ERROR: <input>:1:1: undeclared reference to"
EXCLUSIVE = "Forbidden: name and selector are mutually exclusive"


def policy(**more: Any) -> list[str]:
    messages = errors(GROUP, "v1", "ValidatingAdmissionPolicy", {"spec": {**POLICY, **more}})
    return [text.removeprefix("spec.") for text in messages]


def binding(**more: Any) -> list[str]:
    messages = errors(GROUP, "v1", "ValidatingAdmissionPolicyBinding", {"spec": {**BINDING, **more}})
    return [text.removeprefix("spec.") for text in messages]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="right"),
        pytest.param(
            {"paramKind": {}},
            ["paramKind.apiVersion: Required value", "paramKind.kind: Required value"],
            id="parameters of no kind",
        ),
        pytest.param(
            {"paramKind": {"apiVersion": "a/b/c", "kind": "K"}},
            ['paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
            id="parameters of no version",
        ),
        pytest.param(
            {"matchConstraints": {"resourceRules": [{**RULE, "resourceNames": ["a", "a"]}], "matchPolicy": "X"}},
            [
                'matchConstraints.matchPolicy: Unsupported value: "X": supported values: "Equivalent", "Exact"',
                'matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
            ],
            id="matching",
        ),
        pytest.param(
            {"matchConstraints": {"resourceRules": [RULE], "excludeResourceRules": [{**RULE, "resources": []}]}},
            ["matchConstraints.excludeResourceRules[0].resources: Required value"],
            id="excluding",
        ),
        pytest.param(
            {"matchConditions": [{}]},
            ["matchConditions[0].expression: Required value", "matchConditions[0].name: Required value"],
            id="an empty condition",
        ),
        pytest.param(
            {"variables": [{}, {"name": "a-b", "expression": "1"}]},
            [
                "variables[0].name: Required value: name is not specified",
                "variables[0].expression: Required value: expression is not specified",
                'variables[1].name: Invalid value: "a-b": must be a valid CEL identifier',
            ],
            id="variables",
        ),
        pytest.param(
            {"auditAnnotations": [{"key": "a", "valueExpression": "1"}, {"key": "a", "valueExpression": "null"}, {}]},
            [
                'auditAnnotations[0].valueExpression: Invalid value: "1": '
                "must evaluate to one of [string null_type] but got int",
                'auditAnnotations[1].key: Duplicate value: "a"',
                'auditAnnotations[2].key: Invalid value: "n/": name part must be non-empty',
            ],
            id="audit annotations",
        ),
    ],
)
def test_policies(spec, expected):
    assert policy(**spec)[: len(expected) or None] == expected


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        pytest.param({"reason": "Forbidden"}, [], id="right"),
        pytest.param({"expression": " "}, ["expression: Required value: expression is not specified"], id="nothing"),
        pytest.param(
            {"expression": "1"}, ['expression: Invalid value: "1": must evaluate to bool but got int'], id="a number"
        ),
        pytest.param(
            {"messageExpression": "1"},
            ['messageExpression: Invalid value: "1": must evaluate to string but got int'],
            id="a number in the expression",
        ),
        pytest.param(
            {"messageExpression": " ", "message": " "},
            [
                'messageExpression: Invalid value: " ": must be non-empty if specified',
                'message: Invalid value: " ": must be non-empty if specified',
            ],
            id="nothing in the expression",
        ),
        pytest.param(
            {"message": "a\nb"}, [r'message: Invalid value: "a\nb": must not contain line breaks'], id="many lines"
        ),
        pytest.param(
            {"reason": "X"},
            ['reason: Unsupported value: "X": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"'],
            id="an unknown reason",
        ),
    ],
)
def test_validations(validation, expected):
    found = policy(validations=[{"expression": "true", **validation}])
    assert found == [f"validations[0].{text}" for text in expected]


@pytest.mark.parametrize(("name", "with_it"), [("params", {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}})])
def test_parameters_are_known_where_there_are_some(name, with_it):
    [message] = policy(validations=[{"expression": f"{name}.x == 1"}])
    assert f"{UNKNOWN} '{name}' (in container '')" in message
    assert policy(validations=[{"expression": f"{name}.x == 1"}], **with_it) == []


def test_variables_are_known_after_they_are_defined():
    one, two = {"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}
    assert policy(variables=[one, two], validations=[{"expression": "variables.b == 2"}]) == []
    assert len(policy(variables=[two, one])) == 1
    [message] = policy(validations=[{"expression": "variables.b == 2"}])
    assert f"{UNKNOWN} 'variables' (in container '')" in message


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"paramRef": {"name": "a", "parameterNotFoundAction": "Deny"}}, [], id="right"),
        pytest.param(
            {"paramRef": {}},
            [
                "paramRef: Required value: one of name or selector must be specified",
                "paramRef.parameterNotFoundAction: Required value",
            ],
            id="no parameters",
        ),
        pytest.param(
            {"paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "X"}},
            [
                f"paramRef.name: {EXCLUSIVE}",
                f"paramRef.selector: {EXCLUSIVE}",
                'paramRef.parameterNotFoundAction: Unsupported value: "X": supported values: "Deny", "Allow"',
            ],
            id="two ways to parameters",
        ),
        pytest.param(
            {"matchResources": {"matchPolicy": "X"}},
            ['matchResources.matchPolicy: Unsupported value: "X": supported values: "Equivalent", "Exact"'],
            id="matching",
        ),
    ],
)
def test_bindings(spec, expected):
    assert binding(**spec) == expected
