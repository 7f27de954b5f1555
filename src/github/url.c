/* url.c - a URL is taken apart by hand and narrowly: what is not plainly a URL of GitHub is none. The decision where
 * a token may go rests on gh_url_same_origin, so whatever could make two readers of one URL see two hosts
 * (a user, a backslash, a control character) is refused at the door. */
#include "github/url.h"

#include "base/json.h"
#include "github/fold.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool begins_fold(struct rec_slice text, const char *prefix)
{
	size_t length = strlen(prefix);
	return text.length >= length && gh_equal_fold((struct rec_slice){text.data, length}, rec_slice_of(prefix));
}

static struct rec_slice behind(struct rec_slice text, size_t length)
{
	return (struct rec_slice){text.data + length, text.length - length};
}

/* The place of the first of these characters, or the length. */
static size_t find_any(struct rec_slice text, const char *set)
{
	size_t i = 0, count = strlen(set);
	while (i < text.length && !memchr(set, text.data[i], count))
		i++;
	return i;
}

static bool is_plain(struct rec_slice text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~' || strchr("\"<>\\^`{|}", text.data[i]))
			return false;
	return true;
}

static int port_parse(struct rec_slice text, unsigned *ret_port)
{
	unsigned port = 0;
	if (text.length < 1 || text.length > 5)
		return REC_E_INVALID;
	for (size_t i = 0; i < text.length; i++) {
		if (!is_digit(text.data[i]))
			return REC_E_INVALID;
		port = port * 10 + (unsigned)(text.data[i] - '0');
	}
	if (port < 1 || port > 65535)
		return REC_E_INVALID;
	*ret_port = port;
	return 0;
}

static bool host_is_good(struct rec_slice host, bool bracketed)
{
	if (host.length < 1 || host.length > 253)
		return false;
	for (size_t i = 0; i < host.length; i++) {
		char c = gh_lower(host.data[i]);
		bool good = is_digit(c) || (c >= 'a' && c <= (bracketed ? 'f' : 'z'));
		good |= bracketed ? c == ':' : c == '.' || c == '-' || c == '_';
		if (!good)
			return false;
	}
	return true;
}

/* HOST, HOST:PORT or [ADDRESS]:PORT */
static int authority_parse(struct rec_slice text, struct gh_url *url)
{
	bool bracketed = text.length && text.data[0] == '[';
	size_t end = find_any(text, bracketed ? "]" : ":");
	url->host = bracketed ? behind((struct rec_slice){text.data, end}, 1) : (struct rec_slice){text.data, end};
	if (bracketed && end++ == text.length)
		return REC_E_INVALID;
	if (!host_is_good(url->host, bracketed))
		return REC_E_INVALID;
	if (end == text.length)
		return 0;
	return text.data[end] == ':' ? port_parse(behind(text, end + 1), &url->port) : REC_E_INVALID;
}

int gh_url_parse(struct rec_slice text, struct gh_url *ret_url)
{
	struct gh_url url = {0};
	if (text.length > GH_URL_BYTES_MAX || !is_plain(text))
		return REC_E_INVALID;
	if (begins_fold(text, "https://"))
		url.https = true;
	else if (!begins_fold(text, "http://"))
		return REC_E_INVALID;
	url.port = url.https ? 443 : 80;
	struct rec_slice rest = behind(text, url.https ? 8 : 7);
	size_t end = find_any(rest, "/?#");
	url.path = behind(rest, end);
	if (authority_parse((struct rec_slice){rest.data, end}, &url) < 0)
		return REC_E_INVALID;
	if (url.path.length && (url.path.data[0] != '/' || find_any(url.path, "#") < url.path.length))
		return REC_E_INVALID;
	*ret_url = url;
	return 0;
}

bool gh_url_same_origin(const struct gh_url *a, const struct gh_url *b)
{
	return a->https == b->https && a->port == b->port && gh_equal_fold(a->host, b->host);
}

bool gh_host_is_loopback(struct rec_slice host)
{
	if (gh_equal_fold(host, rec_slice_of("localhost")) || rec_slice_equal(host, rec_slice_of("::1")))
		return true;
	size_t dots = 0;
	for (size_t i = 0; i < host.length; i++) {
		if (host.data[i] == '.')
			dots++;
		else if (!is_digit(host.data[i]))
			return false;
	}
	return dots == 3 && begins_fold(host, "127.");
}

/* ---- Where the API is ---- */

static struct rec_slice joined(struct rec_arena *arena, struct rec_slice a, struct rec_slice b)
{
	char *text = rec_arena_alloc(arena, a.length + b.length + 1);
	if (!text)
		return (struct rec_slice){0};
	if (a.length)
		memcpy(text, a.data, a.length);
	if (b.length)
		memcpy(text + a.length, b.data, b.length);
	text[a.length + b.length] = 0;
	return (struct rec_slice){text, a.length + b.length};
}

/* Where the API's pages and its GraphQL are, from the shape of its URL. */
static void place_derive(struct gh_place *p, struct rec_arena *arena)
{
	const struct rec_slice none = {0};
	struct rec_slice root = {p->api.data, p->api.length - p->origin.path.length};
	p->web = joined(arena, rec_slice_of("https://github.com"), none);
	p->graphql = joined(arena, p->api, rec_slice_of("/graphql"));
	if (rec_slice_equal(p->origin.path, rec_slice_of("/api/v3"))) {
		p->web = joined(arena, root, none);
		p->graphql = joined(arena, root, rec_slice_of("/api/graphql"));
	} else if (p->origin.https && p->origin.path.length == 0 && begins_fold(p->origin.host, "api.")) {
		p->web = joined(arena, rec_slice_of("https://"), behind(root, strlen("https://api.")));
	}
}

/* As for a URL that is none: the API of https://api. has no pages. */
static int fail_place(struct rec_error *error)
{
	return rec_fail(error, REC_E_INVALID,
			"api_url: it is not a URL (write it as https://api.github.com or https://HOST/api/v3)");
}

int gh_place_init(struct gh_place *place, struct rec_arena *arena, struct rec_slice api_url, struct rec_error *error)
{
	struct gh_place p = {0};
	while (api_url.length && api_url.data[api_url.length - 1] == '/')
		api_url.length--;
	p.api = joined(arena, api_url, (struct rec_slice){0});
	if (!p.api.data)
		return rec_fail_nomem(error);
	if (gh_url_parse(p.api, &p.origin) < 0 || find_any(p.origin.path, "?") < p.origin.path.length)
		return fail_place(error);
	if (!p.origin.https && !gh_host_is_loopback(p.origin.host))
		return rec_fail(error, REC_E_INVALID,
				"api_url: http would show the token to the network (write https://)");
	place_derive(&p, arena);
	if (!p.web.data || !p.graphql.data)
		return rec_fail_nomem(error);
	if (gh_url_parse(p.web, &p.pages) < 0)
		return fail_place(error);
	*place = p;
	return 0;
}

/* ---- What a link names ---- */

/* The text up to the next '/', which is taken too. */
static struct rec_slice word_take(struct rec_slice *rest)
{
	size_t end = find_any(*rest, "/?#");
	struct rec_slice word = {rest->data, end};
	bool slash = end < rest->length && rest->data[end] == '/';
	*rest = behind(*rest, end + (slash ? 1 : 0));
	return word;
}

static bool name_is_good(struct rec_slice name)
{
	if (name.length < 1 || name.length > 100 || rec_slice_equal(name, rec_slice_of(".")) ||
	    rec_slice_equal(name, rec_slice_of("..")))
		return false;
	for (size_t i = 0; i < name.length; i++) {
		char c = gh_lower(name.data[i]);
		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !strchr("._-", c))
			return false;
	}
	return true;
}

const char *gh_link_parse(struct rec_slice url, const struct gh_place *place, struct gh_link *ret_link)
{
	struct gh_link link = {0};
	struct gh_url here;
	size_t end = find_any(url, "#");
	if (gh_url_parse((struct rec_slice){url.data, end}, &here) < 0)
		return "it is not a URL";
	if (!gh_url_same_origin(&here, &place->pages))
		return "it is at another host than the API";
	struct rec_slice rest = here.path.length ? behind(here.path, 1) : here.path;
	link.owner = word_take(&rest);
	link.repo = word_take(&rest);
	struct rec_slice kind = word_take(&rest), number = word_take(&rest);
	link.pull = rec_slice_equal(kind, rec_slice_of("pull"));
	if (!name_is_good(link.owner) || !name_is_good(link.repo) ||
	    (!link.pull && !rec_slice_equal(kind, rec_slice_of("issues"))))
		return "it names neither an issue nor a pull request";
	if (number.length < 1 || number.length > 18 || !is_digit(number.data[0]) ||
	    rec_json_int64(number, &link.number) < 0 || link.number < 1)
		return "it has no issue or pull request number";
	*ret_link = link;
	return NULL;
}

int gh_place_resolve(const struct gh_place *place, struct rec_arena *arena, struct rec_slice from,
		     struct rec_slice location, struct rec_slice *ret_url)
{
	struct gh_url here, there;
	if (gh_url_parse(from, &here) < 0 || location.length == 0)
		return REC_E_INVALID;
	bool path = location.data[0] == '/' && !(location.length > 1 && location.data[1] == '/');
	struct rec_slice root = {from.data, path ? from.length - here.path.length : 0};
	struct rec_slice url = joined(arena, root, location);
	if (!url.data)
		return REC_E_NOMEM;
	if (gh_url_parse(url, &there) < 0)
		return REC_E_INVALID;
	if (!gh_url_same_origin(&there, &place->origin))
		return REC_E_PERMISSION;
	*ret_url = url;
	return 0;
}
