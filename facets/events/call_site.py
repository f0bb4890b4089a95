"""The facet with the line of the user's Python that ran a statement; its JSON Schema is in the folder `schemas`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage.client.facet_v2 import RunFacet
from openlineage_pyspark.facets.events.ids import PRODUCER, own_schema

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.call_site import CallSite

PySparkCallSite = attrs.make_class(
    "PySparkCallSite", {name: attrs.field(kw_only=True) for name in ("file", "line", "function")}, bases=(RunFacet,)
)


def call_site_facet(site: CallSite) -> RunFacet:
    """Return the facet of the line that ran a statement."""
    facet = PySparkCallSite(file=site.file, line=site.line, function=site.function, producer=PRODUCER)
    facet._schemaURL = own_schema("PySparkCallSiteRunFacet")
    return facet
