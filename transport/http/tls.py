"""Certificates for HTTPS: the authorities to trust, and the client's own certificate."""

from __future__ import annotations

import secrets
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport.http import options as declared
from openlineage_pyspark.transport.options import KEY_PREFIX
from urllib3 import util

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_JAVA = ("BCFKS", "BKS", "DKS", "JCEKS", "JKS", "PKCS11")
_AS_PEM = "openssl pkcs12 -in <store> -out client.pem"


@attrs.frozen(kw_only=True)
class ClientCertificate:
    """
    The client's certificate, in files in the PEM format.

    Args:
        certificate: the file with the certificate, and with the key unless the key has its own file.
        key: the file with the key; None if it is in the same file.
        password: the password of the key; empty if it has none.
    """

    certificate: str
    key: str | None = None
    password: str = attrs.field(default="", repr=False)

    def load_into(self, context: ssl.SSLContext) -> None:
        """
        Make the connections of a context present the certificate.

        Raises:
            OSError: a file can't be read or is not a PEM file, or the password or the key is wrong.
        """
        # Always pass a password, even an empty one: without one, OpenSSL asks on the terminal.
        context.load_cert_chain(self.certificate, self.key, password=self.password)


@attrs.frozen(kw_only=True)
class TlsSettings:
    """
    The settings of secure connections. All files were readable when this value was made.

    Args:
        authorities: the file or directory with the certificate authorities to trust, in the PEM format; None for
            the public ones.
        checked: whether the server's certificate is verified.
        context: holds the client's certificate; None if there is none.
        client: the file with the client's certificate; empty if there is none.
    """

    authorities: str | None = None
    checked: bool = True
    context: ssl.SSLContext | None = None
    client: str = ""

    @property
    def verify(self) -> bool | str:
        """The `verify` argument of `requests`."""
        return self.authorities or self.checked

    def beside_public(self) -> TlsSettings:
        """Return the settings for another server: they trust public authorities too, and always verify certificates."""
        if self.authorities is None:
            return attrs.evolve(self, checked=True, context=None, client="")
        context = util.ssl_.create_urllib3_context()
        _trust(context, self.authorities)
        return TlsSettings(context=context)


def read_tls_settings(options: Mapping[str, object]) -> TlsSettings:
    """
    Read the options `sslContext` (of the Java and the Python client) and `verify`.

    Raises:
        TransportConfigError: an option, or the file that it names, can't be used.
    """
    checked, authorities = _authorities(options)
    client = _pem_files(options)
    store, kind = declared.KEY_STORE_PATH.read(options), declared.KEY_STORE_TYPE.read(options)
    if client and (store or kind):
        problem = f"and {KEY_PREFIX}.sslContext.clientCertPath set the same option"
        raise TransportConfigError(declared.KEY_STORE_PATH.name, problem, "Keep one of them.")
    context = util.ssl_.create_urllib3_context() if client or store or kind else None
    if context is None:
        return TlsSettings(authorities=authorities, checked=checked)
    if client:
        _identify(context, client, "sslContext.clientCertPath")
    else:
        _identify_by_store(context, store, kind.upper(), options)
    if not checked and not authorities:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    named = client.certificate if client else store
    return TlsSettings(authorities=authorities, checked=checked, context=context, client=named)


def _authorities(options: Mapping[str, object]) -> tuple[bool, str | None]:
    verify = declared.VERIFY.read(options)
    option = declared.CA_CERT_PATH.name
    path = declared.CA_CERT_PATH.given(options)
    if path is None and verify and verify.lower() not in ("true", "false", "1", "0"):
        option, path = declared.VERIFY.name, verify
    if path is not None:
        try:
            _trust(util.ssl_.create_urllib3_context(), path)
        except OSError as exc:
            remedy = "Name a file of certificates in the PEM format, or a directory of them."
            remedy = f"Set it to true or false. {remedy}" if option == declared.VERIFY.name else remedy
            raise _unusable(option, _reason(exc), remedy) from None
    return (verify or "true").lower() not in ("false", "0"), path


def _trust(context: ssl.SSLContext, path: str) -> None:
    is_directory = Path(path).is_dir()
    context.load_verify_locations(None if is_directory else path, path if is_directory else None)


def _pem_files(options: Mapping[str, object]) -> ClientCertificate | None:
    certificate, key = declared.CLIENT_CERT_PATH.read(options), declared.CLIENT_KEY_PATH.read(options)
    if key and not certificate:
        remedy = "Set it to the certificate that belongs to sslContext.clientKeyPath."
        raise TransportConfigError("sslContext.clientCertPath", "is not set", remedy)
    if not certificate:
        return None
    return ClientCertificate(certificate=certificate, key=key or None, password=declared.KEY_PASSWORD.read(options))


def _identify(context: ssl.SSLContext, client: ClientCertificate, option: str) -> None:
    try:
        client.load_into(context)
    except OSError as exc:
        remedy = (
            "Name files in the PEM format: a certificate, and its key in the same file or in"
            " sslContext.clientKeyPath; set sslContext.keyPassword if the key has a password."
        )
        raise _unusable(option, _reason(exc), remedy) from None


def _identify_by_store(context: ssl.SSLContext, path: str, kind: str, options: Mapping[str, object]) -> None:
    if not (path and kind):
        missing = "keyStoreType" if path else "keyStorePath"
        remedy = "Set both sslContext.keyStorePath and sslContext.keyStoreType (PKCS12 or PEM)."
        raise TransportConfigError(f"sslContext.{missing}", "is not set", remedy)
    passwords = [declared.STORE_PASSWORD.read(options), declared.KEY_PASSWORD.read(options)]
    if kind == "PEM":
        _identify(context, ClientCertificate(certificate=path, password=passwords[1]), "sslContext.keyStorePath")
    elif kind in ("PKCS12", "P12", "PFX"):
        _identify_by_pkcs12(context, path, passwords[0] or passwords[1])
    else:
        remedy = (
            "Convert the store to PKCS12 with keytool -importkeystore -srckeystore <store> -destkeystore client.p12"
            f" -deststoretype PKCS12, or that to PEM with {_AS_PEM}, and name the new file."
        )
        problem = f"is {kind!r}, which Python can't read" if kind in _OF_JAVA else "is a type that Python can't read"
        raise TransportConfigError("sslContext.keyStoreType", problem, remedy)


def _identify_by_pkcs12(context: ssl.SSLContext, path: str, password: str) -> None:
    try:
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            Encoding,
            PrivateFormat,
            pkcs12,
        )
    except ImportError:
        problem = "is 'PKCS12', which needs the package cryptography"
        remedy = f"Run pip install cryptography; or convert the store to PEM with {_AS_PEM}, and set clientCertPath."
        raise TransportConfigError("sslContext.keyStoreType", problem, remedy) from None
    try:
        store = pkcs12.load_pkcs12(Path(path).read_bytes(), password.encode() or None)
    except OSError as exc:
        raise _no_store(_reason(exc)) from None
    except ValueError:
        raise _no_store("not a PKCS12 store, or a wrong password") from None
    if store.key is None or store.cert is None:
        raise _no_store("it has no key with a certificate")
    # OpenSSL only reads keys from files; this file is encrypted, and deleted at the end of the block.
    passing = secrets.token_urlsafe(32)
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passing.encode()))
    chain = [store.cert, *store.additional_certs]
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(key + b"".join(each.certificate.public_bytes(Encoding.PEM) for each in chain))
        file.flush()
        context.load_cert_chain(file.name, password=passing)


def _no_store(reason: str) -> TransportConfigError:
    remedy = "Name a PKCS12 store with one key and its certificate, and set sslContext.storePassword."
    return _unusable("sslContext.keyStorePath", reason, remedy)


def _unusable(option: str, reason: str, remedy: str) -> TransportConfigError:
    """Return an error without the file's name, which may be a password that was written into the wrong option."""
    return TransportConfigError(option, f"names a file that can't be used ({reason})", remedy)


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason.replace("_", " ").lower() if error.reason else "not a PEM file, or a wrong password"
    return error.strerror or type(error).__name__
