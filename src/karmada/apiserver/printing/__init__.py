"""Objects as people read them: Table rows per kind, bare metadata, ages and other cells."""

from karmada.apiserver.printing.table import columns_of, partial_metadata, table

__all__ = ["columns_of", "partial_metadata", "table"]
