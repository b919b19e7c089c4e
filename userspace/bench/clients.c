// SPDX-License-Identifier: MIT
/*
 * Processes beside the one that measures: clients of the device, and processes
 * that only use the CPU.
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void sleep_for(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

void bench_open(void)
{
	must("no tessera device", tessera_device_new_first(&bench.dev));
	must("context", tessera_context_new_default(bench.dev, &bench.ctx));
	must("command buffer", tessera_cmdbuf_new(bench.dev, &bench.cb));
}

void bench_close(void)
{
	tessera_cmdbuf_del(bench.cb);
	tessera_context_del(bench.ctx);
	tessera_device_del(bench.dev);
}

void client_fork(struct client *client, void (*run)(struct client_state *state))
{
	client->state = mmap(NULL, sizeof(*client->state), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (client->state == MAP_FAILED)
		die("client", -errno);
	client->pid = fork();
	if (client->pid < 0)
		die("client", -errno);
	if (client->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run(client->state);
	_exit(0);
}

static void (*run_open)(struct client_state *state);

/* The parent's file stays open in the child but is not used. */
static void open_and_run(struct client_state *state)
{
	bench_open();
	run_open(state);
}

void client_start(struct client *client, void (*run)(struct client_state *state))
{
	run_open = run;
	client_fork(client, open_and_run);
}

void client_wait_ready(const struct client *client)
{
	while (!client->state->ready) {
		if (waitpid(client->pid, NULL, WNOHANG))
			die("a client has ended", -ECHILD);
		sleep_for(0.001);
	}
}

void client_kill(struct client *client)
{
	int status;

	kill(client->pid, SIGKILL);
	if (waitpid(client->pid, &status, 0) != client->pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL)
		die("a client has ended", -ECHILD);
	munmap(client->state, sizeof(*client->state));
}
