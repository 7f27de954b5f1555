/* document.h - one JSON document that is in memory whole, read token by token. Pure. */
#ifndef REC_GITHUB_DOCUMENT_H
#define REC_GITHUB_DOCUMENT_H

#include "base/json.h"

struct gh_document {
	struct rec_json_reader reader;
	struct rec_json_token token; /* the current one; its text lives until the next call */
};
/* Copies the text; 0 or REC_E_NOMEM. Release it in any case. */
int gh_document_init(struct gh_document *d, const struct rec_allocator *a, struct rec_slice text);
void gh_document_release(struct gh_document *d);
/* The next token into d->token. 0, REC_E_INVALID (the text is not JSON, or ends early), REC_E_NOMEM. */
int gh_document_next(struct gh_document *d);
/* Passes over the rest of the value that the current token begins. */
int gh_document_skip(struct gh_document *d);
/* In an object: steps to the next key. 0, REC_END at the object's end, or an error. The caller then steps to the
 * value and takes or skips it. The first call stands on the object's beginning. */
int gh_document_key(struct gh_document *d);
/* In an array: steps to the beginning of the next element. Likewise. */
int gh_document_element(struct gh_document *d);
/* Nothing may follow the document. 0 or an error. */
int gh_document_end(struct gh_document *d);

/* The index of the current key among names (NULL ends them), or -1. */
int gh_document_name(const struct gh_document *d, const char *const *names);

#endif
