"""The tiny shell of simulated containers."""

import pytest

from karmada.simulator.shell import ENDLESS, Surroundings, is_known, run

HERE = Surroundings("web-1", {"A": "1"}, {"/etc/hostname": "web-1\n"}, "from stdin", now=1795082405.0)


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        pytest.param(["hostname"], "web-1\n", 0, id="hostname"),
        pytest.param(["env"], "A=1\n", 0, id="env"),
        pytest.param(["date"], "Thu Nov 19 10:00:05 UTC 2026\n", 0, id="date"),
        pytest.param(["date", "-u", "+%F"], "2026-11-19\n", 0, id="date in another form"),
        pytest.param(["cat", "/etc/hostname"], "web-1\n", 0, id="cat"),
        pytest.param(["cat"], "from stdin", 0, id="cat without a file"),
        pytest.param(["cat", "/nothing"], "", 1, id="cat of nothing"),
        pytest.param(["echo", "a", "b"], "a b\n", 0, id="echo"),
        pytest.param(["sh", "-c", "echo $A ${A} '$A' \"$A\""], "1 1 $A 1\n", 0, id="variables and quotes"),
        pytest.param(["sh", "-c", "B=2; echo $B"], "2\n", 0, id="assignment"),
        pytest.param(["sh", "-c", "false || echo no; true && echo yes"], "no\nyes\n", 0, id="and, or"),
        pytest.param(["sh", "-c", "echo a > /dev/null; echo b 2>&1"], "b\n", 0, id="redirection"),
        pytest.param(["sh", "-c", "echo a | cat; echo b | cat | cat"], "a\nb\n", 0, id="pipes"),
        pytest.param(["sh", "-c", "cat /nothing | echo on"], "on\n", 0, id="the last of a pipe decides"),
        pytest.param(["sh", "-c", "echo a | sort"], "a\n", 0, id="a pipe into what is not known"),
        pytest.param(["sh", "-c", "echo a '|' b"], "a | b\n", 0, id="a quoted bar is no pipe"),
        pytest.param(["sh", "-c", "echo before; exit 7; echo after"], "before\n", 7, id="exit"),
        pytest.param(["sh", "-c", "nonsense"], "", 127, id="unknown command"),
        pytest.param(["sh", "-c", "test $A = 1 && echo same"], "same\n", 0, id="test of equality"),
        pytest.param(["sh", "-c", "[ $A -gt 1 ] || echo small"], "small\n", 0, id="test of numbers"),
        pytest.param(["test", "!", "-f", "/etc/hostname"], "", 1, id="test of a file"),
        pytest.param(["printf", "%s\\n", "x"], "x\n", 0, id="printf"),
    ],
)
def test_commands_do_what_they_say(command, output, code):
    outcome = run(command, HERE)
    assert (outcome.output, outcome.code) == (output, code)


@pytest.mark.parametrize(
    ("script", "seconds"),
    [
        ("sleep 5", 5),
        ("sleep 1m; sleep 0.5", 60.5),
        ("sleep infinity; echo never", ENDLESS),
        ("tail -f /dev/null", ENDLESS),
    ],
)
def test_sleeping_takes_time(script, seconds):
    outcome = run(["sh", "-c", script], HERE)
    assert outcome.seconds == seconds
    assert outcome.output == ""


def test_programs_of_others_are_not_known():
    assert not is_known(["nginx", "-g", "daemon off;"])
    assert not is_known([])
    assert is_known(["/bin/sh", "-c", "echo"])
