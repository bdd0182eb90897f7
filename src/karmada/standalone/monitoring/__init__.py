"""What Prometheus and Grafana need to watch a federation: scrape configuration, alert rules and boards."""
