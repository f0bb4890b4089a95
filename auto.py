"""
Attach the listener by `import openlineage_pyspark.auto`, for drivers whose Python does not read `.pth` files.

Import it before the first session is created. If a session is already running, the listener is attached at once.
As with the `.pth` file, nothing happens unless the configuration names a transport.
"""

from openlineage_pyspark.listener.start.hook import install

install()
