"""How far a long run is, kept in a file so that the same run can go on after an interruption."""

import hashlib
import subprocess
from pathlib import Path

import msgspec


class Progress(msgspec.Struct):
    """Of one run; saved with each step."""

    run: str
    done: int = 0
    broken: int = 0
    seconds: float = 0.0
    file: str = ""

    def advance(self, done: int, broken: int, seconds: float) -> None:
        """Some more is done; `seconds` is how long the whole run has taken so far."""
        self.done += done
        self.broken += broken
        self.seconds = seconds
        path = Path(self.file)
        draft = path.with_suffix(".partial")
        draft.write_bytes(msgspec.json.encode(self))
        draft.replace(path)


def progress_of(folder: Path, run: str, fresh: bool = False) -> Progress:
    """What is known of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(run.encode()).hexdigest()[:16]}.json"
    if not fresh:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Progress)
        except (OSError, msgspec.MsgspecError):
            pass
    return Progress(run, file=str(path))


def commit() -> str | None:
    """What is explored: seeds that were done on another commit say nothing about this one. None if it is no commit."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        ran = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    found = ran.stdout.strip()
    return None if found.endswith("-dirty") else found
