"""Metrics adapter: resource, custom and external metrics of all members, as APIs of the control plane.

- `api`: the three groups as one `LocalApi`
- `fanout`: one question to all ready members, each with its own deadline
- `history`: what pods and nodes used lately, in memory
- `resource_metrics`, `custom_metrics`, `external_metrics`: what each group answers
- `main`: karmada-metrics-adapter as a program
"""
