"""Random transcripts of validation rules: CEL of every sort over one schema, and objects that keep to it or do not."""

from random import Random
from typing import Any

from karmada.testing.differential.kube.scenarios import Step

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GROUP = "g${run}.example.com"
_MERGE = "application/merge-patch+json"
_TEXT: dict[str, Any] = {"type": "string", "maxLength": 20}
_SPEC: dict[str, Any] = {
    "n": {"type": "integer"},
    "f": {"type": "number"},
    "t": _TEXT,
    "b": {"type": "boolean"},
    "d": {"type": "string", "format": "date-time"},
    "u": {"type": "string", "format": "duration"},
    "q": {"x-kubernetes-int-or-string": True},
    "l": {"type": "array", "maxItems": 5, "items": _TEXT},
    "s": {"type": "array", "maxItems": 5, "items": _TEXT, "x-kubernetes-list-type": "set"},
    "i": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
    "m": {"type": "object", "maxProperties": 5, "additionalProperties": _TEXT},
    "k": {
        "type": "array",
        "maxItems": 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": _TEXT, "v": {"type": "integer"}},
        },
    },
    "e": {"type": "string", "enum": ["x", "y"]},
    "a__b": {"type": "integer"},
    "x-y": {"type": "integer"},
    "namespace": {"type": "integer"},
}
_EXPRESSIONS = (
    "self.n > 0",
    "self.n + 1 < 5 && self.n != 2",
    "self.n % 2 == 0",
    "1 / self.n > 0",
    "double(self.n) < self.f",
    "self.f > 1",
    "self.f > 1.0",
    "int(self.f) == 2",
    "self.t.startsWith('a')",
    "self.t.matches('^[a-c]+$')",
    "self.t.matches('[')",
    "self.t.size() < 3 || size(self.t) > 4",
    "self.t.contains('b') ? self.n > 1 : true",
    "self.t.lowerAscii() == self.t",
    "self.t.split('b').size() == 2",
    "self.t.replace('a', 'b') != self.t",
    "self.t.indexOf('c') >= 0",
    "self.t.substring(1) == 'bc'",
    "self.t.charAt(0) in ['a', 'x']",
    "self.t.trim() == self.t",
    "'%s-%d'.format([self.t, self.n]) != 'abc-1'",
    "self.t.reverse() != self.t",
    "self.t.find('[0-9]+') == ''",
    "self.t.findAll('b').size() <= 1",
    "!self.b",
    "self.b || self.n > 1",
    "self.d < timestamp('2025-01-01T00:00:00Z')",
    "self.d.getFullYear() == 2024",
    "self.u > duration('1m')",
    "self.u.getHours() < 2",
    "type(self.q) == int ? self.q > 1 : self.q == 'x'",
    "string(self.q) == '5'",
    "self.l.all(x, x.size() > 1)",
    "self.l.exists(x, x == 'abc')",
    "self.l.exists_one(x, x == 'abc')",
    "self.l.map(x, x + 'y').size() < 3",
    "self.l.filter(x, x.startsWith('a')).size() == 1",
    "self.l.isSorted()",
    "self.l.indexOf('abc') == 0",
    "'abc' in self.l",
    "self.l[0] == 'abc'",
    "self.s == ['b', 'a']",
    "self.s.sum() > 0",
    "self.i.sum() > 3",
    "self.i.min() >= 0 && self.i.max() < 10",
    "self.i == [1, 2]",
    "self.m.all(k, k.size() < 3)",
    "self.m['a'] == 'x'",
    "'a' in self.m && self.m.a == 'x'",
    "self.m.exists(k, self.m[k] == 'y')",
    "size(self.m) == 1",
    "self.k.all(x, has(x.v) && x.v > 0)",
    "self.k.exists(x, x.name == 'a')",
    "self.k[0].v < 9",
    "self.k.filter(x, !has(x.v)).map(x, x.name) == []",
    "self.e == 'x'",
    "self.e in ['x', 'z']",
    "self.a__underscores__b > 0",
    "self.x__dash__y > 0",
    "self.__namespace__ > 0",
    "self.namespace > 0",
    "has(self.n)",
    "has(self.n) && has(self.t)",
    "!has(self.l) || self.l.size() > 0",
    "self.?n.orValue(5) > 3",
    "self.?m[?'a'].hasValue()",
    "self.n == oldSelf.n",
    "!has(oldSelf.n) || self.n >= oldSelf.n",
    "self.l.all(x, x in oldSelf.l)",
    "oldSelf.hasValue() ? self.n >= oldSelf.value().n : true",
    "quantity(self.t).isGreaterThan(quantity('1'))",
    "isQuantity(self.t)",
    "quantity('1Gi').add(quantity('1Mi')).isInteger()",
    "isURL(self.t)",
    "url('https://example.com:80/' + self.t).getPort() == '80'",
    "ip('10.0.0.1').family() == 4",
    "isIP(self.t)",
    "cidr('10.0.0.0/8').containsIP('10.1.1.1')",
    "semver('1.2.3').major() == 1",
    "format.dns1123Label().validate(self.t).hasValue()",
    "cel.bind(x, self.n + 1, x > 2)",
    "math.greatest(self.n, 3) == 3",
    "sets.contains(self.l, ['abc'])",
    "sets.intersects(self.i, [1])",
    "base64.encode(b'a') == 'YQ=='",
    "self == oldSelf",
    "self.n in [1, 2, 3]",
    "self.n < 'a'",
    "self.n",
    "self.nope",
    "nope(self.n)",
    "self.n > 0 &&",
    "",
    "true",
    "1 == 1.0",
    "null == null",
    "dyn(self.n) == 1.0",
    "self.t + 1 == 'a1'",
    "self.t + string(self.n) != 'abc1'",
    "[1, 'a'].size() == 2",
    "{'a': 1}.a == 1",
    "self.l.transformList(i, v, i).sum() < 3",
)
_VALUES: dict[str, tuple[Any, ...]] = {
    "n": (0, 1, 2, 3, -1, 7),
    "f": (0.5, 1, 2.5, 2),
    "t": ("", "abc", "a", "b", "xyzab", "1Gi", "10.0.0.1", "A"),
    "b": (True, False),
    "d": ("2024-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    "u": ("1h", "30s", "3h"),
    "q": (1, 5, "x", "5"),
    "l": ([], ["abc"], ["abc", "a"], ["b", "abc", "abc"], ["a"]),
    "s": ([], ["a", "b"], ["b", "a"]),
    "i": ([], [1, 2], [5, 1], [9, 10]),
    "m": ({}, {"a": "x"}, {"a": "y", "bcd": "z"}),
    "k": ([], [{"name": "a"}], [{"name": "a", "v": 1}, {"name": "b", "v": 0}]),
    "e": ("x", "y"),
    "a__b": (0, 1),
    "x-y": (0, 1),
    "namespace": (0, 1),
}


def rule_scenario(dice: Random) -> list[Step]:
    """A definition with some rules, objects and changes of them."""
    rules = [_rule(dice) for _ in range(dice.choice((1, 1, 2, 3)))]
    crd = definition(rules)
    collection = f"/apis/{_GROUP}/v1/namespaces/${{ns}}/things"
    steps: list[Step] = [
        {"method": "POST", "path": _CRDS, "body": crd},
        {"method": "GET", "path": collection, "wait": True},
    ]
    for _ in range(dice.randint(4, 8)):
        body: dict[str, Any] = {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "Thing",
            "metadata": {"name": "o"},
            "spec": _object(dice),
        }
        if dice.random() < 0.6:
            steps.append({"method": "POST", "path": collection, "body": body})
        else:
            change = {"spec": {key: dice.choice((value, value, None)) for key, value in body["spec"].items()}}
            headers = {"Content-Type": _MERGE}
            steps.append({"method": "PATCH", "path": f"{collection}/o", "body": change, "headers": headers})
    return steps


def definition(rules: list[dict[str, Any]]) -> dict[str, Any]:
    """A definition with fields of every type and these rules about them."""
    spec: dict[str, Any] = {"type": "object", "properties": _SPEC, "x-kubernetes-validations": rules}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{_GROUP}"},
        "spec": {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _rule(dice: Random) -> dict[str, Any]:
    made: dict[str, Any] = {"rule": dice.choice(_EXPRESSIONS)}
    if "oldSelf.hasValue" in made["rule"] or dice.random() < 0.05:
        made["optionalOldSelf"] = True
    if dice.random() < 0.3:
        made["message"] = dice.choice(("not so", "a\nb", " ", ""))
    if dice.random() < 0.3:
        made["messageExpression"] = dice.choice(("'n is ' + string(self.n)", "self.t", "1", "''", "self.l[7]", "nope"))
    if dice.random() < 0.2:
        made["reason"] = dice.choice(("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "Nope"))
    if dice.random() < 0.2:
        made["fieldPath"] = dice.choice((".n", ".m.a", ".k", ".nope", "n", ".l[0]"))
    return made


def _object(dice: Random) -> dict[str, Any]:
    return {key: dice.choice(values) for key, values in _VALUES.items() if dice.random() < 0.75}
