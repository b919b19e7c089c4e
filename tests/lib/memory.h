/* SPDX-License-Identifier: MIT */
/*
 * Memory of the kernel: how much there is, which cgroup is charged, OOM kills.
 */
#ifndef TSR_MEMORY_H
#define TSR_MEMORY_H

#include <stdint.h>

uint64_t tsr_meminfo(const char *key); /* bytes in a line of /proc/meminfo */
uint64_t tsr_oom_kills(void); /* since boot */
/*
 * Has TTM swap out all object pages that it can, and returns how many. Skips
 * the test if TTM has no debugfs file for that.
 */
long tsr_swap_out_objects(void);
/* Number of resident objects whose system pages still hold the same bytes. */
uint32_t tsr_num_clean(void);

/* Number of placements in a segment that searches for victims have examined. */
uint64_t tsr_looked(uint32_t segment);

/*
 * A memory cgroup below the root; removed when the test ends. Skips the test if
 * the kernel has no memory cgroups.
 */
void tsr_cgroup_new(const char *name, uint64_t max_bytes);
void tsr_cgroup_enter(void); /* moves this process in, for good */
/* A value of memory.stat or memory.events. */
uint64_t tsr_cgroup_stat(const char *file, const char *key);

#endif /* TSR_MEMORY_H */
