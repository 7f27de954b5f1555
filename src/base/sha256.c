/* sha256.c - the hash as the standard writes it down, one block after another. A library for it would be one more
 * thing to install, for a few lines that never change. */
#include "base/sha256.h"

#define BLOCK_BYTES 64u

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned by)
{
	return x >> by | x << (32 - by);
}

static void schedule(const unsigned char *block, uint32_t w[64])
{
	for (unsigned i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + a + w[i - 7] + b;
	}
}

static void block_add(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];
	schedule(block, w);
	memcpy(v, state, sizeof v);
	for (unsigned i = 0; i < 64; i++) {
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
		uint32_t a =
			v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + choice + constants[i] + w[i];
		uint32_t b = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += a;
		v[0] = a + b;
	}
	for (unsigned i = 0; i < 8; i++)
		state[i] += v[i];
}

/* The rest, a one bit, and the length in bits at the end of the last block. */
static void end_add(uint32_t state[8], const unsigned char *rest, size_t rest_length, uint64_t length)
{
	unsigned char last[2 * BLOCK_BYTES] = {0};
	size_t bytes = rest_length + 9 <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
	if (rest_length)
		memcpy(last, rest, rest_length);
	last[rest_length] = 0x80;
	for (unsigned i = 0; i < 8; i++)
		last[bytes - 1 - i] = (unsigned char)(length * 8 >> 8 * i);
	for (size_t at = 0; at < bytes; at += BLOCK_BYTES)
		block_add(state, last + at);
}

char *rec_sha256_hex(struct rec_slice bytes, char out[REC_SHA256_HEX_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const unsigned char *at = (const unsigned char *)bytes.data;
	size_t left = bytes.length;
	for (; left >= BLOCK_BYTES; at += BLOCK_BYTES, left -= BLOCK_BYTES)
		block_add(state, at);
	end_add(state, at, left, bytes.length);
	for (unsigned i = 0; i < 64; i++)
		out[i] = digits[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
	out[64] = '\0';
	return out;
}
