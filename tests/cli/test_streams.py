"""Logs, exec and attach through the proxy; terminal behaviour in a pseudo-terminal."""

import re
from pathlib import Path

import pytest
from tests.cli.samples import SHOP, apply
from tests.cli.terminal import Terminal
from tests.cli.world import World
from tests.membership.proxies import StandInProxy

from karmada.api import yaml
from karmada.apiserver.auth.kubeconfig import write_kubeconfig


@pytest.fixture(scope="module")
def shop(federation: World) -> str:
    namespace = federation.namespace()
    apply(federation, SHOP, namespace)
    return namespace


@pytest.fixture(scope="module")
def pod(federation: World, shop: str) -> str:
    return federation.run("get", "pods", "-n", shop, "-s", "members", "-C", "member1", "--no-headers").out.split()[0]


def test_logs_of_a_pod_and_of_a_workload(federation: World, shop: str, pod: str) -> None:
    one = federation.run("logs", pod, "-n", shop, "-C", "member1")
    assert one.code == 0
    assert pod in one.out
    assert federation.run("logs", "deployment/shop", "-n", shop, "-C", "member1").out
    prefixed = federation.run("logs", "deployment/shop", "-n", shop, "-C", "member1", "--all-pods").out
    assert all(line.startswith("[pod/shop-") for line in prefixed.splitlines())


def test_lines_of_all_clusters_show_where_they_are_from(federation: World, shop: str) -> None:
    outcome = federation.run("logs", "-l", "app=shop", "--all-clusters", "-n", shop, "--tail=1")
    assert outcome.code == 0, outcome.err
    clusters = [line[1:].partition("/")[0] for line in outcome.out.splitlines()]
    assert clusters == ["member1", "member1", "member2"]


def test_exec_ends_with_the_exit_status_of_the_command(federation: World, shop: str, pod: str) -> None:
    base = ("-n", shop, "--cluster=member1")
    assert federation.run("exec", pod, *base, "--", "echo", "hello") == (0, "hello\n", "")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d\n", federation.run("exec", pod, *base, "--", "date", "+%F").out)
    failed = federation.run("exec", "deployment/shop", *base, "--", "sh", "-c", "exit 3")
    assert failed == (3, "", "command terminated with exit code 3\n")
    assert federation.run("exec", "-i", pod, *base, "--", "cat", stdin="through\n").out == "through\n"


def test_a_pod_that_does_not_run_yet_is_waited_for(federation: World, shop: str) -> None:
    member = ("--kubeconfig", federation.member_config("member1"), "-n", shop)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late"}}
    pod["spec"] = {"containers": [{"name": "main", "image": "nginx"}], "nodeSelector": {"there": "soon"}}
    assert federation.run("apply", "-f", "-", *member, stdin=yaml.dump(pod)).code == 0
    words = ("exec", "late", "-n", shop, "--cluster=member1")
    early = federation.run(*words, "--pod-running-timeout=200ms", "--", "echo", "hello")
    assert early.code == 1
    terminal = Terminal(federation, [*words, "--", "echo", "hello"])
    federation.run("label", "node", "member1-node-1", "there=soon", "--kubeconfig", federation.member_config("member1"))
    terminal.until("hello")
    assert terminal.end() == 0


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_exec_goes_through_the_proxy_of_the_kubeconfig(
    federation: World, shop: str, pod: str, tmp_path: Path, scheme: str
) -> None:
    proxy = StandInProxy(scheme)
    federation.call(proxy.__aenter__())
    try:
        config = yaml.load(federation.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["proxy-url"] = proxy.url
        write_kubeconfig(tmp_path / "config", config)
        words = ("exec", pod, "-n", shop, "--cluster=member1", "--kubeconfig", str(tmp_path / "config"))
        assert federation.run(*words, "--", "echo", "hello") == (0, "hello\n", "")
    finally:
        federation.call(proxy.__aexit__())
    # One connection for the requests before, one for the stream.
    assert len(proxy.received) >= 2


def test_attach_passes_input_on_until_it_ends(federation: World, shop: str, pod: str) -> None:
    outcome = federation.run("attach", "-i", pod, "-n", shop, "--cluster=member1", stdin="hello\n")
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(
    "spelling", [["-C", "member1"], ["-Cmember1"], ["-C=member1"], ["--cluster", "member1"]], ids=" ".join
)
def test_the_command_runs_in_the_cluster_that_is_named(
    federation: World, shop: str, pod: str, spelling: list[str]
) -> None:
    terminal = Terminal(federation, ["exec", pod, "-n", shop, *spelling, "-c", "main", "--", "hostname"])
    terminal.until(pod)
    assert terminal.end() == 0
    terminal = Terminal(federation, ["exec", "deployment/shop", *spelling, "-n", shop, "--", "sh", "-c", "exit 3"])
    terminal.until("command terminated with exit code 3")
    assert terminal.end() == 3


def test_attach_is_to_the_container_in_the_cluster_that_is_named(federation: World, shop: str, pod: str) -> None:
    terminal = Terminal(federation, ["attach", "-it", pod, "-C", "member1", "-c", "main", "-n", shop])
    terminal.until("If you don't see a command prompt, try pressing enter.")
    terminal.interrupt()
    assert terminal.end() == 130


@pytest.mark.parametrize("words", [["exec", "--", "hostname"], ["attach"]], ids=["exec", "attach"])
def test_a_pod_is_sought_in_no_other_cluster(federation: World, shop: str, pod: str, words: list[str]) -> None:
    name, *rest = words
    terminal = Terminal(federation, [name, pod, "-n", shop, "-C", "member2", *rest])
    terminal.until(f'pods "{pod}" not found')
    assert terminal.end() == 1
    terminal = Terminal(federation, [name, pod, "-n", shop, *rest])
    terminal.until("must specify a cluster: add --cluster=NAME")
    assert terminal.end() == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["logs"], "POD or TYPE/NAME is a required argument"),
        (["logs", "x"], "must specify a cluster: add --cluster=NAME"),
        (
            ["logs", "x", "-C", "nosuch"],
            'clusters.cluster.karmada.io "nosuch" not found (there are: member1, member2, ',
        ),
        (["logs", "x", "-C", "member1"], 'error from server (NotFound): pods "x" not found in namespace "default"'),
        (["logs", "x", "-C", "member1", "--all-clusters"], "exclude each other"),
        (["exec", "x", "--cluster=member1"], "you must specify at least one command for the container"),
        (["exec", "--cluster=member1", "--", "ls"], "pod or type/name must be specified"),
        (["exec", "x", "-C", "membr1", "--", "ls"], "(did you mean member1?)"),
        (["attach", "x", "-C", "membr1"], "(did you mean member1?)"),
        (["attach", "--cluster=member1"], "at least 1 argument is required for attach"),
    ],
)
def test_bad_input_gets_one_clear_line(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run(*words)
    assert outcome.code == 1
    assert message in outcome.err


def test_an_unknown_container_is_refused_with_those_there_are(federation: World, shop: str, pod: str) -> None:
    outcome = federation.run("exec", pod, "-n", shop, "--cluster=member1", "-c", "x", "--", "ls")
    assert outcome.err == f"error: container x not found in pod {pod} (there are: main)\n"
    outcome = federation.run("logs", pod, "-n", shop, "--cluster=member1", "-c", "x")
    assert outcome.err == f"error: container x is not valid for pod {pod} (there are: main)\n"


def test_colours_only_on_a_terminal(federation: World, shop: str) -> None:
    terminal = Terminal(federation, ["why", "deployment/shop", "-n", shop])
    terminal.until("Nothing is broken.")
    assert terminal.end() == 0
    assert "\033[32m✓\033[0m" in terminal.text
    assert "\033[" not in federation.run("why", "deployment/shop", "-n", shop).out


def test_a_shell_in_a_container_is_interactive(federation: World, shop: str, pod: str) -> None:
    terminal = Terminal(federation, ["exec", "-it", pod, "-n", shop, "--cluster=member1", "--", "sh"])
    terminal.until("# ")
    terminal.type("hostname\r")
    terminal.until(pod)
    terminal.type("exit\r")
    assert terminal.end() == 0


def test_attach_in_a_terminal_says_how_to_see_something(federation: World, shop: str, pod: str) -> None:
    terminal = Terminal(federation, ["attach", "-it", pod, "-n", shop, "--cluster=member1"])
    terminal.until("If you don't see a command prompt, try pressing enter.")
    terminal.interrupt()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text


def test_the_terminal_is_as_before_when_a_command_has_ended(federation: World, shop: str, pod: str) -> None:
    terminal = Terminal(federation, ["exec", "-it", pod, "-n", shop, "--cluster=member1", "--", "sh"])
    before = terminal.settings()
    terminal.until("# ")
    assert terminal.settings() != before
    terminal.resize(30, 90)
    terminal.type("exit 4\r")
    assert terminal.end(settings=before) == 4


def test_input_that_is_no_terminal_gets_none(federation: World, shop: str, pod: str) -> None:
    outcome = federation.run("exec", "-it", pod, "-n", shop, "--cluster=member1", "--", "sh", stdin="hostname\n")
    assert outcome.out == f"{pod}\n"
    assert outcome.err == "Unable to use a TTY - input is not a terminal or the right kind of file\n"


def test_watching_several_clusters_says_at_once_which_one_fails(federation: World, shop: str) -> None:
    words = ["get", "pods", "-n", shop, "-s", "all", "-w", "--no-headers"]
    terminal = Terminal(federation, words)
    terminal.until("member1")
    terminal.until("member2")
    federation.run("delete", "pods", "--all", "-n", shop, "--kubeconfig", federation.member_config("member1"))
    terminal.until("Terminating")
    terminal.interrupt()
    assert terminal.end() == 130


def test_watching_shows_changes_until_it_is_interrupted(federation: World, shop: str) -> None:
    terminal = Terminal(federation, ["get", "configmaps", "-n", shop, "-w", "--output-watch-events"])
    federation.run("create", "cm", "first", "-n", shop)
    terminal.until("first")
    federation.run("create", "cm", "second", "-n", shop)
    terminal.until("second")
    federation.run("delete", "cm", "second", "-n", shop)
    terminal.until("DELETED")
    terminal.interrupt()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text


def test_logs_are_followed_until_it_is_interrupted(federation: World, shop: str) -> None:
    words = ["logs", "-l", "app=shop", "--all-clusters", "-n", shop, "-f"]
    terminal = Terminal(federation, words)
    terminal.until("[member1/shop-")
    terminal.until("[member2/shop-")
    terminal.interrupt()
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text


def test_waits_show_progress_on_a_terminal(federation: World, shop: str) -> None:
    federation.run("create", "cm", "held", "-n", shop)
    held = '{"metadata":{"finalizers":["example.org/hold"]}}'
    federation.run("patch", "cm", "held", "-n", shop, "--type=merge", "-p", held)
    terminal = Terminal(federation, ["delete", "cm", "held", "-n", shop])
    terminal.until("waiting until configmap/held is gone (")
    free = '{"metadata":{"finalizers":null}}'
    federation.run("patch", "cm", "held", "-n", shop, "--type=merge", "-p", free)
    assert terminal.end() == 0
