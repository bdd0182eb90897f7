"""Members that fail and ways that are blocked, in a federation of its own: that must not disturb other tests."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from tests.cli.samples import SHOP, apply
from tests.cli.terminal import Terminal
from tests.cli.world import Outcome, World

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.auth.pki import Authority
from karmada.cli.main import execute
from karmada.cli.session import PATIENCE, Session
from karmada.machinery.errors import Forbidden
from karmada.machinery.http.kubeconfig import load
from karmada.standalone.demo import why


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("fragile"))
    world.patience = PATIENCE
    world.start()
    yield world
    world.stop()


@pytest.fixture(scope="module")
def shop(federation: World) -> str:
    namespace = federation.namespace()
    apply(federation, SHOP, namespace)
    return namespace


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_cluster_that_fails_does_not_hide_the_others(federation: World, shop: str) -> None:
    member = federation.fleet["member2"]
    federation.call(member.change_faults(down=True))
    try:
        outcome = federation.run("get", "deployments", "-n", shop, "-s", "members")
    finally:
        federation.call(member.change_faults(down=False))
    assert outcome.code == 1
    assert [row[1] for row in table(outcome.out)[1:]] == ["member1"]
    assert outcome.err.startswith("error: cluster(member2): ")


def test_a_cluster_that_is_down_is_found_with_a_remedy(federation: World) -> None:
    member = federation.fleet["member3"]
    federation.call(member.change_faults(down=True))
    try:
        outcome = federation.run("check")
    finally:
        federation.call(member.change_faults(down=False))
    assert outcome.code == 1
    assert "✗ proxy to member3" in outcome.out
    assert "→ Check network and credentials" in outcome.out


def test_a_certificate_that_has_expired_is_named(federation: World) -> None:
    member = federation.fleet["member3"]
    federation.call(member.change_faults(certificate_expired=True))
    try:
        outcome = federation.run("get", "pods", "--kubeconfig", federation.member_config("member3"))
    finally:
        federation.call(member.change_faults(certificate_expired=False))
    assert outcome.code == 1
    assert "certificate has expired" in outcome.err
    assert outcome.err.count("\n") == 1


def hub_config(federation: World, path: Path, *, authority: bytes = b"", at: datetime | None = None) -> Path:
    """A kubeconfig for the control plane that something is wrong with."""
    real = federation.plane.server.identity.authority
    certificate, key = real.issue_client("jo", ("system:masters",), 3600, at)
    server = load([federation.kubeconfig]).target().server
    write_kubeconfig(path, kubeconfig(server, authority or real.certificate_pem, certificate=certificate, key=key))
    return path


@pytest.mark.parametrize(
    "words", [["get", "pods"], ["cordon", "member1"], ["describe", "pods"]], ids=lambda one: one[0]
)
def test_credentials_that_have_expired_are_named(federation: World, tmp_path: Path, words: list[str]) -> None:
    config = hub_config(federation, tmp_path / "old", at=datetime.now(UTC) - timedelta(days=2))
    outcome = federation.run(*words, "--kubeconfig", str(config))
    assert outcome.code == 1
    assert "You must be logged in to the server (Unauthorized): check the credentials of the kubeconfig" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("words", [["get", "pods"], ["cordon", "member1"], ["top", "pods"]], ids=lambda one: one[0])
def test_a_control_plane_that_cannot_be_trusted_is_named(federation: World, tmp_path: Path, words: list[str]) -> None:
    config = hub_config(federation, tmp_path / "other", authority=Authority.create("other").certificate_pem)
    outcome = federation.run(*words, "--kubeconfig", str(config))
    assert outcome.code == 1
    assert outcome.err.endswith(": check the certificate authority in the kubeconfig\n")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: [", "is not valid YAML"),
        ("{}", "no context is chosen: set current-context or name one with --context"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named(federation: World, tmp_path: Path, text: str, message: str) -> None:
    config = tmp_path / "config"
    config.write_text(text)
    outcome = federation.run("get", "pods", "--kubeconfig", str(config))
    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_an_unknown_context_is_named_with_those_there_are(federation: World) -> None:
    outcome = federation.run("get", "pods", "--karmada-context", "nosuch")
    assert outcome == (1, "", 'error: context "nosuch" does not exist (there are: karmada)\n')


SILENCE = "no answer within 8 s"
WHILE_HANGING = {
    "why": ["why", "deployment/shop"],
    "tree": ["tree", "deployment/shop"],
    "check": ["check"],
    "rollout status": ["rollout", "status", "deployment/shop", "--watch=false"],
    "rollout history": ["rollout", "history", "deployment/shop"],
    "top": ["top", "pods"],
    "logs of all": ["logs", "-l", "app=shop", "--all-clusters"],
    "get": ["get", "pods", "-s", "members", "-o", "name"],
    "describe": ["describe", "deployment", "shop", "-s", "members", "-C", "member2"],
    "logs": ["logs", "deployment/shop", "-C", "member2"],
    "exec": ["exec", "deployment/shop", "--cluster=member2", "ls"],
    "promote": ["promote", "deployment", "shop", "-C", "member2"],
}


@pytest.fixture(scope="module")
def hung(federation: World, shop: str) -> dict[str, Outcome]:
    """What commands say while member2 takes requests and never answers; all of them wait at once."""
    member = federation.fleet["member2"]
    federation.call(member.change_faults(hanging=True))
    lines = [words if name == "check" else [*words, "-n", shop] for name, words in WHILE_HANGING.items()]
    try:
        outcomes = federation.run_together(lines)
    finally:
        federation.call(member.change_faults(hanging=False))
    return dict(zip(WHILE_HANGING, outcomes, strict=True))


def test_why_reports_the_members_that_answer_and_the_one_that_hangs(hung: dict[str, Outcome]) -> None:
    outcome = hung["why"]
    assert outcome.code == 1
    assert "✓ member member1" in outcome.out
    assert f"✗ member member2  it cannot be asked: {SILENCE}" in outcome.out
    assert "What to do: " in outcome.out


def test_a_tree_has_the_branches_of_members_that_answer(hung: dict[str, Outcome]) -> None:
    outcome = hung["tree"]
    assert outcome.code == 0
    assert outcome.out.count("Pod shop-") == 2
    assert SILENCE in outcome.out


def test_a_check_names_the_member_that_hangs(hung: dict[str, Outcome]) -> None:
    outcome = hung["check"]
    assert outcome.code == 1
    assert "✓ proxy to member1" in outcome.out
    assert f"✗ proxy to member2               {SILENCE}" in outcome.out


def test_a_rollout_shows_the_rows_of_members_that_answer(hung: dict[str, Outcome]) -> None:
    assert hung["rollout status"].code == 1
    rows = {row[0]: " ".join(row[5:]) for row in table(hung["rollout status"].out)}
    assert rows["member1"] == "done"
    assert rows["member2"].startswith(SILENCE)
    assert [row[0] for row in table(hung["rollout history"].out)[1:]] == ["member1"]
    assert hung["rollout history"].err.startswith(f"error: cluster(member2): {SILENCE}")


def test_what_a_member_refuses_a_rollout_with_is_one_line_that_a_terminal_does_not_obey(
    federation: World, shop: str
) -> None:
    class Refusing:
        def resource(self, kind: object) -> "Refusing":
            return self

        async def get(self, name: str, namespace: str) -> NoReturn:
            raise Forbidden("no\x1b[2J\nmember1 done")

    class Watched(Session):
        def member(self, flags: Any, name: str) -> Any:
            return SimpleNamespace(name=name, patience=PATIENCE, client=Refusing())

    out, err = StringIO(), StringIO()
    session = Watched(out=out, err=err, environment={"KUBECONFIG": str(federation.kubeconfig)})
    assert asyncio.run(execute(["rollout", "status", "deployment/shop", "-n", shop, "--watch=false"], session)) == 1
    said = "no^[[2J member1 done"
    assert out.getvalue().splitlines()[0] == f"member1: {said}; member2: {said}"
    assert [row.split("  ")[0] for row in out.getvalue().splitlines()[2:]] == ["member1", "member2"]
    assert not err.getvalue()


@pytest.mark.parametrize("name", ["top", "logs of all", "get"])
def test_rows_of_members_that_answer_are_shown(hung: dict[str, Outcome], name: str) -> None:
    outcome = hung[name]
    assert outcome.code == 1
    assert outcome.out
    assert outcome.err.startswith(f"error: cluster(member2): {SILENCE}")


@pytest.mark.parametrize("name", ["describe", "logs", "exec", "promote"])
def test_a_command_about_the_member_that_hangs_ends_in_one_line(hung: dict[str, Outcome], name: str) -> None:
    outcome = hung[name]
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {SILENCE}")
    assert outcome.err.count("\n") == 1


def test_a_terminal_shows_which_member_is_waited_for(federation: World) -> None:
    member = federation.fleet["member2"]
    federation.call(member.change_faults(hanging=True))
    try:
        terminal = Terminal(federation, ["get", "pods", "-s", "members", "-n", "default"])
        terminal.until("waiting for member2 (")
        terminal.interrupt()
        terminal.end()
    finally:
        federation.call(member.change_faults(hanging=False))


def test_the_demo_shows_an_answer_without_the_wait_for_it(federation: World, shop: str) -> None:
    member = federation.fleet["member2"]
    federation.call(member.change_faults(hanging=True))
    try:
        output = asyncio.run(why(federation.kubeconfig, ["deployment/shop", "-n", shop], terminal=True))
    finally:
        federation.call(member.change_faults(hanging=False))
    assert "waiting for the members" not in output
    assert "\r" not in output
