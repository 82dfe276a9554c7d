"""Model weights: where they are downloaded from, how they are verified, and how they are loaded."""
