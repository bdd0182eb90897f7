"""Who may have sent a request, by what browsers say about it; and what Secrets show."""

import orjson
import pytest

from karmada.dashboard.guard import from_elsewhere, has_csrf, known_host, same_origin
from karmada.dashboard.redaction import REDACTED, redacted

HOST = {"host": "127.0.0.1:8443"}


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:8443", True),
        ("[::1]:8443", True),
        ("localhost:8443", True),
        ("LOCALHOST", True),
        ("karmada.example.com:8443", True),
        ("evil.example.com:8443", False),
        ("localhost.evil.example.com", False),
        ("127.0.0.1.nip.io:8443", False),
        ("127.0.0.1@evil.example.com", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_only_names_of_this_server_are_answered(host: str, known: bool) -> None:
    assert known_host({"host": host}, {"karmada.example.com"}) is known


@pytest.mark.parametrize(
    ("headers", "same"),
    [
        ({}, True),
        ({"origin": "https://127.0.0.1:8443"}, True),
        ({"origin": "https://127.0.0.1:8443", "sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"origin": "https://127.0.0.1"}, False),
        ({"origin": "https://evil.example.com"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"origin": "https://127.0.0.1:8443.evil.example.com"}, False),
        ({"origin": "https://127.0.0.1:8443", "sec-fetch-site": "cross-site"}, False),
        ({"origin": "https://127.0.0.1:8443", "sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
    ],
)
def test_requests_of_other_sites_are_recognised(headers: dict[str, str], same: bool) -> None:
    assert same_origin(HOST | headers) is same


def test_websockets_must_say_where_they_come_from() -> None:
    assert not same_origin(HOST, demanded=True)
    assert not same_origin(HOST | {"origin": "https://evil.example.com"}, demanded=True)
    assert same_origin(HOST | {"origin": "https://127.0.0.1:8443"}, demanded=True)


def test_links_of_other_sites_are_recognised() -> None:
    assert from_elsewhere({"sec-fetch-site": "cross-site"})
    assert not from_elsewhere({})
    assert not from_elsewhere({"sec-fetch-site": "none"})


def test_an_absent_or_foreign_csrf_value_does_not_count() -> None:
    assert has_csrf({"x-karmada-csrf": "abc"}, "abc")
    assert not has_csrf({}, "abc")
    assert not has_csrf({"x-karmada-csrf": "ab\u00e9"}, "abc")


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}}
LAST = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.mark.parametrize(
    "tree",
    [
        SECRET,
        {**SECRET, "data": None, "stringData": {"password": "aHVudGVyMg=="}},
        {"kind": "SecretList", "items": [{"kind": "Secret", "data": {"password": "aHVudGVyMg=="}}]},
        {"kind": "SecretList", "items": [{"metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}}]},
        {"kind": "Work", "spec": {"workload": {"manifests": [SECRET]}}},
        {"kind": "Secret", "metadata": {"annotations": {LAST: '{"kind":"Secret","data":{"p":"aHVudGVyMg=="}}'}}},
        {"kind": "ConfigMap", "data": {"backup.json": '[{"kind":"Secret","data":{"p":"aHVudGVyMg=="}}]'}},
        {"kind": "ConfigMap", "data": {"cut.json": '{"kind":"Secret","data":{"p":"aHVudGVyMg=="'}},
        {"kind": "ConfigMap", "data": {"b.yaml": "kind: Secret\napiVersion: v1\ndata:\n  p: aHVudGVyMg==\n"}},
        {
            "kind": "Work",
            "metadata": {"annotations": {LAST: orjson.dumps({"x": orjson.dumps(SECRET).decode()}).decode()}},
        },
    ],
)
def test_secrets_are_hidden_wherever_they_are(tree: dict[str, object]) -> None:
    assert "aHVudGVyMg" not in str(redacted(tree))


def test_what_is_no_secret_is_shown_as_it_is() -> None:
    tree = {"kind": "ConfigMap", "data": {"a": "b", "about": "kinds of Secrets {}"}, "items": [1, None, True]}
    assert redacted(tree) == tree
    assert redacted(SECRET)["data"] == {"password": REDACTED}
    nested: dict[str, object] = {}
    for _ in range(200):
        nested = {"a": nested}
    assert "redacted" in str(redacted(nested))
