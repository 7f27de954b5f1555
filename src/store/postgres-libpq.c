/* postgres-libpq.c - finding libpq and its functions. */
#include "store/postgres-libpq.h"

#include <dlfcn.h>
#include <string.h>

#define LIBPQ "libpq.so.5"

/* ISO C has no cast from an object's address to a function's; POSIX has this. */
static int find(void *library, const char *name, void *ret_function, struct rec_error *error)
{
	void *address = dlsym(library, name);
	if (!address)
		return rec_fail(error, REC_E_UNSUPPORTED, "PostgreSQL: %s has no %s (install a newer libpq5)", LIBPQ,
				name);
	memcpy(ret_function, &address, sizeof address);
	return 0;
}

int rec_libpq_load(struct rec_libpq *ret, struct rec_error *error)
{
	/* NODELETE: it brings libraries that do not like to be unloaded. */
	void *library = dlopen(LIBPQ, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	int r = 0;
	if (!library)
		return rec_fail(error, REC_E_UNSUPPORTED, "PostgreSQL: %s cannot be loaded (install libpq5)", LIBPQ);
#define FIND(name) r = r ? r : find(library, #name, &ret->name, error);
	REC_LIBPQ_FUNCTIONS(FIND)
#undef FIND
	dlclose(library);
	return r;
}
