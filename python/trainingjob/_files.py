"""The files between a trainer and its agent, with the bounds of pkg/checkpoint/schema."""

import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any, Callable, Optional

MANIFEST = "trainingjob-manifest.json"
MAX_STEP = 2**53
MAX_METRICS = 32
MAX_METRIC_TEXT = 32
MAX_FILES = 20_000
MAX_FILE_NAME = 512
MAX_COMMAND_BYTES = 4096
MAX_URI = 1024
MAX_WHERE = 64
MAX_WORD = 64
MAX_LOCAL_RANK = 1023

PHASES = ("Starting", "Training", "Saving", "Evaluating", "Waiting", "Completed")

_METRIC = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,62}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_FILE = re.compile(r"[^/\\\x00-\x1f\x7f][^\\\x00-\x1f\x7f]*")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

#: Called with a key and a text, of which each key is logged once.
Warn = Callable[[str, str], None]


def write(path: str, message: Mapping[str, Any], sync: bool) -> None:
    """Replaces the file: a reader sees the old content or the new one."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as f:
            json.dump(message, f, allow_nan=False)
            if sync:
                f.flush()
                os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def read(path: str) -> dict[str, Any]:
    """Reads a JSON object that the agent wrote. Returns {} if there is none."""
    try:
        with open(path, "rb") as f:
            message = json.loads(f.read(MAX_COMMAND_BYTES + 1))
    except (OSError, ValueError):
        return {}
    return message if isinstance(message, dict) else {}


def is_id(text: object) -> bool:
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def is_where(text: object) -> bool:
    return (
        isinstance(text, str)
        and 0 < len(text) <= MAX_WHERE
        and not _UNPRINTABLE.search(text)
        and not any(c.isspace() for c in text)
        and not text.startswith("busy=")
        and text.isascii()
    )


def metrics(values: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """Returns the metrics that the agent accepts, and warns of the others."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(name, str) or not _METRIC.fullmatch(name):
            warn(
                f"name {name!r}",
                f"metric {name!r} is not reported: use a letter first, then letters, digits and _./-, at most 63",
            )
            continue
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError, RuntimeError):
            warn(
                f"value {name}",
                f"metric {name} is not reported: it is a {type(value).__name__}, not a number",
            )
            continue
        if len(result) == MAX_METRICS:
            warn("count", f"metric {name} and others are not reported: at most {MAX_METRICS} are allowed")
            break
        result[name] = number if math.isfinite(number) else repr(number)
    return result


def number(field: str, value: Any, low: float, high: float, whole: bool, warn: Warn) -> Optional[Any]:
    """Returns the value as an int or a float. Returns None, with a warning, if the agent would reject it."""
    if value is None:
        return None
    kind = "a whole number" if whole else "a number"
    try:
        result = float(value)
        if whole and result == int(value):
            result = int(value)
        if low <= result <= high and (not whole or isinstance(result, int)):
            return result
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    warn(field, f"{field}={value!r} is not reported: give {kind} from {low} to {high:.0f}")
    return None


def printable(field: str, value: Any, longest: int, warn: Warn) -> Optional[str]:
    """Returns the text or path. Returns None, with a warning, if the agent would reject it. longest is in bytes."""
    if value is None:
        return None
    try:
        text = os.fspath(value)
        if 0 < len(text.encode()) <= longest and not _UNPRINTABLE.search(text):
            return str(text)
    except (AttributeError, TypeError, UnicodeError):
        pass
    warn(field, f"{field}={value!r:.80} is not reported: give at most {longest} printable characters")
    return None


def beat_line(step: int, phase: str, where: Optional[str], busy: Optional[float]) -> bytes:
    """Returns the line of a beat file. It usually has 64 bytes, so that nothing is left of an earlier one."""
    words = [str(step), phase]
    if where is not None:
        words.append(where)
    if busy is not None:
        words.append(f"busy={busy:.6f}")
    return " ".join(words).ljust(63).encode() + b"\n"


def check_uri(uri: str) -> None:
    if len(uri) > MAX_URI or _UNPRINTABLE.search(uri):
        raise ValueError(f"the URI of a checkpoint must have at most {MAX_URI} printable characters")


def files_of(directory: str) -> list[dict[str, Any]]:
    """Lists the files of a checkpoint for its manifest, and writes their content to the disk."""
    result: list[dict[str, Any]] = []
    for parent, folders, names in os.walk(directory):
        folders.sort()
        for base in sorted(names):
            path = os.path.join(parent, base)
            name = os.path.relpath(path, directory).replace(os.sep, "/")
            if base.startswith(MANIFEST) and parent == directory or not os.path.isfile(path):
                continue
            if len(name) > MAX_FILE_NAME or not _FILE.fullmatch(name):
                raise ValueError(
                    f"a checkpoint cannot contain the file {name!r}: shorten it, without control characters"
                )
            with open(path, "rb") as f:
                try:
                    os.fsync(f.fileno())
                except OSError:
                    pass  # some file systems cannot sync a file that is open for reading
                result.append({"name": name, "size": os.fstat(f.fileno()).st_size})
    if not result:
        raise ValueError(f"the checkpoint {directory} has no files: save them before commit()")
    if len(result) > MAX_FILES:
        raise ValueError(
            f"the checkpoint {directory} has {len(result)} files: a manifest lists at most {MAX_FILES}"
        )
    return result
