"""`--controllers`: which controllers run."""

import difflib
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """Items `*`, `name`, `-name`; the first item that decides wins."""

    items: tuple[str, ...] = ("*",)

    def enabled(self, name: str, by_default: bool = True) -> bool:
        """Whether a controller is to run; `by_default`: whether `*` includes it."""
        for item in self.items:
            if item == name:
                return True
            if item == f"-{name}":
                return False
        return "*" in self.items and by_default


def parse_selection(text: str, names: Collection[str]) -> Selection:
    """The value of `--controllers`; raises `ValueError` for an unknown name, suggesting the nearest one."""
    items = tuple(item.strip() for item in text.split(",") if item.strip())
    for item in items:
        name = item.removeprefix("-")
        if item != "*" and name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise ValueError(f'there is no controller "{name}": {hint}')
    return Selection(items)
