"""What stands in the way of an apply: fields that other managers own with other values."""

from typing import NamedTuple

import orjson

from karmada.apiserver.managedfields.entries import Entry, identity
from karmada.apiserver.managedfields.fieldset import Fields, paths
from karmada.machinery.httpserver.failure import Failure


class Conflict(NamedTuple):
    """Fields of one other manager that the apply would change."""

    entry: Entry
    fields: Fields

    @property
    def owner(self) -> str:
        """The other manager as messages name it: updaters with their version, a subresource where there is one."""
        manager = orjson.dumps(self.entry.get("manager", "")).decode()
        if subresource := self.entry.get("subresource"):
            manager += f' with subresource "{subresource}"'
        return manager if self.entry["operation"] == "Apply" else f"{manager} using {self.entry['apiVersion']}"


class ApplyConflict(Failure):
    """409: the apply is refused unless forced; one cause per field."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        self.conflicts = sorted(conflicts, key=lambda conflict: identity(conflict.entry))
        found = [(conflict.owner, list(paths(conflict.fields))) for conflict in self.conflicts]
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": path}
            for owner, fields in found
            for path in fields
        ]
        if len(causes) == 1:
            text = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
        else:
            lines = [line for owner, fields in found for line in (f"conflicts with {owner}:", *_listed(fields))]
            text = f"{len(causes)} conflicts: " + "\n".join(lines)
        super().__init__(409, "Conflict", f"Apply failed with {text}", {"causes": causes})


def _listed(fields: list[str]) -> list[str]:
    return [f"- {field}" for field in fields]
