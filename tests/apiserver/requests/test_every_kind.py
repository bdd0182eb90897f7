"""Whatever a client sends to any kind, the server answers with a verdict, never with a failure of its own."""

import json

import pytest

from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.server import ADMIN
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse

ODD = {
    "rules": [{}],
    "webhooks": [{}],
    "subjects": [{}],
    "roleRef": {},
    "endpoints": [{}],
    "ports": [{}],
    "subsets": [{}],
    "data": {"a": "b"},
    "spec": {
        "limits": [{}],
        "versions": [{}],
        "names": {},
        "ports": [{}],
        "rules": [{}],
        "validations": [{}],
        "hard": {"a": "b"},
        "taints": [{}],
        "containers": [{}],
        "metrics": [{}],
    },
}
BODIES = {
    "empty": {},
    "named": {"metadata": {"name": "a"}},
    "empty-spec": {"metadata": {"name": "b"}, "spec": {}},
    "nulls": {"metadata": {"name": "c"}, "spec": None, "status": None},
    "template": {"metadata": {"name": "d"}, "spec": {"replicas": 1, "selector": {}, "template": {}}},
    "odd": {"metadata": {"name": "e"}, **ODD},
}
PATCHES = {
    "application/merge-patch+json": {"metadata": {"labels": {"a": "b"}}},
    "application/strategic-merge-patch+json": {"spec": {"x": 1}},
    "application/json-patch+json": [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}],
}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
def call(server):
    dispatcher = HttpDispatcher(server.dispatcher, lambda request: ADMIN, server.api_services)

    async def send(method: str, path: str, body=None, **headers: str) -> HttpResponse:
        data = b"" if body is None else json.dumps(body).encode()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await dispatcher(HttpRequest(method, path, "", names, data, ("127.0.0.1", 1), None))
        assert isinstance(answer, HttpResponse)
        assert b"its log says why" not in answer.body, (method, path, body)
        return answer

    return send


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_every_kind_answers_every_request(server, call, body):
    for served in list(server.catalog):
        type_ = served.type
        root = f"/apis/{type_.group}" if type_.group else "/api"
        path = f"{root}/{type_.version}{'/namespaces/default' if type_.namespaced else ''}/{type_.plural}"
        await call("POST", path, body)
        await call("GET", path, accept=TABLE)
        listed = await call("GET", path)
        items = json.loads(listed.body).get("items") or [] if listed.status == 200 else []
        for item in items[:3]:
            name = item["metadata"]["name"]
            for content_type, patch in PATCHES.items():
                await call("PATCH", f"{path}/{name}", patch, content_type=content_type)
            await call("GET", f"{path}/{name}", accept=TABLE)
