/* protocol.h - the lines of reconciler-tracker(7): requests in, answers out. Pure. */
#ifndef REC_GITHUB_PROTOCOL_H
#define REC_GITHUB_PROTOCOL_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "github/response.h"

#define GH_LINE_BYTES_MAX (4u << 20)
#define GH_LINKS_MAX 100000u
#define GH_CURSORS_MAX 100000u
#define GH_PROTOCOL 1
#define GH_DEADLINE_MS_DEFAULT 30000
#define GH_BUDGET_SHARE_DEFAULT 0.6

enum gh_method { GH_METHOD_UNKNOWN, GH_METHOD_HELLO, GH_METHOD_FETCH, GH_METHOD_CLOSE };

struct gh_asked {
	struct rec_slice url, validator; /* empty: null */
};
struct gh_pair {
	struct rec_slice key, value; /* value empty: null */
};

struct gh_request {
	bool has_id;
	int64_t id;
	enum gh_method method;
	int64_t protocol;       /* hello */
	struct gh_asked *links; /* fetch */
	size_t link_count;
	struct gh_pair *cursors;
	size_t cursor_count;
	double budget_share;
	int64_t deadline_ms;
	struct rec_slice url, comment, marker; /* close */
};
/* One line without its end. Texts live in the arena. 0; REC_E_INVALID, REC_E_LIMIT (*ret_request then holds the id if
 * it was understood, so that the error can be answered), REC_E_NOMEM. */
int gh_request_read(struct rec_slice line, struct rec_arena *arena, struct gh_request *ret_request,
		    struct rec_error *error);

enum gh_observed { GH_OBSERVED_NOT, GH_OPEN, GH_CLOSED, GH_MERGED, GH_GONE, GH_UNKNOWN, GH_UNCHANGED };

/* Empty slices are left out, or null where the protocol wants the key. */
struct gh_observation {
	struct rec_slice url;
	enum gh_observed state;
	bool has_kind, pull;
	struct rec_slice reason, time, moved_to, validator, problem;
	int64_t comments; /* -1: not known */
};
struct gh_answer {
	const struct gh_observation *observations;
	size_t observation_count;
	const struct gh_pair *cursors;
	size_t cursor_count;
	struct gh_budget budget;
	int64_t retry_after_ms; /* 0: none */
	struct rec_slice problem;
};
/* Each appends one line with its end. 0, REC_E_NOMEM, REC_E_LIMIT. */
int gh_write_hello(struct rec_buffer *out, int64_t id, bool can_close);
int gh_write_fetch(struct rec_buffer *out, int64_t id, const struct gh_answer *answer);
int gh_write_closed(struct rec_buffer *out, int64_t id);
int gh_write_problem(struct rec_buffer *out, int64_t id, struct rec_slice problem, int64_t retry_after_ms);

#endif
