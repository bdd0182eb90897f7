"""FlowSchemas and PriorityLevelConfigurations as objects: those every server has, and what is said of each.

They do not configure this server, which queues requests fairly per user; tools that read or bring them find what they
expect.
"""

from karmada.apiserver.flowcontrol.dangling import FlowSchemaStatus
from karmada.apiserver.flowcontrol.defaults import seed

__all__ = ["FlowSchemaStatus", "seed"]
