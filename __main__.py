"""`python -m openlineage_pyspark` is the command `openlineage-pyspark`, of the very interpreter that is called."""

import sys

from openlineage_pyspark.command.main import main

sys.exit(main())
