"""Text whose columns line up with their neighbours: a column is as wide as its longest cell in consecutive lines."""

from collections.abc import Sequence

from karmada.cli.output.controls import shown

PADDING = 2


class Page:
    """Lines of cells. A line break in a cell begins a line of its own, as far left as the page goes."""

    def __init__(self) -> None:
        self._lines: list[list[str]] = []

    def line(self, level: int, *cells: object) -> None:
        """A line, indented by its level."""
        text = "  " * level + "\t".join(str(cell) for cell in cells)
        self._lines += [line.split("\t") for line in shown(text).split("\n")]

    def field(self, level: int, name: str, value: object) -> None:
        """`Name:  value`."""
        self.line(level, f"{name}:", value)

    def several(self, level: int, name: str, values: Sequence[str]) -> None:
        """A field with one value per line."""
        first, *rest = values or ("<none>",)
        self.field(level, name, first)
        for value in rest:
            self.line(level, "", value)

    def table(self, level: int, head: Sequence[str], rows: Sequence[Sequence[object]], *, ruled: bool = True) -> None:
        """Rows under a head, which is underlined if ruled."""
        self.line(level, *head)
        if ruled:
            self.line(level, *("-" * len(cell) for cell in head))
        for row in rows:
            self.line(level, *row)

    def text(self) -> str:
        """The lines with their columns lined up."""
        widths = _widths(self._lines)
        lines = []
        for cells, sizes in zip(self._lines, widths, strict=True):
            padded = [cell.ljust(size) for cell, size in zip(cells, sizes, strict=False)]
            lines.append("".join([*padded, cells[-1]]) if len(cells) > 1 else cells[0])
        return "".join(f"{line}\n" for line in lines)


def _widths(lines: list[list[str]]) -> list[list[int]]:
    """The width of every cell but the last of its line."""
    widths: list[list[int]] = [[] for _ in lines]
    for column in range(max((len(cells) for cells in lines), default=0) - 1):
        start = 0
        while start < len(lines):
            end = start
            while end < len(lines) and len(lines[end]) > column + 1:
                end += 1
            if end > start:
                size = max(len(lines[index][column]) for index in range(start, end)) + PADDING
                for index in range(start, end):
                    widths[index].append(size)
            start = max(end, start + 1)
    return widths
