"""Caches bound what they keep of texts that others choose."""

import pytest

from karmada.api.caching import LONGEST, clean_cache, text_cache, weighed_cache


def test_long_texts_are_not_kept() -> None:
    requests: list[int] = []

    @text_cache(8)
    def length(text: str) -> int:
        requests.append(len(text))
        return len(text)

    for _ in range(2):
        assert length("a" * LONGEST) == LONGEST
        assert length("a" * (LONGEST + 1)) == LONGEST + 1
    assert requests == [LONGEST, LONGEST + 1, LONGEST + 1]


class Reader:
    """Counts how often each text is read anew."""

    def __init__(self, most: int) -> None:
        self.calls: list[str] = []
        self.length = weighed_cache(most, lambda _, text: len(text))(self._length)

    def _length(self, text: str) -> int:
        self.calls.append(text)
        if not text:
            raise ValueError("nothing")
        return len(text)


def test_a_weighed_cache_keeps_what_was_used_last_and_fits() -> None:
    reader = Reader(10)
    for text in ("aaaa", "bbbb", "aaaa", "cccc"):
        assert reader.length(text) == 4
    assert reader.calls == ["aaaa", "bbbb", "cccc"]
    reader.length("aaaa")
    assert reader.calls == ["aaaa", "bbbb", "cccc"]
    reader.length("bbbb")
    assert reader.calls == ["aaaa", "bbbb", "cccc", "bbbb"]


def test_a_weighed_cache_keeps_nothing_that_is_heavier_than_all_its_room() -> None:
    reader = Reader(10)
    for text in ("aaaa", "b" * 11, "b" * 11, "aaaa"):
        reader.length(text)
    assert reader.calls == ["aaaa", "b" * 11, "b" * 11]


def test_a_weighed_cache_does_not_keep_errors() -> None:
    reader = Reader(10)
    for _ in range(2):
        with pytest.raises(ValueError, match="nothing"):
            reader.length("")
    assert reader.calls == ["", ""]


def test_only_objects_with_nothing_to_say_about_them_are_remembered() -> None:
    judged: list[str] = []

    @clean_cache(2)
    def complaints(obj: dict[str, object], path: str) -> list[str]:
        judged.append(path)
        return [f"{path}.bad: is set"] if obj.get("bad") else []

    for path in ("first", "second"):
        assert complaints({"good": 1}, path) == []
        assert complaints({"bad": 1}, path) == [f"{path}.bad: is set"]
    assert judged == ["first", "first", "second"]
    for number in range(3):
        complaints({"good": number}, "third")
    assert complaints({"good": 2**70}, "fourth") == [], "numbers that cannot be encoded are judged each time"
    assert judged[3:] == ["third", "third", "fourth"]
