// SPDX-License-Identifier: MIT
/*
 * Trimming: a client is told how many bytes of its residency list it should give
 * up, and gets time to do it before others take them by force (RES-10). All tests
 * count in sixteenths of the hidden segment. A fair share of two clients is
 * eight of them.
 */
#include <sys/eventfd.h>
#include <unistd.h>

#include "foreign.h"
#include "resident.h"
#include "stall.h"
#include "tsr.h"
#include "vm.h"

#define UNITS 16
#define SHARE (UNITS / 2)
#define OVER 12 /* what the owner lists: four more than its share */
/* A grace that does not end while a test runs, and one that does. */
#define LONG_MS "600000"
#define SHORT_MS "500"

#define CANNOT DRM_TESSERA_RESIDENT_CANNOT_TRIM_FURTHER
#define MUST DRM_TESSERA_RESIDENT_MUST_SUCCEED

/* ---- The other client, which has the memory ------------------------------ */

/* Shared memory: instructions for the owner, and its reports. */
struct owner {
	volatile uint32_t list; /* units to list */
	volatile bool watches; /* has a notification */
	volatile pid_t trims; /* does what it is told when this thread waits for it */
	volatile uint32_t told; /* signals of its eventfd */
	volatile uint64_t trim, idle, wanted; /* bytes that it is told */
	volatile uint32_t evicted; /* units that it has removed from its list */
	volatile uint32_t kept; /* at the end: listed units that are in place */
};

static struct owner *owner;
static struct tsr_client owner_client;

/*
 * It removes the newest objects, which others would take last. What another
 * client only asks for is offered, because removing it is not enough.
 */
static void owner_trim(struct tsr_device *dev, const struct tsr_bo *bos, uint64_t unit)
{
	uint64_t bytes = owner->trim ? owner->trim : owner->wanted;

	for (uint64_t done = 0; done < bytes; done += unit) {
		const struct tsr_bo *bo = &bos[owner->list - ++owner->evicted];

		if (owner->trim)
			require_ok(__tsr_evict_one(dev, bo));
		else
			require_ok(__tsr_offer(dev->fd, &bo->handle, 1, DRM_TESSERA_OFFER_LOW));
	}
}

static void run_owner(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct tsr_bo bos[UNITS];
	bool news = false; /* signalled since it last trimmed */

	for (uint32_t i = 0; i < owner->list; i++) {
		bos[i] = tsr_bo_new(&dev, seg->size / UNITS, tsr_bit(seg), 0);
		tsr_make_resident(&dev, &bos[i], 1);
	}
	if (owner->watches)
		require_ok(__tsr_budget_notify(&dev, tsr_bit(seg), fd));
	client->state->ready = true;
	while (!client->state->stop) {
		struct drm_tessera_budget now;
		bool signalled = tsr_budget_told(fd, 5);

		now = tsr_budget(&dev, tsr_bit(seg));
		owner->trim = now.trim_bytes;
		owner->idle = now.idle_bytes;
		owner->wanted = now.wanted_bytes;
		news |= signalled;
		if (news && owner->trims && tsr_is_waiting(owner->trims, "trim")) {
			owner_trim(&dev, bos, seg->size / UNITS);
			news = false;
		}
		owner->told += signalled;
	}
	for (uint32_t i = 0; i < owner->list - owner->evicted; i++)
		owner->kept += tsr_bo_info(&dev, &bos[i]).segment == seg->id;
	tsr_close(&dev);
}

static void owner_start(struct owner instructions)
{
	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	tsr_knob("trim_grace_ms", LONG_MS);
	owner = tsr_shared(sizeof(*owner));
	*owner = instructions;
	tsr_client_start(&owner_client, run_owner, 0);
	tsr_wait_for(owner_client.state->ready);
}

/* Requires that the owner has removed and kept so many units. */
static void owner_end(uint32_t evicted, uint32_t kept)
{
	owner_client.state->stop = true;
	tsr_client_join(&owner_client);
	require_eq(owner->evicted, evicted);
	require_eq(owner->kept, kept);
	require(owner->told || !evicted);
}

/* ---- The client that needs memory ---------------------------------------- */

struct needy {
	struct tsr_device dev;
	const struct drm_tessera_query_segment *seg;
	uint64_t unit;
	struct tsr_bo bos[UNITS];
	uint64_t waits; /* waits for others to trim, before the test */
};

static void needy_init(struct needy *n)
{
	n->dev = tsr_open();
	n->seg = tsr_seg_hidden(&n->dev);
	n->unit = n->seg->size / UNITS;
	for (uint32_t i = 0; i < UNITS; i++)
		n->bos[i] = tsr_bo_new(&n->dev, n->unit, tsr_bit(n->seg), 0);
	n->waits = tsr_wait_count("trim");
}

static int needy_make(struct needy *n, uint32_t first, uint32_t count, uint32_t flags,
		      uint64_t *bytes_to_trim)
{
	struct drm_tessera_make_resident args = { .flags = flags };
	uint32_t handles[UNITS];
	int ret;

	for (uint32_t i = 0; i < count; i++)
		handles[i] = n->bos[first + i].handle;
	args.handles = (struct drm_tessera_array){ sizeof(handles[0]), count, (uintptr_t)handles };
	ret = tsr_ioctl(n->dev.fd, DRM_IOCTL_TESSERA_MAKE_RESIDENT, &args);
	if (bytes_to_trim)
		*bytes_to_trim = args.bytes_to_trim;
	return ret;
}

static uint64_t needy_waits(const struct needy *n)
{
	return tsr_wait_count("trim") - n->waits;
}

/* ---- Tests --------------------------------------------------------------- */

/* Resident, but too small for the budgets of others to count as changed. */
static struct tsr_bo needy_come(struct needy *n)
{
	struct tsr_bo bo = tsr_bo_new(&n->dev, n->unit / 4, tsr_bit(n->seg), 0);

	require_ok(__tsr_make_one(&n->dev, &bo));
	return bo;
}

/*
 * RES-10: the client is told the exact number of bytes when another client
 * comes, before that client takes anything.
 */
static void told_before(void)
{
	struct needy n;

	owner_start((struct owner){ .list = OVER, .watches = true });
	needy_init(&n);
	require_eq(owner->trim, 0);
	needy_come(&n);
	tsr_wait_for(owner->told && owner->trim == (OVER - SHARE) * n.unit);
	require_eq(owner->idle, 0);
	require_eq(owner->wanted, 0);
	require_eq(tsr_budget(&n.dev, tsr_bit(n.seg)).trim_bytes, 0);
	require_eq(needy_waits(&n), 0);
	owner_end(0, OVER);
	tsr_close(&n.dev);
}

static struct needy *waiter;

/* A child that shares the file, so it is the same client. */
static void wait_for_trim(struct tsr_client *client)
{
	struct tsr_bo large = tsr_bo_new(&waiter->dev, (UNITS - OVER + 1) * waiter->unit,
					 tsr_bit(waiter->seg), 0);

	__tsr_make_one(&waiter->dev, &large);
	require_msg(false, "the call of client %d returned", client->pid);
}

/* RES-10: a client that knows what to trim is told when another one waits. */
static void told_again(void)
{
	struct tsr_client asking = { 0 };
	struct needy n;
	uint32_t before;

	owner_start((struct owner){ .list = OVER, .watches = true });
	needy_init(&n);
	waiter = &n;
	needy_come(&n);
	tsr_wait_for(owner->told && owner->trim == (OVER - SHARE) * n.unit);
	before = owner->told;
	tsr_client_start(&asking, wait_for_trim, 0);
	tsr_wait_for(tsr_is_waiting(asking.pid, "trim") && owner->told > before);
	require_eq(owner->trim, (OVER - SHARE) * n.unit);
	tsr_client_kill(&asking);
	owner_end(0, OVER);
	tsr_close(&n.dev);
}

/* RES-10: what a client keeps after it has trimmed is not taken from it. */
static void trims_in_time(void)
{
	struct needy n;

	owner_start((struct owner){ .list = OVER, .watches = true, .trims = getpid() });
	needy_init(&n);
	require_ok(needy_make(&n, 0, SHARE, 0, NULL));
	for (uint32_t i = 0; i < SHARE; i++)
		require_eq(tsr_bo_info(&n.dev, &n.bos[i]).segment, n.seg->id);
	require(needy_waits(&n) > 0);
	owner_end(OVER - SHARE, SHARE);
	tsr_close(&n.dev);
}

static void use_each(struct needy *n, uint32_t context)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < SHARE; i++) {
		tsr_cmd_bind_buffer(&cmd, i, &n->bos[i], true);
		tsr_cmd_fill(&cmd, i, 0, 16, i);
	}
	tsr_submit_done(&n->dev, context, &cmd);
	tsr_cmd_fini(&cmd);
}

/* RES-10: submissions with lists wait for the client, too. */
static void trims_for_a_submission(void)
{
	struct needy n;

	owner_start((struct owner){ .list = OVER, .watches = true, .trims = getpid() });
	needy_init(&n);
	use_each(&n, tsr_context_new(&n.dev, 0));
	for (uint32_t i = 0; i < SHARE; i++)
		require_eq(tsr_bo_info(&n.dev, &n.bos[i]).segment, n.seg->id);
	require(needy_waits(&n) > 0);
	owner_end(OVER - SHARE, SHARE);
	tsr_close(&n.dev);
}

static void trims_for_parts(void)
{
	struct needy n;

	owner_start((struct owner){ .list = OVER, .watches = true, .trims = getpid() });
	needy_init(&n);
	use_each(&n, tsr_context_new(&n.dev, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL));
	require(needy_waits(&n) > 0);
	owner_end(OVER - SHARE, SHARE);
	tsr_close(&n.dev);
}

/*
 * RES-10: a client that does not trim loses what it has above its share. A
 * process waits for it once, not for each request.
 */
static void ignores_it(void)
{
	struct needy n;

	owner_start((struct owner){ .list = OVER, .watches = true });
	needy_init(&n);
	require_ok(needy_make(&n, 0, UNITS - OVER, 0, NULL));
	require_eq(needy_waits(&n), 0);
	tsr_knob("trim_grace_ms", SHORT_MS);
	for (uint32_t i = UNITS - OVER; i < SHARE; i++)
		require_ok(needy_make(&n, i, 1, 0, NULL));
	require_eq(needy_waits(&n), 1);
	/* It can still ask for more than that. */
	require_err(needy_make(&n, SHARE, 1, CANNOT, NULL), -ENOMEM);
	require_eq(needy_waits(&n), 2);
	owner_end(0, SHARE);
	tsr_close(&n.dev);
}

static void taken_at_once(bool watches, const char *grace_ms)
{
	struct needy n;

	owner_start((struct owner){ .list = OVER, .watches = watches });
	tsr_knob("trim_grace_ms", grace_ms);
	needy_init(&n);
	require_ok(needy_make(&n, 0, SHARE, 0, NULL));
	require_eq(needy_waits(&n), 0);
	owner_end(0, SHARE);
	tsr_close(&n.dev);
}

/* Nobody waits for a client that has no notification, or for no time at all. */
static void not_asked(void)
{
	taken_at_once(false, LONG_MS);
}

static void no_grace(void)
{
	taken_at_once(true, "0");
}

/* RES-10: a client that has stopped using its memory is told so. */
static void idle(void)
{
	uint64_t unit;

	owner_start((struct owner){ .list = 4, .watches = true });
	require_eq(owner->idle, 0);
	{
		struct tsr_device dev = tsr_open();

		unit = tsr_seg_hidden(&dev)->size / UNITS;
		tsr_close(&dev);
	}
	tsr_knob("demand_period_ms", "1");
	tsr_wait_for(owner->told && owner->idle == 4 * unit);
	require_eq(owner->trim, 0);
	owner_end(0, 4);
}

/* ---- A client that cannot trim further ----------------------------------- */

/* Both have listed their fair shares. */
static void both_full(struct needy *n, pid_t trims)
{
	owner_start((struct owner){ .list = SHARE, .watches = true, .trims = trims });
	needy_init(n);
	require_ok(needy_make(n, 0, SHARE, 0, NULL));
	require_eq(owner->trim, 0);
}

/* RES-10: others are asked for the missing bytes, and may give them. */
static void asks_others(void)
{
	uint64_t bytes;
	struct needy n;

	both_full(&n, getpid());
	require_err(needy_make(&n, SHARE, 2, 0, &bytes), -ENOMEM);
	require_eq(bytes, 2 * n.unit);
	require_eq(needy_waits(&n), 0);
	require_eq(owner->wanted, 0);
	require_ok(needy_make(&n, SHARE, 2, CANNOT, &bytes));
	require_eq(bytes, 0);
	owner_end(2, SHARE - 2);
	tsr_close(&n.dev);
}

/*
 * RES-10: others may refuse. The call then fails as without the flag, and the
 * process cannot ask again at once.
 */
static void others_refuse(void)
{
	uint64_t bytes;
	struct needy n;

	both_full(&n, 0);
	tsr_knob("trim_grace_ms", SHORT_MS);
	for (uint32_t i = 0; i < 3; i++) {
		require_err(needy_make(&n, SHARE, 2, CANNOT, &bytes), -ENOMEM);
		require_eq(bytes, 2 * n.unit);
		require_eq(needy_waits(&n), 1);
	}
	owner_end(0, SHARE);
	tsr_close(&n.dev);
}

/* RES-10: the bytes that are asked for are reported while the caller waits. */
static void insist(struct tsr_client *client)
{
	struct needy n;

	needy_init(&n);
	require_ok(needy_make(&n, 0, SHARE, 0, NULL));
	needy_make(&n, SHARE, 3, CANNOT, NULL);
	require_msg(false, "the call of client %d returned", client->pid);
}

static void asked_for(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t unit = tsr_seg_hidden(&dev)->size / UNITS;
	struct tsr_client asking = { 0 };

	owner_start((struct owner){ .list = SHARE, .watches = true });
	tsr_client_start(&asking, insist, 0);
	tsr_wait_for(owner->told && owner->wanted == 3 * unit);
	require_eq(owner->trim, 0);
	tsr_client_kill(&asking);
	owner_end(0, SHARE);
	tsr_close(&dev);
}

/*
 * RES-10: the contexts of a client that must succeed, and does not, are lost.
 * Those that bring lists are not: they do not need the objects to be listed.
 */
static void must_succeed(void)
{
	struct needy n;
	struct tsr_vm vm;

	both_full(&n, 0);
	tsr_knob("trim_grace_ms", SHORT_MS);
	vm = tsr_vm_open(&n.dev);
	require_err(needy_make(&n, SHARE, 1, CANNOT, NULL), -ENOMEM);
	require_eq(tsr_context_status(&n.dev, vm.context).flags, 0);
	require_err(needy_make(&n, SHARE, 1, MUST, NULL), -ENOMEM);
	require_eq(tsr_context_status(&n.dev, vm.context).flags, DRM_TESSERA_STATUS_LOST);
	require_eq(tsr_context_status(&n.dev, vm.patched).flags, 0);
	require_err(__tsr_submit_vm(&n.dev, vm.context, vm.at, 8, 0, 0), -EIO);
	/* A call that succeeds loses nothing. */
	tsr_vm_renew(&vm);
	tsr_evict(&n.dev, n.bos, 1);
	require_ok(needy_make(&n, SHARE, 1, MUST, NULL));
	require_eq(tsr_context_status(&n.dev, vm.context).flags, 0);
	owner_end(0, SHARE);
	tsr_vm_close(&vm);
	tsr_close(&n.dev);
}

/* Makes an object that another process gets. */
static void make_one(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size / UNITS, tsr_bit(seg), 0);

	client->state->sync_file = tsr_export(&dev, &bo);
	client->state->ready = true;
	pause();
}

/*
 * SEG-8: a process that has ended has no share, even if another one uses its
 * object.
 */
static void no_share_for_the_dead(void)
{
	struct tsr_client other = { 0 };
	struct tsr_bo foreign = { 0 };
	struct needy n;
	int dmabuf;

	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	needy_init(&n);
	require_ok(needy_make(&n, 0, OVER, 0, NULL));
	tsr_client_start(&other, make_one, 0);
	tsr_wait_for(other.state->ready);
	dmabuf = tsr_client_take_fd(&other, other.state->sync_file);
	tsr_client_kill(&other);
	foreign.size = n.unit;
	require_ok(__tsr_import(n.dev.fd, dmabuf, &foreign.handle));
	tsr_gpu_touch(&n.dev, tsr_context_new(&n.dev, 0), &foreign);
	require_eq(tsr_bo_info(&n.dev, &foreign).segment, n.seg->id);
	require_eq(tsr_budget(&n.dev, tsr_bit(n.seg)).trim_bytes, 0);
	close(dmabuf);
	tsr_close(&n.dev);
}

static void bad_input(void)
{
	struct needy n;

	needy_init(&n);
	require_err(needy_make(&n, 0, 1, 4, NULL), -EINVAL);
	require_err(needy_make(&n, 0, 1, 1u << 31 | CANNOT, NULL), -EINVAL);
	require_ok(needy_make(&n, 0, 1, CANNOT | MUST, NULL));
	tsr_close(&n.dev);
}

static const struct tap_test tests[] = {
	{ "RES-10 told to trim before memory is taken", told_before, 0, 0 },
	{ "RES-10 told again when another client waits", told_again, 0, 0 },
	{ "RES-10 a client that trims in time loses nothing", trims_in_time, 0, 0 },
	{ "RES-10 a submission waits for a client to trim", trims_for_a_submission, 0, 0 },
	{ "RES-10 a submission in parts waits for a client to trim", trims_for_parts, 0, 0 },
	{ "RES-10 one wait for a client that does not trim", ignores_it, 0, 0 },
	{ "RES-10 no wait without a notification", not_asked, 0, 0 },
	{ "RES-10 no wait without a grace", no_grace, 0, 0 },
	{ "RES-10 idle memory", idle, 0, 0 },
	{ "RES-10 a client that cannot trim further asks others", asks_others, 0, 0 },
	{ "RES-10 others may refuse", others_refuse, 0, 0 },
	{ "RES-10 told what another client asks for", asked_for, 0, 0 },
	{ "RES-10 contexts of a client that must succeed", must_succeed, 0, 0 },
	{ "SEG-8 no share for a process that has ended", no_share_for_the_dead, 0, 0 },
	{ "RES-10 bad input", bad_input, 0, 0 },
};

TSR_TEST_MAIN(tests)
