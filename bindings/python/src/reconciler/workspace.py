"""Workspaces: a folder with a store of tasks in it."""
import os
from pathlib import Path
from typing import Any, Union

from ._errors import NoStoreError, UninitialisedError
from ._handle import INIT, READ
from ._store import Store, is_uri, place_of

__all__ = ["Workspace", "create_or_load_workspace"]


class Workspace:
    """An open workspace. Make one with create_or_load_workspace; end it with close, `with`, or by forgetting it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def db_path(self) -> Path:
        """The database."""
        return Path(self._store.location)

    @property
    def state_dir(self) -> Path:
        """The folder of the database: .reconciler or .codeframe."""
        return self.db_path.parent

    @property
    def repo_path(self) -> Path:
        """The folder that the workspace is in."""
        return self.state_dir.parent

    def attach(self) -> None:
        """Adds the tables and triggers that writing needs (names that begin with rec_) to a store of codeframe's, as
        `reconciler init` does. Idempotent."""
        self._store.writer(INIT)

    def close(self) -> None:
        """Closes the store. May be called again."""
        self._store.close()

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Workspace {self._store.location}>"


def create_or_load_workspace(path: Union[str, "os.PathLike[str]"]) -> Workspace:
    """Opens the store in `path` (.reconciler/state.db, else .codeframe/state.db); where there is neither, makes
    .reconciler. The folder itself must exist. A URI ("postgresql://...", "dir:PATH", "sqlite:PATH") is opened, or made
    where there is nothing; "memory:" lives as long as the workspace."""
    if isinstance(path, str) and is_uri(path):
        place = place_of(path)
        try:
            return Workspace(Store(place))
        except (NoStoreError, UninitialisedError):
            return Workspace(Store(place, mode=INIT))
    folder = os.path.abspath(os.fspath(path))
    known = any(os.path.exists(os.path.join(folder, name, "state.db")) for name in (".reconciler", ".codeframe"))
    return Workspace(Store(os.fsencode(folder), mode=READ if known else INIT))


def store_of(workspace: Any) -> Store:
    """The store of a Workspace."""
    if isinstance(workspace, Workspace):
        return workspace._store
    raise TypeError(f"workspace: {type(workspace).__name__} is no Workspace (create_or_load_workspace makes one)")


def store_at(workspace_or_path: Any, check_interval_ms: int) -> Store:
    """A store of one's own at a path or in a foreign workspace object."""
    return Store(place_of(workspace_or_path), check_interval_ms)
