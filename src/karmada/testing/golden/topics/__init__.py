"""The topics that can be run, one module each. Add yours to the list."""

from karmada.testing.golden.case import Topic
from karmada.testing.golden.topics import (
    cronfederatedhpa,
    dependencies,
    detector,
    interpreter,
    naming,
    override,
    quantity,
)

TOPICS: list[Topic] = [
    cronfederatedhpa.TOPIC,
    dependencies.TOPIC,
    detector.TOPIC,
    interpreter.NATIVE,
    naming.TOPIC,
    override.TOPIC,
    quantity.TOPIC,
]
