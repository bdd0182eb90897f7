"""What tests need: the pytest plugin and the comparison with recorded behaviour."""
