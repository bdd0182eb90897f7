"""What a fuzzer is: a maker of inputs, and a run that only the decoder's own refusals may end."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True)
class Target:
    """`run` feeds an input to a decoder and checks what comes out; `refusals` are the errors that it may raise."""

    name: str
    make: Callable[[Random], Any]
    run: Callable[[Any], Any]
    refusals: tuple[type[Exception], ...]

    def check(self, given: Any) -> None:
        """Run one input; raises what should never be raised."""
        try:
            self.run(given)
        except self.refusals:
            return
