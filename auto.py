"""
Registration by one import, for drivers whose Python does not read `.pth` files: `import openlineage_pyspark.auto`.

Import it before the first session is created; if a session is already running, the listener is attached at once. As
with the `.pth` file, it listens only if the configuration asks for lineage.
"""

from openlineage_pyspark.listener.start.hook import install

install()
