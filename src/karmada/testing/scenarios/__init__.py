"""Scenarios for `explore`: what components do to each other, and the rules that must hold whatever happens."""
