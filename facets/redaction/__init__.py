"""
Redaction: the texts that are removed from an event before anyone sees it, and the module of each rule.

Always removed:
- the values of options, properties and variables whose names mark them as secret, or are not known to be harmless:
  `names` holds both lists of names;
- logins, query parameters and fragments of URLs, and every property of a JDBC URL: `facets.urls`;
- the values that names of secrets have in free text (`password=...`), the values of options of one letter, private
  keys, tokens in the form of a well-known service, and the secret values that the configuration holds: `text`;
- comments in SQL, values of options and properties: `sql`; all literals of a run if one of its texts, its plan or a
  written column names a secret: `names` recognizes the name, `redact` applies it to the whole run;
- statements, plans and lines of source code quoted in error messages: `errors`;
- values of rows in error messages, unless `row_values` asks for them: `rows`.

With `mask_literals` also every literal in SQL (as `?`), all comments on tables and columns, and everything in a message
that could be a literal.

`redact` applies these rules to a whole `RunState`, as the first line of `facets.events.build.event_of`; `Redaction`
holds the options and is the entry for single texts.
Not redacted: the names of datasets, which `facets.datasets.naming` builds without credentials, and the facets of the
user's own providers.
"""
