/* cutting.h - cuts the connection of a PostgreSQL store at its Nth message. */
#ifndef REC_TESTS_CUTTING_H
#define REC_TESTS_CUTTING_H

#include "contract.h"

/* The messages of this handle count from now on. */
void cutting_watch(struct rec_store *s);
/* As contract_backend.set_io_failure. */
uint64_t cutting_set(uint64_t n, bool persistent);

#endif
