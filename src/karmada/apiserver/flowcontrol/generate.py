"""Makes `defaults.jsonl` from the answer of a stock kube-apiserver with an empty store:

    kubectl get prioritylevelconfigurations,flowschemas -o json | python -m karmada.apiserver.flowcontrol.generate

One line per object: kind, name and spec.
"""

import json
import sys
from importlib.resources import files
from typing import Any

import orjson


def table(objects: list[dict[str, Any]]) -> bytes:
    """The lines of these objects."""
    found = sorted((obj["kind"], obj["metadata"]["name"], obj["spec"]) for obj in objects)
    return b"".join(orjson.dumps(line, option=orjson.OPT_SORT_KEYS) + b"\n" for line in found)


def main() -> None:
    """Write the table beside this module."""
    with open(str(files(__package__).joinpath("defaults.jsonl")), "wb") as file:
        file.write(table(json.load(sys.stdin)["items"]))


if __name__ == "__main__":
    main()
