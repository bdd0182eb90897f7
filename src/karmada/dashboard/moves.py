"""Moves in words."""


def move_sentence(before: dict[str, int], after: dict[str, int]) -> str:
    """What a move is, in words."""
    came = [_amount(name, after[name]) for name in sorted(after) if name not in before]
    left = [name for name in sorted(before) if name not in after]
    changed = [
        f"{name} from {before[name]} to {after[name]}"
        for name in sorted(after)
        if name in before and before[name] != after[name]
    ]
    parts = [
        f"goes to {', '.join(came)}" if came else "",
        f"leaves {', '.join(left)}" if left else "",
        f"changes {', '.join(changed)}" if changed else "",
    ]
    return "; ".join(part for part in parts if part) or "stays where it is"


def _amount(name: str, replicas: int) -> str:
    return f"{name} ({replicas})" if replicas else name
