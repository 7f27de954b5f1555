/* main.c - runs every topic on the backend of this executable, or those named on the command line;
 * REC_TEST_ONLY=PATTERN limits them to tests whose name matches. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct topic {
	const char *name;
	int (*run)(void);
} topics[] = {
#define TOPIC(topic) {#topic, contract_run_##topic},
	CONTRACT_TOPICS(TOPIC)
#undef TOPIC
};

static bool wanted(const char *name, int count, char **names)
{
	bool found = count == 0;
	for (int i = 0; i < count; i++)
		found = found || strcmp(names[i], name) == 0;
	return found;
}

int main(int argc, char **argv)
{
	int failed = 0;
	if (getenv("REC_TEST_ONLY"))
		cmocka_set_test_filter(getenv("REC_TEST_ONLY"));
	for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
		if (wanted(topics[i].name, argc - 1, argv + 1))
			failed += topics[i].run();
	fprintf(stderr, "contract suite on %s: %d failed\n", contract_backend.name, failed);
	return failed != 0;
}
