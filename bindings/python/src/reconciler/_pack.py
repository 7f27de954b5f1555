"""From Python's lists and mappings to the library's memory and back; every check of what the caller handed in."""
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from ._errors import InvalidError
from ._types import AppliedResult, ReconcileAction, ReconciliationResult, TaskStatus, status_of

ABSENT = 7  # enum rec_status: the batch holds nothing
# Keys are the members, which are found by identity; a text is equal to its member.
_NUMBERS: Dict[Any, int] = {status: number for number, status in enumerate(TaskStatus)}
# What a codeframe batch calls the outcome of a run.
_BELIEFS: Dict[Any, int] = {**_NUMBERS, "RUNNING": _NUMBERS["IN_PROGRESS"], "COMPLETED": _NUMBERS["DONE"]}

Variant = Tuple[Optional[str], Optional[str], str, str, str, bool, bool]


class Batch(NamedTuple):
    """Arguments of a check: ids and statuses as the library takes them. ids None: no list; state None: no belief."""

    ids: Optional[bytes]
    id_count: int
    state: Optional[bytes]
    statuses: bytes


def text_bytes(what: str, text: Any) -> bytes:
    """UTF-8 that ends with NUL, from a text without one."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: {type(text).__name__} is no text (give a str)")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidError(f"{what}: {text!r} is no Unicode text (it holds half a surrogate pair)") from error
    if b"\0" in data:
        raise InvalidError(f"{what}: {text!r} contains a NUL character (remove it)")
    return data


def pack_texts(what: str, texts: List[str]) -> bytes:
    """All texts, each ended by NUL."""
    try:
        data = "\0".join(texts).encode() + b"\0" if texts else b""
    except (TypeError, UnicodeEncodeError):
        for text in texts:
            text_bytes(what, text)
        raise
    if data.count(0) != len(texts):
        for text in texts:
            text_bytes(what, text)
    return data


def list_of(task_ids: Iterable[str]) -> List[str]:
    """The ids as a list of one's own."""
    if isinstance(task_ids, (str, bytes)):
        raise TypeError("task_ids: a single text was given (give a list of ids)")
    return list(task_ids)


def status_number(what: str, status: Any, numbers: Mapping[Any, int] = _NUMBERS) -> int:
    """The library's number for a TaskStatus, a str, or a foreign enum whose value is the text."""
    for candidate in (status, getattr(status, "value", None)):
        if isinstance(candidate, str) and candidate in numbers:
            return numbers[candidate]
    raise InvalidError(f"{what}: {status!r} is no status (one of {', '.join(status.value for status in TaskStatus)})")


def belief_number(what: str, status: Any) -> int:
    """The same for what a batch believes; None: it holds nothing."""
    return ABSENT if status is None else status_number(what, status, _BELIEFS)


def status_numbers(keys: List[str], values: List[Any]) -> Tuple[List[str], bytes]:
    """The ids that are held, and what is believed about each."""
    try:
        return keys, bytes(map(_BELIEFS.__getitem__, values))
    except (KeyError, TypeError):  # something that is not simply a text
        numbers = [belief_number(f"batch_state[{key!r}]", value) for key, value in zip(keys, values)]
    held = [(key, number) for key, number in zip(keys, numbers) if number != ABSENT]
    return [key for key, _ in held], bytes(number for _, number in held)


def pack(task_ids: Optional[List[str]], batch_state: Optional[Mapping[str, Any]]) -> Batch:
    """Checks and packs the arguments of a check."""
    state, statuses = None, b""
    ids = None if task_ids is None else pack_texts("task_ids", task_ids)
    if batch_state is not None:
        keys = list(batch_state.keys())
        values = list(batch_state.values()) if hasattr(batch_state, "values") else [batch_state[key] for key in keys]
        if len(keys) != len(values):
            raise InvalidError(f"batch_state: {len(keys)} keys and {len(values)} values (give a mapping with one for each)")
        keys, statuses = status_numbers(keys, values)
        state = ids if keys == task_ids and ids is not None else pack_texts("batch_state", keys)
    return Batch(ids, len(task_ids or ()), state, statuses)


def results_of(ids: List[str], codes: Iterable[int], variants: List[Variant]) -> List[ReconciliationResult]:
    """One result per id; what results have in common is made once."""
    shared = [_shared(variant) for variant in variants]
    return [ReconciliationResult(task_id, current, external, action, reason, source, discrepancy)
            for task_id, (current, external, action, reason, source, discrepancy)
            in zip(ids, map(shared.__getitem__, codes))]


def applied_of(ids: List[str], codes: Iterable[int], variants: List[Variant]) -> List[AppliedResult]:
    """The same for apply."""
    shared = [_shared(variant) for variant in variants]
    return [AppliedResult(task_id, *shared[code], variants[code][6]) for task_id, code in zip(ids, codes)]


def _shared(variant: Variant) -> Tuple[Any, Any, ReconcileAction, str, str, bool]:
    current, external, action, reason, source, discrepancy, _ = variant
    return status_of(current), status_of(external), ReconcileAction(action), reason, source, discrepancy


def unpack_rows(data: bytes, columns: int) -> List[List[Optional[str]]]:
    """Rows of fields, each a '=' and the text or a '-' for none, ended by NUL."""
    fields: List[Optional[str]] = [piece[1:].decode("utf-8", "replace") if piece[:1] == b"=" else None
                                   for piece in data.split(b"\0")[:-1]]
    return [fields[at:at + columns] for at in range(0, len(fields), columns)]


Row = List[Optional[str]]


def result_of_row(row: Row, applying: bool) -> Union[ReconciliationResult, AppliedResult]:
    """A row of glue_watcher_look."""
    task_id, current, external, action, reason, source, discrepancy, applied = row
    shared = _shared((current, external, str(action), str(reason), str(source), discrepancy == "1", applied == "1"))
    if applying:
        return AppliedResult(str(task_id), *shared, applied == "1")
    return ReconciliationResult(str(task_id), *shared)
