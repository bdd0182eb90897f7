"""Membership: how clusters join, register, report and leave, and how they are reached."""
