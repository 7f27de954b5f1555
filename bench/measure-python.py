#!/usr/bin/env python3
"""check_tasks from Python against the C call, and a plain loop over Python's sqlite3 against check_tasks; in pairs.

usage: measure-python.py FOLDER PAIRS MODULE     FOLDER as make-store left it; MODULE: measure-call.so
Prints lines "NAME TAB VALUE". Processor time; what is made is released within the measured time, in C as in Python.
"""
import ctypes
import json
import pathlib
import sqlite3
import statistics
import sys
import time

from reconciler import ReconcileAction, ReconciliationResult, Reconciler, TaskStatus

STATUSES = list(TaskStatus)
ACTIONS = list(ReconcileAction)


def cpu_us():
    return time.process_time_ns() / 1e3


class Bench:
    def __init__(self, folder, module):
        self.store = pathlib.Path(folder) / "state.db"
        state = json.loads((pathlib.Path(folder) / "batch.json").read_text(encoding="utf-8"))
        self.state = {task_id: TaskStatus(status) for task_id, status in state.items()}
        self.ids = list(self.state)
        self.reconciler = Reconciler(self.store)
        self.connection = sqlite3.connect(self.store)
        self.library = ctypes.CDLL(module)
        self.library.call_new.restype = ctypes.c_void_p
        self.library.call_us.restype = ctypes.c_double
        self.library.call_us.argtypes = [ctypes.c_void_p]
        self.library.call_actions.restype = ctypes.c_size_t
        self.library.call_actions.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.packed = "\0".join(self.ids).encode() + b"\0"
        self.numbers = bytes(STATUSES.index(status) for status in self.state.values())
        self.call = self.library.call_new(str(self.store).encode(), self.packed, self.numbers,
                                          ctypes.c_size_t(len(self.ids)))
        self.table = {(row.current_status, row.external_status): (row.action, row.reason, row.discrepancy)
                      for row in self.reconciler.check_tasks(self.ids, self.state)}

    def c_call(self):
        return self.library.call_us(self.call)

    def python_call(self):
        begin = cpu_us()
        results = self.reconciler.check_tasks(self.ids, self.state)
        del results
        return cpu_us() - begin

    def plain(self):
        """What somebody without the package would write: one query per task, a table, a result."""
        results, state, table, execute = [], self.state, self.table, self.connection.execute
        for task_id in self.ids:
            row = execute("SELECT status FROM tasks WHERE id = ?", (task_id,)).fetchone()
            stored, believed = TaskStatus(row[0]), state[task_id]
            action, reason, discrepancy = table[stored, believed]
            results.append(ReconciliationResult(task_id, stored, believed, action, reason, "store", discrepancy))
        return results

    def plain_loop(self):
        begin = cpu_us()
        results = self.plain()
        del results
        return cpu_us() - begin

    def compare_answers(self):
        """All three must have seen the same world, or the comparison is worth nothing."""
        results = self.reconciler.check_tasks(self.ids, self.state)
        assert results == self.plain()
        self.c_call()
        for number, action in enumerate(ACTIONS):
            assert self.library.call_actions(self.call, number) == sum(one.action is action for one in results)

    def pairs(self, one, two, count):
        """(median of one, median of two, median of the ratios)"""
        measured = []
        for turn in range(count):
            if turn % 2:
                second, first = two(), one()
            else:
                first, second = one(), two()
            measured.append((first, second))
        return (statistics.median(first for first, _ in measured), statistics.median(second for _, second in measured),
                statistics.median(first / second for first, second in measured))


def main():
    folder, count, module = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    bench = Bench(folder, module)
    bench.compare_answers()
    python_us, c_us, ratio = bench.pairs(bench.python_call, bench.c_call, count)
    plain_us, _, faster = bench.pairs(bench.plain_loop, bench.python_call, max(count // 4, 3))
    for name, value in (("python_us", python_us), ("python_c_us", c_us), ("python_ratio", ratio),
                        ("python_plain_us", plain_us), ("python_plain_ratio", faster)):
        print(f"{name}\t{value:.4f}")


if __name__ == "__main__":
    main()
