"""``privet sign``: a curator's Ed25519 signature beside a released file.

The signature is of SHA-256 of the file, in a small JSON file beside it. It says who released a
file; that it was paid for is what the ledger says.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet._files import canonical, file_digest, for_others, write_whole
from privet._untrusted import MEGABYTE, parsed_json, read_whole
from privet.cli.options import Force, Json, command, required
from privet.cli.printing import as_json, facts, free_place
from privet.errors import DataError, DeclarationError, MissingExtra

if TYPE_CHECKING:
    from privet.ledger.binding import BindingFinding

FORMAT = "privet-signature-1"
ENDING = ".sig"
PUBLIC = ".pub"
EXAMPLE = "privet sign model.privet --key curator.key"


def sign(
    file: Annotated[Path | None, typer.Argument(help="The released file to sign.")] = None,
    key: Annotated[Path | None, typer.Option(help="The curator's private key.")] = None,
    new_key: Annotated[
        Path | None, typer.Option(help="Make a key pair: this file, and the same with .pub.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where the signature goes; default: FILE.sig.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Sign a released file with the curator's Ed25519 key, or make a key pair.

    Whoever has the public key checks it with privet verify FILE --key. Needs the extra sign.
    """
    if (new_key is None) == (file is None) or (file is None) != (key is None):
        raise typer.BadParameter("give a FILE and --key, or --new-key alone.")
    if new_key is not None:
        made = {"key": str(new_key), "public": str(_make(new_key))}
    else:
        file, key = required(file, "FILE"), required(key, "--key")
        place = out or file.with_name(file.name + ENDING)
        free_place(place, force=force, apart=(file, key))
        write_whole(place, _signature(file, key), replace=force, mode=for_others())
        made = {"file": str(file), "signature": str(place)}
    if json:
        as_json(made)
    else:
        facts([(name.capitalize(), told) for name, told in made.items()])


def signature_finding(file: Path, public: Path, signature: Path | None) -> BindingFinding:
    """Whether the key has signed the file."""
    from privet.ledger.binding import BindingFinding

    place = signature or file.with_name(file.name + ENDING)
    if not place.exists():
        return BindingFinding("signature", False, f"there is no signature at {place.name}")
    try:
        told = parsed_json(read_whole(place, MEGABYTE))
        seal = bytes.fromhex(told["signature"])
        known = told["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        return BindingFinding(
            "signature", False, f"{place.name} is not a signature that Privet wrote"
        )
    invalid = _cryptography().exceptions.InvalidSignature
    try:
        _public_key(public).verify(seal, _message(file_digest(file)))
    except invalid:
        return BindingFinding("signature", False, f"{public.name} has not signed this file")
    return BindingFinding("signature", True, f"signed by {public.name}")


def _signature(file: Path, key: Path) -> str:
    found = file_digest(file)
    seal = _private_key(key).sign(_message(found))
    return canonical({"format": FORMAT, "sha256": found, "signature": seal.hex()}) + "\n"


def _message(found: str) -> bytes:
    """What is signed: not the bare digest, so that the signature means nothing elsewhere."""
    return f"{FORMAT} {found}".encode()


def _make(place: Path) -> Path:
    """A fresh key pair; an existing file is never overwritten."""
    from privet.cli.printing import free_place

    tools = _cryptography()
    forms = tools.serialization
    free_place(place, force=False)
    public = place.with_name(place.name + PUBLIC)
    free_place(public, force=False)
    made = tools.ed25519.Ed25519PrivateKey.generate()
    private = made.private_bytes(
        forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
    )
    known = made.public_key().public_bytes(
        forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo
    )
    write_whole(place, private, replace=False, mode=0o600)
    write_whole(public, known, replace=False, mode=for_others())
    return public


def _private_key(path: Path) -> Any:
    tools = _cryptography()
    if not path.exists():
        raise DeclarationError(
            f"There is no key {path.name!r}. Make a pair: privet sign --new-key {path.name}."
        )
    try:
        found = tools.serialization.load_pem_private_key(read_whole(path, MEGABYTE), password=None)
    except (ValueError, TypeError, tools.exceptions.UnsupportedAlgorithm) as error:
        raise DataError(f"{path.name} is not a private key in PEM without a password.") from error
    if not isinstance(found, tools.ed25519.Ed25519PrivateKey):
        raise DeclarationError(f"{path.name} is not an Ed25519 key: make one with --new-key.")
    return found


def _public_key(path: Path) -> Any:
    tools = _cryptography()
    try:
        found = tools.serialization.load_pem_public_key(read_whole(path, MEGABYTE))
    except (ValueError, TypeError, tools.exceptions.UnsupportedAlgorithm) as error:
        raise DataError(f"{path.name} is not a public key in PEM.") from error
    if not isinstance(found, tools.ed25519.Ed25519PublicKey):
        raise DeclarationError(f"{path.name} is not an Ed25519 key.")
    return found


class _Tools:
    """The parts of ``cryptography`` that are used."""

    def __init__(self) -> None:
        try:
            from cryptography import exceptions
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric import ed25519
        except ImportError as error:
            raise MissingExtra(
                "Signatures need cryptography: pip install 'privet[sign]'."
            ) from error
        self.exceptions: Any = exceptions
        self.serialization: Any = serialization
        self.ed25519: Any = ed25519


def _cryptography() -> _Tools:
    return _Tools()


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, sign, EXAMPLE)
