"""Asking estimators: the wire format both sides speak, and the scheduler's side of the conversation."""
