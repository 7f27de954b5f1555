/* main.c - the program `reconciler`. */
#include "cli/cli.h"

int main(int count, char *words[])
{
	return cli_main(count, (const char *const *)words);
}
