"""
Redaction: which texts are removed from an event before anyone sees it, and in which module each rule is.

Always removed:
- the values of options, properties and variables whose names mean a secret, or are not on the list of harmless names:
  `names` holds both lists;
- logins, query parameters and fragments of URLs, and every property of a JDBC URL: `facets.urls`;
- values after the names of secrets in free text (`password=...`), passwords in one-letter options of commands, private
  keys, tokens in the form of a well-known service, and the secret values that the configuration holds: `text`;
- comments in SQL, values of options and properties: `sql`; all literals of a run if one of its texts, its plan or a
  written column names a secret: `names` recognizes the name, `redact` removes the literals from the whole run;
- statements, plans and lines of source code quoted in error messages: `errors`;
- values of rows in error messages, unless `row_values` asks for them: `rows`.

With `mask_literals`, every literal in SQL is also replaced by `?`, and all comments on tables and columns are removed,
as is everything in a message that could be a literal.

`redact` applies these rules to a whole `RunState`, as the first line of `facets.events.build.event_of`; `Redaction`
holds the options, and redacts single texts.
Not redacted: the names of datasets, which `facets.datasets.naming` builds without credentials, and the facets of the
user's own providers.
"""
