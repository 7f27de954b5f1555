/* fake-helper.c - a tracker's helper that behaves, or not, as its first argument says. For tests.
 *
 * It reads our requests with string searches and no more: it is a fake, the requests are ours. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (5u << 20)

static char line[LINE_MAX_BYTES];
static const char *mode, *place;
static unsigned fetches;

static long id_of(void)
{
	return strtol(strstr(line, "\"id\":") + 5, NULL, 10);
}

static void say(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

static void hang(void)
{
	for (;;)
		pause();
}

static unsigned descriptors(void)
{
	unsigned count = 0;
	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void hello(void)
{
	if (strcmp(mode, "old") == 0)
		printf("{\"id\":%ld,\"protocol\":2}\n", id_of());
	else if (strcmp(mode, "leak-problem") == 0)
		printf("{\"id\":%ld,\"problem\":\"bad token %s\"}\n", id_of(), getenv("FAKE_TOKEN"));
	else if (strcmp(mode, "no-token") == 0)
		printf("{\"id\":%ld,\"problem\":\"there is no token\"}\n", id_of());
	else
		printf("{\"id\":%ld,\"protocol\":1,\"helper\":\"fake %u\",\"can_close\":%s}\n", id_of(), descriptors(),
		       strcmp(mode, "no-close") == 0 ? "false" : "true");
	fflush(stdout);
}

/* Each URL of the request as open, with what `more` adds. */
static void observe(const char *more)
{
	printf("{\"id\":%ld,\"observations\":[", id_of());
	const char *comma = "", *at = strstr(line, "\"links\":");
	while ((at = strstr(at, "\"url\":\""))) {
		at += 7;
		printf("%s{\"url\":\"%.*s\",\"state\":\"open\",\"time\":\"2026-01-02T03:04:05Z\",\"validator\":\"v1\"}",
		       comma, (int)strcspn(at, "\""), at);
		comma = ",";
	}
	printf("]%s}\n", more);
	fflush(stdout);
}

/* Each URL as an issue that was closed as completed. */
static void closed(void)
{
	printf("{\"id\":%ld,\"observations\":[", id_of());
	const char *comma = "", *at = strstr(line, "\"links\":");
	while ((at = strstr(at, "\"url\":\""))) {
		at += 7;
		printf("%s{\"url\":\"%.*s\",\"state\":\"closed\",\"kind\":\"issue\",\"reason\":\"completed\","
		       "\"time\":\"2026-01-02T03:04:05Z\"}",
		       comma, (int)strcspn(at, "\""), at);
		comma = ",";
	}
	printf("]}\n");
}

static void flood(void)
{
	for (int i = 0; i < 1000000; i++)
		if (printf("{\"id\":%d}\n", 1000 + i) < 0)
			exit(0);
}

static void huge(void)
{
	for (int i = 0; i < 5 << 20; i++)
		putchar('x');
	fflush(stdout);
	hang();
}

/* One lie, and a cursor that would pass over the truth. */
static void lie_once(const char *observation)
{
	printf("{\"id\":%ld,\"observations\":[{\"url\":\"https://x.test/0\",%s}],\"cursors\":{\"k\":\"v\"}}\n", id_of(),
	       observation);
}

/* A secret where it is told to people, and where it would be kept. */
static void leak_links(void)
{
	const char *secret = getenv("FAKE_TOKEN");
	printf("{\"id\":%ld,\"observations\":[{\"url\":\"https://x.test/"
	       "0\",\"state\":\"unknown\",\"problem\":\"refused "
	       "%s\"},{\"url\":\"https://x.test/1\",\"state\":\"open\",\"moved_to\":\"https://x.test/?k=%s\"},"
	       "{\"url\":\"https://x.test/2\",\"state\":\"open\",\"validator\":\"%s\"},"
	       "{\"url\":\"https://x.test/3\",\"state\":\"closed\",\"reason\":\"%s\"},"
	       "{\"url\":\"https://x.test/4\",\"state\":\"open\"}],\"cursors\":{\"k\":\"%s\"}}\n",
	       id_of(), secret, secret, secret, secret, secret);
}

static const char link_7[] = "https://x.test/7";

static void lie(void)
{
	printf("{\"id\":%ld,\"observations\":[{\"url\":\"https://x.test/never\",\"state\":\"closed\"},"
	       "{\"url\":\"%s\",\"state\":\"closed\",\"time\":\"2026-01-02T03:04:05Z\"},"
	       "{\"url\":\"%s\",\"state\":\"open\",\"time\":\"2026-01-02T03:04:05Z\"},"
	       "{\"url\":\"https://x.test/8\",\"state\":\"unchanged\"},"
	       "{\"url\":\"https://x.test/9\",\"state\":\"done\"}],\"cursors\":{\"repo:a\":\"1\"}}\n",
	       id_of(), link_7, link_7);
	fflush(stdout);
}

static void cursors(void)
{
	char more[160];
	snprintf(more, sizeof more, ",\"cursors\":{\"repo:a\":\"%u\",\"only:%u\":\"x\"}", fetches, fetches);
	observe(more);
}

/* To people, for ever. */
static void mutter(void)
{
	char words[4096];
	fflush(stdout);
	memset(words, 'm', sizeof words);
	words[sizeof words - 1] = '\n';
	while (write(STDERR_FILENO, words, sizeof words) > 0)
		;
}

static void fetch(void)
{
	fetches++;
	if (strcmp(mode, "hang") == 0 || (strcmp(mode, "hang-unless") == 0 && access(place, F_OK) != 0))
		hang();
	else if (strcmp(mode, "closed") == 0 || (strcmp(mode, "html-unless") == 0 && access(place, F_OK) == 0))
		closed();
	else if (strcmp(mode, "garbage") == 0 || strcmp(mode, "html-unless") == 0)
		say("<html>502 Bad Gateway</html>\n");
	else if (strcmp(mode, "huge") == 0)
		huge();
	else if (strcmp(mode, "flood") == 0)
		flood();
	else if (strcmp(mode, "lie") == 0)
		lie();
	else if (strcmp(mode, "leak-links") == 0)
		leak_links();
	else if (strcmp(mode, "lie-once") == 0)
		lie_once(place);
	else if (strcmp(mode, "closed-once") == 0 && fetches > 1)
		hang();
	else if (strcmp(mode, "closed-once") == 0)
		closed();
	else if (strcmp(mode, "exit") == 0)
		exit(3);
	else if (strcmp(mode, "die") == 0)
		raise(SIGKILL);
	else if (strcmp(mode, "empty") == 0)
		printf("{\"id\":%ld}\n", id_of());
	else if (strcmp(mode, "limit") == 0)
		observe(",\"retry_after_ms\":60000,\"budget\":{\"limit\":5000,\"remaining\":0,"
			"\"reset\":\"2026-01-02T03:05:05Z\"}");
	else if (strcmp(mode, "problem") == 0)
		printf("{\"id\":%ld,\"problem\":\"401: bad credentials\",\"retry_after_ms\":120000}\n", id_of());
	else if (strcmp(mode, "cursors") == 0 || (strcmp(mode, "cursors-fail") == 0 && fetches < 2))
		cursors();
	else if (strcmp(mode, "cursors-fail") == 0)
		say("[]\n");
	else
		observe("");
	if (strcmp(mode, "twice") == 0)
		observe("");
	if (strcmp(mode, "one-shot") == 0)
		exit(0);
	if (strcmp(mode, "mutter") == 0)
		mutter();
	if (strcmp(mode, "half") == 0)
		close(STDOUT_FILENO);
	fflush(stdout);
}

/* Nobody's child, and of no group or session of ours. */
static void runaway(void)
{
	if (fork() != 0)
		return;
	setsid();
	if (fork() != 0)
		_exit(0);
	hang();
}

/* Holds a FIFO open for as long as it or one of its own lives, whatever happens to its input if it is stubborn. */
static void place_hold(void)
{
	signal(SIGTERM, SIG_IGN);
	if (open(place, O_WRONLY | O_CLOEXEC) < 0)
		exit(1);
	if (strcmp(mode, "stubborn-family") == 0 && fork() == 0)
		hang();
	if (strstr(mode, "runaway"))
		runaway();
}

int main(int count, char **arguments)
{
	mode = count > 1 ? arguments[1] : "";
	place = count > 2 ? arguments[2] : "";
	if (strcmp(mode, "at-once") == 0) {
		fputs("first words\n\nfake: there is no such repository\n\n", stderr);
		return 7;
	}
	if (strcmp(mode, "leak") == 0) {
		fprintf(stderr, "\033[31mrefused\033[0m: %s\n", getenv("FAKE_TOKEN"));
		return 7;
	}
	if (strcmp(mode, "silent") == 0)
		hang();
	if (strcmp(mode, "deaf") == 0) {
		close(STDIN_FILENO);
		hang();
	}
	if (strncmp(mode, "stubborn", 8) == 0 || strcmp(mode, "runaway") == 0)
		place_hold();
	while (fgets(line, sizeof line, stdin)) {
		if (strstr(line, "\"method\":\"hello\""))
			hello();
		else if (strstr(line, "\"method\":\"fetch\""))
			fetch();
		else if (strcmp(mode, "close-hangs") == 0)
			hang();
		else if (strcmp(mode, "leak-links") == 0)
			printf("{\"id\":%ld,\"problem\":\"403 for %s\"}\n", id_of(), getenv("FAKE_TOKEN"));
		else if (strcmp(mode, "close-refused") == 0)
			printf("{\"id\":%ld,\"problem\":\"403: not yours\"}\n", id_of());
		else
			printf("{\"id\":%ld,\"closed\":true}\n", id_of());
		fflush(stdout);
	}
	if (strncmp(mode, "stubborn", 8) == 0)
		hang();
	return 0;
}
