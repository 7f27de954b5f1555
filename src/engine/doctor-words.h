/* doctor-words.h - a finding as a sentence and the command that mends it. */
#ifndef REC_ENGINE_DOCTOR_WORDS_H
#define REC_ENGINE_DOCTOR_WORDS_H

#include "engine/doctor.h"

struct rec_teller {
	rec_finding_fn *fn;
	void *context;
	struct rec_buffer sentence, command; /* filled by whoever tells, emptied by rec_tell */
	uint64_t count;
};
void rec_teller_init(struct rec_teller *t, const struct rec_allocator *a, rec_finding_fn *fn, void *context);
void rec_teller_release(struct rec_teller *t);
/* Hands the sentence and command to fn. What fn returned, or REC_E_NOMEM. */
int rec_tell(struct rec_teller *t, const char *kind, struct rec_slice task_id, struct rec_error *error);

/* Appends an id for a person, or a word for a shell (quoted only where it must be; what a
 * screen would not show as it is in the $'\x0a' form). */
void rec_tell_id(struct rec_buffer *out, struct rec_slice id);
void rec_tell_word(struct rec_buffer *out, struct rec_slice word);
/* " ID", with "--" before one that looks like an option; so options go before it. */
void rec_tell_target(struct rec_buffer *out, struct rec_slice id);
/* " --depends-on=ID" for every dependency that `keep` keeps; " --depends-on=" (no dependencies) if none is left. */
typedef bool rec_keep_fn(void *context, struct rec_slice dependency);
void rec_tell_dependencies(struct rec_buffer *out, const struct rec_task *task, rec_keep_fn *keep, void *context);

#endif
