/* planted.h - faults that only the simulator's build can switch on, to show that it catches them. In every other build
 * the question is answered "no" at compile time. */
#ifndef REC_CORE_PLANTED_H
#define REC_CORE_PLANTED_H

#ifdef REC_PLANTED_FAULTS
#define rec_planted(faults, fault) (((faults) & (unsigned)(fault)) != 0)
#else
#define rec_planted(faults, fault) ((void)(faults), false)
#endif

#endif
