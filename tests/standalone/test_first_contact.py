"""What a new user types and mistypes: a sentence each time, never a traceback, and nothing that happens in silence."""

import argparse
import io
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import Any

import psutil
import pytest

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.simulator.command import parser as simulation
from karmada.standalone.layout import Layout
from karmada.standalone.main import DELEGATED
from karmada.standalone.main import parser as program
from karmada.standalone.progress import Reporter

PROGRAM = [sys.executable, "-m", "karmada.standalone.main"]
tools = pytest.mark.tools


def karmada(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def eventually(check: Callable[[], Any], seconds: float = 90) -> Any:
    until = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.05)
    return found


def last_lines(log: Path, sentence: str) -> list[str]:
    """The indented lines below a sentence."""
    _, _, below = log.read_text().partition(f"{sentence}\n")
    return list(takewhile(lambda line: line.startswith("  "), below.splitlines()))


def lines_before(log: Path, report: str) -> list[str]:
    """What a process said before its supervisor reported its end."""
    before, found, _ = log.read_text().partition(f"supervisor: {report}")
    assert found
    return [line for line in before.splitlines() if line.strip()]


def child(folder: Path, module: str) -> psutil.Process:
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
        except psutil.Error:
            continue
        if module in command and any(str(folder) in word for word in command):
            return process
    raise AssertionError(f"{module} does not run")


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_a_port_that_is_none_is_refused_before_anything_runs(tmp_path: Path, port: str) -> None:
    outcome = karmada("up", f"--port={port}", "--data", str(tmp_path / "federation"))
    assert outcome.returncode == 2
    assert f"argument --port: '{port}' is no port: write a number from 0" in outcome.stderr
    assert not (tmp_path / "federation").exists()


@pytest.mark.parametrize("kept", [0, 5, 2000], ids=lambda size: f"{size} bytes")
def test_a_truncated_backup_is_refused_with_a_sentence(tmp_path: Path, kept: int) -> None:
    import tarfile

    content = tmp_path / "format"
    content.write_bytes(os.urandom(100_000))
    whole = tmp_path / "whole.tar.gz"
    with tarfile.open(whole, "w:gz") as archive:
        archive.add(content, "format")
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole.read_bytes()[:kept])
    outcome = karmada("restore", str(cut), "--data", str(tmp_path / "restored"))
    assert outcome.returncode == 1
    assert outcome.stderr == f"error: {cut} was not restored: it is no backup, or only a part of one\n"
    assert not list((tmp_path / "restored" / "control-plane").iterdir())


@pytest.mark.parametrize("words", [["up"], ["up", "--detach"]], ids=["stays", "detached"])
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "lock").mkdir()  # whoever runs the tests, a file of that name cannot be written
    outcome = karmada(*words, "--data", str(tmp_path))
    assert outcome.returncode == 1
    assert outcome.stderr.startswith(f"error: cannot write {tmp_path / 'lock'}: ")
    assert outcome.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("module", "flag"),
    [("karmada.apiserver.main", "--secure-port"), ("karmada.scheduler.main", "--health-probe-bind-address")],
    ids=["apiserver", "scheduler"],
)
def test_a_component_says_in_a_sentence_that_its_port_is_taken(tmp_path: Path, module: str, flag: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        port = address.rpartition(":")[2]
        config = tmp_path / "config"
        write_kubeconfig(config, kubeconfig("http://127.0.0.1:1", b""))
        given = {
            "--secure-port": [flag, port, "--bind-address", "127.0.0.1", "--data-dir", str(tmp_path)],
            "--health-probe-bind-address": [f"{flag}={address}", "--metrics-bind-address=0", f"--kubeconfig={config}"],
        }[flag]
        start = f"import sys; from {module} import main; sys.exit(main(sys.argv[1:]))"
        outcome = subprocess.run(
            [sys.executable, "-c", start, *given], capture_output=True, text=True, timeout=60, check=False
        )
    assert outcome.returncode == 1
    assert "Traceback" not in outcome.stderr
    sentence = f"error: cannot serve on {address}: Address already in use; choose another port with {flag}"
    assert sentence in outcome.stderr


@tools
def test_who_died_how_and_how_often_is_reported_and_status_is_a_sentence_meanwhile(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    # A process that crashes has last words then.
    assert karmada("up", "--detach", "--members", "1", *data, PYTHONFAULTHANDLER="1").returncode == 0
    try:
        died = child(tmp_path, "karmada.standalone.control_plane_main").pid
        os.kill(died, signal.SIGKILL)
        meanwhile = karmada("status", *data)
        if meanwhile.returncode:  # unless it was back already
            assert "Traceback" not in meanwhile.stderr
            assert "error: the control plane does not answer, it is starting or restarting" in meanwhile.stderr
        log = tmp_path / "logs" / "supervisor.log"  # what `karmada up` shows on a terminal
        eventually(lambda: "restarted the control plane" in log.read_text())
        assert re.search(rf"\d\d:\d\d:\d\d process {died} of the control plane was killed by SIGKILL", log.read_text())
        assert f"process {died} of the control plane was killed" in karmada("logs", "control-plane", *data).stdout
        again = child(tmp_path, "karmada.standalone.control_plane_main").pid
        assert f"restarted the control plane (process {again}): restart 1\n" in log.read_text()
        os.kill(again, signal.SIGTERM)
        eventually(lambda: "): restart 2\n" in log.read_text())
        (message,) = last_lines(log, f"process {again} of the control plane ended with exit code 0; its last lines:")
        assert message.endswith("SIGTERM: stopping")
        died = child(tmp_path, "karmada.simulator.main").pid
        os.kill(died, signal.SIGSEGV)
        eventually(lambda: "restarted the members" in log.read_text())
        own = lines_before(tmp_path / "logs" / "members.log", f"process {died} of the members")
        assert len(own) > 3
        crash = f"process {died} of the members was killed by SIGSEGV; its last lines:"
        assert last_lines(log, crash) == [f"  {line}" for line in own[-3:]]
    finally:
        karmada("down", *data)


@tools
def test_members_of_an_earlier_start_are_kept_or_said_to_be_left_out(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    try:
        assert karmada("up", "--detach", "--members", "2", *data).returncode == 0
        karmada("down", *data)
        fewer = karmada("up", "--detach", "--members", "1", *data)
        assert fewer.returncode == 0
        assert "member2 is a member and was not started: start the federation with --members" in fewer.stderr
        rows = [line.split()[:2] for line in karmada("status", *data).stdout.splitlines()[1:]]
        assert rows == [["member1", "ready"], ["member2", "not"]]
        status = json.loads(karmada("status", "-o", "json", *data).stdout)
        assert [member["state"] for member in status["members"]] == ["ready", "not started"]
        karmada("down", *data)
        again = karmada("up", "--detach", *data)
        assert "was not started" not in again.stderr
        rows = [line.split()[:2] for line in karmada("status", *data).stdout.splitlines()[1:]]
        assert rows == [["member1", "ready"], ["member2", "ready"]]
        listed = karmada("sim", *data, "list")
        assert [line.split()[0] for line in listed.stdout.splitlines()] == ["member1", "member2"], listed.stderr
    finally:
        karmada("down", *data)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_step_that_ends_leaves_nothing_of_the_line_it_replaces() -> None:
    screen = Terminal()
    reporter = Reporter(screen)
    reporter.step("joining 40 members (3 joined)")
    reporter.step("joining 40 members (12 joined)")
    reporter.close()
    last = screen.getvalue().splitlines()[-1]
    assert last.rpartition("\r")[2].startswith("\033[K")
    assert last.endswith("joining 40 members")


def test_progress_in_a_file_is_one_line_for_each_step() -> None:
    text = io.StringIO()
    reporter = Reporter(text)
    for count in range(40):
        reporter.step(f"joining 40 members ({count} joined)")
    reporter.step("waiting until they are ready")
    reporter.close()
    assert text.getvalue().splitlines() == ["  joining 40 members (0 joined)", "  waiting until they are ready"]


@tools
@pytest.mark.parametrize("columns", [80, 140])
def test_an_end_by_ctrl_c_looks_right_on_a_terminal(columns: int) -> None:
    with tempfile.TemporaryDirectory(prefix="k") as short:
        words = ("up", "--memory", "--members", "1", "--data", short)
        text = until_ctrl_c(words, columns, "karmada dashboard-token --link")
    assert "\033[32m✓\033[0m stopping\r\n" in text
    assert widest(text) <= columns
    assert f"export KUBECONFIG={short}/kubeconfig" in text


def widest(text: str) -> int:
    """How long the longest line on a terminal is, without its colours."""
    return max(len(re.sub(r"\033\[[0-9;]*[mK]", "", line)) for line in text.splitlines())


def until_ctrl_c(arguments: Sequence[str], columns: int, seen: str, **environment: str) -> str:
    """What a command shows on a terminal that is interrupted when it has shown something; it must end well."""
    screen, inside = pty.openpty()
    termios.tcsetwinsize(inside, (40, columns))
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env=inherited | {"TERM": "xterm"} | environment,
        start_new_session=True,
    )
    os.close(inside)
    text = ""
    typed = False
    while True:
        if select.select([screen], [], [], 60)[0]:
            try:
                piece = os.read(screen, 65536).decode()
            except OSError:
                break
            text += piece
        if seen in text and not typed:
            process.send_signal(signal.SIGINT)
            typed = True
    assert process.wait(30) == 0
    os.close(screen)
    return text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["logs", "--lines=-5"], "'-5' is no number of lines"),
        (["monitoring", "m", "--scrape-interval=soon"], "'soon' is no interval of Prometheus: write one such as 15s"),
        (["monitoring", "m", "--scrape-interval=1.5s"], "'1.5s' is no interval of Prometheus"),
        (["monitoring", "m", "--scrape-interval=0s"], "'0s' is no interval of Prometheus"),
        (["monitoring", ""], "the name of the directory is empty"),
        (["up", "--data="], "argument --data: the name of the directory is empty: write one, or leave the flag out"),
        (["up", "--backup-every=1h", "--backup-to="], "argument --backup-to: the name of the directory is empty"),
        (["up", "--backup-to=backups"], "make no backups by themselves: add --backup-every=1h"),
        (["up", "--backup-keep=3"], "make no backups by themselves: add --backup-every=1h"),
        (["up", "--backup-every=1h", "--memory"], "--memory keeps nothing there: leave one of them out"),
        (["service", "install", "--data="], "argument --data: the name of the directory is empty"),
        (["sim", "--data=", "list"], "argument --data: the name of the directory is empty"),
    ],
)
def test_a_flag_that_means_nothing_is_refused_before_anything_is_written(
    tmp_path: Path, words: list[str], complaint: str
) -> None:
    outcome = subprocess.run([*PROGRAM, *words], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert outcome.returncode == 2
    assert complaint in outcome.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("count", ["0", "-1", "several"])
def test_a_number_of_members_that_is_none_is_refused_before_anything_runs(tmp_path: Path, count: str) -> None:
    outcome = karmada("up", f"--members={count}", "--data", str(tmp_path / "federation"))
    assert outcome.returncode == 2
    assert f"argument --members: {count!r} is no number above 0" in outcome.stderr
    assert not (tmp_path / "federation").exists()


def test_a_start_in_the_background_that_fails_says_once_what_a_start_says(tmp_path: Path) -> None:
    words = ["up", "--data", str(tmp_path), "--fleet", str(tmp_path / "no-such-fleet")]
    here, behind = karmada(*words), karmada(*words, "--detach")
    assert (behind.returncode, behind.stderr) == (here.returncode, here.stderr)
    assert behind.stderr.count("error: ") == 1


def test_logs_of_what_was_never_started_say_so(tmp_path: Path) -> None:
    outcome = karmada("logs", "--data", str(tmp_path))
    assert (outcome.returncode, outcome.stdout) == (1, "")
    start = f"`karmada up --data {tmp_path}` does"
    assert outcome.stderr == f"error: there are no logs in {tmp_path}: nothing was started there; {start}\n"


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of a program that are described here."""
    (found,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {name: command for name, command in found.choices.items() if name not in DELEGATED}


@pytest.mark.parametrize("program", [program(), simulation()], ids=["karmada", "karmada sim"])
def test_every_command_says_what_it_and_its_flags_do_and_shows_an_example(program: argparse.ArgumentParser) -> None:
    for name, command in _commands(program).items():
        assert f"examples:\n  {program.prog} {name}" in command.format_help()
        assert not [flag.option_strings for flag in command._actions if flag.option_strings and not flag.help]


def test_what_is_no_json_is_refused_with_a_sentence() -> None:
    outcome = karmada("sim", "webhook", "member1", "mesh", "--merge", "{labels}")
    assert outcome.returncode == 2
    assert "argument --merge: '{labels}' is no object in JSON: write it as" in outcome.stderr


@pytest.mark.parametrize("words", [["status"], ["dashboard-token"], ["gateway"]], ids=lambda words: words[0])
def test_what_is_to_be_typed_names_the_directory_that_was_asked_about(tmp_path: Path, words: list[str]) -> None:
    outcome = karmada(*words, "--data", str(tmp_path))
    assert outcome.returncode == 1
    assert re.search(rf"with `karmada up[^`]* --data {tmp_path}`$", f"{outcome.stdout}{outcome.stderr}".strip())


def test_the_usual_directory_is_not_named(tmp_path: Path) -> None:
    outcome = karmada("status", KARMADA_HOME=str(tmp_path))
    assert outcome.stdout == f"nothing runs in {tmp_path}: start it with `karmada up`\n"


def test_a_federation_that_runs_already_is_the_one_to_be_stopped(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "another one")
    layout.prepare()
    with layout.lock():
        outcome = karmada("up", "--data", str(layout.root))
    assert outcome.returncode == 1
    assert f"stop it with `karmada down --data '{layout.root}'`, or choose another directory" in outcome.stderr


@pytest.mark.parametrize(
    ("program", "command", "module"),
    [("karmada", "up", "karmada.standalone.up"), ("karmadactl", "get", "karmada.cli.commands.get")],
    ids=["karmada", "karmadactl"],
)
def test_ctrl_c_while_a_program_is_loading_is_no_traceback(program: str, command: str, module: str) -> None:
    start = f"""
import sys
from karmada.cli.entry import {program} as program
class Interrupted:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
sys.argv[1:] = [{command!r}]
sys.exit(program())
"""
    outcome = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, timeout=60, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (130, "", "")


def test_paths_that_are_printed_are_absolute(tmp_path: Path) -> None:
    outcome = subprocess.run(
        [*PROGRAM, "kubeconfig", "--data", "here"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert outcome.stdout == f"{tmp_path}/here/kubeconfig\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], "up"),
        (["up", "--mem"], "--members"),
        (["completion", ""], "zsh"),
        (["sim", "fa"], "fault"),
        (["status", "-o", "j"], "json"),
    ],
    ids=" ".join,
)
def test_shells_can_complete_the_command(words: list[str], expected: str) -> None:
    assert expected in karmada("__complete", *words).stdout.splitlines()
    assert "karmada __complete" in karmada("completion", "bash").stdout


def test_logs_are_followed(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "members.log"
    log.parent.mkdir()
    log.write_text("one\n")
    command = [*PROGRAM, "logs", "-f", "members", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, ExitStack() as ends:
        ends.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline() == "one\n"
        with log.open("a") as file:
            file.write("two\n")
        assert process.stdout.readline() == "two\n"
        log.write_text("3\n")
        assert process.stdout.readline() == "3\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_the_version_is_printed_for_people_and_programs() -> None:
    from karmada import __version__

    assert karmada("version").stdout == f"karmada {__version__}\n"
    assert json.loads(karmada("version", "-o", "json").stdout) == {"version": __version__}
