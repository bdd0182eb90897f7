"""`karmadactl version`."""

from karmada.cli.command import Command
from karmada.cli.flags import Flag, Values, one_of
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> None:
    """Print the version in the form scripts know."""
    import platform
    import sys

    from karmada import __version__

    python = f"python{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    facts = {
        "GitVersion": f"v{__version__}",
        "GitCommit": "unknown",
        "GitShortCommit": "unknown",
        "GitTreeState": "unknown",
        "BuildDate": "unknown",
        "GoVersion": python,
        "Compiler": sys.implementation.name,
        "Platform": f"{sys.platform}/{machine}",
    }
    if flags.output == "json":
        import json

        session.print(json.dumps({name[0].lower() + name[1:]: value for name, value in facts.items()}, indent=2))
        return
    text = ", ".join(f'{name}:"{value}"' for name, value in facts.items())
    session.print(f"{session.program} version: version.Info{{{text}}}")


COMMAND = Command(
    "version",
    "",
    "Print the version of this program.",
    run,
    (Flag("output", "", "json.", "o", check=one_of("--output is json", "", "json")),),
    examples="karmadactl version -o json",
    offline=True,
)
