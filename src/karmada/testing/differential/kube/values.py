"""Random values of built-in types: mostly what clients write, sometimes what no rule allows."""

import copy
from random import Random
from typing import Any

from karmada.apiserver.schema.model import Schema

_DEEPEST = 5
_QUANTITIES = ("1", "500m", "1Gi", "0", "-1", "abc", "0.1", "1e3", "100Mi", 2, "")
_TIMES = ("2024-01-01T00:00:00Z", "2030-05-06T07:08:09Z", "yesterday", "2024-01-01")
_MICRO = ("2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00Z", "noon")
_NUMBERS = (0, 1, 2, 3, 5, 10, 100, -1, 65536, 8080, 3000000000)
_TEXTS = ("a", "abc", "a-b", "a.example.com", "", "UPPER", "a_b", "-a", "x" * 64, "example.com/a", "1", "a b", "ü")
_MAPS: tuple[dict[str, str], ...] = (
    {"app": "a"},
    {"a": "b", "example.com/c": "d"},
    {"bad key": "v"},
    {"a/b/c": "d"},
    {"a": "bad value!"},
    {},
)
_KEYS = ("a", "b", "cpu", "memory", "example.com/x", "storage", "Bad_Key", "requests.cpu", "ephemeral-storage")
_BY_NAME: dict[str, tuple[Any, ...]] = {
    "protocol": ("TCP", "UDP", "SCTP", "tcp", ""),
    "restartPolicy": ("Always", "Never", "OnFailure", "Sometimes"),
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Equal", "Nope"),
    "effect": ("NoSchedule", "NoExecute", "PreferNoSchedule", "Nope", ""),
    "type": ("Recreate", "RollingUpdate", "OnDelete", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "x"),
    "image": ("img:1", "img", "", " img", "img:latest"),
    "mountPath": ("/a", "/b", "a", "", "/c:d"),
    "path": ("/", "/a", "a", "../b", "", "/a/../b", "//a"),
    "subPath": ("a", "../a", "/a", ""),
    "port": (80, 0, 65536, "http", "BAD", 443),
    "targetPort": (80, 0, "http", "not a port", "way-too-long-port-name", 65536),
    "containerPort": (80, 0, 65536, 8081),
    "hostPort": (80, 0, 65536, -1),
    "nodePort": (0, -1, 70000),
    "clusterIP": ("None", "10.96.77.1", "not-an-ip", "", "192.168.0.1"),
    "ip": ("10.1.2.3", "fe80::1", "127.0.0.1", "bad", "2001:db8::1", "010.1.2.3"),
    "cidr": ("10.0.0.0/8", "10.0.0.1/8", "bad", "2001:db8::/32", "10.0.0.0/33"),
    "schedule": ("0 * * * *", "@hourly", "bad", "", "TZ=UTC 0 * * * *", "61 * * * *"),
    "timeZone": ("Europe/Berlin", "UTC", "Nowhere/Land", "", "Local"),
    "apiGroup": ("rbac.authorization.k8s.io", "", "example.com", "bad group"),
    "apiVersion": ("v1", "apps/v1", "", "a/b/c"),
    "kind": ("Role", "ClusterRole", "User", "Group", "ServiceAccount", "Pod", "Deployment", ""),
    "name": ("a", "o", "c", "data", "UPPER", "a.b", "", "x" * 64, "http", "a_b"),
    "expression": ("true", "object.x", "1 +", "self", "has(object.spec)", "1", ""),
    "terminationGracePeriodSeconds": (0, 30, -1, 1),
    "storageClassName": ("fast", "", "Bad Class"),
    "dnsPolicy": ("ClusterFirst", "Default", "None", "ClusterFirstWithHostNet", "x"),
    "key": ("app", "zone", "bad key", "", "example.com/k"),
}
_WRONG: tuple[Any, ...] = ("text", 7, True, 1.5, [], {}, ["a"], {"a": "b"})


def random_value(dice: Random, schema: Schema, name: str = "", depth: int = 0) -> Any:
    """A value of a type, for a field of that name; nobody else holds it."""
    return copy.deepcopy(_random_value(dice, schema, name, depth))


def _random_value(dice: Random, schema: Schema, name: str, depth: int) -> Any:
    if dice.random() < 0.03:
        return dice.choice((None, *_WRONG))
    if schema.name.endswith("resource.Quantity"):
        return dice.choice(_QUANTITIES)
    if schema.rules.get("enum") and dice.random() < 0.85:
        return dice.choice(schema.rules["enum"])
    if schema.int_or_string or schema.format == "int-or-string":
        return dice.choice(_BY_NAME.get(name, (1, 0, "25%", "150%", "abc", -1, 100, "0%")))
    match schema.type:
        case "object":
            return _object(dice, schema, depth)
        case "array":
            return _array(dice, schema, name, depth)
        case "boolean":
            return dice.random() < 0.5
        case "integer" | "number":
            return dice.choice(_BY_NAME.get(name, _NUMBERS))
        case "string":
            return _text(dice, schema, name)
    return dice.choice(({"a": 1}, "x", 1))


def wrong_value(dice: Random) -> Any:
    """Something of whatever type."""
    return copy.deepcopy(dice.choice(_WRONG))


def _text(dice: Random, schema: Schema, name: str) -> Any:
    if schema.format == "date-time":
        return dice.choice(_MICRO if schema.name.endswith("MicroTime") else _TIMES)
    if schema.format == "byte":
        return dice.choice(("YQ==", "", "!!", "YWJj"))
    return dice.choice(_BY_NAME.get(name, _TEXTS))


def _object(dice: Random, schema: Schema, depth: int) -> Any:
    if not schema.properties:
        if schema.additional is None:
            return dice.choice(({"a": 1}, {}, {"b": {"c": "d"}}))
        if schema.additional.type == "string" and not schema.additional.name:
            return dict(dice.choice(_MAPS))
        keys = dice.sample(_KEYS, dice.randint(0, 2))
        return {key: random_value(dice, schema.additional, key, depth + 1) for key in keys}
    made = {}
    for key, value in schema.properties.items():
        chance = 0.97 if key in schema.required else 0.3 if depth < 2 else 0.12
        if depth < _DEEPEST and dice.random() < chance and key not in ("managedFields", "status"):
            made[key] = random_value(dice, value, key, depth + 1)
    return made


def _array(dice: Random, schema: Schema, name: str, depth: int) -> list[Any]:
    if schema.items is None:
        return []
    singular = name.removesuffix("s")
    return [random_value(dice, schema.items, singular, depth + 1) for _ in range(dice.choice((0, 1, 1, 1, 2)))]
