"""What the control plane does, one module or folder per controller: wiring apart from decisions."""
