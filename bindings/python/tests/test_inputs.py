"""What may be handed in, and what is refused with a clear message."""
import collections
import datetime
import enum
import pathlib
import types

import pytest

import reconciler
from reconciler import ReconcileAction, Reconciler, TaskStatus, blockers, tasks
from reconciler._pack import Batch


class CodeframeStatus(str, enum.Enum):  # as codeframe's own
    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"


class PlainStatus(enum.Enum):
    RUNNING_NOW = "IN_PROGRESS"


class NamedOtherwise(str, enum.Enum):
    finished = "DONE"


class TestStatuses:
    @pytest.mark.parametrize("status", ["IN_PROGRESS", TaskStatus.IN_PROGRESS, CodeframeStatus.IN_PROGRESS,
                                        PlainStatus.RUNNING_NOW, "RUNNING"])
    def test_every_way_to_say_in_progress(self, workspace, add, status):
        task = add("BLOCKED")
        [result] = Reconciler(workspace).check_tasks([task.id], {task.id: status})
        assert (result.action, result.external_status) == (ReconcileAction.KILL, TaskStatus.IN_PROGRESS)

    def test_the_value_counts_and_not_the_name(self, workspace, add):
        task = add(NamedOtherwise.finished)
        assert task.status is TaskStatus.DONE
        [result] = Reconciler(workspace).check_tasks([task.id], {task.id: NamedOtherwise.finished})
        assert result.external_status is TaskStatus.DONE

    def test_none_is_nothing_held(self, workspace, add):
        one, two = add("IN_PROGRESS"), add("BLOCKED")
        results = Reconciler(workspace).check_tasks([one.id, two.id], {one.id: None, two.id: PlainStatus.RUNNING_NOW})
        assert [result.external_status for result in results] == [None, TaskStatus.IN_PROGRESS]

    @pytest.mark.parametrize("status", ["done", "", "NOPE", 5, object(), ["DONE"], {"DONE"}])
    def test_anything_else_is_refused(self, workspace, add, status):
        task = add("READY")
        with pytest.raises(reconciler.InvalidError) as refused:
            Reconciler(workspace).check_tasks([task.id], {task.id: status})
        assert f"batch_state[{task.id!r}]: {status!r} is no status" in str(refused.value)
        assert isinstance(refused.value, ValueError)

    def test_an_unknown_stored_status_stays_a_text(self, codeframe):
        import sqlite3
        folder = codeframe("small")
        with sqlite3.connect(folder / ".codeframe" / "state.db") as theirs:
            theirs.execute("PRAGMA ignore_check_constraints=1")
            theirs.execute("UPDATE tasks SET status = 'Paused' WHERE id = (SELECT min(id) FROM tasks)")
            [(changed,)] = theirs.execute("SELECT min(id) FROM tasks")
        theirs.close()
        [result] = Reconciler(folder).check_tasks([changed])
        assert result.current_status == "Paused" and type(result.current_status) is str
        assert (result.action, result.discrepancy) == (ReconcileAction.NONE, True)


class TestIds:
    @pytest.mark.parametrize("kind", [list, tuple, iter, collections.deque, dict.fromkeys, lambda ids: (i for i in ids)])
    def test_any_iterable(self, workspace, add, kind):
        ids = [add("READY").id, "nobody"]
        results = Reconciler(workspace).check_tasks(kind(ids))
        assert [result.task_id for result in results] == ids

    def test_none_is_the_whole_batch_or_every_task(self, workspace, add):
        ids = [add("READY", id=name).id for name in ("b", "a", "c")]
        checker = Reconciler(workspace)
        assert [result.task_id for result in checker.check_tasks(None, {"c": "READY", "x": "DONE"})] == ["c", "x"]
        assert [result.task_id for result in checker.check_tasks(None)] == sorted(ids)
        assert checker.check_tasks([]) == [] == checker.check_blockers([]) == checker.check([], {"a": "DONE"})
        assert checker.check_tasks(None, {}) == []

    def test_any_script(self, workspace, add):
        names = ["Übung/1", "задача", "任务 7", "a'b\"c;--", "🙂" * 60]
        for name in names:
            add("READY", id=name)
        results = Reconciler(workspace).check_tasks(names, dict.fromkeys(names, "READY"))
        assert [(result.task_id, result.current_status) for result in results] == [(name, "READY") for name in names]

    @pytest.mark.parametrize("mapping", [
        lambda state: state, collections.OrderedDict, collections.ChainMap, types.MappingProxyType,
        collections.UserDict])
    def test_any_mapping(self, workspace, add, mapping):
        task = add("BLOCKED")
        [result] = Reconciler(workspace).check_tasks([task.id], mapping({task.id: "IN_PROGRESS"}))
        assert result.action is ReconcileAction.KILL

    @pytest.mark.parametrize("ids, wrong", [("abc", TypeError), (b"abc", TypeError), ([1], TypeError),
                                            ([None], TypeError), (["a\0b"], ValueError), (["\ud800"], ValueError),
                                            (5, TypeError)])
    def test_what_is_no_list_of_ids_is_refused(self, workspace, ids, wrong):
        with pytest.raises(wrong) as refused:
            Reconciler(workspace).check_tasks(ids)
        assert str(refused.value)

    def test_an_id_that_no_task_can_have_is_not_found(self, workspace):
        for name in ("", "x" * 256, "a\nb"):
            [result] = Reconciler(workspace).check_tasks([name])
            assert (result.task_id, result.reason) == (name, "task not found")

    def test_a_mapping_with_too_few_values_is_refused(self, workspace):
        class Strange(dict):
            def values(self):
                return ["READY"] * self.count

        for count in (1, 3):
            state = Strange(a="READY", b="READY")
            state.count = count
            with pytest.raises(reconciler.InvalidError) as refused:
                Reconciler(workspace).check(None, state)
            assert f"2 keys and {count} values" in str(refused.value)

    @pytest.mark.parametrize("batch", [Batch(b"a\0", 2, None, b""), Batch(b"a\0b", 2, None, b""), Batch(b"", 1, None, b""),
                                       Batch(None, 0, b"a\0", b"\1\1"), Batch(None, 0, b"a", b"\1")])
    def test_no_id_is_read_beyond_the_end(self, workspace, batch):
        with pytest.raises(reconciler.InvalidError) as refused:
            workspace._store.reader().check(0, False, batch, None)
        assert "fewer ids" in str(refused.value)

    def test_a_believed_id_must_be_one(self, workspace):
        with pytest.raises(reconciler.InvalidError) as refused:
            Reconciler(workspace).check_tasks(["a"], {"": "READY"})
        assert "id" in str(refused.value)


class TestPlaces:
    def test_path_text_uri_and_file(self, workspace, tmp_path, add):
        task = add("READY")
        file = tmp_path / ".reconciler" / "state.db"
        for place in (tmp_path, str(tmp_path), file, str(file), f"sqlite:{file}", bytes(file)):
            with Reconciler(place) as checker:
                assert checker.check_tasks([task.id])[0].current_status == "READY"
                assert pathlib.Path(checker.location) == file

    def test_a_path_is_never_a_uri(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pathlib.Path("memory:").mkdir()
        with reconciler.create_or_load_workspace(pathlib.Path("memory:")) as made:
            assert made.db_path == tmp_path / "memory:" / ".reconciler" / "state.db"
            assert made.repo_path == tmp_path / "memory:"

    @pytest.mark.parametrize("place", [None, 5, object(), ["x"]])
    def test_what_is_no_place_is_refused(self, place):
        with pytest.raises(TypeError) as refused:
            Reconciler(place)
        assert "workspace" in str(refused.value)

    @pytest.mark.parametrize("interval, wrong", [("30", TypeError), (1.5, TypeError), (True, TypeError),
                                                 (-1, ValueError), (2**63, ValueError)])
    def test_the_interval_is_a_number_of_milliseconds(self, workspace, interval, wrong):
        with pytest.raises(wrong) as refused:
            Reconciler(workspace, interval)
        assert "check_interval_ms" in str(refused.value)

    def test_in_memory(self):
        with reconciler.create_or_load_workspace("memory:") as made:
            task = tasks.create(made, "a task")
            assert Reconciler(made).check_tasks([task.id])[0].current_status == "BACKLOG"


class TestTasks:
    def test_columns_come_back(self, workspace):
        first = tasks.create(workspace, "first", id="one")
        due = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
        made = tasks.create(workspace, "Zweite", "so ist es", TaskStatus.READY, 3, depends_on={first.id},
                            parent_id=first.id, external_url="https://example.org/1", github_issue_number=12,
                            estimated_hours=1.5, requirement_ids=["R1"], created_at=due, uncertainty_level=None)
        assert made == tasks.get(workspace, made.id)
        assert (made.title, made.description, made.status, made.priority) == ("Zweite", "so ist es", "READY", 3)
        assert (made.depends_on, made.parent_id, made.external_url) == (["one"], "one", "https://example.org/1")
        assert (made.github_issue_number, made.estimated_hours, made.requirement_ids) == (12, 1.5, ["R1"])
        assert made.created_at.startswith("2026-01-02T03:04:05")
        with pytest.raises(AttributeError) as missing:
            made.uncertainty_level
        assert "uncertainty_level" in str(missing.value)

    def test_what_a_task_begins_with(self, workspace):
        made = tasks.create(workspace, "t")
        assert (made.description, made.status, made.priority) == ("", TaskStatus.BACKLOG, 0)
        assert (made.depends_on, made.blockers) == ([], [])

    @pytest.mark.parametrize("arguments, columns, words", [
        (("t",), {"nonsense": 1}, "nonsense"), (("t\ud800",), {}, "title"), (("t", "", "nope"), {}, "status"),
        (("t",), {"parent_id": "nobody"}, "nobody"), (("t",), {"id": ""}, "id"), (("t",), {"priority": "high"}, ""),
        (("t",), {"estimated_hours": float("nan")}, ""), (("x" * 5000,), {}, "title")])
    def test_a_bad_value_is_refused_and_nothing_written(self, workspace, arguments, columns, words):
        with pytest.raises(ValueError) as refused:
            tasks.create(workspace, *arguments, **columns)
        assert words in str(refused.value)
        assert tasks.list_tasks(workspace) == []

    def test_a_taken_id(self, workspace, add):
        add("READY", id="one")
        with pytest.raises(reconciler.ExistsError) as refused:
            add("DONE", id="one")
        assert "one" in str(refused.value)
        assert tasks.get(workspace, "one").status is TaskStatus.READY

    def test_an_id_that_another_takes_meanwhile(self, workspace, tmp_path, add, monkeypatch):
        with reconciler.create_or_load_workspace(tmp_path) as other:
            handle = workspace._store.writer()
            write = handle.task_import

            def late(json):
                tasks.create(other, "theirs", id="one")
                write(json)

            monkeypatch.setattr(handle, "task_import", late)
            with pytest.raises(reconciler.ExistsError) as refused:
                add("DONE", id="one")
        assert "one" in str(refused.value)
        assert tasks.get(workspace, "one").title == "theirs"

    def test_a_task_that_is_deleted_while_they_are_listed(self, workspace, add, monkeypatch):
        add("READY", id="a")
        add("READY", id="c")
        handle = workspace._store.reader()
        monkeypatch.setattr(handle, "task_ids", lambda *_: ["a", "b", "c"])
        assert [task.id for task in tasks.list_tasks(workspace)] == ["a", "c"]

    def test_listing(self, workspace, add):
        for name, status in (("b", "READY"), ("a", "DONE"), ("c", "READY")):
            add(status, id=name)
        assert [task.id for task in tasks.list_tasks(workspace)] == ["a", "b", "c"]
        assert [task.id for task in tasks.list_tasks(workspace, TaskStatus.READY)] == ["b", "c"]
        assert [task.id for task in tasks.list_tasks(workspace, limit=1)] == ["a"]
        assert tasks.list_tasks(workspace, "MERGED") == [] == tasks.list_tasks(workspace, limit=0)

    def test_status_changes(self, workspace, add):
        task = add("BACKLOG")
        assert tasks.update_status(workspace, task.id, CodeframeStatus.IN_PROGRESS).status == "IN_PROGRESS"
        merged = tasks.update_status(workspace, task.id, "MERGED")
        assert merged.status is TaskStatus.MERGED
        with pytest.raises(reconciler.RefusedError) as refused:
            tasks.update_status(workspace, task.id, "READY")
        assert "MERGED cannot become READY" in str(refused.value)
        assert tasks.update_status(workspace, task.id, "READY", force=True).status is TaskStatus.READY
        with pytest.raises(reconciler.NotFoundError) as missing:
            tasks.update_status(workspace, "nobody", "READY")
        assert isinstance(missing.value, LookupError)

    def test_deleting(self, workspace, add):
        task = add("READY")
        tasks.delete(workspace, task.id)
        assert tasks.get(workspace, task.id) is None
        with pytest.raises(reconciler.NotFoundError):
            tasks.delete(workspace, task.id)


class TestBlockers:
    def test_a_life(self, workspace, add):
        task = add("BLOCKED")
        made = blockers.create(workspace, "why?", task.id, created_by="agent")
        assert (made.status, made.created_by, made.answer) == (reconciler.BlockerStatus.OPEN, "agent", None)
        with pytest.raises(reconciler.RefusedError) as refused:
            blockers.resolve(workspace, made.id)
        assert "open" in str(refused.value)
        assert blockers.answer(workspace, made.id, "so").answer == "so"
        assert blockers.resolve(workspace, made.id).status is reconciler.BlockerStatus.RESOLVED
        with pytest.raises(reconciler.RefusedError):
            blockers.answer(workspace, made.id, "otherwise")
        assert [b.id for b in blockers.list_for_task(workspace, task.id)] == [made.id]
        assert blockers.list_for_task(workspace, "nobody") == []
        assert [b.id for b in blockers.list_all(workspace, "RESOLVED")] == [made.id]
        assert blockers.list_all(workspace, "OPEN") == []
        assert tasks.get(workspace, task.id).blockers[0].answer == "so"

    def test_one_about_no_task(self, workspace, add):
        task = add("BLOCKED")
        made = blockers.create(workspace, "which colour?")
        assert (made.task_id, made.status) == (None, "OPEN")
        blockers.answer(workspace, made.id, "green")
        assert blockers.resolve(workspace, made.id).status == "RESOLVED"
        assert [b.id for b in blockers.list_all(workspace)] == [made.id]
        assert Reconciler(workspace).check_blockers([task.id])[0].reason == "blocked without blockers"

    def test_what_is_missing(self, workspace):
        for call in (lambda: blockers.create(workspace, "why?", "nobody"), lambda: blockers.resolve(workspace, "none"),
                     lambda: blockers.answer(workspace, "none", "so")):
            with pytest.raises(reconciler.NotFoundError) as missing:
                call()
            assert "there is none" in str(missing.value)
        assert blockers.get(workspace, "none") is None

    @pytest.mark.parametrize("arguments", [("w\0hy", None), ("why?", "x", "robot")])
    def test_bad_values(self, workspace, add, arguments):
        add("READY", id="x")
        with pytest.raises((ValueError, LookupError)) as refused:
            blockers.create(workspace, *arguments)
        assert str(refused.value)
