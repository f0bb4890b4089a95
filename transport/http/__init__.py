"""
Events to an OpenLineage API over HTTP.

`transport` posts an event, `client` makes the request, `answer` judges the response, `auth` and `tls` log in, and
`settings` reads the options.
"""
