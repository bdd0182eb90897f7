"""`karmadactl annotate`."""

from karmada.cli.marking import command

COMMAND = command("annotate", "annotations", "annotated")
