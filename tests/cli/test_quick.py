"""Plain reads: answered without an event loop, and with the same words as with one."""

import os
import subprocess
import sys

import pytest
from tests.cli.samples import SHOP, apply
from tests.cli.world import World

PROGRAM = """
import sys
from karmada.cli.main import main
code = main(sys.argv[1:])
sys.stdout.flush()
print("with a loop" if "asyncio" in sys.modules else "without", file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def shop(federation: World) -> str:
    namespace = federation.namespace()
    apply(federation, SHOP, namespace)
    return namespace


def program(federation: World, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"KUBECONFIG": str(federation.kubeconfig), "HOME": str(federation.folder)}
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (["get", "cluster", "-o", "name"], "without"),
        (["get", "deployment", "shop", "-o", "jsonpath={.spec.replicas}"], "without"),
        (["get", "deploy,pp", "-o", "name"], "without"),
        (["get", "deployment", "absent"], "without"),
        (["get", "nosuchkind"], "without"),
        (["get", "deployment", "shop", "-s", "members", "-o", "name"], "with a loop"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else given,
)
def test_a_read_is_the_same_without_a_loop(federation: World, shop: str, words: list[str], way: str) -> None:
    words = [*words, "-n", shop]
    expected = federation.run(*words)
    ways = set()
    # A busy machine may take longer than plain reads wait: then there is a loop, and the same answer.
    for _ in range(5):
        done = program(federation, *words)
        printed, _, last = done.stderr.rstrip("\n").rpartition("\n")
        assert (done.returncode, done.stdout) == (expected.code, expected.out)
        assert printed.rstrip("\n") == expected.err.rstrip("\n")
        ways.add(last)
        if last == way:
            break
    assert way in ways


def test_a_server_that_cannot_be_reached_is_reported_as_usual(federation: World) -> None:
    config = federation.folder / "nobody.config"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: a, user: {token: x}}]\n"
    )
    done = program(federation, "get", "clusters", "--kubeconfig", str(config))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "no connection to https://127.0.0.1:1: Connection refused: did you specify" in done.stderr


def test_a_plain_table_loads_no_parser_but_the_standard_librarys(federation: World) -> None:
    slow = ("orjson", "yaml", "dataclasses", "pathlib", "urllib.parse", "datetime")
    loaded = PROGRAM.replace("sys.exit(code)", f"print(*set({slow}) & set(sys.modules), file=sys.stderr)")
    environment = os.environ | {"KUBECONFIG": str(federation.kubeconfig), "HOME": str(federation.folder)}
    seen = []
    # A busy machine may take longer than plain reads wait: then there is a loop, which brings more along.
    for _ in range(5):
        command = [sys.executable, "-c", loaded, "get", "clusters"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert "member1" in done.stdout
        seen.append(done.stderr.splitlines())
        if seen[-1][0] == "without":
            break
    assert seen[-1] == ["without", ""]
