/* replay.c - runs a fuzzer's seeds once each, so that every build tests them: replay-NAME FOLDER.
 *
 * An empty input is always tried too. A folder without seeds is a failure: the test would prove nothing.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_BYTES_MAX (1u << 20)

static uint8_t input[INPUT_BYTES_MAX];

static int run_file(const char *folder, const char *name)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
		return -1;
	FILE *file = fopen(path, "rb");
	if (!file)
		return -1;
	size_t size = fread(input, 1, sizeof input, file);
	int failed = ferror(file) || !feof(file);
	(void)fclose(file);
	if (failed)
		return -1;
	(void)LLVMFuzzerTestOneInput(input, size);
	return 0;
}

int main(int count, char **arguments)
{
	unsigned seeds = 0;

	DIR *folder = count == 2 ? opendir(arguments[1]) : NULL;
	if (!folder) {
		(void)fprintf(stderr, "usage: replay-NAME FOLDER\n");
		return 2;
	}
	(void)LLVMFuzzerTestOneInput(input, 0);
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		if (run_file(arguments[1], entry->d_name) < 0) {
			(void)fprintf(stderr, "%s/%s: cannot be read\n", arguments[1], entry->d_name);
			return 1;
		}
		seeds++;
	}
	(void)closedir(folder);
	printf("%u seeds\n", seeds);
	return seeds > 0 ? 0 : 1;
}
