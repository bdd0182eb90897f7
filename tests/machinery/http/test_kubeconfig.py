from pathlib import Path

import pytest

from karmada.machinery.http.kubeconfig import KubeconfigError, default_paths, from_bytes, in_cluster, load
from karmada.machinery.http.target import Material

EXAMPLE = """
apiVersion: v1
kind: Config
current-context: two
clusters:
- name: a
  cluster: {server: "https://a.example:6443/", certificate-authority: pki/ca.crt, tls-server-name: api}
- name: b
  cluster: {server: "https://b.example/clusters/b", insecure-skip-tls-verify: true, proxy-url: "http://proxy:3128"}
contexts:
- name: one
  context: {cluster: a, user: cert, namespace: team}
- name: two
  context: {cluster: b, user: token}
- name: three
  context: {cluster: a, user: plugin}
users:
- name: cert
  user: {client-certificate-data: UEVN, client-key: pki/tls.key}
- name: token
  user: {token: s3cret, as: jane, as-groups: [dev, ops]}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./login
      args: [--cluster, a]
      env: [{name: X, value: "1"}]
      provideClusterInfo: true
"""


@pytest.fixture
def example(tmp_path):
    path = tmp_path / "config"
    path.write_text(EXAMPLE)
    return path


def test_the_current_context_is_the_default(example):
    target = load([example]).target()
    assert target.server == "https://b.example/clusters/b"
    assert target.insecure
    assert target.proxy == "http://proxy:3128"
    assert target.namespace == "default"
    assert target.identity.token == Material(b"s3cret")
    assert (target.identity.impersonate_user, target.identity.impersonate_groups) == ("jane", ("dev", "ops"))


def test_files_are_relative_to_the_kubeconfig(example):
    target = load([example]).target("one")
    assert target.server == "https://a.example:6443"
    assert target.authority == Material(path=str(example.parent / "pki/ca.crt"))
    assert target.identity.certificate == Material(b"PEM")
    assert target.identity.key == Material(path=str(example.parent / "pki/tls.key"))
    assert (target.namespace, target.server_name) == ("team", "api")


def test_exec_plugins_are_read(example):
    plugin = load([example]).target("three").identity.plugin
    assert plugin.command == str(example.parent / "login")
    assert plugin.arguments == ("--cluster", "a")
    assert plugin.environment == (("X", "1"),)
    assert plugin.provide_cluster_info


def test_several_files_are_merged_and_the_first_wins(example, tmp_path):
    first = tmp_path / "first"
    first.write_text(
        '{"current-context":"one","clusters":[{"name":"a","cluster":{"server":"https://first"}}],'
        '"contexts":[{"name":"extra","context":{"cluster":"a"}}]}'
    )
    merged = load([first, tmp_path / "missing", example])
    assert merged.current_context == "one"
    assert merged.contexts == ("extra", "one", "two", "three")
    assert merged.target("extra").server == "https://first"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("contexts: []", "no context is chosen"),
        ("current-context: x", 'no context "x" in the kubeconfig (there are: none)'),
        ("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]", 'no cluster "c"'),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]",
            "has no server",
        ),
        ("{a: [", "is not valid YAML"),
        ("[1]", "is a mapping"),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {auth-provider: {}}}]",
            "auth-provider",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: ca.crt}}]",
            "is no file itself",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://x', certificate-authority-data: '***'}}]",
            "certificate-authority-data is not valid base64",
        ),
    ],
    ids=[
        "no context",
        "unknown context",
        "unknown cluster",
        "no server",
        "bad YAML",
        "a list",
        "auth provider",
        "file from nowhere",
        "bad base64",
    ],
)
def test_what_is_wrong_is_said(content, expected):
    with pytest.raises(KubeconfigError) as caught:
        from_bytes(content.encode()).target()
    assert expected in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(KubeconfigError, match=r"no kubeconfig found at .*nowhere"):
        load([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("explicit", "environment", "expected"),
    [
        ("x", {"KUBECONFIG": "a:b"}, ["x"]),
        ("", {"KUBECONFIG": "a::b"}, ["a", "b"]),
        ("", {}, [str(Path.home() / ".kube" / "config")]),
    ],
    ids=["flag", "environment", "home"],
)
def test_where_to_look(explicit, environment, expected):
    assert default_paths(explicit, environment) == expected


def test_in_a_pod_its_service_account_is_used(tmp_path):
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("karmada-system\n")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    target = in_cluster(environment, tmp_path)
    assert target.server == "https://[fd00::1]:443"
    assert target.identity.token == Material(path=str(tmp_path / "token"))
    assert target.namespace == "karmada-system"
    with pytest.raises(KubeconfigError, match="does not run in a pod"):
        in_cluster({}, tmp_path)


def test_secrets_do_not_show_in_representations(example):
    assert "s3cret" not in repr(load([example]).target())
