"""Installing a control plane into a host cluster, optional parts of it, and removing it again."""

import base64
import contextlib
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID
from tests.cli.terminal import Terminal
from tests.cli.world import World

from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.apiserver.server import ApiServer
from karmada.membership.component_roles import COMPONENTS, EMBEDDED, user_of
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
def bare(federation: World, tmp_path: Path) -> Iterator[list[str]]:
    """An API server in the place of the one that a host cluster would run; the flags that lead to it."""
    stack = AsyncExitStack()

    async def start() -> tuple[ApiServer, int]:
        server = await stack.enter_async_context(ApiServer())
        for port in range(30000, 32767):
            with contextlib.suppress(OSError):
                return server, await server.listen(port=port)
        raise AssertionError("no port is free")

    server, port = federation.call(start())
    authority = server.identity.authority
    (tmp_path / "ca.crt").write_bytes(authority.certificate_pem)
    (tmp_path / "ca.key").write_bytes(authority.key_pem)
    files = ["--ca-cert-file", str(tmp_path / "ca.crt"), "--ca-key-file", str(tmp_path / "ca.key")]
    yield [*files, "--karmada-apiserver-advertise-address", "127.0.0.1", "--port", str(port)]
    federation.call(stack.aclose())


def test_a_control_plane_is_installed_and_removed(federation: World, bare: list[str], tmp_path: Path) -> None:
    host = ("--kubeconfig", federation.member_config("member3"), "-n", "karmada-host")
    data = ("--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path / "pki"))
    outcome = federation.run("init", *host, *data, *bare)
    assert outcome.code == 0, outcome.err
    assert "Karmada is installed" in outcome.out
    config = tmp_path / "karmada-apiserver.config"
    assert config.stat().st_mode & 0o777 == 0o600
    kinds = federation.run("api-resources", "--api-group=policy.karmada.io", "-o", "name", "--kubeconfig", str(config))
    assert "propagationpolicies.policy.karmada.io" in kinds.out
    hooks = federation.run("get", "validatingwebhookconfigurations", "-o", "name", "--kubeconfig", str(config))
    assert hooks.out == "validatingwebhookconfiguration.admissionregistration.k8s.io/validating-config\n"
    assert federation.run("init", *host, *data, *bare).code == 0
    assert federation.run("addons", "enable", "karmada-descheduler", *host).code == 0
    assert "karmada-descheduler           enabled" in federation.run("addons", "list", *host).out
    assert federation.run("addons", "disable", "karmada-descheduler", "-f", *host).code == 0
    assert federation.run("deinit", *host, stdin="n\n").code == 1
    assert federation.run("deinit", "-f", *host).out.endswith("remove karmada successfully\n")
    assert federation.run("deinit", "-f", *host).err == "error: there is no control plane in namespace karmada-host\n"


def test_every_component_is_a_user_of_its_own_and_none_holds_the_key_of_the_authority(
    federation: World, bare: list[str], tmp_path: Path
) -> None:
    host = ("--kubeconfig", federation.member_config("member3"), "-n", "karmada-least")
    data = ("--karmada-data", str(tmp_path), "--karmada-pki", str(tmp_path / "pki"))
    assert federation.run("init", *host, *data, *bare).code == 0
    assert federation.run("addons", "enable", "karmada-descheduler", *host).code == 0
    member = ("-C", "member1", "--member-kubeconfig", federation.member_config("member1"))
    assert federation.run("addons", "enable", "karmada-scheduler-estimator", *member, *host).code == 0

    def items(kind: str) -> dict[str, dict[str, Any]]:
        listed = json.loads(federation.run("get", kind, "-o", "json", *host).out)["items"]
        return {item["metadata"]["name"]: item for item in listed}

    secrets = {
        name: {key: base64.b64decode(value) for key, value in secret["data"].items()}
        for name, secret in items("secrets").items()
    }
    key = (tmp_path / "pki" / "ca.key").read_bytes()
    assert not [name for name, content in secrets.items() if key in content.values()]
    mounted = {
        name: [
            volume["secret"]["secretName"]
            for volume in pods["spec"]["template"]["spec"]["volumes"]
            if "secret" in volume
        ]
        for name, pods in {**items("statefulsets"), **items("deployments")}.items()
    }
    assert mounted.pop("karmada-apiserver") == ["karmada-apiserver-cert", "karmada-ca"]
    assert mounted.pop("karmada-scheduler-estimator-member1") == ["member1-kubeconfig"]
    assert mounted.keys() == set(COMPONENTS) - EMBEDDED - {"karmada-gateway", "karmada-metrics-adapter"}
    for component, names in mounted.items():
        assert set(names) <= {f"{component}-config", f"{component}-cert"}, component
        user = yaml.safe_load(secrets[f"{component}-config"]["karmada.config"])["users"][0]["user"]
        certificate = x509.load_pem_x509_certificate(base64.b64decode(user["client-certificate-data"]))
        (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert name.value == user_of(component)
        assert not certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert federation.run("deinit", "-f", *host).code == 0


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
    assert outcome.err == (
        "error: karmada-apiserver is not ready after 1 s: "
        "see kubectl describe pod -n karmada-system -l app=karmada-apiserver\n"
    )
    added = federation.run("addons", "enable", "karmada-descheduler", "--kubeconfig", str(slow), "--pod-timeout=1")
    assert added.code == 1
    assert added.err.startswith("error: karmada-descheduler is not ready after 1 s: ")


def test_addons_on_a_host_without_nodes_are_a_plan(federation: World) -> None:
    words = ("--kubeconfig", str(federation.kubeconfig))
    member = ("-C", "member1", "--member-kubeconfig", federation.member_config("member1"))
    outcome = federation.run("addons", "enable", "all", *member, *words)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines() == [
        NOWHERE,
        "  create deployment.apps/karmada-descheduler in karmada-system",
        "  create secret/member1-kubeconfig in karmada-system",
        "  create networkpolicy.networking.k8s.io/karmada-scheduler-estimator-member1 in karmada-system",
        "  create service/karmada-scheduler-estimator-member1 in karmada-system",
        "  create deployment.apps/karmada-scheduler-estimator-member1 in karmada-system",
    ]
    assert federation.run("addons", "list", *words).out.split("\n")[1].split() == ["karmada-descheduler", "disabled"]


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["init", "--kubeconfig", "/nope"], "stat /nope: no such file or directory"),
        (["init", "--ca-cert-file", "/nope"], "--ca-cert-file and --ca-key-file go together"),
        (["init", "--etcd-node-selector-labels", "x"], "write key=value,key=value"),
        (["addons", "enable"], "addon names must be not null"),
        (["addons", "enable", "karmada-scheduler-estimator"], "belongs to a member: add -C NAME"),
        (["addons", "enable", "karmada-search"], "karmada-search cannot be enabled: not built yet in this version"),
        (["deinit"], "there is no control plane in namespace karmada-system"),
    ],
)
def test_bad_input_gets_one_clear_line(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run(*words)
    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
