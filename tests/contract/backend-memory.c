/* backend-memory.c - the contract suite on the store in memory. A keeper handle holds the data while a test opens
 * and closes others. */
#include "contract.h"

struct place {
	struct rec_store *keeper;
};

static void *place_new(void)
{
	return rec_zalloc(NULL, 1, sizeof(struct place));
}

static void place_free(void *context)
{
	struct place *place = context;
	rec_store_close(place->keeper);
	rec_free(NULL, place);
}

static int place_open(void *context, const struct rec_store_options *options, struct rec_store **ret_store,
		      struct rec_error *error)
{
	struct place *place = context;
	int r = place->keeper ? 0 : rec_store_memory_open("", options, &place->keeper, error);
	return r < 0 ? r : rec_store_memory_share(place->keeper, options, ret_store, error);
}

const struct contract_backend contract_backend = {
	.name = "memory",
	.place_new = place_new,
	.place_free = place_free,
	.open = place_open,
};
