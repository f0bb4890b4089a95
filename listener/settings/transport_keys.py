"""The options of the transports, as names that a configuration may hold; the transports read and check them."""

from __future__ import annotations

from typing import Any

from openlineage_pyspark.listener.settings.keys import DONE, JAVA, KNOWN, OURS, PYTHON, Key
from openlineage_pyspark.listener.settings.kinds import OPTIONAL_TEXT

TRANSPORT = "transport."
"""What the names of transport options begin with; the transport folder reads and checks them."""


def _option(
    name: str,
    description: str,
    *,
    example: str = "",
    example_name: str = "",
    default: str | None = None,
    status: str = DONE,
    source: str = JAVA,
    also: tuple[str, ...] = (),
) -> Key[Any]:
    return Key(
        f"{TRANSPORT}{name}",
        OPTIONAL_TEXT,
        default=default,
        description=description,
        status=status,
        source=source,
        example=example,
        example_name=example_name,
        also=tuple(f"{TRANSPORT}{other}" for other in also),
    )


OPTIONS: tuple[Key[Any], ...] = (
    _option("type", "Where events go: the name of a transport, or a class for openlineage-python.", example="file"),
    _option(
        "location",
        "`file`: the file that gets one event a line; or the directory for objects, where it is not local (`s3a:`).",
        example="lineage.ndjson",
        also=("log_file_path",),
    ),
    _option(
        "rotate.maxBytes",
        "`file`: the bytes past which the next file or object begins; by default never, for objects after `16m`.",
        example="100m",
        source=OURS,
    ),
    _option(
        "rotate.maxSeconds",
        "`file`: the age at which an object ends, where it is safe only then; `0` for one object an event.",
        default="60",
        source=OURS,
    ),
    _option(
        "rotate.compress", "`file`: whether what is rotated is compressed with gzip.", default="false", source=OURS
    ),
    _option("url", "`http`: the receiver, such as Marquez.", example="http://localhost:5000"),
    _option("endpoint", "`http`: the path below the URL.", default="api/v1/lineage"),
    _option("auth.type", "`http`: how to log in: `api_key`, `jwt`, `oauth2` or `none`.", example="api_key"),
    _option(
        "auth.apiKey",
        "`http`: the key, sent as a bearer token or, with `jwt`, exchanged for one.",
        example="<your key>",
        also=("auth.api_key", "auth.apikey"),
    ),
    _option(
        "auth.tokenEndpoint",
        "`http`: where a token is fetched, with `jwt` or `oauth2`.",
        example="https://login.example.com/token",
        also=("auth.token_endpoint",),
    ),
    _option(
        "auth.tokenFields",
        "`http`: the fields of its answer in which the token may be; by default `token` and `access_token`.",
        example="[token;access_token]",
        also=("auth.token_fields",),
    ),
    _option(
        "auth.expiresInField",
        "`http`: the field of its answer with the token's lifetime in seconds.",
        default="expires_in",
        also=("auth.expires_in_field",),
    ),
    _option(
        "auth.tokenRefreshBuffer",
        "`http`: how many seconds before its end a token is renewed, half of its lifetime at most.",
        default="120",
        also=("auth.token_refresh_buffer",),
    ),
    _option(
        "auth.grantType",
        "`http`: the grant type, with `jwt`.",
        default="urn:ietf:params:oauth:grant-type:jwt-bearer",
        also=("auth.grant_type",),
    ),
    _option(
        "auth.responseType",
        "`http`: the response type, with `jwt`.",
        default="token",
        also=("auth.response_type",),
    ),
    _option("auth.clientId", "`http`: the client, with `oauth2`.", source=PYTHON, also=("auth.client_id",)),
    _option("auth.clientSecret", "`http`: its secret.", source=PYTHON, also=("auth.client_secret",)),
    _option(
        "auth.clientAuthMethod",
        "`http`: how it is sent: `client_secret_basic` or `client_secret_post`.",
        default="client_secret_basic",
        source=PYTHON,
        also=("auth.client_auth_method",),
    ),
    _option("auth.scope", "`http`: the scope, with `oauth2`.", source=PYTHON),
    _option(
        "timeoutInMillis",
        "`http`: milliseconds to wait for a connection, and for an answer; 5 and 30 seconds where it is not set.",
        example="30000",
    ),
    _option("timeout", "`http`, `datadog`: the same in seconds.", example="30", source=PYTHON),
    _option(
        "headers.<name>",
        "`http`: a header to send along.",
        example="sales",
        example_name="X-Team",
        also=("custom_headers.<name>",),
    ),
    _option("urlParams.<name>", "`http`: a parameter of the URL.", example="sales", example_name="team"),
    _option("compression", "`http`: `gzip` to send events compressed.", example="gzip"),
    _option("append", "`file`: always true, events are appended.", default="true", source=PYTHON),
    _option("sslContext.keyStorePath", "`http`: the key store with the client's certificate.", example="client.p12"),
    _option("sslContext.keyStoreType", "`http`: its type, `PKCS12` or `PEM`.", example="PKCS12"),
    _option("sslContext.storePassword", "`http`: its password.", example="<its password>"),
    _option("sslContext.keyPassword", "`http`: the password of the client's key.", example="<its password>"),
    _option(
        "sslContext.caCertPath",
        "`http`: the private authority to trust, a PEM file or a directory of them.",
        source=PYTHON,
        also=("sslContext.ca_cert_path", "ssl_context.ca_cert_path"),
    ),
    _option(
        "sslContext.clientCertPath",
        "`http`: the client's certificate, a PEM file.",
        source=PYTHON,
        also=("sslContext.client_cert_path", "ssl_context.client_cert_path"),
    ),
    _option(
        "sslContext.clientKeyPath",
        "`http`: its key, where that is in a file of its own.",
        source=PYTHON,
        also=("sslContext.client_key_path", "ssl_context.client_key_path"),
    ),
    _option(
        "verify",
        "`http`: `false` to take any certificate of the receiver; or the same as `sslContext.caCertPath`.",
        default="true",
        source=PYTHON,
    ),
    _option(
        "retry.<option>",
        "`http`, `datadog`: `status_forcelist` adds statuses after which an event is sent again; the rest of"
        " `retry` has no effect, because what failed is sent again anyway.",
        source=PYTHON,
    ),
    _option(
        "transports.<option>",
        "`composite`: the transports, by name or as a list.",
        example="http",
        example_name="marquez.type",
        also=("transports",),
    ),
    _option(
        "continueOnFailure",
        "`composite`: `false` to end an event's way at the first failure.",
        default="true",
        also=("continue_on_failure",),
    ),
    _option(
        "continueOnSuccess",
        "`composite`: `false` to send to the first transport that works.",
        default="true",
        source=PYTHON,
        also=("continue_on_success",),
    ),
    _option("withThreadPool", "`composite`: always true, the transports send side by side.", default="true"),
    _option("sort_transports", "`composite`: `false` to leave `priority` out of account.", source=PYTHON),
    _option("topicName", "`kafka`: the topic.", example="lineage", also=("topic",)),
    _option(
        "messageKey",
        "`kafka`: the key of every message; by default that of the Java client.",
        example="sales",
        also=("message_key",),
    ),
    _option(
        "properties.<option>",
        "`kafka`: the properties of librdkafka's producer.",
        example="localhost:9092",
        example_name="bootstrap.servers",
        also=("config.<option>",),
    ),
    _option("flush", "`kafka`: always true, an event is sent once the brokers have it.", source=PYTHON),
    _option("apiKey", "`datadog`: the key; or `DD_API_KEY`.", source=PYTHON, also=("apikey",)),
    _option("site", "`datadog`: the site or its URL; or `DD_SITE`.", default="datadoghq.com", source=PYTHON),
    _option("projectId", "`gcplineage`: the project.", example="<your project>", also=("project_id",)),
    _option("region", "`amazon_datazone_api`: the region.", example="eu-west-1"),
    _option(
        "credentialsFile",
        "`gcplineage`: the file with the service account's key.",
        example="key.json",
        also=("credentials_path",),
    ),
    _option("domainId", "`amazon_datazone_api`: the domain.", example="<your domain>"),
    _option("endpointOverride", "`amazon_datazone_api`: another endpoint.", example="https://vpce.example.com"),
    _option("debug_mode", "`file`: one readable file per event.", status=KNOWN, source=PYTHON),
    _option("filesystem", "`file`: an fsspec file system.", status=KNOWN, source=PYTHON),
    _option("fs_kwargs.<option>", "`file`: options of that file system.", status=KNOWN, source=PYTHON),
    _option("storage_options.<option>", "`file`: options of an fsspec URL.", status=KNOWN, source=PYTHON),
    _option("max_queue_size", "`async_http`, `datadog`: the length of a queue.", status=KNOWN, source=PYTHON),
    _option("max_concurrent_requests", "`async_http`, `datadog`: the requests at once.", status=KNOWN, source=PYTHON),
    _option(
        "async_transport_rules.<option>",
        "`datadog`, `gcplineage`: which events to send in the background, as all are.",
        status=KNOWN,
        source=PYTHON,
    ),
)
"""The transport options; whether one works depends on the transport, which says so itself."""
