"""APIService aggregation: API groups served by in-process handlers or by remote servers."""
