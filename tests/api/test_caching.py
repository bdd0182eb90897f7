"""Caches by text keep short texts only."""

from karmada.api.caching import LONGEST, text_cache


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
