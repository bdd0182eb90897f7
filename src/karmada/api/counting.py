"""Numbers with their nouns, for sentences that people read."""


def counted(number: int, noun: str) -> str:
    """`1 cluster`, `2 clusters`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def part_of(number: int, total: int, noun: str) -> str:
    """`2 of 3 replicas are`, `0 of 1 replica is`: what follows says what they are."""
    return f"{number} of {counted(total, noun)} {'is' if total == 1 else 'are'}"
