/* tree.h - the processes below this one: counting and signalling them. libc only. */
#ifndef REC_SHIM_TREE_H
#define REC_SHIM_TREE_H

#include <stdint.h>
#include <sys/types.h>

/* Signals every descendant of this process, whatever its group or session (the caller is a subreaper, so
 * none can leave). A pid is signalled only through a pidfd whose process still has the parent it was found
 * under. Signal 0 only counts. Returns how many there were; processes that fork meanwhile may be missed, so
 * whoever wants all dead repeats it until it returns 0. */
unsigned rec_tree_signal(int signal_number);

/* CPU time in microseconds of `pid` and all its descendants, ended and reaped children included. */
uint64_t rec_tree_cpu_us(pid_t pid);

#endif
