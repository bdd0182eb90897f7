"""Pictures of commands as they look on a terminal: `python tools/picture.py FILE.svg COLUMNS COMMAND...`.

Runs the command in a pseudo-terminal and draws what it printed as an SVG that every forge shows: text, no fonts, no
scripts, colours for light and dark pages.
"""

import html
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

WIDTH, HEIGHT, PADDING = 8.4, 18, 14
CLASSES = {"1": "b", "31": "r", "32": "g", "33": "y"}
STYLE = """
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; fill: #1f2328; }
  rect { fill: #f6f8fa; stroke: #d0d7de; } .b { font-weight: bold; } .p { fill: #57606a; }
  .r { fill: #cf222e; } .g { fill: #1a7f37; } .y { fill: #9a6700; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } rect { fill: #161b22; stroke: #30363d; } .p { fill: #8b949e; }
    .r { fill: #ff7b72; } .g { fill: #3fb950; } .y { fill: #d29922; }
  }
"""


def captured(columns: int, words: list[str], until: str = "") -> str:
    """What a command prints on a terminal of so many columns, interrupted when it has printed `until`."""
    screen, inside = pty.openpty()
    termios.tcsetwinsize(inside, (50, columns))
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"}
    process = subprocess.Popen(words, stdin=inside, stdout=inside, stderr=inside, env=environment)
    os.close(inside)
    text = b""
    while True:
        try:
            piece = os.read(screen, 65536)
        except OSError:  # the terminal is gone with its last user
            break
        if not piece:
            break
        if until and until.encode() not in text and until.encode() in text + piece:
            process.send_signal(signal.SIGINT)
        text += piece
    process.wait()
    os.close(screen)
    return text.decode(errors="replace").replace("\r\n", "\n")


def drawn(command: str, text: str, columns: int) -> str:
    """The SVG of a command and its output."""
    # What a spinner drew and took away again is not part of the picture.
    lines = [line.rpartition("\r\033[K")[2] for line in text.rstrip("\n").split("\n")]
    shown = [f'<tspan class="p">$</tspan> <tspan class="b">{html.escape(command)}</tspan>', *map(_spans, lines)]
    wide, high = columns * WIDTH + 2 * PADDING, len(shown) * HEIGHT + 2 * PADDING
    rows = "\n".join(
        f'<text x="{PADDING}" y="{PADDING + (index + 0.75) * HEIGHT:g}" xml:space="preserve">{row}</text>'
        for index, row in enumerate(shown)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" role="img">\n'
        f"<title>{html.escape(command)}</title><style>{STYLE}</style>\n"
        f'<rect x="0.5" y="0.5" width="{wide - 1:g}" height="{high - 1:g}" rx="8"/>\n{rows}\n</svg>\n'
    )


def _spans(line: str) -> str:
    return "".join(
        f'<tspan class="{name}">{html.escape(text)}</tspan>' if name else html.escape(text)
        for name, text in _runs(line)
    )


def _runs(line: str) -> Iterator[tuple[str, str]]:
    """The parts of a line, each with the class of its colour."""
    name = ""
    for part in re.split(r"(\033\[[0-9;?]*[a-zA-Z])", line):
        if part.startswith("\033["):
            name = CLASSES.get(part[2:-1], "") if part.endswith("m") else name
        elif part:
            yield name, part


if __name__ == "__main__":
    file, columns, *words = sys.argv[1:]
    Path(file).write_text(drawn(" ".join(words), captured(int(columns), words), int(columns)))
