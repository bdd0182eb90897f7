"""What is counted of a function is its own work."""

import gc
import weakref

from tests.growth import work


class Node:
    """Something that holds itself, and goes with the next collection only."""

    def __init__(self) -> None:
        self.me = self


def test_what_earlier_tests_left_to_be_collected_does_not_count() -> None:
    def calls() -> float:
        return work(lambda: len([[] for _ in range(50_000)])).calls

    gone: list[object] = []

    def note(one: object) -> None:
        gone.append(one)

    alone = calls()
    left = [weakref.ref(Node(), note) for _ in range(100)]
    assert calls() == alone
    gc.collect()
    assert len(gone) == len(left)
