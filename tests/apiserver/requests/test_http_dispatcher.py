"""The HTTP dispatcher: what clients see of refusals, media types, warnings and broken requests."""

import asyncio
import gc
import json

import pytest

from karmada.apiserver.auth.model import ANONYMOUS, UserInfo
from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.overload.traffic import Traffic
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import StorageFailed
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse, StreamResponse

MAPS = "/api/v1/namespaces/default/configmaps"
WATCHED = "/api/v1/watch/namespaces/default/configmaps"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Client:
    """Calls the handler as the HTTP server would."""

    def __init__(self, server: ApiServer, user: UserInfo = ADMIN, traffic: Traffic | None = None) -> None:
        self.dispatcher = HttpDispatcher(server.dispatcher, lambda request: user, server.api_services, traffic)

    async def __call__(self, method: str, path: str, body: bytes | dict = b"", **headers: str) -> HttpResponse:
        path, _, query = path.partition("?")
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.dispatcher(HttpRequest(method, path, query, names, data, ("127.0.0.1", 1), None))
        assert isinstance(answer, HttpResponse)
        return answer


@pytest.fixture
def http(server) -> Client:
    return Client(server)


def decoded(answer: HttpResponse):
    return json.loads(answer.body)


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", f"{MAPS}/nope", 404, "NotFound"),
        ("GET", "/api/v1/nosuch", 404, "NotFound"),
        ("GET", "/apis/apps/v9/deployments", 404, "NotFound"),
        ("PUT", MAPS, 405, "MethodNotAllowed"),
        ("POST", f"{MAPS}/x", 405, "MethodNotAllowed"),
        ("DELETE", "/api/v1/configmaps", 405, "MethodNotAllowed"),
        ("FOO", MAPS, 405, "MethodNotAllowed"),
        ("POST", WATCHED, 405, "MethodNotAllowed"),
        ("DELETE", WATCHED, 405, "MethodNotAllowed"),
        ("PATCH", f"{WATCHED}/x", 405, "MethodNotAllowed"),
        ("GET", "/api/v1/watch/namespaces/default/pods/p/log", 404, "NotFound"),
        ("GET", "/api/v1/watch/namespaces/default/status", 404, "NotFound"),
        ("GET", f"{MAPS}?limit=x", 400, "BadRequest"),
    ],
)
async def test_refusals_are_statuses(http, method, path, code, reason):
    answer = await http(method, path)
    status = decoded(answer)
    assert (answer.status, status["kind"], status["reason"], status["code"]) == (code, "Status", reason, code)


async def steps() -> None:
    """A verdict on headers holds for a step or two of the event loop."""
    for _ in range(3):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("waits", "times"), [(False, 1), (True, 2)], ids=["at once", "later"])
async def test_a_request_with_a_body_is_judged_anew_unless_its_turn_comes_at_once(server, waits, times):
    asked = []

    def authenticate(request: HttpRequest) -> UserInfo:
        asked.append(request.path)
        return ADMIN

    http = HttpDispatcher(server.dispatcher, authenticate)
    request = HttpRequest("GET", "/version", "", {"content-length": "1"}, b"x", ("127.0.0.1", 1), None)
    assert isinstance(http.admit(request), int)
    if waits:
        await steps()
    assert (await http(request)).status == 200
    assert len(asked) == times


class Failing(MemoryStorage):
    """A storage whose disk is full."""

    async def check(self) -> None:
        raise StorageFailed("the disk is full")


@pytest.mark.parametrize(("page", "code"), [("readyz", 500), ("healthz", 500), ("livez", 200)])
async def test_a_server_whose_storage_fails_is_alive_but_not_ready(page, code):
    async with ApiServer(ApiServerOptions(storage=Failing(), controllers=False)) as server:
        answer = await Client(server)("GET", f"/{page}?verbose")
    assert answer.status == code
    assert (b"[-]etcd failed" in answer.body) == (code == 500)


@pytest.mark.usefixtures("what_is_older_is_kept")
@pytest.mark.parametrize(
    ("method", "path", "user"), [("POST", MAPS, ADMIN), ("GET", "/api/v1/nosuch", ADMIN), ("GET", MAPS, ANONYMOUS)]
)
async def test_a_request_that_was_answered_does_not_wait_for_the_collector(server, method, path, user):
    dispatcher = Client(server, user).dispatcher
    gc.collect()
    gc.disable()
    try:
        request = HttpRequest(method, path, "", {}, b'{"metadata":{"name":"a"}}', ("127.0.0.1", 1), None)
        if isinstance(dispatcher.admit(request), int):
            await dispatcher(request)
        del request
        await steps()
        assert not [one for one in gc.get_objects() if isinstance(one, HttpRequest)]
    finally:
        gc.enable()


async def test_an_unknown_group_is_a_plain_404(http):
    answer = await http("GET", "/apis/nosuch.group/v1/things")
    assert (answer.status, answer.body) == (404, b"404 page not found\n")


@pytest.mark.parametrize(
    ("body", "content_type", "code", "words"),
    [
        (b"{not json", "application/json", 400, "json parse error: invalid character 'n'"),
        (b"", "application/json", 400, "unexpected end of JSON input (<empty>)"),
        (b"[]", "application/json", 400, "cannot unmarshal array"),
        (b'{"metadata":{"name":"\xff"}}', "application/json", 422, "metadata.name: Invalid value"),
        (b"[" * 100_000, "application/json", 400, "exceeded max depth"),
        (b"a: b: c", "application/yaml", 400, "mapping values are not allowed"),
        (b"x", "text/plain", 415, "the body of the request was in an unknown format"),
        (b'{"kind":"Secret","apiVersion":"v1"}', "application/json", 400, "cannot be handled as a ConfigMap"),
        (b'{"data":{"a":1}}', "application/json", 400, "cannot unmarshal number into Go struct field ConfigMap.data"),
    ],
    ids=["syntax", "empty", "array", "utf-8", "depth", "yaml", "media type", "kind", "type"],
)
async def test_bad_bodies_are_distinguished(http, body, content_type, code, words):
    answer = await http("POST", MAPS, body, content_type=content_type)
    assert answer.status == code
    assert words in decoded(answer)["message"]


async def test_a_malformed_body_is_not_quoted_at_length(http):
    answer = await http("POST", MAPS, b"{" + b"x" * 1_000_000, content_type="application/json")
    assert len(answer.body) < 10_000


async def test_an_owner_is_named_once(http):
    owners = [{"apiVersion": "v1", "kind": "K", "name": name, "uid": uid} for name, uid in (("n", "u"), ("m", "w"))]
    metadata = {"name": "a", "ownerReferences": [*owners, dict(reversed(owners[0].items()))]}
    answer = await http("POST", MAPS, json.dumps({"metadata": metadata}).encode())
    assert decoded(answer)["metadata"]["ownerReferences"] == owners
    assert answer.headers["Warning"] == [
        '299 - ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and '
        'may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"'
    ]


async def test_unknown_and_duplicate_fields_warn_by_default_and_fail_when_strict(http):
    body = b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"},"bogus":1}'
    warned = await http("POST", f"{MAPS}?dryRun=All", body)
    assert warned.headers["Warning"] == ['299 - "duplicate field \\"data.k\\""', '299 - "unknown field \\"bogus\\""']
    refused = await http("POST", f"{MAPS}?fieldValidation=Strict", body)
    assert refused.status == 400
    assert 'strict decoding error: duplicate field "data.k", unknown field "bogus"' in decoded(refused)["message"]
    silent = await http("POST", f"{MAPS}?dryRun=All&fieldValidation=Ignore", body)
    assert "Warning" not in silent.headers


async def test_unknown_and_duplicate_fields_are_reported_in_their_order(http):
    body = b'{"metadata":{"name":"a"},"bogus":1,"data":{"k":"1","k":"2"},"more":[{"x":1}]}'
    refused = await http("POST", f"{MAPS}?fieldValidation=Strict", body)
    fields = 'unknown field "bogus", duplicate field "data.k", unknown field "more"'
    assert decoded(refused)["message"].endswith(f"strict decoding error: {fields}")


async def test_what_is_never_stored_has_no_rows(http):
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    body = b'{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}'
    refused = await http("POST", path, body, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert (refused.status, decoded(refused)["reason"]) == (406, "NotAcceptable")
    assert (await http("POST", path, body)).status == 201


async def test_yaml_in_and_out(http):
    created = await http("POST", MAPS, b"metadata: {name: a}\ndata: {k: v}\n", content_type="application/yaml")
    assert created.status == 201
    answer = await http("GET", f"{MAPS}/a", accept="application/yaml")
    assert answer.content_type == "application/yaml"
    assert b"  k: v\n" in answer.body


async def test_a_table_for_kubectl(http):
    await http("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    answer = decoded(await http("GET", MAPS, accept="application/json;as=Table;v=v1;g=meta.k8s.io"))
    assert answer["kind"] == "Table"
    assert [row["cells"][:2] for row in answer["rows"]] == [["a", 1]]


async def test_anonymous_sees_health_and_nothing_else(server):
    stranger = Client(server, ANONYMOUS)
    assert (await stranger("GET", "/readyz")).body == b"ok"
    assert (await stranger("GET", "/version")).status == 200
    assert (await stranger("GET", MAPS)).status == 403
    assert (await stranger("GET", "/metrics")).status == 403


async def test_a_watch_is_a_stream_of_lines(http):
    await http("POST", MAPS, {"metadata": {"name": "a"}})
    request = HttpRequest("GET", MAPS, "watch=1&timeoutSeconds=1", {}, b"", ("127.0.0.1", 1), None)
    answer = await http.dispatcher(request)
    assert isinstance(answer, StreamResponse)
    lines = b"".join([chunk async for chunk in answer.chunks]).splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["ADDED"]


async def test_discovery_in_both_forms(http):
    legacy = decoded(await http("GET", "/apis"))
    assert legacy["kind"] == "APIGroupList"
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    aggregated = await http("GET", "/apis", accept=accept)
    assert decoded(aggregated)["kind"] == "APIGroupDiscoveryList"
    assert "as=APIGroupDiscoveryList" in aggregated.content_type


@pytest.mark.parametrize("query", ["dryRun=", "dryRun=&dryRun=All", "dryRun=All&dryRun="])
async def test_nobody_writes_by_a_dry_run_that_is_spelt_wrong(http, query):
    await http("POST", MAPS, {"metadata": {"name": "kept"}})
    assert (await http("POST", f"{MAPS}?{query}", {"metadata": {"name": "x"}})).status == 422
    assert (await http("DELETE", f"{MAPS}/kept?{query}")).status == 422
    assert [item["metadata"]["name"] for item in decoded(await http("GET", MAPS))["items"]] == ["kept"]


async def test_of_a_repeated_parameter_the_first_counts(http):
    await http("POST", MAPS, {"metadata": {"name": "a", "labels": {"app": "a"}}})
    listed = decoded(await http("GET", f"{MAPS}?labelSelector=app%3Da&labelSelector=app%3Db"))
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
    assert (await http("GET", f"{MAPS}?limit=x&limit=1")).status == 400
    tried = await http("POST", f"{MAPS}?dryRun=All&dryRun=All", {"metadata": {"name": "b"}})
    assert (tried.status, (await http("GET", f"{MAPS}/b")).status) == (201, 404)


@pytest.mark.parametrize(
    ("text", "why"),
    [("%201", "invalid syntax"), ("1_0", "invalid syntax"), ("9" * 19, "value out of range"), ("9" * 5000, "range")],
)
async def test_numbers_in_a_query_are_plain_and_have_64_bits(http, text, why):
    answer = await http("GET", f"{MAPS}?limit={text}")
    assert (answer.status, decoded(answer)["message"].endswith(why)) == (400, True)


@pytest.mark.parametrize("query", ["uid=other", "resourceVersion=1", "resourceVersion=0"])
async def test_a_deletion_may_have_its_preconditions_in_the_query(http, query):
    made = decoded(await http("POST", MAPS, {"metadata": {"name": "a"}}))["metadata"]
    assert (await http("DELETE", f"{MAPS}/a?{query}")).status == 409
    fitting = f"uid={made['uid']}&resourceVersion={made['resourceVersion']}"
    assert (await http("DELETE", f"{MAPS}/a?{fitting}")).status == 200


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"preconditions": {"uid": 5}}, 400),
        ({"preconditions": {"resourceVersion": 5}}, 400),
        ({"preconditions": {"uid": ""}}, 409),
        ({"preconditions": {"uid": None}}, 200),
        ({"dryRun": [5]}, 400),
        ({"ignoreStoreReadErrorWithClusterBreakingPotential": "x"}, 400),
    ],
)
async def test_options_of_a_deletion_have_types(http, options, code):
    await http("POST", MAPS, {"metadata": {"name": "a"}})
    assert (await http("DELETE", f"{MAPS}/a", options)).status == code


async def test_one_object_is_read_and_not_watched_whatever_the_query_says(http):
    await http("POST", MAPS, {"metadata": {"name": "a"}})
    answer = await http("GET", f"{MAPS}/a?watch=true")
    assert decoded(answer)["kind"] == "ConfigMap"


async def test_media_types_are_read_in_any_case(http):
    body = {"metadata": {"name": "a"}}
    assert (await http("POST", MAPS, body, content_type="Application/JSON; charset=utf-8")).status == 201


AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("path", "accept"),
    [("/apis", AGGREGATED), ("/openapi/v3/apis/apps/v1", "*/*"), ("/openapi/v2", "application/json")],
)
async def test_a_large_document_is_not_sent_again_to_who_has_it(http, path, accept):
    first = await http("GET", path, accept=accept)
    tag = first.headers["ETag"]
    again = await http("GET", path, accept=accept, if_none_match=f'"other", {tag}')
    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
    assert (await http("GET", path, accept=accept, if_none_match='"other"')).body == first.body


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/openid/v1/jwks"])
async def test_what_tokens_are_checked_by_may_be_kept_for_an_hour(http, path):
    assert (await http("GET", path)).headers["Cache-Control"] == "public, max-age=3600"


@pytest.mark.parametrize("media", ["merge-patch", "strategic-merge-patch"])
async def test_what_a_patch_says_twice_is_reported(http, media):
    await http("POST", MAPS, {"metadata": {"name": "a"}})
    kind, body = f"application/{media}+json", b'{"data":{"k":"v","k":"w"}}'
    warned = await http("PATCH", f"{MAPS}/a", body, content_type=kind)
    assert (warned.status, warned.headers["Warning"]) == (200, ['299 - "duplicate field \\"data.k\\""'])
    assert "Warning" not in (await http("PATCH", f"{MAPS}/a?fieldValidation=Ignore", body, content_type=kind)).headers
    assert (await http("PATCH", f"{MAPS}/a?fieldValidation=Strict", body, content_type=kind)).status == 422


@pytest.mark.parametrize("query", ["", "?fieldValidation=Strict"])
async def test_what_is_no_character_is_replaced(http, query):
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"\xff\\ud800"}}'
    made = await http("POST", MAPS + query, body)
    assert (made.status, decoded(made)["data"]) == (201, {"k": "\ufffd\ufffd"})
    again = await http("PUT", f"{MAPS}/a{query}", body.replace(b"\xff", b"\xff\xfe"))
    assert decoded(again)["data"] == {"k": "\ufffd\ufffd\ufffd"}
    for media, patch in (
        ("merge-patch", b'{"data":{"k":"1\xff"}}'),
        ("strategic-merge-patch", b'{"data":{"k":"1\xff"}}'),
        ("json-patch", b'[{"op":"replace","path":"/data/k","value":"1\xff"}]'),
    ):
        found = await http("PATCH", f"{MAPS}/a{query}", patch, content_type=f"application/{media}+json")
        assert (found.status, decoded(found)["data"]) == (200, {"k": "1\ufffd"})


async def test_keys_that_are_the_same_without_what_is_no_character_are_duplicates(http):
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"\xff":"1","\xfe":"2"}}'
    refused = await http("POST", f"{MAPS}?fieldValidation=Strict", body)
    assert refused.status == 400
    assert "duplicate field" in decoded(refused)["message"]


ODD = b"""[{"op": "add", "zz": 1, "op": "test", "path": "/data/k", "value": "1", "Value": {"op": 1, "y": 1}},
 {"op":"add","path":"/data/l","value":{"a":1,"a":2},"value":"3","z":1,"z":2}, {"op":"add","path":"/bogus","value":1}]"""
SAID = [
    'json patch unknown field "[0].zz"',
    'json patch duplicate field "[0].op"',
    'json patch unknown field "[0].Value"',
    'json patch duplicate field "[1].value"',
    'json patch unknown field "[1].z"',
    'unknown field "bogus"',
]


async def test_odd_members_of_operations_bring_warnings_unless_they_are_refused(http):
    await http("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    media = {"content_type": "application/json-patch+json"}
    refused = await http("PATCH", f"{MAPS}/a?fieldValidation=Strict", ODD, **media)
    assert refused.status == 422
    assert all(text in decoded(refused)["message"] for text in SAID)
    quiet = await http("PATCH", f"{MAPS}/a?fieldValidation=Ignore", ODD, **media)
    assert "Warning" not in quiet.headers
    patched = await http("PATCH", f"{MAPS}/a", ODD, **media)
    assert (patched.status, decoded(patched)["data"]) == (200, {"k": "1", "l": "3"})
    assert patched.headers["Warning"] == [f"299 - {json.dumps(text)}" for text in SAID]
    usual = b'[{"op" : "add", "path":"/data/k","value":"\\" :2"}]'
    assert "Warning" not in (await http("PATCH", f"{MAPS}/a?fieldValidation=Strict", usual, **media)).headers


async def test_odd_members_of_operations_on_a_part_bring_warnings(http):
    await http("POST", "/api/v1/namespaces/default/pods", POD)
    patch = b'[{"op":"add","path":"/metadata/labels","value":{},"zz":1}]'
    path = "/api/v1/namespaces/default/pods/p/ephemeralcontainers"
    answer = await http("PATCH", path, patch, content_type="application/json-patch+json")
    assert answer.headers["Warning"] == [f"299 - {json.dumps(SAID[0])}"]


@pytest.mark.parametrize("more", ["---\nkind: Other\n", "---\n: : bad\n", "...\nfoo: bar\n"])
async def test_of_several_documents_the_first_counts(http, more):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n" + more
    for method, path, media in (
        ("POST", MAPS, "application/yaml"),
        ("PUT", f"{MAPS}/a", "application/yaml"),
        ("PATCH", f"{MAPS}/a?fieldManager=b", "application/apply-patch+yaml"),
    ):
        answer = await http(method, path, text.encode(), content_type=media)
        assert answer.status in (200, 201)
    assert decoded(await http("GET", f"{MAPS}/a"))["data"] == {"k": "v"}
    nothing = await http("POST", MAPS, b"---\n---\n" + text.encode(), content_type="application/yaml")
    assert (nothing.status, decoded(nothing)["reason"]) == (422, "Invalid")
