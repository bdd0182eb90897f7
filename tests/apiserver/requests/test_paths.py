"""Which resource a URL path names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.apiserver.requests.paths import ResourcePath, format_path, parse


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", ResourcePath("", "v1", "pods")),
        ("/api/v1/namespaces", ResourcePath("", "v1", "namespaces")),
        ("/api/v1/namespaces/a", ResourcePath("", "v1", "namespaces", "", "a")),
        ("/api/v1/namespaces/a/status", ResourcePath("", "v1", "namespaces", "", "a", "status")),
        ("/api/v1/namespaces/a/finalize", ResourcePath("", "v1", "namespaces", "", "a", "finalize")),
        ("/api/v1/namespaces/a/pods", ResourcePath("", "v1", "pods", "a")),
        ("/api/v1/namespaces/a/pods/", ResourcePath("", "v1", "pods", "a")),
        ("/api/v1/namespaces/a/pods/p/log", ResourcePath("", "v1", "pods", "a", "p", "log")),
        (
            "/api/v1/namespaces/a/services/s/proxy/x/y",
            ResourcePath("", "v1", "services", "a", "s", "proxy", "x/y"),
        ),
        ("/apis/apps/v1/namespaces/a/deployments/d", ResourcePath("apps", "v1", "deployments", "a", "d")),
        ("/apis/apps/v1/deployments", ResourcePath("apps", "v1", "deployments")),
        ("/api/v1/watch/namespaces/a/pods", ResourcePath("", "v1", "pods", "a", watch=True)),
        ("/api/v1/namespaces/a/configmaps/x%2Fy", ResourcePath("", "v1", "configmaps", "a", "x%2Fy")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_path_names_its_resource(path, expected):
    assert parse(path) == expected


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/api/v1/", "/apis", "/apis/apps", "/apis/apps/v1", "/version"]
)
def test_other_paths_name_none(path):
    assert parse(path) is None


names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-.", min_size=1).filter(
    lambda name: name not in ("watch", "status", "finalize")
)


@given(names, names, names, names, names)
def test_formatting_is_the_way_back(group, version, resource, namespace, name):
    path = ResourcePath(group, version, resource, namespace, name)
    if resource != "namespaces":
        assert parse(format_path(path)) == path
