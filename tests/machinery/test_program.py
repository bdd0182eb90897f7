"""How a program ends."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, sys
from karmada.machinery.process import run

async def main():
    print("up", flush=True)
    try:
        {body}
    finally:
        print("clean", flush=True)

sys.exit(run(main))
"""


def start(body):
    program = PROGRAM.format(body=body)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "up\n"
    return process


def ended(process):
    """Exit code and output after the first line."""
    with process:
        output, errors = process.stdout.read(), process.stderr.read()
    return process.returncode, output, errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_it_in_order(number):
    process = start("await asyncio.Event().wait()")
    process.send_signal(number)
    assert ended(process)[:2] == (0, "clean\n")


def test_a_failure_is_its_exit_code():
    process = start("raise ValueError('bug')")
    code, output, errors = ended(process)
    assert (code, output) == (1, "clean\n")
    assert "ValueError: bug" in errors


def test_a_program_that_is_done_ends():
    assert ended(start("pass"))[:2] == (0, "clean\n")
