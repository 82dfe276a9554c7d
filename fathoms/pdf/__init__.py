"""PDF files below the walls: reading one in a child process, and pictures of its pages with their sizes."""
