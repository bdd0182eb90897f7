"""What the process runtime makes of a container's command, and what it refuses to run."""

from pathlib import Path

import pytest

from karmada.simulator.processes.arguments import LISTENS, expanded, rewritten
from karmada.simulator.processes.programs import OWN, Programs, Refused
from karmada.simulator.processes.volumes import below, runs_plugin

HERE = "127.9.1.1"


@pytest.mark.parametrize(
    ("word", "becomes"),
    [
        ("--kubeconfig=/etc/karmada/config/karmada.config", "--kubeconfig=/pod/config/karmada.config"),
        ("/etc/karmada/config", "/pod/config"),
        ("/etc/karmada/config-of-another", "/etc/karmada/config-of-another"),
        ("/other/etc/karmada/config/x", "/other/etc/karmada/config/x"),
        ("--storage=sqlite:///var/lib/karmada/clusters.db", "--storage=sqlite:///pod/data/clusters.db"),
        ("--files=/var/lib/karmada/a,/etc/karmada/config/b", "--files=/pod/data/a,/pod/config/b"),
        ("--bind-address=0.0.0.0", f"--bind-address={HERE}"),
        ("--health-probe-bind-address=:10357", f"--health-probe-bind-address={HERE}:10357"),
        (
            "--listen-client-urls=https://0.0.0.0:2379,https://[::]:1",
            f"--listen-client-urls=https://{HERE}:2379,https://{HERE}:1",
        ),
        ("--cluster-cidr=10.0.0.0/8", "--cluster-cidr=10.0.0.0/8"),
        ("--v=2", "--v=2"),
    ],
)
def test_paths_below_mounts_and_all_addresses_are_those_of_the_pod(word: str, becomes: str) -> None:
    mounts = {"/etc/karmada/config": Path("/pod/config"), "/var/lib/karmada": Path("/pod/data")}
    assert rewritten("etcd", [word], mounts, HERE) == [becomes]


def test_of_nested_mounts_the_deepest_counts() -> None:
    mounts = {"/etc/karmada": Path("/outer"), "/etc/karmada/pki": Path("/inner")}
    assert rewritten("etcd", ["/etc/karmada/pki/a", "/etc/karmada/b"], mounts, HERE) == ["/inner/a", "/outer/b"]


def test_programs_that_listen_everywhere_by_default_are_given_the_address_of_their_pod() -> None:
    assert rewritten("karmada-scheduler", ["--metrics-bind-address=0"], {}, HERE) == [
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={HERE}:10351",
    ]
    assert set(LISTENS) - {"kube-apiserver", "kube-controller-manager"} == set(OWN) - {"karmada-apiserver"}


def test_variables_are_replaced_as_a_kubelet_does() -> None:
    words = ["--name=$(NAME)", "$$(NAME)", "$(OTHER)", "$NAME"]
    assert expanded(words, {"NAME": "etcd-0"}) == ["--name=etcd-0", "$(NAME)", "$(OTHER)", "$NAME"]


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("karmada:0.1.0", ["/bin/karmada-scheduler", "--v=2"]),
        ("registry.example.com:5000/team/karmada@sha256:00", ["karmada-scheduler", "--v=2"]),
        ("karmada-scheduler:v1", ["--v=2"]),
        ("karmada-scheduler:v1", ["/anywhere/karmada-scheduler", "--v=2"]),
    ],
)
def test_known_images_start_known_programs_only(image: str, words: list[str]) -> None:
    programs = Programs()
    assert programs.knows(image)
    assert programs.named(image, words) == ("karmada-scheduler", ["--v=2"])
    for other in (["sh", "-c", "id"], ["/bin/python", "-c", "1"], ["karmadactl"]):
        with pytest.raises(Refused, match="does not run"):
            programs.named(image, other)


def test_programs_of_others_run_where_somebody_said_which_file_they_are() -> None:
    assert not Programs().knows("etcd:3.6.5-0")
    programs = Programs({"etcd": "/opt/etcd"})
    assert programs.knows("registry/etcd:3.6.5-0")
    assert programs.executable(programs.named("etcd", ["etcd", "--name=a"])[0]) == ["/opt/etcd"]
    assert not programs.knows("nginx")


@pytest.mark.parametrize(
    "text",
    [
        "users: [{name: a, user: {exec: {command: sh}}}]",
        '{"users": [{"user": {"\\u0065xec": {"command": "sh"}}}]}',
        'users: [{user: {"ex\\x65c": {command: sh}}}]',
        "a: &x {exec: {command: sh}}\nusers: [{user: *x}]",
        "users: [{user: {exec: {command: sh}}}]\n\tbroken",
    ],
)
def test_a_kubeconfig_that_starts_a_program_is_recognised(text: str) -> None:
    assert runs_plugin(text.encode())


@pytest.mark.parametrize("text", ["users: [{user: {token: exec}}]", "-----BEGIN CERTIFICATE-----\nMII\n", "\x00\x01"])
def test_other_files_are_not(text: str) -> None:
    assert not runs_plugin(text.encode())


def test_paths_stay_inside_their_volume() -> None:
    assert below(Path("/v"), "a/b") == Path("/v/a/b")
    for path in ("../a", "a/../../b", "/etc/passwd"):
        with pytest.raises(Refused, match="leads out of its volume"):
            below(Path("/v"), path)
