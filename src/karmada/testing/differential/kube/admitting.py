"""Random transcripts of admission: webhooks and policies written in CEL judge and change what is written."""

import base64
import copy
from random import Random
from typing import Any

import orjson

from karmada.testing.differential.kube.listener import place
from karmada.testing.differential.kube.mutations import mutated
from karmada.testing.differential.kube.scenarios import Kind, Step, kinds

_GROUP = "/apis/admissionregistration.k8s.io/v1"
_KINDS = ("ConfigMap", "Pod", "Deployment", "Service", "Secret")
_MERGE, _JSON = "application/merge-patch+json", "application/json-patch+json"


def webhook_scenario(dice: Random) -> list[Step]:
    """One or two webhooks for a kind in the scenario's namespace, and writes that meet them."""
    kind = _kind(dice)
    steps = [_webhooks(dice, kind, number) for number in range(dice.choice((1, 1, 2)))]
    steps.append({"method": "GET", "path": kind.collection, "pause": 0.6})  # both servers learn of them a moment later
    return steps + _writes(dice, kind)


def _kind(dice: Random) -> Kind:
    return dice.choice([kind for kind in kinds() if kind.type.kind in _KINDS])


def _webhooks(dice: Random, kind: Kind, number: int) -> Step:
    mutating = dice.random() < 0.5
    named = f"{'mutating' if mutating else 'validating'}webhookconfigurations"
    hooks = []
    for index in range(dice.choice((1, 1, 2))):
        url = "${hook}" + place(_answer(dice, mutating))
        config: dict[str, Any] = {"url": url, "caBundle": "${ca}"}
        if dice.random() < 0.05:
            config = dice.choice(({"url": url}, {"service": {"namespace": "${ns}", "name": "none"}}))
        hook: dict[str, Any] = {
            "name": f"h{number}{index}.example.com",
            "admissionReviewVersions": dice.choice((["v1"], ["v1"], ["v1beta1"], ["v1", "v1beta1"])),
            "sideEffects": dice.choice(("None", "None", "None", "NoneOnDryRun", "Some")),
            "clientConfig": config,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "${ns}"}},
            "rules": [_rule(dice, kind)],
        }
        if dice.random() < 0.3:
            hook["failurePolicy"] = dice.choice(("Ignore", "Fail"))
        if dice.random() < 0.2:
            hook["objectSelector"] = dice.choice(({"matchLabels": {"app": "a"}}, {"matchLabels": {"no": "no"}}))
        if dice.random() < 0.2:
            hook["matchConditions"] = [{"name": "c", "expression": dice.choice(_CONDITIONS)}]
        if mutating and dice.random() < 0.3:
            hook["reinvocationPolicy"] = "IfNeeded"
        hooks.append(hook)
    body = {"metadata": {"name": f"w{number}-${{run}}"}, "webhooks": hooks}
    return {"method": "POST", "path": f"{_GROUP}/{named}", "body": body}


_CONDITIONS = ("true", "false", "request.operation == 'CREATE'", "object.metadata.name == 'o'", "object.nope == 1")
_OPERATIONS = (["*"], ["CREATE"], ["UPDATE"], ["DELETE"], ["CREATE", "UPDATE"], ["CREATE", "UPDATE", "DELETE"])


def _rule(dice: Random, kind: Kind) -> dict[str, Any]:
    return {
        "apiGroups": dice.choice(([kind.type.group], ["*"])),
        "apiVersions": dice.choice((["*"], [kind.type.version], ["v9"])) if dice.random() < 0.3 else ["*"],
        "operations": dice.choice(_OPERATIONS),
        "resources": dice.choice(
            ([kind.type.plural], [kind.type.plural], ["*"], ["*/*"], [kind.type.plural, f"{kind.type.plural}/status"])
        ),
    }


def _answer(dice: Random, mutating: bool) -> dict[str, Any]:
    roll = dice.random()
    if roll < 0.15:
        return {"echo": True, "response": {"allowed": False}}
    if roll < 0.3:
        status = dice.choice(({}, {"message": "no"}, {"code": 418, "reason": "Teapot"}, {"code": 200, "message": "m"}))
        return {"response": {"allowed": False, "status": status}}
    if roll < 0.4:
        return dice.choice(
            (
                {"code": 500, "text": "broken"},
                {"text": "not json"},
                {"text": ""},
                {"version": "admission.k8s.io/v2", "response": {"allowed": True}},
                {"response": {"allowed": True, "uid": "other"}},
                {"code": 404, "text": "{}"},
            )
        )
    response: dict[str, Any] = {"allowed": True}
    if dice.random() < 0.3:
        response["warnings"] = dice.choice((["careful"], ["a", "b"], ["x" * 300], [""]))
    if dice.random() < 0.3:
        response["auditAnnotations"] = {"k": "v"}
    if dice.random() < (0.9 if mutating else 0.1):
        patch = dice.choice(_PATCHES)
        response["patch"] = base64.b64encode(orjson.dumps(patch)).decode()
        if dice.random() < 0.95:
            response["patchType"] = dice.choice(("JSONPatch",) * 8 + ("MergePatch",))
    return {"response": response}


_PATCHES: tuple[Any, ...] = (
    [{"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}}],
    [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}],
    [{"op": "add", "path": "/metadata/labels/added", "value": "x"}],
    [{"op": "replace", "path": "/metadata/labels/app", "value": "b"}],
    [{"op": "remove", "path": "/metadata/labels"}],
    [{"op": "add", "path": "/nope", "value": 1}],
    [{"op": "remove", "path": "/nope"}],
    [{"op": "add", "path": "/metadata/name", "value": "other"}],
    [{"op": "add", "path": "/metadata/labels", "value": {"bad key": "v"}}],
    [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/f"]}],
    [{"op": "add", "path": "/spec/replicas", "value": 7}],
    [{"op": "add", "path": "/spec/replicas", "value": "seven"}],
    [{"op": "add", "path": "/data", "value": {"from": "hook"}}],
    [{"op": "test", "path": "/metadata/name", "value": "x"}],
    {"not": "a list"},
    [],
)


def policy_scenario(dice: Random) -> list[Step]:
    """A validating or mutating policy for a kind in the scenario's namespace, and writes that meet it."""
    kind = _kind(dice)
    mutating = dice.random() < 0.35
    prefix = "mutating" if mutating else "validating"
    spec: dict[str, Any] = {
        "failurePolicy": dice.choice(("Fail", "Fail", "Ignore")),
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "${ns}"}},
            "resourceRules": [_rule(dice, kind)],
        },
    }
    if dice.random() < 0.3:
        spec["matchConditions"] = [{"name": "c", "expression": dice.choice(_CONDITIONS)}]
    if dice.random() < 0.4:
        spec["variables"] = [{"name": "v", "expression": dice.choice(_VARIABLES)}]
    given = dice.random() < 0.3
    if given:
        spec["paramKind"] = {"apiVersion": "v1", "kind": dice.choice(("ConfigMap", "ConfigMap", "Secret"))}
    if mutating:
        spec["reinvocationPolicy"] = dice.choice(("Never", "IfNeeded"))
        spec["mutations"] = [copy.deepcopy(dice.choice(_MUTATIONS)) for _ in range(dice.choice((1, 1, 2)))]
    else:
        spec["validations"] = [_validation(dice, given, "variables" in spec) for _ in range(dice.choice((1, 1, 2)))]
        if dice.random() < 0.3:
            spec["auditAnnotations"] = [{"key": "k", "valueExpression": dice.choice(("'v'", "object.metadata.name"))}]
    binding: dict[str, Any] = {"policyName": "p-${run}"}
    if not mutating:
        binding["validationActions"] = dice.choice((["Deny"], ["Deny"], ["Warn"], ["Audit"], ["Deny", "Audit"]))
    if given and dice.random() < 0.9:
        ref: dict[str, Any] = (
            {"name": "param"} if dice.random() < 0.7 else {"selector": {"matchLabels": {"param": "p"}}}
        )
        ref["parameterNotFoundAction"] = dice.choice(("Deny", "Allow"))
        binding["paramRef"] = {**ref, "namespace": "${ns}"} if dice.random() < 0.5 else ref
    param = {"metadata": {"name": "param", "labels": {"param": "p"}}, "data": {"limit": "MQ==", "x": "YQ=="}}
    steps: list[Step] = []
    if dice.random() < 0.7:
        steps.append({"method": "POST", "path": "/api/v1/namespaces/${ns}/configmaps", "body": param})
    steps += [
        {
            "method": "POST",
            "path": f"{_GROUP}/{prefix}admissionpolicies",
            "body": {"metadata": {"name": "p-${run}"}, "spec": spec},
        },
        {
            "method": "POST",
            "path": f"{_GROUP}/{prefix}admissionpolicybindings",
            "body": {"metadata": {"name": "b-${run}"}, "spec": binding},
        },
        {"method": "GET", "path": kind.collection, "pause": 2.5},  # policies are read once in a second
    ]
    return steps + _writes(dice, kind)


_VARIABLES = ("object.metadata.name", "size(object.metadata.name)", "has(object.spec) ? 1 : 0", "object.nope", "1 +")
_EXPRESSIONS = (
    "object.metadata.name == 'o'",
    "object.metadata.name != 'o'",
    "has(object.metadata.labels) && 'app' in object.metadata.labels",
    "object.metadata.labels['app'] == 'a'",
    "!has(object.spec.replicas) || object.spec.replicas < 3",
    "request.operation == 'UPDATE' || !request.dryRun",
    "oldObject == null",
    "namespaceObject.metadata.name.startsWith('d-')",
    "authorizer.group('').resource('pods').check('get').allowed()",
    "object.spec.template.spec.containers.all(c, c.image.startsWith('img'))",
    "size(object.data) < 2",
    "request.userInfo.username == 'admin'",
    "object.metadata.?labels[?'app'].orValue('') == 'a'",
    "quantity('1Gi').isGreaterThan(quantity('1Mi'))",
    "object.nope",
    "'text'",
    "true",
    "false",
)


def _validation(dice: Random, given: bool, variables: bool) -> dict[str, Any]:
    expression = dice.choice(_EXPRESSIONS)
    if given and dice.random() < 0.6:
        expression = dice.choice(("params.data.limit == 'MQ=='", "params != null", "params.data.nope == '1'"))
    if variables and dice.random() < 0.6:
        expression = dice.choice(("variables.v == 'o'", "variables.v == 1", "variables.nope == 1"))
    made: dict[str, Any] = {"expression": expression}
    if dice.random() < 0.4:
        made["message"] = dice.choice(("not so", "", "a\nb"))
    if dice.random() < 0.3:
        made["messageExpression"] = dice.choice(("'no ' + object.metadata.name", "1", "object.nope", "''"))
    if dice.random() < 0.3:
        made["reason"] = dice.choice(("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge", "Nope"))
    return made


_MUTATIONS: tuple[dict[str, Any], ...] = (
    {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'by': 'policy'}}}"},
    },
    {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": "Object{spec: Object.spec{replicas: 4}}"},
    },
    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{nope: 1}"}},
    {
        "patchType": "JSONPatch",
        "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'by': 'policy'}}]"},
    },
    {
        "patchType": "JSONPatch",
        "jsonPatch": {"expression": "[JSONPatch{op: 'replace', path: '/metadata/labels/app', value: 'b'}]"},
    },
    {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/nope'}]"}},
    {"patchType": "JSONPatch", "jsonPatch": {"expression": "'text'"}},
)


def _writes(dice: Random, kind: Kind) -> list[Step]:
    """Writes of every sort to an object of the kind."""
    steps: list[Step] = []
    for _ in range(dice.randint(3, 6)):
        body = mutated(dice, kind.body, kind.schema, dice.choice((0, 0, 0, 1)))
        dry = dice.choice(("", "", "", "?dryRun=All"))
        label = {"metadata": {"labels": {"app": dice.choice(("a", "b", None))}}}
        steps.append(
            dice.choice(
                (
                    {"method": "POST", "path": kind.collection + dry, "body": body},
                    {"method": "POST", "path": kind.collection + dry, "body": body},
                    {"method": "PUT", "path": kind.path + dry, "body": body},
                    {
                        "method": "PATCH",
                        "path": kind.path + dry,
                        "body": label,
                        "headers": {"Content-Type": _MERGE},
                    },
                    {"method": "DELETE", "path": kind.path + dry, "body": {"gracePeriodSeconds": 0}},
                    {"method": "GET", "path": kind.path},
                )
            )
        )
    return steps
