"""`karmadactl label`."""

from karmada.cli.marking import command

COMMAND = command("label", "labels", "labeled")
