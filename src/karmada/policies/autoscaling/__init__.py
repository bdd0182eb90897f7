"""Autoscaling decisions: how many replicas metrics ask for, how fast a count may change, what a cron rule did."""
