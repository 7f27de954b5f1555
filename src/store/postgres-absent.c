/* postgres-absent.c - what a build without libpq says. */
#include "store/backend.h"

int rec_store_postgres_open(const char *uri, const struct rec_store_options *options, struct rec_store **ret_store,
			    struct rec_error *error)
{
	(void)uri, (void)options, (void)ret_store;
	return rec_fail(
		error, REC_E_UNSUPPORTED,
		"store 'postgresql:': this build has no PostgreSQL (build it with libpq-dev, or use sqlite:PATH)");
}
