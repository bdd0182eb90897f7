"""The topics that can be run, one module each. Add yours to the list."""

from karmada.testing.golden.case import Topic
from karmada.testing.golden.topics import (
    cluster_status,
    cluster_taint_policy,
    cronfederatedhpa,
    dependencies,
    descheduler,
    detector,
    estimator,
    estimator_wire,
    execution,
    federated_quota,
    interpreter,
    naming,
    override,
    quantity,
    schedule_need,
    scheduler,
    webhook,
)

TOPICS: list[Topic] = [
    cluster_status.TOPIC,
    cluster_taint_policy.TOPIC,
    cronfederatedhpa.TOPIC,
    dependencies.TOPIC,
    descheduler.TOPIC,
    detector.TOPIC,
    estimator.TOPIC,
    estimator_wire.TOPIC,
    execution.TOPIC,
    federated_quota.TOPIC,
    interpreter.LUA,
    interpreter.NATIVE,
    interpreter.THIRDPARTY,
    naming.TOPIC,
    override.TOPIC,
    quantity.TOPIC,
    schedule_need.TOPIC,
    scheduler.TOPIC,
    webhook.TOPIC,
]
