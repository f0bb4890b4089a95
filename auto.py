"""
Registration by one import, for drivers whose Python reads no `.pth` files: `import openlineage_pyspark.auto`.

Import it before the first session is made; on a session that runs already, the listener is attached at once. As with
the `.pth` file, it listens only where the configuration asks for lineage.
"""

from openlineage_pyspark.listener.start.hook import install

install()
