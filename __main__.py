"""`python -m openlineage_pyspark` runs the command `openlineage-pyspark` with the interpreter that is called."""

import sys

from openlineage_pyspark.command.main import main

sys.exit(main())
