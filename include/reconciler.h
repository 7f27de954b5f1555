/* reconciler.h - keeps a running batch of tasks true to the world.
 *
 * This header is the contract of libreconciler and the only one that is installed.
 *
 * Conventions, valid for every function unless its comment says otherwise:
 * - Result: 0 is success; a positive value is a named outcome (enum rec_outcome) that this function
 *   documents; a negative value is an error (enum rec_error_code), described in *error when error is not
 *   NULL. Outputs (ret_...) are untouched unless the result is 0.
 * - Strings are UTF-8 and NUL-terminated. Times are RFC 3339 in UTC. Durations carry their unit in the name.
 * - Threads: the library has no global state. A handle, and every object made from it, belongs to one
 *   thread at a time; different handles are independent, also on the same store.
 * - The library never prints, never exits, never installs a signal handler and never forks.
 * - A destructor accepts NULL.
 */
#ifndef RECONCILER_H
#define RECONCILER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REC_VERSION_MAJOR 0
#define REC_VERSION_MINOR 1
#define REC_VERSION_PATCH 0
#define REC_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define REC_PUBLIC __attribute__((visibility("default")))
#else
#define REC_PUBLIC
#endif

/* ---- Limits ------------------------------------------------------------------------------------- */

#define REC_ID_BYTES_MAX 255                /* a task id: 1 to 255 bytes, UTF-8, no control characters */
#define REC_TITLE_BYTES_MAX (4u << 10)      /* a title */
#define REC_TEXT_BYTES_MAX (16u << 20)      /* a description, a question, an answer */
#define REC_CHECK_INTERVAL_DEFAULT_MS 30000 /* how often a driver looks again without a wake-up */

/* ---- Vocabulary --------------------------------------------------------------------------------- */

/* The status of a task. FAILED, DONE and MERGED are terminal for a batch. The numbers are stable. */
enum rec_status {
	REC_BACKLOG = 0,
	REC_READY = 1,
	REC_IN_PROGRESS = 2,
	REC_BLOCKED = 3,
	REC_FAILED = 4,
	REC_DONE = 5,
	REC_MERGED = 6,
	REC_STATUS_ABSENT = 7,       /* no status: the batch holds nothing ("-"), or there is no such task */
	REC_STATUS_UNRECOGNISED = 8, /* the store holds a value that is none of the seven */
};
#define REC_STATUS_COUNT 7 /* the real ones, REC_BACKLOG to REC_MERGED */

/* What to do about a task. The numbers are stable. */
enum rec_action {
	REC_NONE = 0,    /* nothing */
	REC_SKIP = 1,    /* finished or withdrawn elsewhere: leaves the queue; a running child is stopped */
	REC_KILL = 2,    /* blocked or withdrawn elsewhere: the running child is stopped, or the task is held */
	REC_REQUEUE = 3, /* released elsewhere: may run again */
};
#define REC_ACTION_COUNT 4

/* Positive results: outcomes that the caller is expected to handle. */
enum rec_outcome {
	REC_NOT_FOUND = 1, /* there is no such task, blocker, batch, row */
	REC_CONFLICT = 2,  /* a compare-and-set lost: the world is not what justified the write; nothing written */
	REC_EXISTS = 3,    /* that id is taken; nothing written */
	REC_REFUSED = 4,   /* the change is not legal (transition, claimed task, released blocker); nothing written */
	REC_RESCAN = 5,    /* the change feed cannot tell: take a full snapshot */
	REC_END = 6,       /* no more rows, tokens, results */
};

/* Negative results. `rec_error_class_of` sorts them. */
enum rec_error_code {
	REC_E_NOMEM = -1,      /* memory exhausted */
	REC_E_IO = -2,         /* the operating system failed a read, a write, an open */
	REC_E_BUSY = -3,       /* the store stayed locked for longer than the limit */
	REC_E_FULL = -4,       /* no space left */
	REC_E_PERMISSION = -5, /* not allowed by the file system or the server */
	REC_E_READ_ONLY = -6,  /* a write to a store opened or mounted read-only */
	REC_E_CORRUPT = -7,    /* the store is malformed; all work on it stops */
	REC_E_NOT_A_STORE =
		-8,          /* there is something, but no task store (a directory, a text, another program's file) */
	REC_E_NO_STORE = -9, /* there is nothing at that place */
	REC_E_UNINITIALISED = -10, /* a task store without our tables: `reconciler init` makes them */
	REC_E_VERSION = -11,       /* the store was made by a newer version */
	REC_E_SCHEMA = -12,        /* a table or column this operation needs is missing */
	REC_E_NETWORK_FS = -13,    /* SQLite on a network file system */
	REC_E_INVALID = -14,       /* bad input: an argument, a file, a JSON document, an id */
	REC_E_LIMIT = -15,         /* a stated maximum was exceeded */
	REC_E_UNSUPPORTED = -16,   /* this store or build cannot do that */
	REC_E_INTERRUPTED = -17,   /* stopped at the caller's request */
	REC_E_BUG = -18,           /* an invariant of the library broke: please report */
};

enum rec_error_class {
	REC_CLASS_RETRY = 1,    /* may succeed later unchanged: BUSY, FULL, IO, NOMEM */
	REC_CLASS_TERMINAL = 2, /* will fail again until somebody changes something */
	REC_CLASS_BUG = 3,
};

/* Filled in on a negative result; owned by the caller, needs no initialisation, may be reused.
 * message: "WHAT: WHY (way out)", one line, always terminated, never holds a secret. */
struct rec_error {
	int code; /* enum rec_error_code, or 0 */
	char message[1020];
};

/* The allocator hook. NULL where one is taken means malloc, realloc and free. `reallocate` must behave as
 * realloc(3); `release` as free(3). The struct must outlive every object made with it. SQLite keeps its
 * own allocator (sqlite3_config). */
struct rec_allocator {
	void *(*allocate)(void *context, size_t size);
	void *(*reallocate)(void *context, void *memory, size_t size);
	void (*release)(void *context, void *memory);
	void *context;
};

#ifdef __cplusplus
}
#endif
#endif
