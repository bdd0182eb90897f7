"""HTTPRoutes: which are served, which are refused and why, and what becomes of requests."""

from typing import Any

import pytest
from tests.gateway.test_proxy import OK, Backends, gated, status
from tests.gateway.test_routes import ingress, path
from tests.growth import Work, excess, grows, work

from karmada.gateway.httproutes import MOST_PLACES, HttpRoute, read
from karmada.gateway.routes import HOST_FULL, HOST_TAKEN, MOST_CONDITIONS, PATH_TAKEN, IngressKey, Table, build
from karmada.gateway.rules import Backend
from karmada.machinery.httpserver.model import HttpRequest

JSONObject = dict[str, Any]
PARENT = {"name": "karmada"}


def ref(name: str, **more: Any) -> JSONObject:
    return {"name": name, "port": 80, **more}


def route(
    *rules: JSONObject, hosts: tuple[str, ...] = ("shop.org",), name: str = "web", space: str = "default", age: int = 0
) -> JSONObject:
    metadata = {"name": name, "namespace": space, "creationTimestamp": f"2026-01-01T00:00:{age:02}Z", "generation": 1}
    spec = {"parentRefs": [PARENT], "hostnames": list(hosts), "rules": list(rules)}
    return {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": metadata, "spec": spec}


def rule(*backends: JSONObject, filters: list[JSONObject] | None = None, **match: Any) -> JSONObject:
    made: JSONObject = {"backendRefs": list(backends)}
    if match:
        made["matches"] = [match]
    return made | ({"filters": filters} if filters else {})


def parsed(tree: JSONObject, *grants: JSONObject) -> HttpRoute:
    found = read(tree, "karmada", grants)
    assert found is not None
    return found


def table(*trees: JSONObject, ingresses: tuple[Any, ...] = ()) -> Table:
    found = [parsed(tree) for tree in trees]
    assert [each.refused for each in found] == [None] * len(found)
    return build(ingresses, "karmada", found)


def chosen_service(
    known: Table, at: str = "/", method: str = "GET", query: str = "", host: str = "shop.org", **headers: str
) -> str:
    """The first backend of the rule that a request meets."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = HttpRequest(method, at, query, named, b"", ("127.0.0.1", 1), None)
    found = known.match(host, at, request)
    if found is None:
        return ""
    backend = found.backend or (found.rule.split[0].backend if found.rule is not None else None)
    return backend.service if backend is not None else "none"


def prefix(value: str) -> JSONObject:
    return {"type": "PathPrefix", "value": value}


def test_paths_methods_headers_and_queries_decide_in_that_order() -> None:
    known = table(
        route(
            rule(ref("any")),
            rule(ref("exact"), path={"type": "Exact", "value": "/cart"}),
            rule(ref("prefix"), path=prefix("/cart")),
            rule(ref("query"), path=prefix("/cart"), queryParams=[{"name": "q", "value": "1"}]),
            rule(ref("header"), path=prefix("/cart"), headers=[{"name": "X-Env", "value": "canary"}]),
            rule(
                ref("headers"),
                path=prefix("/cart"),
                headers=[{"name": "X-Env", "value": "canary"}, {"name": "X-Team", "value": "a"}],
            ),
            rule(ref("method"), path=prefix("/cart"), method="POST"),
        )
    )
    assert chosen_service(known) == "any"
    assert chosen_service(known, "/cart") == "exact"
    assert chosen_service(known, "/cart/1") == "prefix"
    assert chosen_service(known, "/cartoon") == "any"
    assert chosen_service(known, "/cart/1", query="q=1&q=2") == "query"
    assert chosen_service(known, "/cart/1", query="q=2&q=1") == "prefix", "the first value of a parameter counts"
    assert chosen_service(known, "/cart/1", x_env="canary", query="q=1") == "header"
    assert chosen_service(known, "/cart/1", x_env="canary,other") == "prefix", "a repeated header is another value"
    assert chosen_service(known, "/cart/1", x_env="canary", x_team="a") == "headers"
    assert chosen_service(known, "/cart/1", "POST", x_env="canary") == "method"


def test_an_older_route_keeps_its_requests_and_a_host_its_namespace() -> None:
    old, late = (
        route(rule(ref("old")), age=1),
        route(rule(ref("late")), rule(ref("own"), path=prefix("/own")), name="late", age=2),
    )
    thief = route(rule(ref("thief")), hosts=("shop.org", "thief.org"), space="other", age=3)
    known = table(late, thief, old)

    assert chosen_service(known) == "old"
    assert chosen_service(known, "/own") == "own"
    assert chosen_service(known, host="thief.org") == "thief"
    reasons = {(key.namespace, key.name): [each.reason for each in found] for key, found in known.problems.items()}
    assert reasons == {("default", "web"): [], ("default", "late"): [PATH_TAKEN], ("other", "web"): [HOST_TAKEN]}


def test_ingresses_and_routes_share_hosts_by_age() -> None:
    served = ingress(("shop.org", [path("/", "ingress")]), age=1)
    late = route(rule(ref("late")), rule(ref("canary"), headers=[{"name": "x-env", "value": "canary"}]), age=2)
    known = table(late, ingresses=(served,))

    assert chosen_service(known) == "ingress"
    assert chosen_service(known, x_env="canary") == "canary"
    (problem,) = known.problems[IngressKey("default", "web", "HTTPRoute")]
    assert problem == (PATH_TAKEN, "shop.org/ is routed by default/web already")


@pytest.mark.parametrize(
    "parent", [{"name": "other"}, {"name": "karmada", "kind": "Service"}, {"name": "karmada", "group": ""}]
)
def test_routes_of_other_gateways_are_left_to_them(parent: JSONObject) -> None:
    tree = route(rule(ref("web")))
    tree["spec"]["parentRefs"] = [parent]
    assert read(tree, "karmada", ()) is None


def modifier(**fields: Any) -> list[JSONObject]:
    return [{"type": "RequestHeaderModifier", "requestHeaderModifier": fields}]


def rewrite(kind: str, value: str) -> list[JSONObject]:
    field = "replaceFullPath" if kind == "ReplaceFullPath" else "replacePrefixMatch"
    return [{"type": "URLRewrite", "urlRewrite": {"path": {"type": kind, field: value}}}]


REFUSED: dict[str, tuple[JSONObject, str]] = {
    "regular expression": (
        rule(ref("a"), path={"type": "RegularExpression", "value": ".*"}),
        "rules[0].matches[0].path.type",
    ),
    "header by pattern": (
        rule(ref("a"), headers=[{"type": "RegularExpression", "name": "a", "value": "(a+)+$"}]),
        "rules[0].matches[0].headers[0].type",
    ),
    "timeouts": (rule(ref("a")) | {"timeouts": {"request": "1s"}}, "unknown field `timeouts`"),
    "filter of a backend": (rule(ref("a", filters=[])), "unknown field `filters`"),
    "mirror": (rule(ref("a"), filters=[{"type": "RequestMirror", "requestMirror": {}}]), "rules[0].filters[0]"),
    "empty filter": (
        rule(ref("a"), filters=[{"type": "URLRewrite"}]),
        "spec.rules[0].filters[0]: URLRewrite says nothing",
    ),
    "path without a slash": (rule(ref("a"), path=prefix("cart")), "spec.rules[0].matches[0].path.value"),
    "no port": (rule({"name": "a"}), "spec.rules[0].backendRefs[0].port"),
    "weight": (rule(ref("a", weight=-1)), "rules[0].backendRefs[0].weight"),
    "wrong port type": (rule(ref("a", port="http")), "rules[0].backendRefs[0].port"),
    "impersonation": (
        rule(ref("a"), filters=modifier(set=[{"name": "Impersonate-User", "value": "admin"}])),
        "Impersonate-User is set by the gateway itself",
    ),
    "framing": (
        rule(ref("a"), filters=modifier(set=[{"name": "Transfer-Encoding", "value": "chunked"}])),
        "Transfer-Encoding is set by the gateway",
    ),
    "forged client": (
        rule(ref("a"), filters=modifier(add=[{"name": "x-forwarded-for", "value": "1.1.1.1"}])),
        "x-forwarded-for is set by the gateway",
    ),
    "split header": (
        rule(ref("a"), filters=modifier(set=[{"name": "x-a", "value": "1\r\nx-b: 2"}])),
        "control characters",
    ),
    "split name": (rule(ref("a"), filters=modifier(remove=["x-a\r\n"])), "is no name of a header"),
    "way out": (
        rule(ref("a"), filters=rewrite("ReplacePrefixMatch", "/../../other:80/proxy")),
        "must begin with a slash",
    ),
    "encoded way out": (rule(ref("a"), filters=rewrite("ReplaceFullPath", "/%2e%2e/x")), "must begin with a slash"),
    "query in a path": (rule(ref("a"), filters=rewrite("ReplaceFullPath", "/x?y")), "must begin with a slash"),
    "prefix of an exact path": (
        rule(ref("a"), path={"type": "Exact", "value": "/a"}, filters=rewrite("ReplacePrefixMatch", "/b")),
        "needs matches of type PathPrefix",
    ),
    "redirect elsewhere": (
        rule(filters=[{"type": "RequestRedirect", "requestRedirect": {"hostname": "a\r\nb"}}]),
        "is no host name",
    ),
    "scheme": (
        rule(filters=[{"type": "RequestRedirect", "requestRedirect": {"scheme": "javascript"}}]),
        "requestRedirect.scheme",
    ),
    "seventeen backends": (rule(*[ref("a")] * 17), "rules[0].backendRefs"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_not_supported_is_named_and_nothing_of_the_route_is_served(which: str) -> None:
    bad, text = REFUSED[which]
    good = route(rule(ref("good")), hosts=("good.org",), name="good")
    found = parsed(route(bad, rule(ref("plain"))))

    assert found.refused is not None
    assert found.refused.reason == "UnsupportedValue"
    assert text in found.refused.message
    known = build([], "karmada", [found, parsed(good)])
    assert chosen_service(known) == ""
    assert chosen_service(known, host="good.org") == "good"


@pytest.mark.parametrize(
    "spec", [{"hostnames": 5}, {"rules": {}}, {"rules": [7]}, {"hostnames": ["a b"]}, {"hostnames": ["*"]}]
)
def test_nonsense_is_refused_as_such(spec: JSONObject) -> None:
    tree = route(rule(ref("a")))
    tree["spec"] |= spec
    assert parsed(tree).refused is not None


def test_a_route_takes_a_bounded_part_of_the_table() -> None:
    matches = [{"path": prefix(f"/{number}")} for number in range(64)]
    tree = route(*[{"matches": matches, "backendRefs": [ref("a")]}] * 16, hosts=tuple(f"h{n}.org" for n in range(16)))
    refused = parsed(tree).refused
    assert refused is not None
    assert str(MOST_PLACES) in refused.message


def conditional(count: int, name: str = "web", age: int = 0, **fields: list[JSONObject]) -> HttpRoute:
    """A route whose rules are all for one path and need different headers."""
    matches = [{"headers": [{"name": "x", "value": f"{name}-{number}"}], **fields} for number in range(count)]
    parts = [matches[start : start + 64] for start in range(0, count, 64)]
    return parsed(route(*({"matches": part, "backendRefs": [ref("a")]} for part in parts), name=name, age=age))


def test_rules_at_one_path_cost_the_same_each_however_many_there_are() -> None:
    def measured(count: int) -> Work:
        found = conditional(count)
        return work(lambda: len(build([], "karmada", [found]).hosts))

    assert not grows(excess(measured) or Work(0, 0, 0))


def test_a_host_has_a_bounded_number_of_rules_that_a_request_is_compared_with() -> None:
    found = [conditional(1024, f"r{number}", number) for number in range(5)]
    free = parsed(route({"matches": [{"path": {"type": "Exact", "value": "/free"}}]}, name="free", age=9))
    known = build([], "karmada", [*found, free])
    assert known.hosts["shop.org"].conditions == MOST_CONDITIONS
    full = {key.name for key, problems in known.problems.items() if [one.reason for one in problems] == [HOST_FULL]}
    assert full == {"r4"}
    assert [one.ingress.name for one in known.hosts["shop.org"].exact["/free"]] == ["free"], "it has no condition"


def test_a_query_is_read_once_however_many_rules_look_at_it() -> None:
    matches = [{"queryParams": [{"name": "a", "value": str(number)}]} for number in range(64)]
    known = build([], "karmada", [parsed(route({"matches": matches}))])

    def looked_up(rules: int) -> float:
        query = "&".join(f"b{number}={rules}" for number in range(1000))
        request = HttpRequest("GET", "/", query, {}, b"", ("127.0.0.1", 1), None)
        routes = known.hosts["shop.org"].prefixes[""][:rules]
        return work(lambda: sum(one.conditions is None or one.conditions.hold(request) for one in routes)).calls

    assert looked_up(64) < 2 * looked_up(1)


def test_a_listener_that_does_not_exist_is_no_parent() -> None:
    tree = route(rule(ref("a")))
    tree["spec"]["parentRefs"] = [PARENT | {"sectionName": "https"}]
    refused = parsed(tree).refused
    assert refused is not None
    assert refused.reason == "NoMatchingParent"


def grant(space: str, source: str, **to: Any) -> JSONObject:
    sources = [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": source}]
    spec = {"from": sources, "to": [{"group": "", "kind": "Service"} | to]}
    return {"metadata": {"name": "g", "namespace": space}, "spec": spec}


@pytest.mark.parametrize(
    ("grants", "allowed"),
    [
        ([], False),
        ([grant("bank", "default")], True),
        ([grant("bank", "default", name="ledger")], True),
        ([grant("bank", "default", name="other")], False),
        ([grant("bank", "elsewhere")], False),
        ([grant("default", "default")], False),
        ([grant("bank", "default", kind="Secret")], False),
        ([grant("bank", "default", kind="ServiceImport", group="multicluster.x-k8s.io")], False),
    ],
)
def test_a_backend_of_another_namespace_needs_a_grant_there(grants: list[JSONObject], allowed: bool) -> None:
    found = parsed(route(rule(ref("ledger", namespace="bank"))), *grants)

    (placed,) = found.places
    assert placed.rule.split[0].backend == (Backend("bank", "ledger", 80) if allowed else None)
    assert [each.reason for each in found.unresolved] == ([] if allowed else ["RefNotPermitted"])


def test_weights_share_requests_and_backends_that_cannot_be_used_keep_theirs() -> None:
    found = parsed(
        route(rule(ref("a", weight=3), ref("b", weight=1), ref("c", weight=0), ref("x", kind="Pod", weight=4)))
    )

    (placed,) = found.places
    shares = [placed.rule.chosen(number / 8) for number in range(8)]
    assert [each.service if each else None for each in shares] == ["a"] * 3 + ["b"] + [None] * 4
    assert [each.reason for each in found.unresolved] == ["InvalidKind"]
    assert set(build([], "karmada", [found]).backends()) == {("default", "a", 80), ("default", "b", 80)}


# Requests that go through.


async def answered(tree: JSONObject, *request: Any, **more: Any) -> tuple[bytes, list[bytes]]:
    """What a client gets, and what the backend has seen."""
    known = table(tree)
    backends = Backends()
    await backends.add(OK)
    async with gated(backends, match=known.match, **more) as gate:
        return await gate.ask(*request), backends.seen


async def test_headers_are_changed_on_their_way() -> None:
    filters = modifier(
        set=[{"name": "X-Env", "value": "canary"}], add=[{"name": "X-Tag", "value": "b"}], remove=["X-Secret"]
    )
    reply, (seen,) = await answered(
        route(rule(ref("a"), filters=filters)), "GET", "/", "x-env: forged", "x-tag: a", "x-secret: s"
    )
    assert status(reply) == 200
    assert b"x-env: canary\r\n" in seen
    assert b"x-tag: a,b\r\n" in seen
    assert b"secret" not in seen
    assert b"forged" not in seen


@pytest.mark.parametrize(
    ("kind", "value", "path", "seen"),
    [
        ("ReplacePrefixMatch", "/new", "/old/a%20b?x=%20", b"/new/a%20b?x=%20"),
        ("ReplacePrefixMatch", "/", "/old/a", b"/a"),
        ("ReplacePrefixMatch", "/new/", "/old", b"/new"),
        ("ReplaceFullPath", "/only", "/old/a?x=1", b"/only?x=1"),
    ],
)
async def test_paths_are_replaced(kind: str, value: str, path: str, seen: bytes) -> None:
    tree = route(rule(ref("a"), path=prefix("/old"), filters=rewrite(kind, value)))
    _, (got,) = await answered(tree, "GET", path)
    assert got.split(b" ")[1] == seen


async def test_a_beginning_that_cannot_be_read_is_not_replaced() -> None:
    tree = route(rule(ref("a"), path=prefix("/old"), filters=rewrite("ReplacePrefixMatch", "/new")))
    reply, seen = await answered(tree, "GET", "/old%2Fpart/x")
    assert status(reply) in (400, 404)
    assert seen == []


async def test_another_host_is_passed_on_and_the_requested_one_forwarded() -> None:
    filters = [{"type": "URLRewrite", "urlRewrite": {"hostname": "inside.org"}}]
    _, (seen,) = await answered(route(rule(ref("a"), filters=filters)), "GET", "/")
    assert b"Host: inside.org\r\n" in seen
    assert b"X-Forwarded-Host: shop.org\r\n" in seen


@pytest.mark.parametrize(
    ("expected", "path", "code", "location"),
    [
        ({"scheme": "https"}, "/a?b=1", 302, b"https://shop.org/a?b=1"),
        ({"hostname": "new.org", "statusCode": 301}, "/a", 301, b"http://new.org/a"),
        ({"port": 8080}, "/a", 302, b"http://shop.org:8080/a"),
        ({"scheme": "https", "port": 443}, "/a", 302, b"https://shop.org/a"),
        ({"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/b"}}, "/old/a", 302, b"http://shop.org/b/a"),
    ],
)
async def test_clients_are_sent_elsewhere(expected: JSONObject, path: str, code: int, location: bytes) -> None:
    filters = [{"type": "RequestRedirect", "requestRedirect": expected}]
    at = "/old" if "path" in expected else "/"
    reply, seen = await answered(route(rule(path=prefix(at), filters=filters)), "GET", path)
    assert status(reply) == code
    assert b"location: " + location + b"\r\n" in reply.replace(b"Location", b"location")
    assert seen == []


async def test_a_route_without_a_backend_that_can_be_used_fails_by_itself() -> None:
    reply, seen = await answered(route(rule(ref("ledger", namespace="bank"))), "GET", "/")
    assert status(reply) == 500
    assert seen == []
