"""Requests that once cost the server far more than they cost their sender, of any size."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import orjson
from tests.fuzz.server import request

_DEFAULT = "/api/v1/namespaces/default"
_MAPS = f"{_DEFAULT}/configmaps"
_JSON = "application/json"
_FORCED = "&fieldManager=x&force=true"
LARGE_MAP = 40_000
"""Keys of the ConfigMap `large`, which patches go to."""
LONG_LIST = 2_000
"""Variables of the pod `long`."""


class Attack(NamedTuple):
    """`build` makes a request of a size; `size` takes well under a second now and took many before."""

    name: str
    size: int
    build: Callable[[int], bytes]


def config_map(name: str, fields: str = "", **more: Any) -> bytes:
    """A ConfigMap, with JSON members put into it as they are."""
    obj = orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more})
    return obj if not fields else obj[:-1] + b"," + fields.encode() + b"}"


def pod(name: str, env: Iterable[dict[str, Any]]) -> bytes:
    """A pod whose container has these variables."""
    spec = {"containers": [{"name": "c", "image": "i", "env": list(env)}]}
    return orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def setup() -> list[bytes]:
    """What the attacks need to exist."""
    large = config_map("large", data={f"k{i}": "v" * 20 for i in range(LARGE_MAP)})
    long = pod("long", ({"name": f"E{i}", "value": "x"} for i in range(LONG_LIST)))
    return [request("POST", _MAPS, large, _JSON), request("POST", f"{_DEFAULT}/pods", long, _JSON)]


def _create(body: bytes, media: str = _JSON, options: str = "", plural: str = "configmaps") -> bytes:
    return request("POST", f"{_DEFAULT}/{plural}?dryRun=All{options}", body, media)


def _patch(body: Any, media: str, path: str = "configmaps/large", options: str = "") -> bytes:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return request("PATCH", f"{_DEFAULT}/{path}?dryRun=All{options}", data, f"application/{media}")


def _aliases(n: int) -> bytes:
    return f"{_HEAD}data:\n  a: &a [{'x,' * n}]\n  b: [{'*a,' * 95}]\n".encode()


_HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aliases}\n"


def _owners(n: int) -> bytes:
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True}
    owners = [{**owner, "name": f"x{i}", "uid": f"u{i}"} for i in range(n)]
    metadata = {"name": "u", "ownerReferences": owners, "finalizers": [f"f/{i}" for i in range(n)]}
    return _create(config_map("u", metadata=metadata))


def _managers(n: int) -> bytes:
    entry = {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    entries = [{**entry, "manager": f"m{i}", "fieldsV1": {"f:data": {f"f:k{i}": {}}}} for i in range(n)]
    return _patch({"metadata": {"managedFields": entries}}, "merge-patch+json")


def _operations(n: int, **operation: str) -> bytes:
    made = [{key: value.replace("#", str(i)) for key, value in operation.items()} for i in range(n)]
    return _patch(made, "json-patch+json")


def _deletions(n: int) -> bytes:
    env = [{"name": f"E{i}", "$patch": "delete"} for i in range(n)]
    patch = {"spec": {"containers": [{"name": "c", "env": env}]}}
    return _patch(patch, "strategic-merge-patch+json", "pods/long")


def _inserts(n: int) -> bytes:
    made = [{"op": "add", "path": "/spec/containers/0/env/0", "value": {"name": f"N{i}"}} for i in range(n)]
    return _patch(made, "json-patch+json", "pods/long")


def _finalizers(n: int) -> bytes:
    patch = {"metadata": {"finalizers": [f"a/{i}" for i in range(n)]}}
    return _patch(patch, "strategic-merge-patch+json", "pods/long")


def _keys(n: int, value: str = "1") -> str:
    return ",".join(f'"u{i}":{value}' for i in range(n))


def _twice(n: int) -> str:
    return ",".join(f'"u{i // 2}":"x"' for i in range(n))


ATTACKS = [
    Attack("yaml-aliases", 60_000, lambda n: _create(_aliases(n), "application/yaml")),
    Attack("yaml-plain", 80_000, lambda n: _create(f"{_HEAD}{_lines(n)}".encode(), "application/yaml")),
    Attack("yaml-flow", 250_000, lambda n: _create(f"{_HEAD}data: [{'a,' * n}]".encode(), "application/yaml")),
    Attack("yaml-nested-flow", 40_000, lambda n: _create(f"{_HEAD}data: {'[' * n}".encode(), "application/yaml")),
    Attack("yaml-nested-block", 40_000, lambda n: _create(f"{'- ' * n}a".encode(), "application/yaml")),
    Attack("yaml-merges", 20_000, lambda n: _create(f"{_HEAD}data: {{{_merges(n)}}}".encode(), "application/yaml")),
    Attack("unknown-fields", 100_000, lambda n: _create(config_map("u", _keys(n)))),
    Attack("unknown-strict", 100_000, lambda n: _create(config_map("u", _keys(n)), options="&fieldValidation=Strict")),
    Attack(
        "unknown-in-list", 20_000, lambda n: _create(pod("u", ({"name": "a", "x": 1} for _ in range(n))), plural="pods")
    ),
    Attack("duplicate-fields", 50_000, lambda n: _create(config_map("u", f'"data":{{{_twice(n)}}}'))),
    Attack("nested-json", 100_000, lambda n: _create(config_map("u", f'"data":{"[" * n}'))),
    Attack("patch-copies", 4_000, lambda n: _operations(n, op="copy", **{"from": "/data/k0", "path": "/data/c#"})),
    Attack("patch-adds", 4_000, lambda n: _operations(n, op="add", path="/data/c#", value="x")),
    Attack("patch-tests", 9_000, lambda n: _operations(n, op="test", path="/data/k0", value="v" * 20)),
    Attack("patch-inserts", 9_000, _inserts),
    Attack("strategic-deletions", 8_000, _deletions),
    Attack("strategic-finalizers", 10_000, _finalizers),
    Attack("owners", 4_000, _owners),
    Attack("managers", 8_000, _managers),
    Attack(
        "apply-json", 40_000, lambda n: _patch(_applied(n), "apply-patch+yaml", options="&fieldManager=x&force=true")
    ),
    Attack("create", 40_000, lambda n: _create(config_map("c", data={f"k{i}": "v" for i in range(n)}))),
    Attack("label-values", 10_000, lambda n: request("GET", f"{_MAPS}?labelSelector=a%20in%20({_numbers('v#', n)})")),
    Attack("label-requirements", 9_000, lambda n: request("GET", f"{_MAPS}?labelSelector={_numbers('k#!=v', n)}")),
    Attack("field-terms", 4_000, lambda n: request("GET", f"{_MAPS}?fieldSelector={_numbers('metadata.name!=v#', n)}")),
]


def _lines(n: int) -> str:
    return "data:\n" + "".join(f"  key{i}: value{i}\n" for i in range(n))


def _merges(n: int) -> str:
    return "".join(f"<<: {{q{i}: 1}}, " for i in range(n))


def _applied(n: int) -> bytes:
    return config_map("large", data={f"k{i}": "w" for i in range(n)})


def _numbers(form: str, n: int) -> str:
    return ",".join(form.replace("#", str(i)) for i in range(n))
