"""When the index waits for more changes before it writes."""

from karmada.search.fulltext import BUSY, LOAD, more_is_coming


def test_a_few_changes_are_written_at_once() -> None:
    assert not more_is_coming(0, 1)
    assert not more_is_coming(0, BUSY - 1)


def test_many_changes_wait_while_they_grow_in_number() -> None:
    assert more_is_coming(0, BUSY)
    assert more_is_coming(BUSY, BUSY + 1)
    assert not more_is_coming(BUSY, BUSY), "nothing came in the last pause"


def test_a_whole_collection_does_not_wait() -> None:
    assert not more_is_coming(0, LOAD)
