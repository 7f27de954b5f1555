/* glue-sqlite.c - is there a second copy of SQLite in this process?
 *
 * SQLite keeps its POSIX locks by a list of open files inside the library. Two copies do not know of each other, and
 * the first that closes a database drops the locks of the other (a commit can be lost without an error). So before a
 * database is opened here, every loaded object is asked where it finds sqlite3_libversion: at one place, all share
 * one copy. An object with its own copy may hide the symbol: a module known to use SQLite that shows none has its own.
 */
#include "glue.h"

#include <dlfcn.h>
#include <link.h>
#include <sqlite3.h>
#include <string.h>

static int symbol_judge(void *handle)
{
	const char *(*ours)(void) = sqlite3_libversion;
	void *our_address, *found = dlsym(handle, "sqlite3_libversion");
	memcpy(&our_address, &ours, sizeof our_address);
	if (!found)
		return GLUE_SQLITE_HIDDEN;
	return found == our_address ? GLUE_SQLITE_SAME : GLUE_SQLITE_OTHER;
}

int glue_sqlite_of(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return GLUE_SQLITE_UNKNOWN;
	int judgement = symbol_judge(handle);
	dlclose(handle);
	return judgement;
}

/* Objects loaded since the last look may come in at any time; glue_sqlite_of takes the loader's lock itself, so the
 * names are gathered first. */
static int name_note(struct dl_phdr_info *info, size_t size, void *context)
{
	size_t length = strlen(info->dlpi_name) + 1;
	(void)size;
	return length == 1 ? 0 : glue_text_append(context, info->dlpi_name, length);
}

int glue_sqlite_others(struct glue_text *text)
{
	struct glue_text loaded = {0};
	int r = dl_iterate_phdr(name_note, &loaded);
	for (size_t at = 0, length; r == 0 && at < loaded.length; at += length) {
		length = strlen(loaded.bytes + at) + 1;
		if (glue_sqlite_of(loaded.bytes + at) == GLUE_SQLITE_OTHER)
			r = glue_text_append(text, loaded.bytes + at, length);
	}
	glue_text_release(&loaded);
	return r;
}
