"""What each source reads, and what datasets are called."""
