"""What a pod asks for and what it refers to, read from a pod template or a pod."""
