/* cli.h - what every command works with: the global options, the store, standard output, and the one way to
 * say something on standard error. Commands return their exit status.
 */
#ifndef REC_CLI_CLI_H
#define REC_CLI_CLI_H

#include "base/cleanup.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/store.h"

enum status {
	STATUS_OK = 0,       /* success; to a question: nothing to do */
	STATUS_NO = 1,       /* a negative answer */
	STATUS_TROUBLE = 2,  /* an error */
	STATUS_SIGNAL = 128, /* plus the signal's number */
};

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_NDJSON };

struct cli {
	const char *store_uri; /* --store; NULL: not given */
	enum format format;
	bool format_given;
	enum colour_choice colour; /* --color: for standard error too, which may be another kind of place */
	int verbosity;             /* -1 quiet, 0, 1 verbose */
	struct output out;
	struct rec_arena arena;  /* what lives until the command ends */
	struct rec_store *store; /* cli_open; closed by main */
	struct config *config;   /* cli_open; cli/config.h */
};

/* ---- Saying things on standard error, one line each --------------------------------------------------- */

/* "reconciler: MESSAGE" */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same as the value that ends a command: `return cli_error(&error)`. */
static inline int cli_error(const struct rec_error *error)
{
	cli_say("%s", error->message);
	return STATUS_TROUBLE;
}
#define cli_fail(...) (cli_say(__VA_ARGS__), (int)STATUS_TROUBLE)
#define cli_refuse(...) (cli_say(__VA_ARGS__), (int)STATUS_NO)
/* Not with --quiet. */
void cli_warn(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Only with --verbose. */
void cli_note(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- The store ---------------------------------------------------------------------------------- */

/* Opens the store that --store, RECONCILER_STORE or the working directory names, and reads the configuration
 * beside it. 0 or the exit status, the reason having been said. */
int cli_open(struct cli *cli, enum rec_store_mode mode);
/* What the user's configuration says about opening that store; the one beside the store comes too late for it. */
int cli_store_settings(struct cli *cli, const char *uri, struct rec_store_options *options, struct rec_error *error);

/* What an operation on the store gave: 0 goes on, REC_NOT_FOUND is said for `thing` ("task", "blocker") and `id`,
 * an error is said. Other outcomes are the caller's. Returns the exit status. */
int cli_outcome(int result, const char *thing, struct rec_slice id, const struct rec_error *error);

/* ---- Ids ---------------------------------------------------------------------------------------- */

/* The id that `text` is, or is a unique beginning of; lives in cli->arena. 0 or the exit status (not found and
 * ambiguous: STATUS_NO), the reason having been said. */
int cli_task_id(struct cli *cli, const char *text, struct rec_slice *ret_id);
int cli_blocker_id(struct cli *cli, const char *text, struct rec_slice *ret_id);

/* ---- Writing results ---------------------------------------------------------------------------- */

/* A list of objects: json makes one array of them, ndjson a line each. */
void cli_list_begin(struct cli *cli);
struct rec_buffer *cli_list_item(struct cli *cli, uint64_t index); /* append the object here */
void cli_list_item_end(struct cli *cli);
void cli_list_end(struct cli *cli);
/* `"key":"text"` or `"key":null` if text.data is NULL, after a comma unless it is the object's first. */
void cli_json_text(struct rec_buffer *out, const char *key, struct rec_slice text);
void cli_json_number(struct rec_buffer *out, const char *key, int64_t number);
void cli_json_bool(struct rec_buffer *out, const char *key, bool value);
/* {"id":"..."} or the bare id on a line. */
void cli_print_id(struct cli *cli, const char *id);

/* "ID: FROM -> TO" on a line, or the object {"id":...,"from":...,"to":...} without its newline. */
void cli_print_change(struct cli *cli, struct rec_slice id, enum rec_status from, enum rec_status to);
/* "ID: deleted" or {"id":...,"result":"deleted"}, on a line. */
void cli_print_done(struct cli *cli, struct rec_slice id, const char *done);

/* ---- Entry -------------------------------------------------------------------------------------- */

/* The whole program; returns the exit status. */
int cli_main(int count, const char *const words[]);

#endif
