"""`karmadactl label`."""

from karmada.cli.labels_and_annotations import command

COMMAND = command("label", "labels", "labeled")
