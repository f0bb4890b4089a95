"""
The options of the http transport: those of the OpenLineage Java client, and those of the Python client.

They are separate from the code that reads them, because that code needs an HTTP client, which is slow to import.
"""

from __future__ import annotations

from openlineage_pyspark.transport.http.answer import RETRY_OPTIONS
from openlineage_pyspark.transport.options import OURS, PYTHON, Option, flag, number, text, text_map, texts

CONNECT_SECONDS = 5.0
# A graph store may take seconds over one large event.
READ_SECONDS = 30.0

URL = Option("url", text, text="The receiver, such as Marquez.", default="", example="http://localhost:5000")
ENDPOINT = Option("endpoint", text, text="The path below the URL.", default="api/v1/lineage")
URL_PARAMS = Option(
    "urlParams.<name>",
    text_map,
    text="A parameter of the URL.",
    default=None,
    example="sales",
    example_name="team",
)
HEADERS = Option(
    "headers.<name>",
    text_map,
    text="A header to send with each event.",
    default=None,
    example="sales",
    example_name="X-Team",
    also=("custom_headers.<name>",),
)
COMPRESSION = Option("compression", text, text="`gzip` compresses events.", default="none", example="gzip")
TIMEOUT_MILLIS = Option(
    "timeoutInMillis",
    number("milliseconds"),
    text="Milliseconds to wait for a connection, and for an answer; by default"
    f" {CONNECT_SECONDS * 1000:.0f} and {READ_SECONDS * 1000:.0f}.",
    default=None,
    example="30000",
)
TIMEOUT = Option(
    "timeout",
    number("seconds"),
    text="The same as `timeoutInMillis`, in seconds.",
    default=None,
    example="30",
    source=PYTHON,
)

AUTH_TYPE = Option(
    "auth.type", text, text="How to log in: `api_key`, `jwt`, `oauth2` or `none`.", default="", example="api_key"
)
API_KEY = Option(
    "auth.apiKey",
    text,
    text="The API key: sent as a bearer token or, with `jwt`, exchanged for a token.",
    default="",
    example="<your key>",
    also=("auth.apikey", "auth.api_key"),
)
TOKEN_ENDPOINT = Option(
    "auth.tokenEndpoint",
    text,
    text="The address from which tokens are fetched, with `jwt` and `oauth2`.",
    default="",
    example="https://login.example.com/token",
    also=("auth.token_endpoint",),
)
TOKEN_FIELDS: Option[tuple[str, ...]] = Option(
    "auth.tokenFields",
    texts,
    text="The fields of the token endpoint's answer that may hold the token; by default `access_token`, with `jwt`"
    " preceded by `token`.",
    default=(),
    example="[token;access_token]",
    also=("auth.token_fields",),
)
EXPIRES_IN_FIELD = Option(
    "auth.expiresInField",
    text,
    text="The field of the token endpoint's answer that holds the token's lifetime in seconds.",
    default="expires_in",
    also=("auth.expires_in_field",),
)
TOKEN_REFRESH_BUFFER = Option(
    "auth.tokenRefreshBuffer",
    number("seconds", zero_allowed=True),
    text="How many seconds before its end a token is renewed; at most half of its lifetime.",
    default=120.0,
    also=("auth.token_refresh_buffer",),
)
GRANT_TYPE = Option(
    "auth.grantType",
    text,
    text="The grant type, with `jwt`.",
    default="urn:ietf:params:oauth:grant-type:jwt-bearer",
    also=("auth.grant_type",),
)
RESPONSE_TYPE = Option(
    "auth.responseType",
    text,
    text="The response type, with `jwt`.",
    default="token",
    also=("auth.response_type",),
)
CLIENT_ID = Option(
    "auth.clientId", text, text="The client id, with `oauth2`.", default="", source=PYTHON, also=("auth.client_id",)
)
CLIENT_SECRET = Option(
    "auth.clientSecret",
    text,
    text="The client secret, with `oauth2`.",
    default="",
    source=PYTHON,
    also=("auth.client_secret",),
)
CLIENT_AUTH_METHOD = Option(
    "auth.clientAuthMethod",
    text,
    text="How the client secret is sent: `client_secret_basic` or `client_secret_post`.",
    default="client_secret_basic",
    source=PYTHON,
    also=("auth.client_auth_method",),
)
SCOPE = Option("auth.scope", text, text="The scope, with `oauth2`.", default="", source=PYTHON)

KEY_STORE_PATH = Option(
    "sslContext.keyStorePath",
    text,
    text="The key store that holds the client's certificate.",
    default="",
    example="client.p12",
)
KEY_STORE_TYPE = Option(
    "sslContext.keyStoreType", text, text="The type of the key store: `PKCS12` or `PEM`.", default="", example="PKCS12"
)
STORE_PASSWORD = Option(
    "sslContext.storePassword", text, text="The password of the key store.", default="", example="<its password>"
)
KEY_PASSWORD = Option(
    "sslContext.keyPassword",
    text,
    text="The password of the client's private key.",
    default="",
    example="<its password>",
)
CA_CERT_PATH = Option(
    "sslContext.caCertPath",
    text,
    text="The private certificate authority to trust: a PEM file, or a directory of PEM files.",
    default="",
    source=PYTHON,
    also=("sslContext.ca_cert_path", "ssl_context.ca_cert_path"),
)
CLIENT_CERT_PATH = Option(
    "sslContext.clientCertPath",
    text,
    text="The client's certificate, a PEM file.",
    default="",
    source=PYTHON,
    also=("sslContext.client_cert_path", "ssl_context.client_cert_path"),
)
CLIENT_KEY_PATH = Option(
    "sslContext.clientKeyPath",
    text,
    text="The client's private key, if it has a PEM file of its own.",
    default="",
    source=PYTHON,
    also=("sslContext.client_key_path", "ssl_context.client_key_path"),
)
VERIFY = Option(
    "verify",
    text,
    text="`false` accepts any certificate of the receiver; a path means the same as `sslContext.caCertPath`.",
    default="true",
    source=PYTHON,
)

ALLOW_PLAIN_HTTP = Option(
    "allowPlainHttp",
    flag,
    text="`true` allows credentials over plain http to another machine; otherwise a warning is logged.",
    default=False,
    source=OURS,
)

OPTIONS = (
    URL,
    ENDPOINT,
    URL_PARAMS,
    HEADERS,
    COMPRESSION,
    TIMEOUT_MILLIS,
    TIMEOUT,
    AUTH_TYPE,
    API_KEY,
    TOKEN_ENDPOINT,
    TOKEN_FIELDS,
    EXPIRES_IN_FIELD,
    TOKEN_REFRESH_BUFFER,
    GRANT_TYPE,
    RESPONSE_TYPE,
    CLIENT_ID,
    CLIENT_SECRET,
    CLIENT_AUTH_METHOD,
    SCOPE,
    KEY_STORE_PATH,
    KEY_STORE_TYPE,
    STORE_PASSWORD,
    KEY_PASSWORD,
    CA_CERT_PATH,
    CLIENT_CERT_PATH,
    CLIENT_KEY_PATH,
    VERIFY,
    ALLOW_PLAIN_HTTP,
    *RETRY_OPTIONS,
)
