"""What a kube-apiserver 1.36.3 says of webhook configurations that are wrong."""

from typing import Any

import pytest
from tests.apiserver.builtin.test_what_is_allowed import errors

RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
HOOK = {
    "name": "a.b.c",
    "clientConfig": {"url": "https://h/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [RULE],
}
SCHEME = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
YES = {"name": "a", "expression": "true"}


def wrong(kind: str = "Validating", **more: Any) -> list[str]:
    body = {"webhooks": [{**HOOK, **more}]}
    messages = errors("admissionregistration.k8s.io", "v1", f"{kind}WebhookConfiguration", body)
    return [text.removeprefix("webhooks[0].") for text in messages]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param({}, [], id="right"),
        pytest.param(
            {key: [] for key in RULE},
            [f"{field}: Required value" for field in ("operations", "apiGroups", "apiVersions", "resources")],
            id="nothing",
        ),
        pytest.param({"apiGroups": [""]}, [], id="the core group"),
        pytest.param(
            {"apiVersions": ["", "*"]},
            [
                'apiVersions: Invalid value: ["","*"]: if \'*\' is present, must not specify other API versions',
                "apiVersions[0]: Required value",
            ],
            id="an empty version",
        ),
        pytest.param({"resources": ["a", ""]}, ["resources[1]: Required value"], id="an empty resource"),
        pytest.param(
            {"resources": ["*", "a"]},
            [
                'resources: Invalid value: ["*","a"]: if \'*\' is present, must not specify other resources without '
                "subresources"
            ],
            id="all resources and one",
        ),
        pytest.param({"resources": ["a", "*"]}, [], id="one resource and all"),
        pytest.param({"resources": ["*", "pods/status"]}, [], id="all resources and a subresource"),
        pytest.param(
            {"resources": ["*/*", "pods"]},
            ['resources: Invalid value: ["*/*","pods"]: if \'*/*\' is present, must not specify other resources'],
            id="everything and one",
        ),
        pytest.param({"resources": ["pods/status", "pods/*"]}, [], id="a subresource before all"),
        pytest.param(
            {"resources": ["*/a", "b/*", "b/a"]},
            [
                "resources[2]: Invalid value: \"b/a\": if 'b/*' is present, must not specify b/a",
                "resources[2]: Invalid value: \"b/a\": if '*/a' is present, must not specify b/a",
            ],
            id="a subresource twice covered",
        ),
    ],
)
def test_rules(rule, expected):
    assert wrong(rules=[{**RULE, **rule}]) == [f"rules[0].{text}" for text in expected]


def test_a_url_is_judged():
    assert wrong(clientConfig={"url": "http://h"}) == [f'clientConfig.url: Invalid value: "http": {SCHEME}']


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        pytest.param({"path": "/apis/x.y/v1/"}, [], id="right"),
        pytest.param({"path": "/"}, [], id="no path"),
        pytest.param({"namespace": ""}, ["name: Required value"], id="no namespace"),
        pytest.param({"name": ""}, ["namespace: Required value"], id="no name"),
        pytest.param(
            {"port": 65536},
            ["port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive"],
            id="no port",
        ),
        pytest.param({"path": "//"}, ['path: Invalid value: "//": segment[0] may not be empty'], id="no segment"),
        pytest.param(
            {"path": "a//B/"},
            [
                "path: Invalid value: \"a//B/\": must start with a '/'",
                'path: Invalid value: "a//B/": segment[0] may not be empty',
                'path: Invalid value: "a//B/": segment[1] may not be empty',
                f'path: Invalid value: "a//B/": segment[2]: {SUBDOMAIN}',
            ],
            id="a bad path",
        ),
    ],
)
def test_services(service, expected):
    config = {"service": {"name": "s", "namespace": "n", **service}}
    assert wrong(clientConfig=config) == [f"clientConfig.service.{text}" for text in expected]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        pytest.param([YES], [], id="right"),
        pytest.param([{"name": "a", "expression": "request.dryRun"}], [], id="a part of the request"),
        pytest.param([{}], ["[0].expression: Required value", "[0].name: Required value"], id="nothing"),
        pytest.param([YES, YES], ['[1].name: Duplicate value: "a"'], id="the same name"),
        pytest.param(
            [{"name": "a", "expression": " 1 "}],
            ['[0].expression: Invalid value: "1": must evaluate to bool but got int'],
            id="a number",
        ),
        pytest.param(
            [{"name": "a", "expression": "[1]"}],
            ['[0].expression: Invalid value: "[1]": must evaluate to bool but got list(int)'],
            id="a list",
        ),
        pytest.param(
            [{"name": "a", "expression": "object.x"}],
            ['[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn'],
            id="whatever an object has",
        ),
        pytest.param(
            [{"name": f"a{number}", "expression": "true"} for number in range(65)],
            [": Too many: 65: must have at most 64 items"],
            id="too many",
        ),
    ],
)
def test_match_conditions(conditions, expected):
    assert wrong(matchConditions=conditions) == [f"matchConditions{text}" for text in expected]


def test_conditions_of_webhooks_have_no_parameters():
    [message] = wrong(matchConditions=[{"name": "a", "expression": "params"}])
    assert "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'" in message


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        pytest.param(["v2", "v1"], [], id="right"),
        pytest.param(["v1", "v1"], ['[1]: Invalid value: "v1": duplicate version'], id="twice"),
        pytest.param(["V1", "v1"], [f'[0]: Invalid value: "V1": {LABEL}'], id="no version"),
        pytest.param(["v2"], [': Invalid value: ["v2"]: must include at least one of v1, v1beta1'], id="unknown"),
    ],
)
def test_versions_of_reviews(versions, expected):
    assert wrong(admissionReviewVersions=versions) == [f"admissionReviewVersions{text}" for text in expected]


def test_reinvocation_is_judged_before_the_client():
    assert wrong("Mutating", reinvocationPolicy="X", clientConfig={}) == [
        'reinvocationPolicy: Unsupported value: "X": supported values: "IfNeeded", "Never"',
        "clientConfig: Required value: exactly one of url or service is required",
    ]
