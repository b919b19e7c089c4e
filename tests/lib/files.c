// SPDX-License-Identifier: MIT
/* debugfs, fdinfo, and other files of the kernel. */
#include "tsr.h"

#include "stall.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

char *tsr_read_file(const char *path)
{
	size_t used = 0, max = 65536;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;
	ssize_t n;

	if (fd < 0)
		return NULL;
	text = malloc(max);
	require(text);
	while ((n = read(fd, text + used, max - used - 1)) > 0) {
		used += (size_t)n;
		if (max - used < 4096) {
			max *= 2;
			text = realloc(text, max);
			require(text);
		}
	}
	close(fd);
	text[used] = 0;
	return text;
}

int tsr_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int rc;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	rc = n < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static int proc_mem(bool write, uintptr_t address, void *bytes, size_t count)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC), rc = 0;
	ssize_t n;

	require(fd >= 0);
	n = write ? pwrite(fd, bytes, count, (off_t)address)
		  : pread(fd, bytes, count, (off_t)address);
	if (n < 0)
		rc = -errno;
	else
		require_eq(n, count);
	close(fd);
	return rc;
}

int tsr_proc_mem_read(const void *address, void *out, size_t bytes)
{
	return proc_mem(false, (uintptr_t)address, out, bytes);
}

int tsr_proc_mem_write(void *address, const void *in, size_t bytes)
{
	return proc_mem(true, (uintptr_t)address, (void *)in, bytes);
}

char tsr_task_state(pid_t tid)
{
	char path[64], *text, *at;
	char state;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	text = tsr_read_file(path);
	at = text ? strrchr(text, ')') : NULL;
	state = at && at[1] ? at[2] : 0;
	free(text);
	return state;
}

bool tsr_sleeps(pid_t tid)
{
	return tsr_task_state(tid) == 'S';
}

bool tsr_waits(pid_t tid)
{
	return tsr_task_state(tid) == 'D' || tsr_sleeps(tid);
}

uint64_t tsr_naps(pid_t tid)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	char path[64], *text, *at;
	uint64_t naps = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	text = tsr_read_file(path);
	at = text ? strstr(text, key) : NULL;
	if (at)
		naps = strtoull(at + strlen(key), NULL, 0);
	free(text);
	return naps;
}

const char *tsr_debugfs(void)
{
	static char path[256];
	glob_t found;

	if (path[0])
		return path;
	if (access("/sys/kernel/debug/dri", F_OK))
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	if (glob("/sys/kernel/debug/dri/*/segments", 0, NULL, &found) || !found.gl_pathc)
		tap_skip("the driver has no debugfs directory");
	snprintf(path, sizeof(path), "%.*s", (int)(strlen(found.gl_pathv[0]) - strlen("/segments")),
		 found.gl_pathv[0]);
	globfree(&found);
	return path;
}

/*
 * The debugfs file "waits", with one line a row: "NAME count N longest_us N
 * waiting N pids PID …". The rows are the module's, so the file of any device
 * will do.
 */
static char *read_waits(void)
{
	char *text = NULL;
	glob_t found;

	tsr_debugfs();
	if (glob("/sys/kernel/debug/dri/*/waits", 0, NULL, &found))
		return NULL;
	/* A device may disappear after the glob. */
	for (size_t i = 0; !text && i < found.gl_pathc; i++)
		text = tsr_read_file(found.gl_pathv[i]);
	globfree(&found);
	return text;
}

/* The line of a row, cut from @text, which is read_waits(). */
static char *find_wait(char *text, const char *row)
{
	char *line, *lines = NULL;
	size_t len = strlen(row);

	for (line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines))
		if (!strncmp(line, row, len) && line[len] == ' ')
			return line;
	require_msg(false, "debugfs waits has no row '%s'", row);
	return NULL;
}

uint64_t tsr_wait_count(const char *row)
{
	char *text = read_waits();
	uint64_t count;

	require(text);
	require_eq(sscanf(find_wait(text, row) + strlen(row), " count %" SCNu64, &count), 1);
	free(text);
	return count;
}

bool tsr_is_waiting(pid_t tid, const char *row)
{
	char *text = read_waits(), *pids, *pid, *words = NULL;
	bool found = false;

	if (!text)
		return false;
	pids = strstr(find_wait(text, row), " pids");
	require(pids);
	for (pid = strtok_r(pids + strlen(" pids"), " ", &words); pid;
	     pid = strtok_r(NULL, " ", &words))
		found |= strtol(pid, NULL, 10) == tid;
	free(text);
	return found;
}

char *tsr_debugfs_read(const char *name)
{
	char path[512];
	char *text;

	snprintf(path, sizeof(path), "%s/%s", tsr_debugfs(), name);
	text = tsr_read_file(path);
	require_msg(text, "cannot read %s", path);
	return text;
}

int tsr_debugfs_write(const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", tsr_debugfs(), name);
	return tsr_write_file(path, text);
}

/*
 * Knobs that the test has changed, with their former values. The runner
 * restores them however the test ends.
 */
static struct knobs {
	uint32_t num;
	struct {
		char name[32], before[32];
	} list[8];
} * knobs;

static void map_knobs(void)
{
	int fd = open(TSR_KNOBS, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	require_msg(fd >= 0, "%s: %s", TSR_KNOBS, strerror(errno));
	require(!ftruncate(fd, sizeof(*knobs)));
	knobs = mmap(NULL, sizeof(*knobs), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require(knobs != MAP_FAILED);
	close(fd);
}

static void turn_everywhere(const char *name, const char *value)
{
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/sys/kernel/debug/dri/*/%s", name);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t n = 0; n < found.gl_pathc; n++)
		tsr_write_file(found.gl_pathv[n], value);
	globfree(&found);
}

/* On all devices: the first one may have been replaced or unplugged. */
static void turn_back(uint32_t i)
{
	turn_everywhere(knobs->list[i].name, knobs->list[i].before);
}

/* The file may come from a program with another layout of it. */
static bool knobs_are_sound(void)
{
	if (knobs->num > ARRAY_SIZE(knobs->list))
		return false;
	for (uint32_t i = 0; i < knobs->num; i++)
		if (!memchr(knobs->list[i].name, 0, sizeof(knobs->list[i].name)) ||
		    !memchr(knobs->list[i].before, 0, sizeof(knobs->list[i].before)))
			return false;
	return true;
}

void tsr_knobs_end(void)
{
	if (!knobs_are_sound())
		knobs->num = 0;
	for (uint32_t i = 0; i < knobs->num; i++)
		turn_back(i);
	knobs->num = 0;
}

void tsr_knobs_begin(void)
{
	if (!knobs)
		map_knobs();
	tsr_knobs_end();
}

/* Returns knobs->num if the knob was not turned before. */
static uint32_t knob_find(const char *name)
{
	uint32_t i = 0;

	while (i < knobs->num && strcmp(knobs->list[i].name, name))
		i++;
	return i;
}

void tsr_knob(const char *name, const char *value)
{
	uint32_t i = knob_find(name);
	int rc;

	if (i == knobs->num) {
		char *text = tsr_debugfs_read(name);

		require(i < ARRAY_SIZE(knobs->list));
		snprintf(knobs->list[i].name, sizeof(knobs->list[i].name), "%s", name);
		snprintf(knobs->list[i].before, sizeof(knobs->list[i].before), "%s", text);
		knobs->num++;
		free(text);
	}
	rc = tsr_debugfs_write(name, value);
	require_msg(!rc, "%s: %s", name, strerror(-rc));
}

void tsr_knob_restore(const char *name)
{
	uint32_t i = knob_find(name);

	if (i < knobs->num)
		turn_back(i);
}

void tsr_attach_limit(const char *ms)
{
	/* records the value of the first device, which may be gone later */
	if (knob_find("attach_ms") == knobs->num)
		tsr_knob("attach_ms", ms);
	turn_everywhere("attach_ms", ms);
}

void tsr_job_timeout(const char *ms)
{
	tsr_knob("job_timeout_ms", ms);
}

void tsr_job_timeout_lift(void)
{
	/* records the value of the first device */
	tsr_job_timeout("300000");
	turn_everywhere("job_timeout_ms", "300000");
}

void tsr_job_timeout_short(void)
{
	tsr_job_timeout(tap_slow() ? "1500" : "500");
}

void tsr_job_timeout_restore(void)
{
	tsr_knob_restore("job_timeout_ms");
}

static void debugfs_write_number(const char *name, uint32_t number)
{
	char text[16];
	int rc;

	snprintf(text, sizeof(text), "%u", number);
	rc = tsr_debugfs_write(name, text);
	require_msg(!rc, "%s: %s", name, strerror(-rc));
}

void tsr_job_expire(uint32_t engine)
{
	debugfs_write_number("expire_job", engine);
}

void tsr_evict_set(uint32_t segments)
{
	debugfs_write_number("evict_all", segments);
}

int64_t tsr_fdinfo_of(pid_t pid, int fd, const char *key)
{
	char path[64], unit[16] = "";
	long long value = -1;
	char *text, *line, *save = NULL;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	text = tsr_read_file(path);
	require_msg(text, "cannot read %s", path);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t len = strlen(key);

		if (strncmp(line, key, len) || line[len] != ':')
			continue;
		if (sscanf(line + len + 1, "%lld %15s", &value, unit) < 1)
			value = -1;
		break;
	}
	free(text);
	if (value >= 0 && !strcmp(unit, "KiB"))
		value <<= 10;
	else if (value >= 0 && !strcmp(unit, "MiB"))
		value <<= 20;
	return value;
}

int64_t tsr_fdinfo(struct tsr_device *dev, const char *key)
{
	return tsr_fdinfo_of(getpid(), dev->fd, key);
}

static sigjmp_buf bus_error_env;

static void bus_error(int sig)
{
	siglongjmp(bus_error_env, 1);
}

bool tsr_raises_sigbus(const void *address)
{
	void (*before)(int) = signal(SIGBUS, bus_error);
	bool raised = true;

	if (!sigsetjmp(bus_error_env, 1)) {
		(void)*(const volatile uint32_t *)address;
		raised = false;
	}
	signal(SIGBUS, before);
	return raised;
}
