"""Protection from untrusted text, files and servers: secret masking, limits, and strict reading of inputs."""
