"""Where in a YAML text a field stands, so that a message about an object can name the line of its file."""

from collections.abc import Sequence
from typing import Any

Path = Sequence[str | int]


def line_of(text: str, document: int, path: Path) -> int:
    """The line (from 1) of a field of a document, counting those that are not empty; of the nearest part that is there.

    The text must have been read by `yaml.load_all` before, which refuses what is nested too deeply.
    """
    return line_in(nodes_of(text), document, path)


def nodes_of(text: str) -> list[Any]:
    """The documents of a text that are not empty, with their places: for who asks for many lines of one text."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [node for node in yaml.compose_all(text, loader) if node is not None and not node.tag.endswith(":null")]


def line_in(nodes: Sequence[Any], document: int, path: Path) -> int:
    """`line_of` in a text whose documents are known."""
    import yaml

    if document >= len(nodes):
        return 1
    node = nodes[document]
    mark = node.start_mark
    for step in path:
        found = None
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = (node.value[step], node.value[step])
        if found is None:
            break
        mark, node = found[0].start_mark, found[1]
    return int(mark.line) + 1
