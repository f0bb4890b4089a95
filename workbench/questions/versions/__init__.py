"""The versions of datasets: their order, who wrote and read them, and what comes from their rows."""
