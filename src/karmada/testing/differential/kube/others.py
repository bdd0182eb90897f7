"""Random transcripts of other kinds: custom kinds with random schemas, rights of users, parts of pods, reviews."""

import copy
from random import Random
from typing import Any

from karmada.machinery.transport import JSONObject
from karmada.testing.differential.kube.scenarios import PARTIAL, TABLE, Step, kinds

_MERGE, _JSON = "application/merge-patch+json", "application/json-patch+json"
_STRATEGIC, _APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
_RULES = (
    {"rule": "self.a < 10", "message": "a is too big"},
    {"rule": "has(self.b)", "messageExpression": "'b is missing in ' + string(size(self))"},
    {"rule": "self.a == oldSelf.a"},
    {"rule": "!has(self.b) || self.b.startsWith('x')", "reason": "FieldValueForbidden", "fieldPath": ".b"},
    {"rule": "self.nope > 1"},
    {"rule": "1 +"},
    {"rule": "self.a"},
)


def custom_scenario(dice: Random) -> list[Step]:
    """A CRD with a random schema, and what is done to an object of it."""
    spec = _object(dice, 0)
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}},
    }
    if dice.random() < 0.3:
        version["schema"]["openAPIV3Schema"]["required"] = ["spec"]
    if dice.random() < 0.5:
        version["subresources"] = {"status": {}}
        version["schema"]["openAPIV3Schema"]["properties"]["status"] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
    if dice.random() < 0.3:
        paths = {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.replicas"}
        version.setdefault("subresources", {})["scale"] = paths
    if dice.random() < 0.4:
        version["additionalPrinterColumns"] = [
            {"name": "A", "type": dice.choice(("integer", "string", "date")), "jsonPath": ".spec.a"},
            {"name": "B", "type": "string", "jsonPath": ".spec.b", "priority": 1},
        ]
    namespaced = dice.random() < 0.7
    names: JSONObject = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    if dice.random() < 0.3:
        names["shortNames"] = dice.choice((["th"], ["TH"], ["th", "th"]))
    group = "g${run}.example.com"
    crd: JSONObject = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": names,
            "versions": [version],
        },
    }
    if dice.random() < 0.1:
        crd["spec"].pop(dice.choice(("scope", "names", "versions", "group")))
    collection = f"/apis/{group}/v1{'/namespaces/${ns}' if namespaced else ''}/things"
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    steps: list[Step] = [{"method": "POST", "path": f"{crds}?dryRun=All", "body": crd}]
    steps += [{"method": "POST", "path": crds, "body": crd}, {"method": "GET", "path": collection, "wait": True}]
    steps.extend(_custom_step(dice, collection, group, spec) for _ in range(dice.randint(3, 8)))
    return steps


def custom_schema(dice: Random) -> dict[str, Any]:
    """A random schema of a spec."""
    return _object(dice, 0)


def custom_value(dice: Random, schema: dict[str, Any]) -> Any:
    """A value that mostly satisfies a schema."""
    return _value(dice, schema)


def _object(dice: Random, depth: int) -> dict[str, Any]:
    properties = {name: _schema(dice, depth + 1) for name in dice.sample("abcdef", dice.randint(1, 4))}
    properties.setdefault("a", {"type": "integer"})
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if dice.random() < 0.3:
        made["required"] = dice.sample(sorted(properties), 1)
    if dice.random() < 0.15:
        made["x-kubernetes-preserve-unknown-fields"] = True
    if dice.random() < 0.3:
        made["x-kubernetes-validations"] = dice.sample(_RULES, dice.randint(1, 2))
    if dice.random() < 0.1:
        made["nullable"] = True
    if dice.random() < 0.1:
        made["minProperties"] = dice.randint(0, 3)
    return made


def _schema(dice: Random, depth: int) -> dict[str, Any]:
    roll = dice.random()
    if roll < 0.2 and depth < 3:
        return _object(dice, depth)
    if roll < 0.4 and depth < 3:
        return _array(dice, depth)
    if roll < 0.5:
        return {"type": "object", "additionalProperties": dice.choice(({"type": "string"}, {"type": "integer"}))}
    made = copy.deepcopy(dice.choice(_LEAVES))
    if dice.random() < 0.2:
        made["nullable"] = True
    if dice.random() < 0.25:
        made["default"] = dice.choice((1, 5, "x", "abc", True, None))
    return made


_LEAVES: tuple[dict[str, Any], ...] = (
    {"type": "integer"},
    {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10},
    {"type": "integer", "multipleOf": 3, "exclusiveMinimum": True, "minimum": 0},
    {"type": "number"},
    {"type": "string"},
    {"type": "string", "enum": ["x", "y"]},
    {"type": "string", "pattern": "^x", "maxLength": 3},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "format": "uuid"},
    {"type": "string", "format": "duration"},
    {"type": "boolean"},
    {"x-kubernetes-int-or-string": True},
    {"x-kubernetes-preserve-unknown-fields": True},
    {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    {"type": "string", "anyOf": [{"minLength": 2}, {"pattern": "^x"}]},
    {"type": "string", "not": {"enum": ["abc"]}},
    {"type": "widget"},
    {},
)


def _array(dice: Random, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "array", "items": _schema(dice, depth + 1)}
    if dice.random() < 0.2:
        made["maxItems"] = 2
    if dice.random() < 0.15:
        made["uniqueItems"] = dice.random() < 0.3
    if dice.random() < 0.3:
        made["items"] = {"type": "string"}
        made["x-kubernetes-list-type"] = dice.choice(("set", "atomic", "map"))
    elif dice.random() < 0.3:
        made["items"] = {
            "type": "object",
            "required": ["k"],
            "properties": {"k": {"type": "string"}, "v": {"type": "integer", "default": 7}},
        }
        made["x-kubernetes-list-type"] = "map"
        made["x-kubernetes-list-map-keys"] = dice.choice((["k"], ["k"], ["v"], ["n"]))
    return made


def _value(dice: Random, schema: dict[str, Any]) -> Any:
    if dice.random() < 0.12:
        return dice.choice((None, "x", 7, True, [], {}, 1.5, ["x"], {"a": 1}))
    match schema.get("type"):
        case "object":
            known = schema.get("properties") or {}
            made = {name: _value(dice, child) for name, child in known.items() if dice.random() < 0.7}
            if dice.random() < 0.2 or not known:
                made[dice.choice(("u", "a", "kind"))] = dice.choice(("x", 1, {"y": None}))
            return made
        case "array":
            return [_value(dice, schema["items"]) for _ in range(dice.randint(0, 3))]
        case "integer":
            return dice.choice((0, 1, 3, 5, 12, -1, 3000000000))
        case "number":
            return dice.choice((0, 1.5, -2, 3))
        case "boolean":
            return dice.random() < 0.5
    if schema.get("x-kubernetes-int-or-string"):
        return dice.choice((1, "x", "5%"))
    return dice.choice(("x", "xyz", "abc", "", "2024-01-01T00:00:00Z", "10.0.0.1", "1h", "y"))


def _custom_step(dice: Random, collection: str, group: str, spec: dict[str, Any]) -> Step:
    path = f"{collection}/o"
    body: dict[str, Any] = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "o"}}
    body["spec"] = _value(dice, spec)
    if dice.random() < 0.2:
        body["status"] = {"replicas": 1}
    if dice.random() < 0.08:
        body[dice.choice(("kind", "apiVersion"))] = dice.choice(("Other", "v1", f"{group}/v2", ""))
    if dice.random() < 0.1:
        body["other"] = 1
    query = dice.choice(("", "", "?dryRun=All", "?fieldValidation=Strict", "?fieldValidation=Warn"))
    patch = {"spec": body["spec"]} if dice.random() < 0.8 else {"status": {"x": 1}, "metadata": {"labels": {"a": "b"}}}
    media = dice.choice((_MERGE, _MERGE, _STRATEGIC))
    match dice.randrange(12):
        case 0 | 1 | 2 | 3:
            return {"method": "POST", "path": collection + query, "body": body}
        case 4 | 5:
            body["metadata"]["resourceVersion"] = dice.choice(("${rv}", "${rv}", "", "1"))
            return {"method": "PUT", "path": path + query, "body": body}
        case 6 | 7:
            return {"method": "PATCH", "path": path + query, "body": patch, "headers": {"Content-Type": media}}
        case 8:
            manager = f"{path}?fieldManager=me&force=true"
            return {"method": "PATCH", "path": manager, "body": body, "headers": {"Content-Type": _APPLY}}
        case 9:
            part = dice.choice(("status", "scale", "nope"))
            change = {"status": {"replicas": 3, "x": 1}, "spec": {"a": 1, "replicas": 2}}
            return {"method": "PATCH", "path": f"{path}/{part}", "body": change, "headers": {"Content-Type": _MERGE}}
        case 10:
            accept = dice.choice(("", TABLE, PARTIAL))
            where = dice.choice((path, collection))
            return {"method": "GET", "path": where, "headers": {"Accept": accept} if accept else {}}
    operations = [{"op": dice.choice(("add", "replace", "remove")), "path": "/spec/a", "value": _value(dice, spec)}]
    return {"method": "PATCH", "path": path, "body": operations, "headers": {"Content-Type": _JSON}}


_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*", "impersonate")
_RESOURCES = ("pods", "configmaps", "secrets", "pods/log", "*", "deployments", "*/scale")


def access_scenario(dice: Random) -> list[Step]:
    """Rights given to a user, requests of that user, and what reviews say of them."""
    rules = [
        {
            "apiGroups": dice.choice(([""], ["apps"], ["*"], ["", "apps"])),
            "resources": dice.sample(_RESOURCES, dice.randint(1, 3)),
            "verbs": dice.sample(_VERBS, dice.randint(1, 4)),
            **({"resourceNames": ["o"]} if dice.random() < 0.3 else {}),
        }
        for _ in range(dice.randint(1, 2))
    ]
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    steps: list[Step] = [
        {
            "method": "POST",
            "path": f"{rbac}/namespaces/${{ns}}/roles",
            "body": {"metadata": {"name": "r"}, "rules": rules},
        },
        {
            "method": "POST",
            "path": f"{rbac}/namespaces/${{ns}}/rolebindings",
            "body": {"metadata": {"name": "b"}, "roleRef": ref, "subjects": [subject]},
        },
        # Both servers learn of new rights a moment later.
        {"method": "GET", "path": f"{rbac}/namespaces/${{ns}}/roles", "pause": 0.3},
    ]
    steps.extend(dice.choice((_as_user, _review, _identity))(dice) for _ in range(dice.randint(3, 7)))
    return steps


def _as_user(dice: Random) -> Step:
    groups = dice.choice(({}, {}, {"Impersonate-Group": "system:authenticated"}, {"Impersonate-Uid": "7"}))
    user = dice.choice(("jane", "jane", "joe", "system:serviceaccount:default:x", "system:anonymous", ""))
    headers = {**groups, **({"Impersonate-User": user} if user else {}), "Content-Type": "application/json"}
    if dice.random() < 0.1:
        headers["Impersonate-Extra-Scopes"] = "a"
    path = dice.choice(
        (
            "/api/v1/namespaces/${ns}/pods",
            "/api/v1/namespaces/${ns}/configmaps",
            "/api/v1/namespaces/${ns}/configmaps/o",
            "/api/v1/namespaces/${ns}/secrets?fieldSelector=metadata.name%3Do",
            "/apis/apps/v1/namespaces/${ns}/deployments/o/scale",
            "/apis/apps/v1/deployments",
            "/api/v1/nodes",
            "/apis",
            "/nope",
            "/api/v1/namespaces/${ns}/nope",
            "/healthz",
        )
    )
    method = dice.choice(("GET", "GET", "POST", "PUT", "PATCH", "DELETE"))
    body = None if method in ("GET", "DELETE") else {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o"}}
    if method == "PATCH":
        headers["Content-Type"] = _MERGE
    return {"method": method, "path": path, "body": body, "headers": headers}


def _review(dice: Random) -> Step:
    where = {
        "namespace": dice.choice(("${ns}", "default", "")),
        "verb": dice.choice(_VERBS),
        "resource": dice.choice(("pods", "configmaps", "deployments", "*", "")),
        "group": dice.choice(("", "apps", "*")),
        "name": dice.choice(("", "o")),
    }
    spec: dict[str, Any] = {"resourceAttributes": {key: value for key, value in where.items() if value}}
    if dice.random() < 0.2:
        spec = {"nonResourceAttributes": {"path": dice.choice(("/healthz", "/x", "")), "verb": "get"}}
    if dice.random() < 0.1:
        spec["nonResourceAttributes"] = {"path": "/x", "verb": "get"}
    if dice.random() < 0.1:
        spec = {}
    name = dice.choice(("SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview"))
    if name != "SelfSubjectAccessReview":
        spec["user"] = dice.choice(("jane", "jane", "joe", ""))
        if dice.random() < 0.3:
            spec["groups"] = dice.choice((["system:masters"], ["a", "b"], []))
    local = "/namespaces/${ns}" if name.startswith("Local") else ""
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": name, "spec": spec}
    return {"method": "POST", "path": f"/apis/authorization.k8s.io/v1{local}/{name.lower()}s", "body": body}


def _identity(dice: Random) -> Step:
    user = {"Impersonate-User": dice.choice(("jane", "joe"))}
    if dice.random() < 0.5:
        body: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        return {
            "method": "POST",
            "path": "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            "body": body,
            "headers": user,
        }
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": dice.choice(("x", "", "a.b.c"))},
    }
    return {"method": "POST", "path": "/apis/authentication.k8s.io/v1/tokenreviews", "body": body}


def parts_scenario(dice: Random) -> list[Step]:
    """Parts of pods and service accounts: bindings, evictions, tokens, debugging containers, new sizes."""
    pods = "/api/v1/namespaces/${ns}/pods"
    body = copy.deepcopy(next(kind.body for kind in kinds() if kind.type.kind == "Pod"))
    if dice.random() < 0.4:
        body["spec"]["nodeName"] = "n"
    if dice.random() < 0.3:
        body["metadata"]["finalizers"] = ["example.com/f"]
    steps: list[Step] = [{"method": "POST", "path": pods, "body": body}]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "o"}}
    steps.append({"method": "POST", "path": "/api/v1/namespaces/${ns}/serviceaccounts", "body": account})
    if dice.random() < 0.4:
        budget = {"minAvailable": dice.choice((0, 1)), "selector": {"matchLabels": {"app": "a"}}}
        path = "/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets"
        made = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "o"}, "spec": budget}
        steps.append({"method": "POST", "path": path, "body": made})
    steps.extend(dice.choice(_PARTS)(dice) for _ in range(dice.randint(2, 6)))
    return steps


def _binding(dice: Random) -> Step:
    target = dice.choice(
        ({"kind": "Node", "name": "n"}, {"name": "m"}, {}, {"kind": "Pod", "name": "n"}, {"kind": "Node"})
    )
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": dice.choice(("o", "o", "p", ""))},
        "target": target,
    }
    path = dice.choice(("/api/v1/namespaces/${ns}/pods/o/binding", "/api/v1/namespaces/${ns}/bindings"))
    return {"method": "POST", "path": path + dice.choice(("", "?dryRun=All")), "body": body}


def _eviction(dice: Random) -> Step:
    meta = {"name": dice.choice(("o", "o", "p", "")), "namespace": "${ns}"}
    body: dict[str, Any] = {
        "apiVersion": dice.choice(("policy/v1", "policy/v1", "v1")),
        "kind": "Eviction",
        "metadata": meta,
    }
    if dice.random() < 0.4:
        body["deleteOptions"] = dice.choice(
            ({"gracePeriodSeconds": 0}, {"dryRun": ["All"]}, {"preconditions": {"resourceVersion": "1"}})
        )
    return {"method": "POST", "path": "/api/v1/namespaces/${ns}/pods/o/eviction", "body": body}


def _token(dice: Random) -> Step:
    spec: dict[str, Any] = {"audiences": dice.choice((["a"], [], ["a", "b"]))}
    if dice.random() < 0.6:
        spec["expirationSeconds"] = dice.choice((600, 3600, 10, -1, 5000000000))
    if dice.random() < 0.4:
        spec["boundObjectRef"] = dice.choice(
            (
                {"kind": "Pod", "apiVersion": "v1", "name": "o"},
                {"kind": "Secret", "apiVersion": "v1", "name": "x"},
                {"kind": "Node"},
                {"kind": "Thing"},
            )
        )
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    name = dice.choice(("o", "o", "nope"))
    return {"method": "POST", "path": f"/api/v1/namespaces/${{ns}}/serviceaccounts/{name}/token", "body": body}


def _debugging(dice: Random) -> Step:
    container = dice.choice(
        (
            {"name": "d", "image": "i"},
            {"name": "c", "image": "i"},
            {"name": "d"},
            {"name": "d", "image": "i", "ports": [{}]},
            {"image": "i"},
        )
    )
    body = {"spec": {"ephemeralContainers": [container]}}
    path = "/api/v1/namespaces/${ns}/pods/o/ephemeralcontainers"
    return {
        "method": "PATCH",
        "path": path,
        "body": body,
        "headers": {"Content-Type": dice.choice((_MERGE, _STRATEGIC))},
    }


def _resize(dice: Random) -> Step:
    wanted = dice.choice(
        ({"requests": {"cpu": "200m"}}, {"limits": {"memory": "32Mi"}}, {"requests": {"cpu": "-1"}}, {})
    )
    body = {"spec": {"containers": [{"name": dice.choice(("c", "c", "d")), "resources": wanted}]}}
    path = "/api/v1/namespaces/${ns}/pods/o/resize"
    return {"method": "PATCH", "path": path, "body": body, "headers": {"Content-Type": _STRATEGIC}}


def _deletion(dice: Random) -> Step:
    options = dice.choice(
        (None, {"gracePeriodSeconds": 0}, {"gracePeriodSeconds": 5}, {"propagationPolicy": "Foreground"})
    )
    return {"method": "DELETE", "path": "/api/v1/namespaces/${ns}/pods/o", "body": options}


def _reading(dice: Random) -> Step:
    part = dice.choice(
        ("", "/log", "/exec?command=x", "/proxy", "/status", "/eviction", "/binding", "/resize", "/attach")
    )
    return {"method": "GET", "path": f"/api/v1/namespaces/${{ns}}/pods/o{part}"}


_PARTS = (_binding, _eviction, _token, _debugging, _resize, _deletion, _reading)
