// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

void fail(int line, const char *what, int ret)
{
	printf("# line %d: %s%s%s\n", line, what, ret ? ": " : "", ret ? strerror(-ret) : "");
	fflush(stdout);
	_exit(1);
}

static uint64_t device_errors(struct tessera_device *dev)
{
	struct drm_tessera_query_device info;

	require_ok(tessera_device_refresh(dev, &info, sizeof(info)));
	return info.guest_errors;
}

static struct client open_on(bool vm, bool last)
{
	const struct drm_tessera_query_engine *engine;
	struct tessera_context_desc desc;
	struct client c = { 0 };

	require_ok(tessera_device_new_first(&c.dev));
	require_ok(tessera_context_desc_init(c.dev, &desc));
	for (uint32_t i = 0; last && (engine = tessera_device_engine_at(c.dev, i)); i++) {
		if (engine->type == DRM_TESSERA_ENGINE_RENDER)
			desc.engine = engine->id;
	}
	if (vm) {
		require_ok(tessera_vm_new(c.dev, &c.vm));
		require_ok(tessera_context_new_vm(c.vm, &desc, &c.ctx));
		tessera_vm_del(c.vm);
	} else {
		require_ok(tessera_context_new_desc(c.dev, &desc, &c.ctx));
	}
	require(tessera_context_vm(c.ctx) == c.vm);
	require_ok(tessera_cmdbuf_new_for(c.ctx, &c.cb));
	require_ok(tessera_syncobj_new(c.dev, 0, &c.timeline));
	c.errors = device_errors(c.dev);
	return c;
}

struct client client_open(bool vm)
{
	return open_on(vm, false);
}

struct client client_open_last(bool vm)
{
	return open_on(vm, true);
}

void client_close(struct client *c)
{
	require(device_errors(c->dev) == c->errors);
	tessera_cmdbuf_del(c->cb);
	tessera_syncobj_del(c->timeline);
	tessera_context_del(c->ctx);
	tessera_device_del(c->dev);
}

void submit(struct client *c)
{
	const struct tessera_sync signal = { .obj = c->timeline, .point = ++c->point };
	struct tessera_submit_args args = { .signals = &signal, .num_signals = 1 };
	struct tessera_lint lint;

	require(tessera_cmdbuf_lint(c->cb, &lint) == 0);
	require_ok(tessera_context_submit(c->ctx, c->cb, &args));
	tessera_cmdbuf_reset(c->cb);
}

void finish(struct client *c)
{
	struct drm_tessera_context_status status;

	require_ok(tessera_syncobj_wait(c->timeline, c->point, TESSERA_FOREVER));
	require_ok(tessera_context_status(c->ctx, &status, sizeof(status)));
	require(status.reset == DRM_TESSERA_RESET_NONE);
}

void bind_words(struct client *c, uint32_t slot, struct tessera_bo *bo, uint64_t offset, bool write)
{
	struct tessera_view view;

	tessera_view_init_buffer(&view);
	view.offset = offset;
	if (write)
		view.access |= TSR_SURF_WRITE;
	require_ok(tessera_cmdbuf_bind(c->cb, slot, bo, &view));
}

struct tessera_rect words(uint32_t first, uint32_t count)
{
	return (struct tessera_rect){ first, 0, count, 1 };
}

struct tessera_bo *new_staging(struct client *c, uint64_t size)
{
	struct tessera_bo *bo;

	require_ok(tessera_bo_new_for(c->dev, TESSERA_USAGE_STAGING, size, NULL, &bo));
	require_ok(tessera_vm_make_resident(c->vm, &bo, 1));
	return bo;
}

/* Run the test in a child process, which frees all its resources at exit. */
static bool run_test(void (*run)(bool vm), bool vm)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		run(vm);
		fflush(stdout);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

int run_tests(const struct test *tests, uint32_t count)
{
	int failed = 0;

	printf("1..%u\n", 2 * count);
	for (uint32_t i = 0; i < 2 * count; i++) {
		bool good;

		fflush(stdout);
		good = run_test(tests[i / 2].run, i % 2);
		failed |= !good;
		printf("%sok %u - %s: %s\n", good ? "" : "not ", i + 1, tests[i / 2].name,
		       i % 2 ? "virtual addresses" : "patched");
	}
	return failed;
}
