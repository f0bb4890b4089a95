"""What tests of several folders import: jobs on a real Spark, the cases of lineage, and the plans recorded of them."""
