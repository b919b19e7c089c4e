// SPDX-License-Identifier: MIT
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tsr.h"

#define CGROUPS "/sys/fs/cgroup"

/* Number after a keyword at the beginning of a line. */
static uint64_t find_number(const char *path, const char *key)
{
	char *text = tsr_read_file(path), *save = NULL, *line;
	size_t len = strlen(key);
	unsigned long long value = 0;
	bool found = false;

	require_msg(text, "cannot read %s", path);
	for (line = strtok_r(text, "\n", &save); line && !found; line = strtok_r(NULL, "\n", &save))
		found = !strncmp(line, key, len) && (line[len] == ' ' || line[len] == ':') &&
			sscanf(line + len + 1, "%llu", &value) == 1;
	free(text);
	require_msg(found, "no %s in %s", key, path);
	return value;
}

uint64_t tsr_meminfo(const char *key)
{
	return find_number("/proc/meminfo", key) << 10;
}

uint64_t tsr_oom_kills(void)
{
	return find_number("/proc/vmstat", "oom_kill");
}

static char cgroup[128];

static void cgroup_remove(void)
{
	/* processes in the cgroup may still be exiting */
	for (int i = 0; i < 100 && rmdir(cgroup) && errno == EBUSY; i++)
		usleep(10000);
}

static void cgroup_write(const char *file, const char *text)
{
	char path[256];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	rc = tsr_write_file(path, text);
	require_msg(!rc, "write '%s' to %s: %s", text, path, strerror(-rc));
}

void tsr_cgroup_new(const char *name, uint64_t max_bytes)
{
	char text[32];

	if (access(CGROUPS "/cgroup.controllers", F_OK))
		mount("cgroup2", CGROUPS, "cgroup2", 0, NULL);
	if (tsr_write_file(CGROUPS "/cgroup.subtree_control", "+memory"))
		tap_skip("the kernel has no memory cgroups");
	snprintf(cgroup, sizeof(cgroup), CGROUPS "/%s", name);
	require(!mkdir(cgroup, 0700) || errno == EEXIST);
	atexit(cgroup_remove);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)max_bytes);
	cgroup_write("memory.max", text);
}

void tsr_cgroup_enter(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)getpid());
	cgroup_write("cgroup.procs", text);
}

uint64_t tsr_cgroup_stat(const char *file, const char *key)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	return find_number(path, key);
}

long tsr_swap_out_objects(void)
{
	long sum = 0, pages;
	char *text;

	do {
		text = tsr_read_file("/sys/kernel/debug/ttm/tt_shrink");
		if (!text)
			tap_skip("TTM offers no tt_shrink");
		pages = strtol(text, NULL, 0);
		free(text);
		sum += pages > 0 ? pages : 0;
	} while (pages > 0);
	return sum;
}

uint32_t tsr_num_clean(void)
{
	char *list = tsr_debugfs_read("allocations");
	uint32_t num = 0;

	for (const char *at = list; (at = strstr(at, " clean")); at++)
		num++;
	free(list);
	return num;
}

uint64_t tsr_looked(uint32_t segment)
{
	char *segments = tsr_debugfs_read("segments"), *at, key[32];
	uint64_t count;

	snprintf(key, sizeof(key), "segment %u ", segment);
	at = strstr(segments, key);
	require(at);
	at = strstr(at, " looked ");
	require(at);
	count = strtoull(at + strlen(" looked "), NULL, 10);
	free(segments);
	return count;
}
