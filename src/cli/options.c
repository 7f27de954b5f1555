/* options.c - the table parser.
 *
 * Not getopt_long: it keeps its state in globals, prints by itself, accepts abbreviations that the next
 * option added would break, needs one flat table where ours are nested by command, and knows neither the
 * argument names nor the help, which would then be a second list to keep in step.
 */
#include "cli/options.h"

#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "base/timestamp.h"

#define SHOWN_BYTES 80

const struct command *arguments_command(const struct arguments *arguments)
{
	return arguments->path[arguments->depth - 1];
}

char *arguments_command_name(const struct arguments *arguments, char *out, size_t capacity)
{
	size_t length = 0;
	out[0] = '\0';
	for (size_t i = 0; i < arguments->depth && length < capacity; i++)
		length += (size_t)snprintf(out + length, capacity - length, "%s%s", i ? " " : "",
					   arguments->path[i]->name);
	return out;
}

void arguments_release(struct arguments *arguments)
{
	arguments->options = rec_free(NULL, arguments->options);
	arguments->words = rec_free(NULL, arguments->words);
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static int add_option(struct arguments *arguments, const struct option_spec *spec, const char *text,
		      struct rec_error *error)
{
	int r = rec_grow(NULL, (void **)&arguments->options, &arguments->option_capacity, arguments->option_count + 1,
			 sizeof arguments->options[0]);
	if (r < 0)
		return rec_fail_nomem(error);
	arguments->options[arguments->option_count++] = (struct option_value){spec, text};
	return 0;
}

static int add_word(struct arguments *arguments, const char *word, bool plain, struct rec_error *error)
{
	int r = rec_grow(NULL, (void **)&arguments->words, &arguments->word_capacity, arguments->word_count + 1,
			 sizeof arguments->words[0]);
	if (r < 0)
		return rec_fail_nomem(error);
	arguments->words[arguments->word_count++] = word;
	arguments->plain_count += plain;
	return 0;
}

const struct option_spec *arguments_options(const struct arguments *arguments, size_t level)
{
	return level == 0 || level + 1 == arguments->depth ? arguments->path[level]->options : NULL;
}

static bool named(const struct option_spec *spec, const char *name, size_t length)
{
	return spec->name && strlen(spec->name) == length && memcmp(spec->name, name, length) == 0;
}

static const struct option_spec *find_long(const struct arguments *arguments, const char *name, size_t length)
{
	for (size_t level = arguments->depth; level-- > 0;) {
		FOR_EACH_OPTION(option, arguments_options(arguments, level))
		{
			if (named(option, name, length))
				return option;
		}
	}
	return NULL;
}

static const struct option_spec *find_letter(const struct arguments *arguments, char letter)
{
	for (size_t level = arguments->depth; level-- > 0;) {
		FOR_EACH_OPTION(option, arguments_options(arguments, level))
		{
			if (option->letter == letter)
				return option;
		}
	}
	return NULL;
}

/* Every long name that would be accepted here, for a suggestion. */
#define NAMES_MAX 64
static void collect_names(const struct arguments *arguments, const char *names[NAMES_MAX + 1])
{
	size_t count = 0;
	for (size_t level = arguments->depth; level-- > 0;) {
		FOR_EACH_OPTION(option, arguments_options(arguments, level))
		{
			if (option->name && count < NAMES_MAX)
				names[count++] = option->name;
		}
	}
	names[count] = NULL;
}

static int unknown_option(const struct arguments *arguments, const char *written, const char *name,
			  struct rec_error *error)
{
	const char *names[NAMES_MAX + 1];
	char shown[SHOWN_BYTES], command[SHOWN_BYTES];
	collect_names(arguments, names);
	const char *nearest = name ? nearest_name(name, names) : NULL;
	rec_text_shown(shown, sizeof shown, rec_slice_of(written));
	arguments_command_name(arguments, command, sizeof command);
	if (nearest)
		return rec_fail(error, REC_E_INVALID, "%s: no such option of %s (did you mean --%s?)", shown, command,
				nearest);
	return rec_fail(error, REC_E_INVALID, "%s: no such option of %s (%s --help lists them; after -- it is a word)",
			shown, command, command);
}

/* "--format" or "-f", as an error message calls an option. */
static const char *option_label(const struct option_spec *spec, char *out, size_t capacity)
{
	if (spec->name)
		snprintf(out, capacity, "--%s", spec->name);
	else
		snprintf(out, capacity, "-%c", spec->letter);
	return out;
}

static void join_choices(const char *const *choices, char *out, size_t capacity)
{
	size_t length = 0;
	out[0] = '\0';
	for (; *choices && length < capacity; choices++)
		length += (size_t)snprintf(out + length, capacity - length, "%s%s", length ? ", " : "", *choices);
}

static int check_choice(const struct option_spec *spec, const char *text, struct rec_error *error)
{
	char label[SHOWN_BYTES], shown[SHOWN_BYTES], choices[2 * SHOWN_BYTES];
	if (!spec->choices)
		return 0;
	for (const char *const *choice = spec->choices; *choice; choice++) {
		if (strcmp(*choice, text) == 0)
			return 0;
	}
	join_choices(spec->choices, choices, sizeof choices);
	return rec_fail(error, REC_E_INVALID, "%s: '%s' is not one of its values (%s)",
			option_label(spec, label, sizeof label),
			rec_text_shown(shown, sizeof shown, rec_slice_of(text)), choices);
}

/* A value is missing, or there is one: the same two errors for both forms. */
static int take_value(struct arguments *arguments, const struct option_spec *spec, const char *text,
		      struct rec_error *error)
{
	char label[SHOWN_BYTES];
	if (!text)
		return rec_fail(error, REC_E_INVALID, "%s: its value is missing (%s %s)",
				option_label(spec, label, sizeof label), label, spec->argument);
	int r = check_choice(spec, text, error);
	return r ? r : add_option(arguments, spec, text, error);
}

/* *position stands at the word; moves on if the next word is the value. */
static int read_long(struct arguments *arguments, int count, const char *const words[], int *position,
		     struct rec_error *error)
{
	const char *name = words[*position] + 2;
	const char *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_spec *spec = find_long(arguments, name, length);
	if (!spec) {
		char bare[SHOWN_BYTES];
		snprintf(bare, sizeof bare, "%.*s", (int)(length < sizeof bare ? length : sizeof bare - 1), name);
		return unknown_option(arguments, words[*position], bare, error);
	}
	if (!spec->argument && equals)
		return rec_fail(error, REC_E_INVALID, "--%s: takes no value (write --%s alone)", spec->name,
				spec->name);
	if (!spec->argument)
		return add_option(arguments, spec, NULL, error);
	if (equals)
		return take_value(arguments, spec, equals + 1, error);
	return take_value(arguments, spec, *position + 1 < count ? words[++*position] : NULL, error);
}

/* "-qv", "-Surl", "-S url" */
static int read_letters(struct arguments *arguments, int count, const char *const words[], int *position,
			struct rec_error *error)
{
	for (const char *letter = words[*position] + 1; *letter; letter++) {
		const struct option_spec *spec = find_letter(arguments, *letter);
		if (!spec)
			return unknown_option(arguments, words[*position], NULL, error);
		if (spec->argument && letter[1])
			return take_value(arguments, spec, letter + 1, error);
		if (spec->argument)
			return take_value(arguments, spec, *position + 1 < count ? words[++*position] : NULL, error);
		int r = add_option(arguments, spec, NULL, error);
		if (r < 0)
			return r;
	}
	return 0;
}

static const struct command *find_subcommand(const struct command *command, const char *name)
{
	for (const struct command *const *sub = command->subcommands; sub && *sub; sub++) {
		if (strcmp((*sub)->name, name) == 0)
			return *sub;
	}
	return NULL;
}

static int unknown_command(const struct arguments *arguments, const char *name, struct rec_error *error)
{
	const char *names[NAMES_MAX + 1];
	char shown[SHOWN_BYTES], command[SHOWN_BYTES];
	size_t count = 0;
	for (const struct command *const *sub = arguments_command(arguments)->subcommands; *sub && count < NAMES_MAX;
	     sub++)
		names[count++] = (*sub)->name;
	names[count] = NULL;
	const char *nearest = nearest_name(name, names);
	rec_text_shown(shown, sizeof shown, rec_slice_of(name));
	arguments_command_name(arguments, command, sizeof command);
	if (nearest)
		return rec_fail(error, REC_E_INVALID, "%s: no such command of %s in this version (did you mean %s?)",
				shown, command, nearest);
	return rec_fail(error, REC_E_INVALID, "%s: no such command of %s in this version (%s --help lists them)", shown,
			command, command);
}

/* The word names the next command, or is one of the command's own words. */
static int read_word(struct arguments *arguments, const char *word, bool plain, struct rec_error *error)
{
	const struct command *command = arguments_command(arguments);
	const struct command *sub = arguments->word_count == 0 ? find_subcommand(command, word) : NULL;
	if (sub && (plain || !command->run)) {
		arguments->path[arguments->depth++] = sub;
		return 0;
	}
	if (command->subcommands && !command->run)
		return unknown_command(arguments, word, error);
	return add_word(arguments, word, plain, error);
}

int options_parse(struct arguments *arguments, const struct command *program, int count, const char *const words[],
		  struct rec_error *error)
{
	bool ended = false;
	*arguments = (struct arguments){.path = {program}, .depth = 1};
	for (int position = 1; position < count; position++) {
		const char *word = words[position];
		int r;
		if (ended || word[0] != '-' || word[1] == '\0') {
			r = read_word(arguments, word, !ended, error);
		} else if (strcmp(word, "--") == 0) {
			ended = true;
			r = 0;
		} else if (word[1] == '-') {
			r = read_long(arguments, count, words, &position, error);
		} else {
			r = read_letters(arguments, count, words, &position, error);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- Completeness ------------------------------------------------------------------------------- */

static bool of_table(const struct option_spec *spec, const struct option_spec *table)
{
	FOR_EACH_OPTION(option, table)
	{
		if (option == spec)
			return true;
	}
	return false;
}

/* One that stood before the subcommand, and is of the command above it. */
static int no_strangers(const struct arguments *arguments, struct rec_error *error)
{
	char label[SHOWN_BYTES];
	for (size_t i = 0; i < arguments->option_count; i++) {
		const struct option_spec *spec = arguments->options[i].spec;
		if (!of_table(spec, arguments_options(arguments, 0)) &&
		    !of_table(spec, arguments_options(arguments, arguments->depth - 1)))
			return unknown_option(arguments, option_label(spec, label, sizeof label), NULL, error);
	}
	return 0;
}

void command_word_range(const struct command *command, size_t *ret_least, size_t *ret_most)
{
	*ret_least = *ret_most = 0;
	for (size_t i = 0; i < WORDS_MAX && command->words[i].name; i++) {
		*ret_least += !command->words[i].optional;
		*ret_most = command->words[i].repeated ? SIZE_MAX : *ret_most + 1;
	}
}

int arguments_complete(const struct arguments *arguments, struct rec_error *error)
{
	const struct command *command = arguments_command(arguments);
	char name[SHOWN_BYTES], shown[SHOWN_BYTES];
	size_t least, most;
	const char *label = arguments_command_name(arguments, name, sizeof name);
	if (!command->run)
		return rec_fail(error, REC_E_INVALID, "%s: a command is missing (%s --help lists them)", command->name,
				name);
	if (arguments->depth > 1)
		label += strlen(arguments->path[0]->name) + 1; /* the message begins with the program's name anyway */
	if (no_strangers(arguments, error))
		return REC_E_INVALID;
	command_word_range(command, &least, &most);
	if (arguments->word_count < least)
		return rec_fail(error, REC_E_INVALID, "%s: %s is missing (%s --help tells more)", label,
				command->words[arguments->word_count].name, name);
	if (arguments->word_count > most)
		return rec_fail(error, REC_E_INVALID, "%s: unexpected argument '%s' (%s --help tells what it takes)",
				label, rec_text_shown(shown, sizeof shown, rec_slice_of(arguments->words[most])), name);
	return 0;
}

/* ---- Asking ------------------------------------------------------------------------------------- */

static bool is_option(const struct option_spec *spec, const char *name)
{
	return spec->name ? strcmp(spec->name, name) == 0 : spec->letter == name[0] && name[1] == '\0';
}

bool option_given(const struct arguments *arguments, const char *name)
{
	for (size_t i = 0; i < arguments->option_count; i++) {
		if (is_option(arguments->options[i].spec, name))
			return true;
	}
	return false;
}

const char *option_next(const struct arguments *arguments, const char *name, size_t *position)
{
	while (*position < arguments->option_count) {
		const struct option_value *value = &arguments->options[(*position)++];
		if (is_option(value->spec, name))
			return value->text;
	}
	return NULL;
}

const char *option_text(const struct arguments *arguments, const char *name)
{
	const char *last = NULL;
	size_t position = 0;
	for (const char *text; (text = option_next(arguments, name, &position));)
		last = text;
	return last;
}

static int bad_value(const char *name, const char *text, const char *why, struct rec_error *error)
{
	char shown[SHOWN_BYTES];
	return rec_fail(error, REC_E_INVALID, "--%s: '%s' %s", name,
			rec_text_shown(shown, sizeof shown, rec_slice_of(text)), why);
}

int option_int64(const struct arguments *arguments, const char *name, int64_t *ret_value, struct rec_error *error)
{
	const char *text = option_text(arguments, name);
	if (text && rec_json_int64(rec_slice_of(text), ret_value) < 0)
		return bad_value(name, text, "is not a whole number (for example 0, 7 or -1)", error);
	return 0;
}

int option_count(const struct arguments *arguments, const char *name, uint64_t *ret_value, struct rec_error *error)
{
	const char *text = option_text(arguments, name);
	int64_t value;
	if (!text)
		return 0;
	if (rec_json_int64(rec_slice_of(text), &value) < 0 || value < 0)
		return bad_value(name, text, "is not a number of 0 or more (for example 20)", error);
	*ret_value = (uint64_t)value;
	return 0;
}

int option_duration(const struct arguments *arguments, const char *name, int64_t *ret_us, struct rec_error *error)
{
	const char *text = option_text(arguments, name);
	if (text && rec_duration_parse(rec_slice_of(text), ret_us) < 0)
		return bad_value(name, text, "is not a duration (for example 500ms, 30s, 5m, 2h, 7d)", error);
	return 0;
}

/* ---- Suggestions -------------------------------------------------------------------------------- */

#define DISTANCE_BYTES_MAX 40

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters to insert, delete, replace or swap with their neighbour (optimal string alignment). */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t rows[3][DISTANCE_BYTES_MAX + 1];
	size_t *before = rows[0], *previous = rows[1], *current = rows[2];
	for (size_t j = 0; j <= b_length; j++)
		current[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *spare = before;
		before = previous, previous = current, current = spare;
		current[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			current[j] = smaller(smaller(previous[j], current[j - 1]) + 1,
					     previous[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				current[j] = smaller(current[j], before[j - 2] + 1);
		}
	}
	return current[b_length];
}

const char *nearest_name(const char *text, const char *const *names)
{
	const char *nearest = NULL;
	size_t length = strlen(text);
	size_t best = length / 3 + 2; /* one slip in three letters, and one more */
	if (length > DISTANCE_BYTES_MAX)
		return NULL;
	for (; *names; names++) {
		size_t name_length = strlen(*names);
		size_t letters = distance(text, length, *names, smaller(name_length, DISTANCE_BYTES_MAX));
		if (letters < best && letters < name_length) {
			best = letters;
			nearest = *names;
		}
	}
	return nearest;
}
