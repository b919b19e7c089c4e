/* SPDX-License-Identifier: MIT */
/* The kernel's memory: how much there is, who pays for it, whether it ran out. */
#ifndef TSR_MEMORY_H
#define TSR_MEMORY_H

#include <stdint.h>

uint64_t tsr_meminfo(const char *key); /* bytes of a line of /proc/meminfo */
uint64_t tsr_oom_kills(void); /* since the kernel booted */
/* all pages of objects that the kernel can swap out, how many it did; skips the test without */
long tsr_swap_out_objects(void);
/* objects in memory whose pages still hold the same bytes */
uint32_t tsr_num_clean(void);

/* a memory cgroup below the root, emptied and removed when the test ends; skips without */
void tsr_cgroup_new(const char *name, uint64_t max_bytes);
void tsr_cgroup_enter(void); /* this process, for good */
/* a value of memory.stat or memory.events */
uint64_t tsr_cgroup_stat(const char *file, const char *key);

#endif /* TSR_MEMORY_H */
