"""
Registration by one import, for drivers whose Python reads no `.pth` files: `import openlineage_pyspark.auto`.

It stands before the first session is made; on one that runs already, the listener is put at once. As everywhere, it
listens only where the configuration says so.
"""

from openlineage_pyspark.listener.start.hook import install

install()
