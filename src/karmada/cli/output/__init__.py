"""How results are shown: tables, objects, templates."""
