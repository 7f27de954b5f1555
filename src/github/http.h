/* http.h - sends a request and fills in the answer, by libcurl; one connection, one request at a time. */
#ifndef REC_GITHUB_HTTP_H
#define REC_GITHUB_HTTP_H

#include "base/error.h"
#include "github/ask.h"

struct gh_http;
/* The token (may be NULL) is copied. 0, REC_E_NOMEM, REC_E_UNSUPPORTED. */
int gh_http_new(const struct rec_allocator *a, const char *token, struct gh_http **ret_http, struct rec_error *error);
struct gh_http *gh_http_free(struct gh_http *http); /* overwrites the token */
/* Whatever happens is in the answer: status 0 and `failure` if there was none. */
void gh_http_send(struct gh_http *http, const struct gh_ask *ask, int64_t timeout_ms, struct gh_response *ret_response);

#endif
