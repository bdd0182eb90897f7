"""Random inputs by seed, from the generator that is kept beside the oracle's protocol."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
DEFAULT = Path("../shared/tools/oracle")


class GeneratorMissing(Exception):
    """There is no generator at the given place; the message says what to do."""


class Generator:
    """The generator in a folder: the same seed gives the same inputs."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "inputs" / "topics.py").is_file():
            raise GeneratorMissing(
                f"no generator of inputs at {folder}: give its folder with --generator, "
                "or leave --oracle out to compare with recorded answers"
            )
        # The generator is no package of ours: it stays where it is, and only whoever asks for inputs loads it.
        sys.path.insert(0, str(folder.resolve()))
        self._topics = importlib.import_module("inputs.topics").TOPICS
        self._dice = importlib.import_module("inputs.dice").Dice

    @property
    def topics(self) -> list[str]:
        """What inputs can be made for."""
        return sorted(self._topics)

    def requests(self, topic: str, seed: int, count: int) -> Iterator[Record]:
        """Requests of the oracle's protocol; the scheduler's are flat and name no operation."""
        for number, (_, operation, given) in enumerate(self._topics[topic](self._dice(seed), count)):
            name = f"{topic}-s{seed}-{number:05}"
            yield {"id": name, "op": operation, "input": given} if operation else {"id": name, **given}
