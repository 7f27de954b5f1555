/* token-text.c - see token-text.h. */
#include "github/token-text.h"

#include "base/error.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_of_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~+/=", c));
}

int gh_token_read(struct rec_slice text, struct gh_token *ret_token)
{
	while (text.length && is_blank(text.data[text.length - 1]))
		text.length--;
	while (text.length && is_blank(text.data[0])) {
		text.data++;
		text.length--;
	}
	if (text.length < GH_TOKEN_BYTES_MIN || text.length > GH_TOKEN_BYTES_MAX)
		return REC_E_INVALID;
	for (size_t i = 0; i < text.length; i++)
		if (!is_of_token(text.data[i]))
			return REC_E_INVALID;
	memcpy(ret_token->text, text.data, text.length);
	ret_token->text[text.length] = 0;
	return 0;
}

void gh_token_hide(const struct gh_token *token, char *data, size_t length)
{
	size_t wanted = strlen(token->text);
	char *found, *end = data + length;
	while (wanted && (found = memmem(data, (size_t)(end - data), token->text, wanted)) != NULL) {
		memset(found, '*', wanted);
		data = found + wanted;
	}
}
