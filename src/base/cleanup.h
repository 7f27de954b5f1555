/* cleanup.h - resources released when their name goes out of scope; steal() hands one on. */
#ifndef REC_BASE_CLEANUP_H
#define REC_BASE_CLEANUP_H

#include <unistd.h>

#define rec_cleanup(function) __attribute__((cleanup(function)))
#define rec_steal(pointer_to_pointer)                                                                                  \
	({                                                                                                             \
		__typeof__(*(pointer_to_pointer)) stolen = *(pointer_to_pointer);                                      \
		*(pointer_to_pointer) = NULL;                                                                          \
		stolen;                                                                                                \
	})
static inline void rec_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#endif
