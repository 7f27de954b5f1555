/* fuzz.h - what every fuzzer has. */
#ifndef REC_TESTS_FUZZ_H
#define REC_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the fuzzer where `holds` is false; a macro, so that the stack trace names the line. */
#define require(holds) ((holds) ? (void)0 : __builtin_trap())

#endif
