/* main.c - reconciler-github: one line in, one line out, until standard input ends. See reconciler-github(8). */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "github/close.h"
#include "github/http.h"
#include "github/pass.h"
#include "github/protocol.h"
#include "github/token.h"

#define READ_BYTES 65536

struct helper {
	struct rec_arena arena; /* of the process */
	const char *token_file;
	struct gh_place place;
	struct gh_token token;
	struct gh_http *http;
	struct gh_response response;
	struct gh_holds holds;
	struct rec_buffer in, out;
	bool token_refused; /* by the latest answer: look for a newer one before the next request */
	bool too_long;      /* the rest of a line that was too long is passed over */
};

static int64_t monotonic_ms(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context) / 1000;
}

static int64_t wall_us(void)
{
	return rec_clock_real.wall_us(rec_clock_real.context);
}

/* ---- The token ---- */

static int token_begin(struct helper *h, struct rec_error *error)
{
	struct gh_token token = {0};
	struct gh_http *http = NULL;
	int r = gh_token_find(h->token_file, h->place.pages.host, &token, error);
	if (r == 0)
		r = gh_http_new(NULL, token.text[0] ? token.text : NULL, &http, error);
	if (r == 0) {
		gh_http_free(h->http);
		h->http = http;
		h->token = token;
	}
	gh_token_forget(&token);
	return r;
}

/* A file or gh may have a newer one by now; what came by the environment is all there is. */
static void token_renew(struct helper *h)
{
	struct rec_error error;
	bool renewable = !h->token.text[0] || !h->token.from_environment;
	if (h->token_refused && renewable && token_begin(h, &error) < 0)
		fprintf(stderr, "reconciler-github: %s\n", error.message);
	h->token_refused = false;
}

/* ---- Requests ---- */

/* A message may repeat the token, and be cut in the middle of it later: it is hidden where it comes in. */
static void ask_send(struct helper *h, const struct gh_ask *ask, int64_t left_ms)
{
	struct gh_response *r = &h->response;
	gh_http_send(h->http, ask, left_ms, r);
	if (r->body.length)
		gh_token_hide(&h->token, r->body.data, r->body.length);
	h->token_refused = r->status == 401;
}

static int fetch_run(struct helper *h, const struct gh_request *request)
{
	struct gh_pass *pass = NULL;
	const struct gh_ask *ask;
	struct gh_answer answer;
	int64_t begin = monotonic_ms();
	token_renew(h);
	int r = gh_pass_new(NULL, &h->place, request, h->token.text[0] != 0, &h->holds, wall_us(), &pass);
	while (r == 0 && (r = gh_pass_next(pass, monotonic_ms() - begin, &ask)) == 0) {
		ask_send(h, ask, request->deadline_ms - (monotonic_ms() - begin));
		r = gh_pass_answer(pass, &h->response, wall_us());
	}
	if (r == REC_END)
		r = gh_pass_finish(pass, &answer);
	if (r == 0)
		r = gh_write_fetch(&h->out, request->id, &answer);
	gh_pass_free(pass);
	return r;
}

static int close_run(struct helper *h, const struct gh_request *request)
{
	struct gh_close c;
	const struct gh_ask *ask;
	int64_t begin = monotonic_ms();
	int r;
	token_renew(h);
	gh_close_init(&c, NULL, &h->place, request, h->token.text[0] != 0);
	while ((r = gh_close_next(&c, monotonic_ms() - begin, &ask)) == 0) {
		ask_send(h, ask, request->deadline_ms - (monotonic_ms() - begin));
		r = gh_close_answer(&c, &h->response, wall_us());
		if (r < 0)
			break;
	}
	if (r == REC_END)
		r = c.problem.length ? gh_write_problem(&h->out, request->id, c.problem, c.wait_s * 1000)
				     : gh_write_closed(&h->out, request->id);
	gh_close_release(&c);
	return r;
}

static int request_run(struct helper *h, const struct gh_request *request)
{
	switch (request->method) {
	case GH_METHOD_HELLO:
		if (request->protocol != GH_PROTOCOL)
			return gh_write_problem(&h->out, request->id,
						rec_slice_of("hello: only protocol 1 is spoken here"), 0);
		return gh_write_hello(&h->out, request->id, h->token.text[0] != 0);
	case GH_METHOD_FETCH:
		return fetch_run(h, request);
	case GH_METHOD_CLOSE:
		return close_run(h, request);
	default:
		return gh_write_problem(&h->out, request->id, rec_slice_of("request: no such method"), 0);
	}
}

/* What cannot be answered, since nobody knows what was asked. */
static int complain(const char *problem)
{
	fprintf(stderr, "reconciler-github: %s\n", problem);
	return 0;
}

static int line_run(struct helper *h, struct rec_slice line)
{
	struct rec_arena arena;
	struct gh_request request;
	struct rec_error error = {0};
	rec_arena_init(&arena, NULL);
	rec_buffer_clear(&h->out);
	int r = gh_request_read(line, &arena, &request, &error);
	if (!request.has_id)
		r = complain(r < 0 ? error.message : "request: there is no id");
	else if (r == 0)
		r = request_run(h, &request);
	else if (r != REC_E_NOMEM)
		r = gh_write_problem(&h->out, request.id, rec_slice_of(error.message), 0);
	if (r == REC_E_NOMEM || r == REC_E_LIMIT) {
		const char *problem = r == REC_E_NOMEM ? "out of memory" : "the answer is longer than 4 MiB";
		rec_buffer_clear(&h->out);
		r = gh_write_problem(&h->out, request.id, rec_slice_of(problem), 0);
	}
	rec_arena_release(&arena);
	return r;
}

/* ---- Lines ---- */

static int out_write(struct helper *h, struct rec_error *error)
{
	size_t done = 0;
	if (h->out.length == 0)
		return 0;
	gh_token_hide(&h->token, h->out.data, h->out.length);
	while (done < h->out.length) {
		ssize_t n = write(STDOUT_FILENO, h->out.data + done, h->out.length - done);
		if (n < 0 && errno != EINTR)
			return rec_fail_errno(error, errno, "standard output");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int line_take(struct helper *h, struct rec_slice line, struct rec_error *error)
{
	if (h->too_long) {
		h->too_long = false;
		return complain("request: a line of more than 4 MiB");
	}
	if (line.length == 0)
		return 0;
	return line_run(h, line) < 0 ? rec_fail_nomem(error) : out_write(h, error);
}

/* Every whole line that was read. */
static int lines_take(struct helper *h, struct rec_error *error)
{
	size_t begin = 0;
	int r = 0;
	while (r == 0) {
		const char *end = memchr(h->in.data + begin, '\n', h->in.length - begin);
		if (!end)
			break;
		struct rec_slice line = {h->in.data + begin, (size_t)(end - h->in.data) - begin};
		begin += line.length + 1;
		r = line_take(h, line, error);
	}
	rec_buffer_consume(&h->in, begin);
	if (h->in.length > GH_LINE_BYTES_MAX) {
		h->too_long = true;
		rec_buffer_clear(&h->in);
	}
	return r;
}

static int serve(struct helper *h, struct rec_error *error)
{
	for (;;) {
		char *space = rec_buffer_space(&h->in, READ_BYTES);
		if (!space)
			return rec_fail_nomem(error);
		ssize_t n = read(STDIN_FILENO, space, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? rec_fail_errno(error, errno, "standard input") : 0;
		rec_buffer_added(&h->in, (size_t)n);
		int r = lines_take(h, error);
		if (r < 0)
			return r;
	}
}

/* ---- Beginning ---- */

static const char usage[] =
	"usage: reconciler-github [--api-url URL] [--token-file FILE]\n"
	"\n"
	"Answers requests of reconciler about GitHub issues and pull requests, a line of JSON each,\n"
	"until standard input ends. See reconciler-github(8) and reconciler-tracker(7).\n"
	"\n"
	"  --api-url URL      the API (https://api.github.com; https://HOST/api/v3 for GitHub Enterprise)\n"
	"  --token-file FILE  a file that holds the token, if GITHUB_TOKEN and GH_TOKEN are not set\n"
	"  -h, --help         this text\n"
	"  --version          the version\n";

struct arguments {
	const char *api_url, *token_file;
};

/* 0: go on; 1: done; 2: wrong usage. */
static int arguments_read(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {{"api-url", required_argument, NULL, 'a'},
						{"token-file", required_argument, NULL, 't'},
						{"help", no_argument, NULL, 'h'},
						{"version", no_argument, NULL, 'v'},
						{NULL, 0, NULL, 0}};
	int option;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'a':
			arguments->api_url = optarg;
			break;
		case 't':
			arguments->token_file = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		case 'v':
			puts("reconciler-github " REC_VERSION_STRING);
			return 1;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	return 0;
}

static void file_mode_warn(const char *file)
{
	struct stat s;
	if (file && stat(file, &s) == 0 && (s.st_mode & 077))
		fprintf(stderr, "reconciler-github: %s: others may read this token (chmod 600)\n", file);
}

static int helper_begin(struct helper *h, const struct arguments *arguments, struct rec_error *error)
{
	const char *api_url = arguments->api_url ? arguments->api_url : GH_API_URL_DEFAULT;
	int r = gh_place_init(&h->place, &h->arena, rec_slice_of(api_url), error);
	h->token_file = arguments->token_file;
	if (r == 0)
		r = token_begin(h, error);
	if (r < 0)
		return r;
	if (!h->token.from_environment)
		file_mode_warn(arguments->token_file);
	if (!h->token.text[0])
		fprintf(stderr, "reconciler-github: no token (GITHUB_TOKEN, GH_TOKEN, token_file, gh auth login): "
				"only public repositories, 60 requests an hour\n");
	return 0;
}

int main(int argc, char **argv)
{
	struct helper h = {0};
	struct arguments arguments = {0};
	struct rec_error error = {0};
	gh_token_protect();
	signal(SIGPIPE, SIG_IGN); /* TLS writes to connections that the other side closed */
	int r = arguments_read(argc, argv, &arguments);
	if (r != 0)
		return r == 1 ? 0 : 2;
	rec_arena_init(&h.arena, NULL);
	rec_buffer_init(&h.in, NULL, 2 * GH_LINE_BYTES_MAX);
	rec_buffer_init(&h.out, NULL, GH_LINE_BYTES_MAX);
	gh_response_init(&h.response, NULL);
	gh_holds_init(&h.holds, NULL, rec_random_u64());
	r = helper_begin(&h, &arguments, &error);
	if (r == 0)
		r = serve(&h, &error);
	if (r < 0)
		fprintf(stderr, "reconciler-github: %s\n", error.message);
	gh_http_free(h.http);
	gh_token_forget(&h.token);
	gh_response_release(&h.response);
	gh_holds_release(&h.holds);
	rec_buffer_release(&h.in);
	rec_buffer_release(&h.out);
	rec_arena_release(&h.arena);
	return r < 0 ? 2 : 0;
}
