"""Overload protection: bounded concurrency with fair queues per user, a budget for watches, deadlines."""
