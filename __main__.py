"""`python -m openlineage_pyspark` runs the command `openlineage-pyspark` with this interpreter."""

import sys

from openlineage_pyspark.command.main import main

sys.exit(main())
