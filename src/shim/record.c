/* record.c - see record.h. A write fills the older record and sets its checksum last, with a release
 * fence between, so that a reader in another process sees either the old or the whole new one. */
#include "shim/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(struct rec_record_map) <= REC_RECORD_FILE_BYTES, "the lanes fit one page");

/* FNV-1a over everything behind the checksum; never 0, so a file of zeros holds no sound record. */
static uint32_t checksum_of(const struct rec_record *record)
{
	const unsigned char *byte = (const unsigned char *)record + sizeof record->checksum;
	uint32_t sum = 2166136261u;
	for (size_t i = 0; i < sizeof *record - sizeof record->checksum; i++)
		sum = (sum ^ byte[i]) * 16777619u;
	return sum ? sum : 1;
}

static bool sound(const struct rec_record *record)
{
	return record->checksum == checksum_of(record);
}

struct rec_record_map *rec_record_map_open(int fd)
{
	int failed = posix_fallocate(fd, 0, REC_RECORD_FILE_BYTES);
	if (failed) {
		errno = failed;
		return NULL;
	}
	void *memory = mmap(NULL, REC_RECORD_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

void rec_record_map_close(struct rec_record_map *map)
{
	if (map)
		munmap(map, REC_RECORD_FILE_BYTES);
}

struct rec_record rec_record_at(const struct rec_record_map *map, enum rec_lane lane, int which)
{
	struct rec_record copy = map->lanes[lane][which];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return sound(&copy) ? copy : (struct rec_record){.phase = REC_RECORD_EMPTY};
}

struct rec_record rec_record_newest(const struct rec_record_map *map, enum rec_lane lane)
{
	struct rec_record a = rec_record_at(map, lane, 0), b = rec_record_at(map, lane, 1);
	return b.sequence > a.sequence ? b : a;
}

bool rec_record_find(const struct rec_record_map *map, enum rec_lane lane, int64_t claim_id,
		     struct rec_record *ret_record)
{
	for (int which = 0; which < 2; which++) {
		struct rec_record record = rec_record_at(map, lane, which);
		if (record.phase != REC_RECORD_EMPTY && record.claim_id == claim_id) {
			*ret_record = record;
			return true;
		}
	}
	return false;
}

void rec_record_write(struct rec_record_map *map, enum rec_lane lane, struct rec_record record)
{
	struct rec_record a = rec_record_at(map, lane, 0), b = rec_record_at(map, lane, 1);
	struct rec_record *place = &map->lanes[lane][a.sequence > b.sequence ? 1 : 0];
	record.sequence = (a.sequence > b.sequence ? a.sequence : b.sequence) + 1;
	record.checksum = checksum_of(&record);
	__atomic_store_n(&place->checksum, 0, __ATOMIC_SEQ_CST);
	memcpy((char *)place + sizeof record.checksum, (const char *)&record + sizeof record.checksum,
	       sizeof record - sizeof record.checksum);
	__atomic_store_n(&place->checksum, record.checksum, __ATOMIC_SEQ_CST);
}

void rec_record_erase(struct rec_record_map *map, enum rec_lane lane, int64_t claim_id)
{
	for (int which = 0; which < 2; which++)
		if (map->lanes[lane][which].claim_id == claim_id)
			__atomic_store_n(&map->lanes[lane][which].checksum, 0, __ATOMIC_SEQ_CST);
}

int rec_record_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EAGAIN || errno == EACCES ? 1 : -1;
}

int rec_record_locked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (fcntl(fd, F_OFD_GETLK, &lock) != 0)
		return -1;
	return lock.l_type != F_UNLCK;
}
