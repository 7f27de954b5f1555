/* files.h - what the files of the directory backend share. man/reconciler-files.5.scd has the format.
 *
 * A handle keeps an image of the directory in the tables of the memory store, and is that store to whoever reads:
 * before a read the image is brought up to date, and a commit writes what the group has touched. So every rule
 * about tasks, blockers and claims exists once.
 */
#ifndef REC_STORE_FILES_H
#define REC_STORE_FILES_H

#include "base/io.h"
#include "base/json.h"
#include "store/memory.h"

#define REC_FILES_VERSION 1
#define REC_FILES_FOLDER ".rec"
#define REC_FILES_TASK_BYTES_MAX ((size_t)128 << 20) /* a description and its question of 16 MiB each, escaped */
#define REC_FILES_NAME_BYTES 256
#define REC_FILES_KEYS_MAX 4096u     /* in one object of a file */
#define REC_FILES_TIME_BYTES_MAX 64u /* a longer text is no time, nor kept as one: it is part of keys */

/* ---- Names (files-name.c); pure ---- */

/* The file name of an id: what is neither a letter, a digit nor one of "._-" is percent-encoded, a leading dot too;
 * ".json" behind it. Over 200 bytes: the first 128, '~', the SHA-256 of the id. One to one. Returns out. */
char *rec_files_name(struct rec_slice id, char out[REC_FILES_NAME_BYTES]);
bool rec_files_name_is(struct rec_slice id, const char *name); /* is it this name? */
/* May the file hold an id that begins with `prefix`? Of a hashed one the beginning alone is known. */
bool rec_files_name_may(const char *name, struct rec_slice prefix);
/* 0 and the id; REC_NOT_FOUND: a hashed name, which does not tell it; REC_E_INVALID: no id has this name. */
int rec_files_name_id(const char *name, char ret_id[REC_ID_BYTES_MAX + 1], size_t *ret_length);
bool rec_files_name_matters(const char *name); /* ends with ".json" and does not begin with a dot */

/* ---- JSON as a tree that knows where it stands (files-document.c); pure ---- */

struct rec_files_node {
	enum rec_json_type type; /* OBJECT_BEGIN and ARRAY_BEGIN stand for the whole */
	struct rec_slice key;    /* in an object */
	struct rec_slice text;   /* of a string (unescaped) or a number */
	uint32_t start, end;     /* the value's bytes */
	uint32_t key_start;      /* of the key's quote, in an object */
	struct rec_files_node *child, *next;
};
/* The one document in `text` (under 4 GiB); nodes and texts live in `arena`. 0, REC_E_NOMEM, REC_E_INVALID or
 * REC_E_LIMIT with why.
 */
int rec_files_document(struct rec_slice text, struct rec_arena *arena, struct rec_files_node **ret_root,
		       struct rec_error *error);
struct rec_files_node *rec_files_member(const struct rec_files_node *object, const char *key); /* or NULL */
/* A list of texts as other stores have it: ["a", "b"]. */
void rec_files_list_write(struct rec_buffer *out, const struct rec_files_node *list);

/* ---- A task file as a task (files-task.c); pure ---- */

struct rec_files_warning {
	const char *column, *problem; /* static */
	struct rec_slice value;
};
struct rec_files_task {
	struct rec_task task; /* with blockers, all in the arena, some pointing into the text */
	const char *problem;  /* why this is no task at all (static); task.id may be absent then */
	char detail[160];     /* more about it, or "" */
	struct rec_files_warning *warnings;
	size_t warning_count;
};
/* `name` is the file's. Never fails on content: that ends in `problem`. 0 or REC_E_NOMEM. */
int rec_files_task_read(struct rec_slice text, const char *name, struct rec_arena *arena, struct rec_files_task *out,
			struct rec_error *error);
/* The task for a file that could not even be read, by its name. */
void rec_files_task_bad(const char *name, const char *problem, struct rec_arena *arena, struct rec_files_task *out);
/* The id of a blocker that was written without one: made of its task and its question. */
#define REC_FILES_BLOCKER_ID_BYTES 24
char *rec_files_blocker_id(struct rec_slice task_id, struct rec_slice question, char out[REC_FILES_BLOCKER_ID_BYTES]);

/* ---- A task as a task file (files-text.c); pure ---- */

/* The whole file of a new task. */
int rec_files_text_new(struct rec_buffer *out, const struct rec_task *task, struct rec_error *error);
/* `text` with what differs between the two tasks (blockers included) changed in place, and nothing else: order, spacing
 * and unknown keys stay. The text reads as `before`. */
int rec_files_text_edit(struct rec_slice text, const struct rec_task *before, const struct rec_task *after,
			struct rec_arena *arena, struct rec_buffer *out, struct rec_error *error);

/* ---- Rows of the log (files-record.c) ---- */

enum rec_files_kind {
	REC_FILES_TEXT,
	REC_FILES_INT64,
	REC_FILES_UINT32,
	REC_FILES_ENUM,
	REC_FILES_BOOL,
	REC_FILES_MAYBE, /* an int64 with a presence flag at `more` */
	REC_FILES_TEXTS, /* a list of texts, its length at `more` */
};
struct rec_files_field {
	const char *name;
	enum rec_files_kind kind;
	size_t offset, more;
};
struct rec_files_record {
	const struct rec_files_field *fields;
	size_t count;
};
/* A list of texts as JSON, with that between two of them. */
void rec_files_texts_write(struct rec_buffer *out, const struct rec_slice *texts, size_t count, const char *between);
/* JSON on one line; what is absent, 0 or false is left out. */
int rec_files_record_write(struct rec_buffer *out, const struct rec_files_record *type, const void *record);
/* The line "WORD JSON". */
int rec_files_record_line(struct rec_buffer *out, const char *word, const struct rec_files_record *type,
			  const void *record);
/* The fields that are there, into a zeroed record. 0, REC_E_NOMEM, REC_E_INVALID. */
int rec_files_record_read(struct rec_slice json, const struct rec_files_record *type, struct rec_arena *arena,
			  void *record, struct rec_error *error);

struct rec_files_counters {
	int64_t claim_id, event_seq, change_seq, changes_pruned;
};
struct rec_files_events {
	struct rec_slice name;
	int64_t bytes; /* of them count */
};
struct rec_files_identity {
	uint64_t inode;
	int64_t size, mtime_ns, ctime_ns;
};
/* A file that a group puts in place (`from`: its name in .rec/new) or removes. */
struct rec_files_step {
	struct rec_slice name, from;
	bool had_file;
	struct rec_files_identity was; /* then; without its ctime, which a link or a chmod changes, too */
};
extern const struct rec_files_record rec_files_counters_record, rec_files_events_record, rec_files_step_record,
	rec_files_event_record;

/* The tables of the log: a name for each kind of row. */
struct rec_files_table {
	const char *name;
	enum rec_memory_table table;
};
extern const struct rec_files_table rec_files_tables[];
extern const size_t rec_files_table_count;
/* Appends the line of a row that is put or removed. */
int rec_files_row_write(struct rec_buffer *out, const struct rec_files_table *table, struct rec_slice key,
			const void *row, bool remove);
/* Reads one and puts it into (or removes it from) its table. The arena is for its work, and cleared. */
int rec_files_row_take(struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice json, bool remove,
		       struct rec_arena *arena, struct rec_error *error);

/* ---- Groups in the log (files-group.c); pure ---- */

struct rec_files_group {
	struct rec_slice body; /* whole lines */
	int64_t number;
	bool print_only; /* no group, but the print of the files after the one before */
	uint64_t print;
	size_t length; /* of all of it */
};
/* The first group in `bytes`. 0; REC_END: there is no whole one; REC_E_CORRUPT: one that is damaged has more behind
 * it. */
int rec_files_group_next(struct rec_slice bytes, struct rec_files_group *ret, struct rec_error *error);
/* Appends the end line of a group whose lines begin at `from` in out. */
int rec_files_group_end(struct rec_buffer *out, size_t from, int64_t number);
int rec_files_print_write(struct rec_buffer *out, uint64_t print);
/* "reconciler-files VERSION GENERATION\n"; 0 and its length; REC_E_NOT_A_STORE, REC_E_VERSION. */
int rec_files_head_read(struct rec_slice bytes, uint64_t *ret_generation, size_t *ret_length, struct rec_error *error);
int rec_files_head_write(struct rec_buffer *out, uint64_t generation);
/* The next line of a body without its newline; false: none left. */
bool rec_files_line_next(struct rec_slice *body, struct rec_slice *ret_line);
/* Is the line "WORD rest"? */
bool rec_files_line_is(struct rec_slice line, const char *word, struct rec_slice *ret_rest);

/* ---- The handle ---- */

/* What the image knows of a file, by its name. */
struct rec_files_file {
	struct rec_memory_row row;
	struct rec_files_identity identity;
	bool bad;            /* no task object: it can be removed, but not written to */
	bool regular;        /* a file, and no directory, link or pipe */
	bool young;          /* read so soon after its last change that a further one might not show */
	uint32_t seen;       /* in which pass over the directory */
	struct rec_slice id; /* of its task; absent: it has none */
};
/* The warnings of a file, by its name. */
struct rec_files_warnings {
	struct rec_memory_row row;
	struct rec_slice id; /* of the task, else the file's name */
	size_t count;
	struct rec_files_warning *list;
};

/* What of the log was read. */
struct rec_files_log {
	uint64_t inode, generation;
	size_t position;      /* behind the last whole group */
	int64_t group_number; /* the last one */
	uint64_t print;       /* of the files, as the log tells it */
	bool has_print;
	bool name_durable; /* the folder was synced since this log was found in it */
	bool open_ended;   /* no print behind the last group: its steps may not all be done */
	char events_name[48];
	int64_t events_bytes;
};

/* An entry of .rec/index, the texts of files that were read before (files-index.c). */
struct rec_files_indexed {
	struct rec_slice whole, name, text;
	struct rec_files_identity identity;
};
struct rec_files_index {
	struct rec_buffer old;       /* while everything is looked at for the first time: the whole file */
	struct rec_slice rest;       /* what of it was not yet come to */
	struct rec_files_indexed at; /* the entry before that */
	bool has_at;
	bool collects;          /* for `next`, what the file should hold */
	struct rec_buffer next; /* until a group is opened */
	size_t looked, settled, read;
};

struct rec_files {
	struct rec_memory_store memory; /* first: the ops of the memory store work on it */
	const struct rec_io *io;
	char *path, *folder, *log_path;  /* the directory, its .rec and the log there; absolute */
	int directory, rec, fresh, lock; /* the directory, .rec, .rec/new, .rec/lock; -1: not there */
	int log_fd;                      /* for reading or, in a group, writing; -1 */
	int watch, watch_directory;      /* inotify; -1: none, and every look is at all */
	struct rec_memory_map files, warnings;
	struct rec_buffer text;       /* of the file that is looked at */
	struct rec_arena arena;       /* what was made of it */
	bool cleaned;                 /* what writers that died left is gone */
	uint64_t print, print_before; /* a sum over all files; as it was before the image began to change */
	uint32_t pass;
	size_t asked; /* how many ids were looked up before that */
	bool loaded;  /* the whole directory was looked at once */
	bool rescan;  /* and must be again */
	bool reload;  /* and all of it be read anew: an id stood twice, and one of the two went */
	bool doubled; /* an id of a blocker or a URL stands twice */
	int64_t scanned_us;
	char **pending; /* names of files to look at */
	size_t pending_count, pending_capacity;

	struct rec_files_index index;
	struct rec_files_log log;
	struct rec_buffer steps; /* of the last group, as lines */
	size_t compacted_bytes;

	/* the group that is open */
	struct rec_buffer events; /* its events, as lines */
	bool events_renewed;      /* gc has written what stays of the others into a new file */
	char events_next[48];
	int64_t events_next_bytes;

	/* Changes that this handle alone has seen: files edited by hand. A cursor that counts them carries their number
	 * in its generation, so that any other handle refuses it. */
	struct rec_arena noted_arena;
	struct rec_slice *noted;
	size_t noted_count, noted_capacity, noted_floor, noted_logged;
	uint64_t noted_base;
};

struct rec_files *rec_files_of(struct rec_store *s);
struct rec_files_file *rec_files_file(const struct rec_files *f, const char *name); /* or NULL */

/* ---- The image (files-image.c) ---- */

/* What the file `name` holds now; NULL: it is gone. Notes a change. Inside rec_files_change_begin and _end. */
int rec_files_image_put(struct rec_files *f, const char *name, const struct rec_files_file *as,
			const struct rec_files_task *task, struct rec_error *error);
/* The row of a file after a commit of our own. */
int rec_files_image_written(struct rec_files *f, const char *name, const struct rec_files_file *as,
			    struct rec_error *error);
/* Its identity, once it is in place. */
void rec_files_image_settle(struct rec_files *f, const char *name, struct rec_files_file *file,
			    const struct stat *status);
int rec_files_noted_add(struct rec_files *f, struct rec_slice id, struct rec_error *error);
/* All or nothing of what changes the image. */
int rec_files_change_begin(struct rec_files *f, struct rec_error *error);
void rec_files_change_end(struct rec_files *f, bool keep);
void rec_files_warn(struct rec_files *f, struct rec_slice id); /* tells of one task, or (absent) of all */

/* ---- The directory (files-scan.c) ---- */

/* An entry of a directory as the kernel writes it. */
struct rec_files_entry {
	uint64_t inode;
	int64_t next;
	uint16_t length;
	uint8_t type;
	char name[];
};

void rec_files_identity_of(const struct stat *status, struct rec_files_identity *ret);
bool rec_files_identity_equal(const struct rec_files_identity *a, const struct rec_files_identity *b);
/* Is the file what it was, or still not there? 1 or 0; -1 and errno. */
int rec_files_stands(const struct rec_files *f, const char *name, bool had_file, const struct rec_files_identity *was);
bool rec_files_young(const struct rec_files_identity *identity);
/* Looks at one file; 0, REC_E_... Reads it only if it has changed. */
int rec_files_look(struct rec_files *f, const char *name, struct rec_error *error);
/* The whole directory. */
int rec_files_scan(struct rec_files *f, struct rec_error *error);
/* Brings the image up to date with the log and the directory; does nothing inside a group. */
int rec_files_refresh(struct rec_files *f, struct rec_error *error);
/* The same as far as these tasks go (ids that can be none are fine; NULL: all), or those whose ids begin with
 * `prefix`. */
int rec_files_refresh_ids(struct rec_files *f, const struct rec_slice *ids, size_t count, struct rec_error *error);
int rec_files_refresh_prefix(struct rec_files *f, struct rec_slice prefix, struct rec_error *error);
/* The same while the caller holds the lock that keeps others from writing. */
int rec_files_refresh_locked(struct rec_files *f, struct rec_error *error);
/* Appends a whole file to out. REC_NOT_FOUND: it is gone; REC_REFUSED: *ret_problem says why it is none for us. */
int rec_files_read(struct rec_files *f, int directory, const char *name, struct rec_buffer *out,
		   struct stat *ret_status, const char **ret_problem, struct rec_error *error);

/* ---- Texts that were read before (files-index.c); without any of this the files are read ---- */

/* Around the first look at everything, which goes by the order of names. */
void rec_files_index_open(struct rec_files *f);
void rec_files_index_close(struct rec_files *f);
/* The text and the status of a file that has not changed since. The text lives until the look ends. */
bool rec_files_index_find(struct rec_files *f, const char *name, struct rec_slice *ret_text, struct stat *ret_status);
/* One that was read. */
void rec_files_index_keep(struct rec_files *f, const char *name, struct rec_slice text, const struct stat *status);
/* Inside a group's lock: what the first look has collected, if it is worth it. */
void rec_files_index_write(struct rec_files *f);
void rec_files_index_release(struct rec_files *f);
/* Its bytes; pure. */
void rec_files_index_head(struct rec_buffer *out, uint64_t device);
void rec_files_index_add(struct rec_buffer *out, struct rec_slice name, const struct rec_files_identity *identity,
			 struct rec_slice text);
bool rec_files_index_begin(struct rec_slice *bytes, uint64_t device); /* is it one, of that device? */
bool rec_files_index_next(struct rec_slice *bytes, struct rec_files_indexed *ret);
bool rec_files_index_sound(const struct rec_files_indexed *entry); /* is its sum right? */

/* ---- Locks: bytes of .rec/lock (files-open.c) ---- */

enum rec_files_lock {
	REC_FILES_LOCK_GROUP, /* whoever has a group open */
	REC_FILES_LOCK_STEPS, /* shared: whoever reads; alone: whoever puts a group in place */
};
int rec_files_lock(struct rec_files *f, enum rec_files_lock lock, short type, struct rec_error *error);
void rec_files_unlock(struct rec_files *f, enum rec_files_lock lock);

/* ---- The log (files-log.c) ---- */

/* Reads what is new in it into the tables and the pending names. Inside a change. */
int rec_files_log_read(struct rec_files *f, struct rec_error *error);
/* Has anything come since? */
int rec_files_log_moved(struct rec_files *f, bool *ret_moved, struct rec_error *error);
/* Writes a group, durably: the moment of the commit. *ret_perhaps: it failed, but the group may stand there whole, and
 * then counts for whoever reads the log next: its files must stay. */
int rec_files_log_append(struct rec_files *f, struct rec_slice group, bool *ret_perhaps, struct rec_error *error);
/* The lines at the end of each group. */
void rec_files_tail_write(struct rec_buffer *out, const struct rec_memory_counters *now,
			  const struct rec_files_events *events);
void rec_files_log_print(struct rec_files *f); /* behind it; that it fails does not matter */
/* A log of the present tables in place of the old one. */
int rec_files_log_renew(struct rec_files *f, struct rec_error *error);
/* The first log. */
int rec_files_log_make(struct rec_files *f, struct rec_error *error);
/* The next step of `steps`, whose texts live in `arena`. 0, REC_END. */
int rec_files_step_next(struct rec_slice *steps, struct rec_arena *arena, struct rec_files_step *ret,
			struct rec_error *error);

/* ---- Groups (files-commit.c) ---- */

int rec_files_begin(struct rec_store *s, struct rec_error *error);
int rec_files_commit(struct rec_store *s, struct rec_error *error);
void rec_files_rollback(struct rec_store *s);

/* ---- What writers that died left (files-recover.c) ---- */

/* Inside a group's lock: puts in place what the last group still has to, and removes what belongs to nothing. */
int rec_files_recover(struct rec_files *f, struct rec_error *error);

/* ---- Events (files-events.c) ---- */

int rec_files_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error);
int rec_files_events(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		     struct rec_error *error);
int rec_files_events_gc(struct rec_files *f, int64_t before_us, bool dry_run, uint64_t *ret_count,
			struct rec_error *error);
/* Writes the group's events behind the others; *ret tells where the events are then. */
int rec_files_events_write(struct rec_files *f, struct rec_files_events *ret, struct rec_error *error);
void rec_files_events_place(struct rec_files *f, const struct rec_files_events *events); /* they are committed */
void rec_files_events_forget(struct rec_files *f);                                       /* the group's */
/* A file of events that a gc left that died: one of our names, and not the one that counts. */
bool rec_files_events_left(const struct rec_files *f, const char *name);

/* ---- Being woken (files-watch.c) ---- */

void rec_files_watch_begin(struct rec_files *f); /* without it every look is at the whole directory */
void rec_files_watch_drain(struct rec_files *f); /* events become pending names */
void rec_files_watch_end(struct rec_files *f);
void rec_files_pending_add(struct rec_files *f, const char *name, size_t length);
void rec_files_pending_clear(struct rec_files *f);

/* ---- Opening (files-open.c) ---- */

void rec_files_close(struct rec_store *s);
extern const struct rec_store_ops rec_files_ops; /* files.c */
/* For tests: with another table of system calls. */
int rec_store_files_open_with(const char *path, const struct rec_store_options *options, const struct rec_io *io,
			      struct rec_store **ret_store, struct rec_error *error);

#endif
