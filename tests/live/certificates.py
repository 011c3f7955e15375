"""An authority for one test: certificates of servers and clients that only this test trusts."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=2)
LOOPBACK = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


@dataclass(frozen=True, slots=True)
class Identity:
    """Files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """`issue` makes identities; `file` is what those who trust it read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("amqpscope test authority")
        constraint = x509.BasicConstraints(ca=True, path_length=0)
        builder = (
            self._builder(self._name, self._key)
            .add_extension(constraint, critical=True)
            .add_extension(_usage(is_authority=True), critical=True)
        )
        self.file = folder / "authority.pem"
        self._write(self.file, builder)

    def issue(self, common_name: str) -> Identity:
        """For a server on 127.0.0.1 or a client of that name."""
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = (
            self._builder(_name(common_name), key)
            .add_extension(x509.SubjectAlternativeName([LOOPBACK]), critical=False)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(_usage(is_authority=False), critical=True)
        )
        made = Identity(
            self._folder / f"{common_name}.pem", self._folder / f"{common_name}.key.pem"
        )
        self._write(made.certificate, builder)
        made.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return made

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        own, issuer = key.public_key(), self._key.public_key()
        builder = x509.CertificateBuilder(
            issuer_name=self._name,
            subject_name=subject,
            public_key=own,
            serial_number=x509.random_serial_number(),
            not_valid_before=now - LIFETIME,
            not_valid_after=now + LIFETIME,
        )
        # Python 3.13 insists on both (RFC 5280 §4.2.1.1, §4.2.1.2).
        return builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(own), critical=False
        ).add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        made = builder.sign(self._key, hashes.SHA256())
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))


def _usage(is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
