"""What keeps untrusted text, files and servers from doing harm: masking of secrets, trust, and limits."""
