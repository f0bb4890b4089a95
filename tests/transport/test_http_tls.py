"""HTTPS against a real server with certificates of a private authority."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport

pytestmark = pytest.mark.slow

EVENT = Event("r", "START", b"{}")
PREFIX = "spark.openlineage.transport"


def post(receiver: Any, **options: object) -> None:
    transport = open_transport("http", {"url": receiver.url, **options})
    transport.send(EVENT)
    transport.send(EVENT)
    assert [got.body for got in receiver.received[-2:]] == [EVENT.body] * 2
    assert len({got.connection for got in receiver.received[-2:]}) == 1


def refusal(receiver: Any, **options: object) -> TransportError:
    with pytest.raises(TransportError) as caught:
        open_transport("http", {"url": receiver.url, **options}).send(EVENT)
    return caught.value


def config_error(**options: object) -> str:
    with pytest.raises(TransportConfigError) as caught:
        open_transport("http", {"url": "https://h", **options})
    return str(caught.value)


def test_a_certificate_of_nobody_known_is_refused_and_worth_another_try(tls_receiver: Any) -> None:
    error = refusal(tls_receiver)
    assert str(error).startswith(f"{tls_receiver.url}/api/v1/lineage can't be reached (certificate refused: ")
    assert (error.status, error.retryable) == (None, True)
    assert tls_receiver.received == []


def test_a_certificate_of_another_host_is_refused(tls_receiver: Any, certificates: Any) -> None:
    url = tls_receiver.url.replace("127.0.0.1", "localhost")
    with pytest.raises(TransportError, match="certificate refused: Hostname mismatch"):
        open_transport("http", {"url": url, "verify": str(certificates.authority)}).send(EVENT)


@pytest.mark.parametrize("spelling", ["caCertPath", "ca_cert_path", "snake", "verify"])
def test_a_private_authority_is_trusted_in_every_spelling(
    tls_receiver: Any, certificates: Any, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It goes before what the environment says for all programs.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.client_certificate))
    path = str(certificates.authority)
    spellings: dict[str, dict[str, object]] = {
        "verify": {"verify": path},
        "snake": {"ssl_context": {"ca_cert_path": path}, "verify": True},
    }
    post(tls_receiver, **spellings.get(spelling, {"sslContext": {spelling: path}}))
    assert tls_receiver.received[0].client is None


def test_a_directory_of_authorities_is_trusted(tls_receiver: Any, certificates: Any, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(certificates.authority.read_bytes())
    subprocess.run(["openssl", "rehash", str(tmp_path)], check=True, timeout=120)
    post(tls_receiver, verify=str(tmp_path))


def test_the_environments_authority_is_trusted_where_none_is_set(
    tls_receiver: Any, certificates: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.authority))
    post(tls_receiver)


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@pytest.mark.parametrize("verify", [False, "false"])
def test_certificates_go_unchecked_only_where_that_is_set(
    tls_receiver: Any, strict_receiver: Any, certificates: Any, *, verify: object
) -> None:
    post(tls_receiver, verify=verify)
    post(strict_receiver, verify=verify, sslContext={"clientCertPath": str(certificates.client)})
    assert strict_receiver.received[0].client == "the client"


def test_a_server_that_wants_a_certificate_lets_nobody_in_without(strict_receiver: Any, certificates: Any) -> None:
    error = refusal(strict_receiver, verify=str(certificates.authority))
    assert error.retryable is True
    assert error.status is None
    assert strict_receiver.received == []


@pytest.mark.parametrize("form", ["one file", "two files", "snake case", "locked key", "PEM store", "PKCS12 store"])
def test_the_client_identifies_with_a_certificate_in_every_form(
    strict_receiver: Any, certificates: Any, form: str
) -> None:
    if form == "PKCS12 store":
        pytest.importorskip("cryptography", reason="the package cryptography, which reads PKCS12, is not installed")
    c = certificates
    forms: dict[str, dict[str, str]] = {
        "one file": {"clientCertPath": str(c.client)},
        "two files": {"clientCertPath": str(c.client_certificate), "clientKeyPath": str(c.client_key)},
        "snake case": {"client_cert_path": str(c.client_certificate), "client_key_path": str(c.client_key)},
        "locked key": {
            "clientCertPath": str(c.client_certificate),
            "clientKeyPath": str(c.locked_key),
            "keyPassword": c.password,
        },
        "PEM store": {"keyStorePath": str(c.client), "keyStoreType": "pem"},
        "PKCS12 store": {
            "keyStorePath": str(c.store),
            "keyStoreType": "PKCS12",
            "storePassword": c.password,
            "keyPassword": c.password,
        },
    }
    post(strict_receiver, sslContext={"caCertPath": str(c.authority), **forms[form]})
    assert {got.client for got in strict_receiver.received} == {"the client"}


def test_the_certificate_is_read_once(strict_receiver: Any, certificates: Any, tmp_path: Path) -> None:
    own = tmp_path / "client.pem"
    own.write_bytes(certificates.client.read_bytes())
    options = {"caCertPath": str(certificates.authority), "clientCertPath": str(own)}
    transport = open_transport("http", {"url": strict_receiver.url, "sslContext": options})
    own.unlink()
    transport.send(EVENT)
    assert [got.client for got in strict_receiver.received] == ["the client"]


def test_an_authority_that_is_gone_later_is_told_and_worth_another_try(
    tls_receiver: Any, certificates: Any, tmp_path: Path
) -> None:
    own = tmp_path / "ca.pem"
    own.write_bytes(certificates.authority.read_bytes())
    transport = open_transport("http", {"url": tls_receiver.url, "verify": str(own)})
    own.unlink()
    with pytest.raises(TransportError, match="can't be reached") as caught:
        transport.send(EVENT)
    assert caught.value.retryable is True


def test_a_token_comes_from_a_server_of_the_private_authority_or_of_a_public_one_but_of_no_other(
    tls_receiver: Any, certificates: Any, receiver: Any, answer: Any
) -> None:
    auth = {"type": "jwt", "apiKey": "k", "tokenEndpoint": tls_receiver.url}
    tls_receiver.answers.append(answer(status=200, text='{"token":"t1"}'))
    post(receiver, auth=auth, sslContext={"caCertPath": str(certificates.authority)})
    assert receiver.received[0].headers["Authorization"] == "Bearer t1"
    with pytest.raises(TransportError, match="certificate refused"):
        # Whoever takes any receiver does not hand the key to any server.
        open_transport("http", {"url": receiver.url, "auth": auth, "verify": False}).send(EVENT)
    assert len(tls_receiver.received) == 1


def test_a_key_store_of_java_alone_is_refused_with_the_way_out() -> None:
    assert config_error(sslContext={"keyStorePath": "k.jks", "keyStoreType": "JKS", "storePassword": "canary"}) == (
        f"{PREFIX}.sslContext.keyStoreType is 'JKS', which Python can't read."
        " Convert the store to PKCS12 with keytool -importkeystore -srckeystore <store> -destkeystore client.p12"
        " -deststoretype PKCS12, or that to PEM with openssl pkcs12 -in <store> -out client.pem,"
        " and name the new file."
    )
    assert config_error(sslContext={"keyStorePath": "k", "keyStoreType": "canary"}).startswith(
        f"{PREFIX}.sslContext.keyStoreType is a type that Python can't read. Convert the store to PKCS12 with "
    )
    assert config_error(sslContext={"keyStorePath": "k.p12"}) == (
        f"{PREFIX}.sslContext.keyStoreType is not set."
        " Set both sslContext.keyStorePath and sslContext.keyStoreType (PKCS12 or PEM)."
    )


def test_files_that_can_not_be_used_are_told_with_what_is_wrong_but_without_their_names(
    certificates: Any, tmp_path: Path
) -> None:
    c = certificates
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("canary")
    pem = (
        " Name files in the PEM format: a certificate, and its key in the same file or in sslContext.clientKeyPath;"
        " set sslContext.keyPassword if the key has a password."
    )
    assert config_error(verify="/no/such.pem") == (
        f"{PREFIX}.verify names a file that can't be used (No such file or directory). Set it to true or false."
        " Name a file of certificates in the PEM format, or a directory of them."
    )
    assert config_error(sslContext={"caCertPath": str(garbage)}).startswith(
        f"{PREFIX}.sslContext.caCertPath names a file that can't be used ("
    )
    for key in (c.server, c.locked_key):
        paths = {"clientCertPath": str(c.client_certificate), "clientKeyPath": str(key), "keyPassword": "wrong-canary"}
        start, reason, end = re.split("[()]", config_error(sslContext=paths))
        assert (start, end) == (
            f"{PREFIX}.sslContext.clientCertPath names a file that can't be used ",
            f".{pem}",
        )
        # In the words of the OpenSSL that is there.
        assert reason
        assert "canary" not in reason
    assert config_error(sslContext={"clientKeyPath": str(c.client_key)}) == (
        f"{PREFIX}.sslContext.clientCertPath is not set."
        " Set it to the certificate that belongs to sslContext.clientKeyPath."
    )
    both = {"clientCertPath": str(c.client), "keyStorePath": str(c.store), "keyStoreType": "PKCS12"}
    assert config_error(sslContext=both) == (
        f"{PREFIX}.sslContext.keyStorePath and {PREFIX}.sslContext.clientCertPath set the same option. "
        "Keep one of them."
    )


def test_a_locked_key_without_a_password_is_an_error_and_no_question_on_the_terminal(certificates: Any) -> None:
    paths = {"clientCertPath": str(certificates.client_certificate), "clientKeyPath": str(certificates.locked_key)}
    assert "names a file that can't be used (" in config_error(sslContext=paths)


def test_a_store_that_can_not_be_opened_says_so_and_not_with_what(certificates: Any, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the package cryptography, which reads PKCS12, is not installed")
    remedy = " Name a PKCS12 store with one key and its certificate, and set sslContext.storePassword."

    def message(path: Path, password: str) -> str:
        return config_error(sslContext={"keyStorePath": str(path), "keyStoreType": "PKCS12", "storePassword": password})

    store = certificates.store
    assert message(store, "wrong-canary") == (
        f"{PREFIX}.sslContext.keyStorePath names a file that can't be used"
        f" (not a PKCS12 store, or a wrong password).{remedy}"
    )
    assert message(tmp_path / "none", "canary") == (
        f"{PREFIX}.sslContext.keyStorePath names a file that can't be used (No such file or directory).{remedy}"
    )


def test_without_the_package_that_reads_stores_both_ways_out_are_named() -> None:
    # In a process of its own, in which the package can't be found.
    program = """
import sys
import warnings
sys.modules["cryptography"] = None
from openlineage_pyspark.transport.registry import open_transport
open_transport("http", {"url": "https://h", "sslContext": {"keyStorePath": "s", "keyStoreType": "PKCS12"}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr.splitlines()[-1].endswith(
        f"{PREFIX}.sslContext.keyStoreType is 'PKCS12', which needs the package cryptography."
        " Run pip install cryptography; or convert the store to PEM with openssl pkcs12 -in <store> -out client.pem,"
        " and set clientCertPath."
    )


def test_an_unchecked_certificate_is_no_news_for_the_users_terminal(
    tls_receiver: Any, recwarn: pytest.WarningsRecorder
) -> None:
    for option in ({}, {"sslContext": {"clientCertPath": ""}}):
        post(tls_receiver, verify="false", **option)
    assert list(recwarn) == []


def test_events_are_sent_although_the_program_turns_warnings_into_errors(tls_receiver: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        post(tls_receiver, verify=False)
