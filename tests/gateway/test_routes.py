"""Which backend a request goes to."""

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.growth import Work, counted, excess, grows, work

from karmada.api.networking.v1alpha1 import MultiClusterIngress
from karmada.gateway.forwarding import host_of
from karmada.gateway.reconcilers import GatewayReconcilers, ServiceState
from karmada.gateway.routes import HOST_TAKEN, PATH_TAKEN, PATH_TOO_LONG, UNSUPPORTED, IngressKey, Table, build
from karmada.gateway.status import states_of

SOME = IngressKey("default", "web")


def path(text: str, service: str, kind: str = "Prefix") -> dict[str, Any]:
    return {"path": text, "pathType": kind, "backend": {"service": {"name": service, "port": {"number": 80}}}}


def ingress(
    *rules: tuple[str, list[dict[str, Any]]],
    name: str = "web",
    namespace: str = "default",
    age: int = 0,
    wrapped: bool = False,
    **more: Any,
) -> MultiClusterIngress:
    spec = {"rules": [{"host": host, "http": {"paths": paths}} for host, paths in rules], **more}
    tree = {
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": f"2026-01-01T00:00:{age:02}Z"},
        "spec": {"template": {"spec": spec}} if wrapped else spec,
    }
    return msgspec.convert(tree, MultiClusterIngress)


def service(table: Table, host: str, at: str) -> str:
    found = table.match(host, at)
    return found.backend.service if found is not None and found.backend is not None else ""


@pytest.mark.parametrize("wrapped", [False, True])
def test_both_forms_of_an_ingress_route(wrapped: bool) -> None:
    table = build([ingress(("nginx.example.com", [path("/", "nginx-mcs")]), wrapped=wrapped)])
    assert service(table, "nginx.example.com", "/any/thing") == "nginx-mcs"
    assert table.match("other.example.com", "/") is None


@pytest.mark.parametrize(
    ("kind", "pattern", "requested", "matches"),
    [
        ("Prefix", "/", "/foo/bar", True),
        ("Exact", "/foo", "/foo", True),
        ("Exact", "/foo", "/foo/", False),
        ("Exact", "/foo/", "/foo", False),
        ("Prefix", "/foo", "/foo/", True),
        ("Prefix", "/foo/", "/foo", True),
        ("Prefix", "/aaa/bb", "/aaa/bbb", False),
        ("Prefix", "/aaa/bbb", "/aaa/bbb/ccc", True),
        ("Prefix", "/aaa/bbb/", "/aaa/bbbxyz", False),
        ("Prefix", "/foo", "/Foo", False),
        ("ImplementationSpecific", "", "/x", True),
        ("ImplementationSpecific", "/x", "/x/y", True),
    ],
)
def test_paths_match_as_the_ingress_api_says(kind: str, pattern: str, requested: str, matches: bool) -> None:
    table = build([ingress(("a", [path(pattern, "s", kind)]))])
    assert (table.match("a", requested) is not None) == matches


def test_exact_wins_over_the_longest_prefix() -> None:
    rules = [path("/", "root"), path("/a", "short"), path("/a/b", "long"), path("/a/b", "exact", "Exact")]
    table = build([ingress(("h", rules))])
    expected = {"/": "root", "/a": "short", "/a/c": "short", "/a/b": "exact", "/a/b/": "long", "/a/b/c": "long"}
    assert {at: service(table, "h", at) for at in expected} == expected


def test_the_most_specific_host_decides() -> None:
    table = build(
        [ingress(("a.x.org", [path("/", "own")]), ("*.x.org", [path("/", "wild")]), ("", [path("/", "any")]))]
    )
    expected = {"a.x.org": "own", "A.X.ORG": "own", "b.x.org": "wild", "a.b.x.org": "any", "x.org": "any", "": "any"}
    assert {host: service(table, host, "/") for host in expected} == expected


def test_a_default_backend_answers_what_no_rule_does() -> None:
    backend = {"service": {"name": "fallback", "port": {"name": "http"}}}
    table = build([ingress(("a", [path("/x", "x")]), defaultBackend=backend)])
    assert [service(table, *requested) for requested in (("a", "/x"), ("a", "/y"), ("b", "/"))] == [
        "x",
        "fallback",
        "fallback",
    ]
    assert table.match("b", "/").backend.port == "http"  # type: ignore[union-attr]


def test_a_default_backend_does_not_answer_for_a_host_of_another_namespace() -> None:
    backend = {"service": {"name": "evil", "port": {"number": 80}}}
    catching = ingress(namespace="two", age=1, defaultBackend=backend)
    theirs = ingress(("a", [path("/x", "x")]), ("*.b", [path("/x", "x")]), namespace="one", age=2)
    anybody = ingress(("", [path("/x", "x")]), namespace="one", name="any", age=3)
    table = build([catching, theirs, anybody])
    asked = [("a", "/x"), ("a", "/y"), ("c.b", "/y"), ("z", "/y")]
    assert [service(table, *requested) for requested in asked] == ["x", "", "", "evil"]


def test_a_host_belongs_to_the_namespace_that_named_it_first_and_other_routes_stay() -> None:
    theirs = ingress(("a", [path("/", "good")]), namespace="one", age=1)
    mine = ingress(("a", [path("/login", "evil")]), ("b", [path("/", "mine")]), namespace="two", age=2)
    table = build([mine, theirs])
    assert (service(table, "a", "/login"), service(table, "b", "/")) == ("good", "mine")
    (problem,) = table.problems[IngressKey("two", "web")]
    assert problem.reason == HOST_TAKEN
    assert "one/web" in problem.message
    assert table.problems[IngressKey("one", "web")] == []


def test_the_older_ingress_of_a_namespace_keeps_a_path() -> None:
    first = ingress(("a", [path("/x", "first")]), name="first", age=1)
    second = ingress(("a", [path("/x", "second"), path("/y", "second")]), name="second", age=2)
    table = build([second, first])
    assert (service(table, "a", "/x"), service(table, "a", "/y")) == ("first", "second")
    assert [problem.reason for problem in table.problems[IngressKey("default", "second")]] == [PATH_TAKEN]


def test_what_is_no_service_is_named_and_the_rest_is_served() -> None:
    odd = {"path": "/bucket", "pathType": "Prefix", "backend": {"resource": {"kind": "Bucket", "name": "b"}}}
    table = build([ingress(("a", [odd, path("/", "web")]))])
    assert service(table, "a", "/bucket") == "web"
    assert [problem.reason for problem in table.problems[SOME]] == [UNSUPPORTED]


def test_ingresses_of_another_class_are_left_to_others() -> None:
    table = build([ingress(("a", [path("/", "web")]), ingressClassName="nginx")], "karmada")
    assert table.hosts == {}


def test_a_path_so_deep_that_looking_for_it_takes_long_is_named_and_not_served() -> None:
    table = build([ingress(("a", [path("/a" * 513, "deep"), path("/a", "web")]))])
    assert [problem.reason for problem in table.problems[SOME]] == [PATH_TOO_LONG]
    assert table.hosts["a"].depth == 1
    assert service(table, "a", "/a" * 513) == "web"


def test_the_users_of_a_backend_are_found_without_comparing_each_with_all_others() -> None:
    def measured(count: int) -> Work:
        table = build([ingress(("a", [path(f"/{n}", "web")]), name=counted(f"w{n}")) for n in range(count)])
        return work(lambda: len(table.backends()))

    assert not grows(excess(measured) or Work(0, 0, 0))


def test_the_services_of_an_ingress_are_found_without_looking_at_those_of_all_others() -> None:
    def measured(count: int) -> Work:
        table = build([ingress(("a", [path(f"/{n}", f"s{n}")]), name=f"w{n}") for n in range(count)])
        known = {("default", f"s{n}"): ServiceState(("m1",)) for n in range(count)}
        reconcilers = cast(GatewayReconcilers, SimpleNamespace(table=table, states=known))
        assert states_of(reconcilers, IngressKey("default", "w3")) == {("default", "s3"): ServiceState(("m1",))}
        keys = [IngressKey("default", f"w{n}") for n in range(count)]
        return work(lambda: sum(len(states_of(reconcilers, key)) for key in keys))

    assert not grows(excess(measured) or Work(0, 0, 0))


def test_certificates_are_for_hosts_of_the_own_namespace_only() -> None:
    owner = ingress(("a", [path("/", "s")]), namespace="one", age=1, tls=[{"secretName": "own"}])
    thief = ingress(("b", [path("/", "s")]), namespace="two", age=2, tls=[{"hosts": ["a", "b"], "secretName": "mitm"}])
    table = build([owner, thief])
    assert {host: found.secret for host, found in table.certificates.items()} == {"a": "own", "b": "mitm"}


@pytest.mark.parametrize("hosts", [["a"], ["A"], []], ids=["its name", "in capitals", "all hosts"])
def test_who_asks_first_for_the_certificate_of_a_host_of_others_does_not_get_it(hosts: list[str]) -> None:
    squatter = ingress(name="old", namespace="two", age=1, tls=[{"hosts": hosts, "secretName": "mitm"}])
    rules = (("a", [path("/", "s")]), ("", [path("/", "s")]))
    owner = ingress(*rules, namespace="one", age=2, tls=[{"secretName": "own"}])
    table = build([squatter, owner])
    assert {host: found.secret for host, found in table.certificates.items()} == {"a": "own", "": "own"}


def test_a_certificate_may_be_for_all_names_beside_an_own_host_and_not_beside_those_of_others() -> None:
    squatter = ingress(name="old", namespace="two", age=1, tls=[{"hosts": ["*.org"], "secretName": "mitm"}])
    tls = [{"hosts": ["*.org"], "secretName": "own"}]
    owner = ingress(("a.org", [path("/", "s")]), namespace="one", age=2, tls=tls)
    table = build([squatter, owner])
    assert {host: found.secret for host, found in table.certificates.items()} == {"*.org": "own"}


def test_a_certificate_for_hosts_without_rules_is_that_of_the_owner_of_the_default_backend() -> None:
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    squatter = ingress(name="old", namespace="two", age=1, tls=[{"secretName": "mitm"}])
    owner = ingress(namespace="one", age=2, defaultBackend=backend, tls=[{"secretName": "own"}])
    table = build([squatter, owner])
    assert {host: found.secret for host, found in table.certificates.items()} == {"": "own"}


@pytest.mark.parametrize(
    ("header", "host"), [("A.org:8080", "a.org"), ("a.org.", "a.org"), ("[::1]:80", "::1"), ("", "")]
)
def test_the_host_of_a_header(header: str, host: str) -> None:
    assert host_of(header) == host


PARTS = st.lists(st.sampled_from(["a", "b", "ab", ""]), max_size=4)
PATHS = PARTS.map(lambda parts: "/" + "/".join(parts))
HOSTS = st.sampled_from(["", "x.org", "*.org", "*.x.org", "a.x.org"])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(HOSTS, PATHS, st.sampled_from(["Exact", "Prefix"])), max_size=8),
    st.sampled_from(["x.org", "a.x.org", "b.x.org", "deep.a.x.org", "org", ""]),
    PATHS,
)
def test_the_table_finds_what_comparing_every_rule_finds(
    rules: list[tuple[str, str, str]], host: str, requested: str
) -> None:
    table = build([ingress(*((h, [path(p, f"s{n}", kind)]) for n, (h, p, kind) in enumerate(rules)))])

    def covers(pattern: str) -> bool:
        return pattern in ("", host) or (
            pattern.startswith("*.") and host.partition(".")[2] == pattern[2:] and host.partition(".")[0] != ""
        )

    def specific(pattern: str) -> int:
        return 2 if pattern and pattern == host else 1 if pattern else 0

    def matches(pattern: str, kind: str) -> bool:
        if kind == "Exact":
            return pattern == requested
        wanted = pattern.rstrip("/").split("/")
        return requested.split("/")[: len(wanted)] == wanted

    best = max((specific(h) for h, _, _ in rules if covers(h)), default=-1)
    found = [
        (kind == "Exact", len(p.rstrip("/")), -n)
        for n, (h, p, kind) in enumerate(rules)
        if covers(h) and specific(h) == best and matches(p, kind)
    ]
    expected = f"s{-max(found)[2]}" if found else ""
    assert service(table, host, requested) == expected
