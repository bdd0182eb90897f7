"""karmada-agent: runs in a pull cluster and does there what the control plane does for push clusters."""
