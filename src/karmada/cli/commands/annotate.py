"""`karmadactl annotate`."""

from karmada.cli.labels_and_annotations import command

COMMAND = command("annotate", "annotations", "annotated")
