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
    schedule_need,
    scheduler,
)

TOPICS: list[Topic] = [
    cronfederatedhpa.TOPIC,
    dependencies.TOPIC,
    detector.TOPIC,
    interpreter.NATIVE,
    interpreter.THIRDPARTY,
    naming.TOPIC,
    override.TOPIC,
    quantity.TOPIC,
    schedule_need.TOPIC,
    scheduler.TOPIC,
]
