"""Installing on a host cluster: the chart, what it needs to know, and the control plane's own objects."""
