"""A pseudo-terminal with a program in it, and what is on its screen."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from typing import Any

from tests.cli.world import World

PROGRAM = (sys.executable, "-c", "import sys; from karmada.cli.entry import karmadactl; sys.exit(karmadactl())")


class Terminal:
    """Our program, or another one, in a pseudo-terminal."""

    def __init__(
        self,
        federation: World,
        words: Sequence[str],
        *,
        program: Sequence[str] = PROGRAM,
        columns: int = 200,
        **variables: str,
    ) -> None:
        self._screen, inside = pty.openpty()
        termios.tcsetwinsize(inside, (50, columns))
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        environment = inherited | {"KUBECONFIG": str(federation.kubeconfig), "TERM": "xterm"} | variables
        self._process = subprocess.Popen(
            [*program, *words], stdin=inside, stdout=inside, stderr=inside, env=environment, start_new_session=True
        )
        os.close(inside)
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def until(self, wanted: str, seconds: float = 30.0) -> None:
        """Read the screen until a text is on it."""
        end = time.monotonic() + seconds
        while wanted not in self.text and time.monotonic() < end and self._read():
            continue
        if wanted not in self.text:
            self._process.kill()
            self.end()
            raise AssertionError(f"{wanted!r} did not appear in {self.text!r}")

    def _read(self) -> bool:
        if not select.select([self._screen], [], [], 0.2)[0]:
            return self._process.poll() is None
        try:
            data = os.read(self._screen, 65536)
        except OSError:
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def settings(self) -> list[Any]:
        """How the terminal treats what is typed."""
        return termios.tcgetattr(self._screen)

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._screen, (rows, columns))
        self._process.send_signal(signal.SIGWINCH)

    def end(self, settings: list[Any] | None = None) -> int:
        """Wait for the end; the exit status. The terminal must have these settings again, if any are given."""
        try:
            code = self._process.wait(30)
        finally:
            self._process.kill()
        assert settings is None or self.settings() == settings
        while self._read() and select.select([self._screen], [], [], 0.1)[0]:
            continue
        os.close(self._screen)
        return code
