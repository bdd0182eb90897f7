"""Installing a control plane into a host cluster, optional parts of it, and removing it again."""

import base64
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from tests.cli.terminal import Terminal
from tests.cli.world import Outcome, World

from karmada.api.version import IMAGE
from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.apiserver.auth.pki import Authority
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec

NOWHERE = "the host cluster has no nodes, so nothing could run: this is what would be done"


def test_init_on_a_host_without_nodes_shows_the_plan(federation: World) -> None:
    outcome = federation.run("init", "--kubeconfig", str(federation.kubeconfig))
    assert outcome.code == 0, outcome.err
    first, *steps = outcome.out.splitlines()
    assert first.startswith("the host cluster has no nodes")
    assert "  create statefulset.apps/karmada-apiserver in karmada-system" in steps


@pytest.fixture
def slow(federation: World, tmp_path: Path) -> Iterator[Path]:
    """A host cluster whose containers take long to become ready; its kubeconfig."""
    stack = AsyncExitStack()

    async def start() -> dict[str, object]:
        member = await stack.enter_async_context(Member(MemberSpec("slow", ready_seconds=3600.0)))
        await member.listen()
        return member.kubeconfig

    path = tmp_path / "slow.config"
    write_kubeconfig(path, federation.call(start()))
    yield path
    federation.call(stack.aclose())


def test_an_installation_shows_what_it_waits_for(federation: World, slow: Path, tmp_path: Path) -> None:
    data = ["--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path / "pki")]
    terminal = Terminal(federation, ["init", "--kubeconfig", str(slow), *data])
    terminal.until("statefulset.apps/karmada-apiserver created")
    terminal.until("[1/5] waiting for statefulset.apps/karmada-apiserver (")
    terminal.interrupt()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text


def test_an_installation_that_does_not_start_is_not_waited_for_in_vain(
    federation: World, slow: Path, tmp_path: Path
) -> None:
    data = ["--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path / "pki")]
    outcome = federation.run("init", "--kubeconfig", str(slow), *data, "--wait-component-ready-timeout=1")
    assert outcome.code == 1
    assert outcome.err.splitlines()[1:] == [
        "error: karmada-apiserver is not ready after 1 s: "
        "see kubectl describe pod -n karmada-system -l app=karmada-apiserver"
    ]
    added = federation.run("addons", "enable", "karmada-descheduler", "--kubeconfig", str(slow), "--pod-timeout=1")
    assert added.code == 1
    assert added.err.startswith("error: karmada-descheduler is not ready after 1 s: ")


def test_a_simulated_host_is_recognised_at_once_and_one_variable_names_the_image(
    federation: World, slow: Path, tmp_path: Path
) -> None:
    data = ["--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path / "pki")]
    image = "mirror.example/karmada:9"
    host = ("--kubeconfig", str(slow))
    outcome = federation.run("init", *host, *data, "--wait-component-ready-timeout=1", KARMADA_IMAGE=image)
    assert outcome.err.splitlines()[0] == (
        "Warning: the nodes of this cluster are simulated: containers in karmada-system run nothing and never answer. "
        "Let its pods be processes (docs/simulated-members.md: processes), or use a real cluster."
    )
    path = "jsonpath={.spec.template.spec.containers[*].image}"
    words = ("get", "statefulset", "karmada-apiserver", "-n", "karmada-system", "-o", path, *host)
    assert set(federation.run(*words).out.split()) == {image}
    federation.run("delete", "statefulset", "karmada-apiserver", "-n", "karmada-system", *host)
    federation.run("init", *host, *data, "--wait-component-ready-timeout=1")
    assert set(federation.run(*words).out.split()) == {IMAGE}


def test_addons_on_a_host_without_nodes_are_a_plan(federation: World) -> None:
    words = ("--kubeconfig", str(federation.kubeconfig))
    member = ("-C", "member1", "--member-kubeconfig", federation.member_config("member1"))
    outcome = federation.run("addons", "enable", "all", *member, *words)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines() == [
        NOWHERE,
        "  create service/karmada-dashboard in karmada-system",
        "  create networkpolicy.networking.k8s.io/karmada-dashboard in karmada-system",
        "  create deployment.apps/karmada-dashboard in karmada-system",
        "  create networkpolicy.networking.k8s.io/karmada-descheduler in karmada-system",
        "  create deployment.apps/karmada-descheduler in karmada-system",
        "  create service/karmada-metrics-adapter in karmada-system",
        "  create networkpolicy.networking.k8s.io/karmada-metrics-adapter in karmada-system",
        "  create deployment.apps/karmada-metrics-adapter in karmada-system",
        "  create secret/member1-kubeconfig in karmada-system",
        "  create service/karmada-scheduler-estimator-member1 in karmada-system",
        "  create networkpolicy.networking.k8s.io/karmada-scheduler-estimator-member1 in karmada-system",
        "  create deployment.apps/karmada-scheduler-estimator-member1 in karmada-system",
        "  create service/karmada-search in karmada-system",
        "  create networkpolicy.networking.k8s.io/karmada-search in karmada-system",
        "  create statefulset.apps/karmada-search in karmada-system",
    ]
    assert federation.run("addons", "list", *words).out.split("\n")[1].split() == ["karmada-dashboard", "disabled"]


def test_the_metrics_adapter_needs_the_certificate_that_init_made_for_it(federation: World, slow: Path) -> None:
    outcome = federation.run(
        "addons", "enable", "karmada-metrics-adapter", "--kubeconfig", str(slow), "-n", "elsewhere"
    )
    assert outcome.code == 1
    assert "Secret elsewhere/karmada-metrics-adapter-cert has no certificate to serve with" in outcome.err


def test_a_trial_removes_nothing(federation: World, slow: Path, tmp_path: Path) -> None:
    host = ("--kubeconfig", str(slow))
    data = ("--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path / "pki"))
    federation.run("init", *host, *data, "--wait-component-ready-timeout=1")
    trial = federation.run("deinit", "--dry-run", *host)
    assert trial.code == 0
    assert "delete statefulset.apps/karmada-apiserver in karmada-system" in trial.out
    assert "successfully" not in trial.out
    there = federation.run("get", "statefulsets", "-n", "karmada-system", "-o", "name", *host)
    assert there.out == "statefulset.apps/karmada-apiserver\n"


def test_an_installation_that_goes_on_keeps_its_authority_and_no_other_is_lost(
    federation: World, slow: Path, tmp_path: Path
) -> None:
    def init(space: str, folder: str, *more: str) -> Outcome:
        data = ("--karmada-data", str(tmp_path / folder), "--karmada-pki", str(tmp_path / folder))
        host = ("--kubeconfig", str(slow), "-n", space, "--wait-component-ready-timeout=1")
        return federation.run("init", *host, *data, *more)

    def trusted() -> str:
        path = "jsonpath={.data.ca\\.crt}"
        host = ("--kubeconfig", str(slow), "-n", "karmada-system")
        return federation.run("get", "secret", "karmada-ca", *host, "-o", path).out

    assert "karmada-apiserver is not ready after 1 s" in init("karmada-system", "first").err
    key, before = (tmp_path / "first" / "ca.key").read_bytes(), trusted()
    assert "karmada-apiserver is not ready after 1 s" in init("karmada-system", "first").err
    assert trusted() == before
    assert "has a control plane of another authority: name the folder" in init("karmada-system", "second").err
    assert trusted() == before
    assert f"its key is {tmp_path}/first/ca.key.1 now" in init("elsewhere", "first").err
    assert (tmp_path / "first" / "ca.key.1").read_bytes() == key
    assert (tmp_path / "first" / "ca.crt.1").read_text() == base64.b64decode(before).decode()


def test_an_installation_that_failed_before_anything_trusted_its_authority_goes_on_with_it(
    federation: World, slow: Path, tmp_path: Path
) -> None:
    host = ("--kubeconfig", str(slow))
    quota = ("quota", "none", "-n", "full")
    federation.run("create", "namespace", "full", *host)
    federation.run("create", *quota, "--hard=secrets=0", *host)
    federation.eventually(lambda: federation.run("get", *quota, "-o", "jsonpath={.status.hard}", *host).out)

    def init() -> str:
        data = ("--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path))
        return federation.run("init", *host, "-n", "full", *data, "--wait-component-ready-timeout=1").err

    assert "exceeded quota" in init()
    key = (tmp_path / "ca.key").read_bytes()
    assert "exceeded quota" in init()
    federation.run("delete", *quota, *host)
    assert "karmada-apiserver is not ready after 1 s" in init()
    assert (tmp_path / "ca.key").read_bytes() == key
    federation.run("delete", "secret", "karmada-ca", "-n", "full", *host)
    assert f"its key is {tmp_path}/ca.key.1 now" in init()
    assert (tmp_path / "ca.key.1").read_bytes() == key


def test_an_authority_that_was_named_once_is_used_by_no_run_that_does_not_name_it(
    federation: World, slow: Path, tmp_path: Path
) -> None:
    given = Authority.create("given")
    (tmp_path / "certificate").write_bytes(given.certificate_pem)
    (tmp_path / "key").write_bytes(given.key_pem)
    host = ("--kubeconfig", str(slow))
    federation.run("create", "namespace", "named", *host)
    federation.run("create", "quota", "none", "-n", "named", "--hard=secrets=0", *host)
    federation.eventually(
        lambda: federation.run("get", "quota", "none", "-n", "named", "-o", "jsonpath={.status.hard}", *host).out
    )
    data = ("-n", "named", "--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path / "pki"))
    files = ("--ca-cert-file", str(tmp_path / "certificate"), "--ca-key-file", str(tmp_path / "key"))
    assert "exceeded quota" in federation.run("init", *host, *data, *files).err
    assert (tmp_path / "pki" / "ca.crt").read_bytes() == given.certificate_pem
    assert f"its key is {tmp_path}/pki/ca.key.1 now" in federation.run("init", *host, *data).err
    assert (tmp_path / "pki" / "ca.crt").read_bytes() != given.certificate_pem


@pytest.mark.parametrize("secret", [b"", b"password"], ids=["without a certificate", "encrypted"])
def test_a_key_that_is_left_in_the_folder_and_not_used_stops_no_installation(
    federation: World, slow: Path, tmp_path: Path, secret: bytes
) -> None:
    left = pem(Authority.create("left"), secret)
    (tmp_path / "ca.key").write_bytes(left)
    data = ("--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path))
    outcome = federation.run("init", "--kubeconfig", str(slow), *data, "--wait-component-ready-timeout=1")
    assert f"its key is {tmp_path}/ca.key.1 now" in outcome.err
    assert "karmada-apiserver is not ready after 1 s" in outcome.err
    assert (tmp_path / "ca.key.1").read_bytes() == left


def test_the_key_of_a_given_authority_is_the_same_in_another_encoding(
    federation: World, slow: Path, tmp_path: Path
) -> None:
    given, pki = Authority.create("given"), tmp_path / "pki"
    pki.mkdir()
    for path in (tmp_path / "key", pki / "ca.key"):
        path.write_bytes(pem(given, b""))
    for path in (tmp_path / "certificate", pki / "ca.crt"):
        path.write_bytes(given.certificate_pem)
    data = ["--karmada-data", str(tmp_path), "--karmada-pki", str(pki)]
    files = ["--ca-cert-file", str(tmp_path / "certificate"), "--ca-key-file", str(tmp_path / "key")]
    outcome = federation.run("init", "--kubeconfig", str(slow), *data, *files, "--wait-component-ready-timeout=1")
    assert "karmada-apiserver is not ready after 1 s" in outcome.err
    assert "its key is" not in outcome.err
    assert sorted(path.name for path in pki.glob("ca.*")) == ["ca.crt", "ca.key"]


def test_a_key_that_cannot_be_read_without_a_password_is_refused_in_one_line(
    federation: World, slow: Path, tmp_path: Path
) -> None:
    authority = Authority.create("encrypted")
    (tmp_path / "certificate").write_bytes(authority.certificate_pem)
    (tmp_path / "key").write_bytes(pem(authority, b"password"))
    files = ["--ca-cert-file", str(tmp_path / "certificate"), "--ca-key-file", str(tmp_path / "key")]
    outcome = federation.run("init", "--kubeconfig", str(slow), "--karmada-data", str(tmp_path / "data"), *files)
    assert outcome.err == (
        "error: --ca-cert-file and --ca-key-file cannot be used: the CA key is encrypted: write it without a password\n"
    )


def pem(authority: Authority, password: bytes) -> bytes:
    """A key as openssl writes it: in a form of its own, encrypted if there is a password."""
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    return authority.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, encryption)


def test_an_authority_whose_key_is_another_one_is_refused_before_anything_is_made(
    federation: World, slow: Path, tmp_path: Path
) -> None:
    files = {"ca-cert-file": Authority.create("one").certificate_pem, "ca-key-file": Authority.create("two").key_pem}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    given = [word for name in files for word in (f"--{name}", str(tmp_path / name))]
    outcome = federation.run("init", "--kubeconfig", str(slow), "--karmada-data", str(tmp_path / "data"), *given)
    assert outcome.code == 1
    assert "--ca-key-file cannot be used: the CA key is not the key of the CA certificate" in outcome.err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["init", "--port=99999"], 'invalid argument "99999" for "-p, --port" flag: write a number from 1 to 65535'),
        (["init", "--image-pull-policy=Sometimes"], "must be one of Always, IfNotPresent, Never"),
        (["init", "--karmada-webhook-replicas=-1"], "write a number from 0 to 2147483647"),
        (["addons", "enable", "karmada-search", "--karmada-search-replicas=-1"], "write a number from 0"),
        (["register", "10.0.0.1:5443", "--karmada-agent-replicas=-1"], "write a number from 0"),
    ],
)
def test_values_that_no_server_takes_are_refused_at_once(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run(*words, "--kubeconfig", "/nope")
    assert message in outcome.err


def test_a_configuration_is_checked_as_the_flags_are(federation: World, slow: Path, tmp_path: Path) -> None:
    config = tmp_path / "init.yaml"
    config.write_text("kind: KarmadaInitConfig\nspec: {images: {imagePullPolicy: Sometimes}}\n")
    outcome = federation.run("init", "--kubeconfig", str(slow), "--config", str(config))
    assert f"{config}: spec.images.imagePullPolicy: must be one of Always, IfNotPresent, Never" in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["init", "--kubeconfig", "/nope"], "stat /nope: no such file or directory"),
        (["init", "--ca-cert-file", "/nope"], "--ca-cert-file and --ca-key-file go together"),
        (
            ["init", "--cert-external-dns=https://karmada.example.com"],
            "is no name or address that a certificate can be",
        ),
        (["init", "--karmada-apiserver-advertise-address=karmada.example.com:5443"], "write it without port"),
        (["init", "--etcd-node-selector-labels", "x"], "write key=value,key=value"),
        (["addons", "enable"], "addon names must be not null"),
        (["addons", "enable", "karmada-scheduler-estimator"], "belongs to a member: add -C NAME"),
        (["deinit"], "there is no control plane in namespace karmada-system"),
    ],
)
def test_bad_input_gets_one_clear_line(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run(*words)
    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
