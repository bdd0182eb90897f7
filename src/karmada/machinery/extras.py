"""Dependencies that only some installations have: `pip install pykarmada[production]` brings them all."""

from functools import cache


class ExtraMissing(SystemExit):
    """A program needs a package that is not installed; the message names the remedy."""

    def __init__(self, program: str, package: str) -> None:
        super().__init__(
            f"error: {program} needs {package}, which is not installed: pip install 'pykarmada[production]'"
        )


def require(program: str, *packages: str) -> None:
    """End the program with one sentence unless the packages are installed."""
    for package in packages:
        if not _installed(package):
            raise ExtraMissing(program, package)


def _installed(package: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package above it is absent too
        return False


@cache
def has_numpy() -> bool:
    """Whether answers about thousands of clusters or nodes can be computed on columns; without it they take longer."""
    return _installed("numpy")
