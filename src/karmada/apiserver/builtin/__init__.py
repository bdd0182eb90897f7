"""The built-in resource types: their names, schemas and rules."""

from karmada.apiserver.builtin.catalog import builtin_types

__all__ = ["builtin_types"]
