/* http.c - the thin shell around libcurl, which follows no redirect and knows no other protocol: where a request goes
 * was decided before, by rules that tests can reach. */
#include "github/http.h"

#include <curl/curl.h>
#include <stdio.h>

#include "base/text.h"

#define TOKEN_HEADER_BYTES 1100
#define CONNECT_TIME_MS 10000
#define REQUEST_TIME_MS 20000 /* GitHub itself gives up after ten seconds */

struct gh_http {
	const struct rec_allocator *allocator;
	CURL *curl;
	char authorization[TOKEN_HEADER_BYTES]; /* empty: none */
	char message[CURL_ERROR_SIZE];
};

int gh_http_new(const struct rec_allocator *a, const char *token, struct gh_http **ret_http, struct rec_error *error)
{
	struct gh_http *http = rec_zalloc(a, 1, sizeof *http);
	if (!http)
		return rec_fail_nomem(error);
	http->allocator = a;
	http->curl = curl_easy_init();
	if (!http->curl) {
		rec_free(a, http);
		return rec_fail(error, REC_E_UNSUPPORTED, "libcurl: it does not start");
	}
	if (token)
		snprintf(http->authorization, sizeof http->authorization, "Authorization: Bearer %s", token);
	*ret_http = http;
	return 0;
}

struct gh_http *gh_http_free(struct gh_http *http)
{
	if (!http)
		return NULL;
	curl_easy_cleanup(http->curl);
	explicit_bzero(http->authorization, sizeof http->authorization);
	return rec_free(http->allocator, http);
}

/* ---- What libcurl calls ---- */

static size_t header_take(const char *data, size_t size, size_t count, void *context)
{
	struct gh_response *r = context;
	gh_response_line(r, (struct rec_slice){data, size * count});
	return r->failed ? 0 : size * count;
}

static size_t body_take(const char *data, size_t size, size_t count, void *context)
{
	struct gh_response *r = context;
	return rec_buffer_add(&r->body, data, size * count) < 0 ? 0 : size * count;
}

/* ---- One request ---- */

static struct curl_slist *header_add(struct curl_slist *list, const char *line, bool *good)
{
	struct curl_slist *longer = curl_slist_append(list, line);
	if (!longer)
		*good = false;
	return longer ? longer : list;
}

static struct curl_slist *headers_of(const struct gh_http *http, const struct gh_ask *ask, bool *good)
{
	char condition[GH_URL_BYTES_MAX];
	struct curl_slist *list = NULL;
	list = header_add(list, "Accept: application/vnd.github+json", good);
	list = header_add(list, "X-GitHub-Api-Version: 2022-11-28", good);
	list = header_add(list, "Expect:", good);
	if (http->authorization[0])
		list = header_add(list, http->authorization, good);
	if (ask->verb != GH_GET)
		list = header_add(list, "Content-Type: application/json", good);
	if (ask->if_none_match.length && ask->if_none_match.length < sizeof condition - 20) {
		snprintf(condition, sizeof condition, "If-None-Match: %.*s", (int)ask->if_none_match.length,
			 ask->if_none_match.data);
		list = header_add(list, condition, good);
	}
	return list;
}

static bool options_set(struct gh_http *http, const struct gh_ask *ask, struct curl_slist *headers, long timeout_ms,
			struct gh_response *r)
{
	CURL *c = http->curl;
	bool good = true;
	curl_easy_reset(c); /* keeps the connection */
	good &= curl_easy_setopt(c, CURLOPT_URL, ask->url.data) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_USERAGENT, "reconciler-github/" REC_VERSION_STRING) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIME_MS) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, timeout_ms) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, header_take) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_HEADERDATA, r) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, body_take) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_WRITEDATA, r) == CURLE_OK;
	good &= curl_easy_setopt(c, CURLOPT_ERRORBUFFER, http->message) == CURLE_OK;
	(void)curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	(void)curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, ""); /* a listing shrinks to a tenth */
	if (ask->verb != GH_GET) {
		/* On a connection that it used before, libcurl sends again by itself what got no answer. */
		good &= curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK;
		good &= curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body.length) == CURLE_OK;
		good &= curl_easy_setopt(c, CURLOPT_POSTFIELDS, ask->body.data) == CURLE_OK;
	}
	if (ask->verb == GH_PATCH)
		good &= curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, "PATCH") == CURLE_OK;
	return good;
}

/* The answer counts only if all of it is there. */
static void failure_take(struct gh_http *http, CURLcode code, struct gh_response *r)
{
	char shown[200];
	bool limit = r->body.failed == REC_E_LIMIT, nomem = r->failed || r->body.failed == REC_E_NOMEM;
	rec_text_shown(shown, sizeof shown,
		       rec_slice_of(limit              ? "the answer is larger than 16 MiB"
				    : http->message[0] ? http->message
						       : curl_easy_strerror(code)));
	gh_response_clear(r);
	char *copy = rec_arena_strndup(&r->arena, shown, strlen(shown));
	r->failed = nomem || !copy ? REC_E_NOMEM : 0;
	r->failure = copy ? rec_slice_of(copy) : rec_slice_of("out of memory");
}

void gh_http_send(struct gh_http *http, const struct gh_ask *ask, int64_t timeout_ms, struct gh_response *ret_response)
{
	bool good = true;
	gh_response_clear(ret_response);
	http->message[0] = 0;
	if (timeout_ms > REQUEST_TIME_MS)
		timeout_ms = REQUEST_TIME_MS;
	struct curl_slist *headers = headers_of(http, ask, &good);
	good = good && options_set(http, ask, headers, timeout_ms < 1 ? 1 : (long)timeout_ms, ret_response);
	CURLcode code = good ? curl_easy_perform(http->curl) : CURLE_OUT_OF_MEMORY;
	if (code != CURLE_OK)
		failure_take(http, code, ret_response);
	else if (ret_response->status == 0)
		ret_response->failure = rec_slice_of("the answer is not HTTP");
	curl_slist_free_all(headers);
	(void)curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, NULL);
	(void)curl_easy_setopt(http->curl, CURLOPT_POSTFIELDS, NULL);
}
