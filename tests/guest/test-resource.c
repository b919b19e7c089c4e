// SPDX-License-Identifier: MIT
/*
 * Resources (RES-14): objects that are created, shared and opened together. All
 * of them or none, with the private data, in files of this process and in others.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foreign.h"
#include "inject.h"
#include "pci.h"
#include "stall.h"
#include "tsr.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

#define MAX_BOS DRM_TESSERA_RESOURCE_MAX_BOS
#define MAX_DATA DRM_TESSERA_RESOURCE_MAX_DATA

/* Arguments for RESOURCE_CREATE, with space for one object too many. */
struct request {
	struct drm_tessera_bo_create bos[MAX_BOS + 1];
	struct drm_tessera_bo_private privs[2];
	uint32_t handles[MAX_BOS + 1];
	uint8_t data[MAX_DATA + 1];
	struct drm_tessera_resource_create args;
};

/* What RESOURCE_OPEN returns. */
struct opened {
	uint32_t handles[MAX_BOS + 1];
	uint8_t data[MAX_DATA + 1];
	struct drm_tessera_resource_open args;
};

static uint64_t size_of(uint32_t i)
{
	return KiB(4) * (i % 8 + 1);
}

static void request_init(struct request *r, uint32_t set, uint32_t count, uint32_t data_size)
{
	memset(r, 0, sizeof(*r));
	for (uint32_t i = 0; i < ARRAY_SIZE(r->bos); i++)
		r->bos[i] = (struct drm_tessera_bo_create){
			.size = size_of(i),
			.supported = set,
			.flags = cpu,
		};
	for (uint32_t i = 0; i < sizeof(r->data); i++)
		r->data[i] = (uint8_t)(i * 7 + 1);
	r->args.bos = (struct drm_tessera_array){ sizeof(r->bos[0]), count, (uintptr_t)r->bos };
	r->args.private_data.stride = sizeof(r->privs[0]);
	r->args.private_data.array = (uintptr_t)r->privs;
	r->args.handles = (struct drm_tessera_array){ 4, count, (uintptr_t)r->handles };
	r->args.data = (uintptr_t)r->data;
	r->args.data_size = data_size;
}

static int send_request(struct tsr_device *dev, struct request *r)
{
	return tsr_ioctl(dev->fd, DRM_IOCTL_TESSERA_RESOURCE_CREATE, &r->args);
}

static void create(struct tsr_device *dev, struct request *r, uint32_t count, uint32_t data_size)
{
	request_init(r, tsr_segs_staging(dev), count, data_size);
	require_ok(send_request(dev, r));
	require(r->args.fd >= 0);
}

static void open_init(struct opened *o, int fd)
{
	memset(o, 0, sizeof(*o));
	o->args.fd = fd;
	o->args.handles = (struct drm_tessera_array){ 4, MAX_BOS + 1, (uintptr_t)o->handles };
	o->args.data = (uintptr_t)o->data;
	o->args.data_size = sizeof(o->data);
}

static int send_open(struct tsr_device *dev, struct opened *o)
{
	return tsr_ioctl(dev->fd, DRM_IOCTL_TESSERA_RESOURCE_OPEN, &o->args);
}

static void open_all(struct tsr_device *dev, struct opened *o, int fd)
{
	open_init(o, fd);
	require_ok(send_open(dev, o));
}

/* The handle that the next new object gets: the kernel gives the lowest free. */
static uint32_t next_handle(struct tsr_device *dev)
{
	struct tsr_bo bo = tsr_bo_new(dev, 4096, tsr_segs_staging(dev), 0);
	uint32_t handle = bo.handle;

	tsr_bo_free(dev, &bo);
	return handle;
}

static struct tsr_bo mapped(struct tsr_device *dev, uint32_t handle, uint64_t size)
{
	struct tsr_bo bo = { .handle = handle, .size = size };

	tsr_bo_map(dev, &bo);
	return bo;
}

static int open_fds(void)
{
	int fds = 0;

	for (int fd = 0; fd < 64; fd++) {
		int copy = dup(fd);

		fds += copy >= 0;
		close(copy);
	}
	return fds;
}

static int count_objects(void)
{
	char *list = tsr_debugfs_read("allocations");
	int count = 0;

	for (char *p = list; (p = strstr(p, " size ")); p++)
		count++;
	free(list);
	return count;
}

/* ---- two processes ------------------------------------------------------- */

struct pair {
	int socket[2];
	uint32_t count;
};

static void send_fd(int to, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	require_eq(sendmsg(to, &msg, 0), 1);
}

static int receive_fd(int from)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	require_eq(recvmsg(from, &msg, MSG_CMSG_CLOEXEC), 1);
	require(CMSG_FIRSTHDR(&msg) && CMSG_FIRSTHDR(&msg)->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* The other side gets or sends a byte at each step. */
static void step_done(int socket)
{
	require_eq(write(socket, "", 1), 1);
}

static void step_wait(int socket)
{
	char byte;

	require_eq(read(socket, &byte, 1), 1);
}

/*
 * Knows the descriptor only. Finds number and sizes out, sees the creator's
 * bytes, and writes others with jobs.
 */
static void other_process(void *arg)
{
	const struct pair *pair = arg;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	int socket = pair->socket[1], fd;
	struct opened o, query = { 0 };
	struct request same;

	close(pair->socket[0]);
	fd = receive_fd(socket);
	query.args.fd = fd;
	require_ok(send_open(&dev, &query));
	require_eq(query.args.handles.count, pair->count);
	require_eq(query.args.handles.stride, 4);
	require_eq(query.args.data_size, 1000);
	require_eq(next_handle(&dev), 1);

	open_all(&dev, &o, fd);
	require_eq(o.args.handles.count, pair->count);
	require_eq(o.args.data_size, 1000);
	request_init(&same, 0, 1, 0);
	require(!memcmp(o.data, same.data, 1000));
	require_eq(o.data[1000], 0);
	require_eq(o.handles[pair->count], 0);
	for (uint32_t i = 0; i < pair->count; i++) {
		struct tsr_bo bo = mapped(&dev, o.handles[i], size_of(i));

		require_eq(tsr_bo_info(&dev, &bo).size, size_of(i));
		tsr_pattern_check(&bo, i + 1);
		tsr_gpu_fill(&dev, ctx, &bo, 0x1000 + i);
		tsr_bo_unmap(&bo);
	}
	/* The creator goes on paying. */
	require_eq(tsr_fdinfo(&dev, "drm-total-system"), 0);
	step_done(socket);
	/* Here the creator closes everything that it has. */
	step_wait(socket);
	for (uint32_t i = 0; i < pair->count; i++) {
		struct tsr_bo bo = mapped(&dev, o.handles[i], size_of(i));

		tsr_words_check(bo.map, bo.size / 4, 0x1000 + i);
		tsr_bo_unmap(&bo);
	}
	tsr_close(&dev);
	close(fd);
}

static void opened_by_another_process(void)
{
	struct pair pair = { .count = 5 };
	struct tsr_device dev;
	struct request r;
	pid_t pid;

	require_ok(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.socket));
	pid = tap_fork(other_process, &pair);
	/* A process that fails ends the waits of the other one. */
	close(pair.socket[1]);
	dev = tsr_open();
	create(&dev, &r, pair.count, 1000);
	for (uint32_t i = 0; i < pair.count; i++) {
		struct tsr_bo bo = mapped(&dev, r.handles[i], size_of(i));

		tsr_words_check(bo.map, bo.size / 4, 0);
		tsr_pattern_write(&bo, i + 1);
		tsr_bo_unmap(&bo);
	}
	send_fd(pair.socket[0], r.args.fd);
	step_wait(pair.socket[0]);
	for (uint32_t i = 0; i < pair.count; i++) {
		struct tsr_bo bo = mapped(&dev, r.handles[i], size_of(i));

		tsr_words_check(bo.map, bo.size / 4, 0x1000 + i);
		tsr_bo_unmap(&bo);
	}
	close(r.args.fd);
	tsr_close(&dev);
	step_done(pair.socket[0]);
	tap_join(pid);
}

/* The descriptor alone keeps the objects, and nothing is left after it. */
static void descriptor_keeps_objects(void)
{
	struct tsr_device dev = tsr_open(), later;
	int before = count_objects();
	struct opened o;
	struct request r;
	struct tsr_bo bo;

	create(&dev, &r, 3, 0);
	bo = mapped(&dev, r.handles[2], size_of(2));
	tsr_pattern_write(&bo, 9);
	tsr_bo_unmap(&bo);
	for (uint32_t i = 0; i < 3; i++)
		require_ok(__tsr_bo_destroy(dev.fd, r.handles[i], 0));
	tsr_close(&dev);
	later = tsr_open();
	require_eq(count_objects(), before + 3);
	open_all(&later, &o, r.args.fd);
	require_eq(o.args.data_size, 0);
	bo = mapped(&later, o.handles[2], size_of(2));
	tsr_pattern_check(&bo, 9);
	tsr_bo_unmap(&bo);
	tsr_close(&later);
	require_eq(count_objects(), before + 3);
	close(r.args.fd);
	tsr_wait_for(count_objects() == before);
}

/* ---- handles ------------------------------------------------------------- */

/* A file has one handle for an object, whichever way it came. */
static void one_handle_for_an_object(void)
{
	struct tsr_device a = tsr_open(), b = tsr_open();
	uint32_t handle;
	struct opened o, again;
	struct request r;
	struct tsr_bo bo;
	int dmabuf;

	create(&a, &r, 4, 10);
	open_all(&a, &o, r.args.fd);
	require(!memcmp(o.handles, r.handles, 4 * sizeof(handle)));
	/* The second one is known from PRIME, the others are not. */
	bo = (struct tsr_bo){ .handle = r.handles[1] };
	dmabuf = tsr_export(&a, &bo);
	require_ok(__tsr_import(b.fd, dmabuf, &handle));
	close(dmabuf);
	open_all(&b, &o, r.args.fd);
	require_eq(o.handles[1], handle);
	open_all(&b, &again, r.args.fd);
	require(!memcmp(o.handles, again.handles, 4 * sizeof(handle)));
	/* A PRIME import finds the handle of OPEN. */
	bo.handle = r.handles[2];
	dmabuf = tsr_export(&a, &bo);
	require_ok(__tsr_import(b.fd, dmabuf, &handle));
	require_eq(handle, o.handles[2]);
	close(dmabuf);
	/* Handles are not counted. A closed one is made anew, the others stay. */
	require_ok(__tsr_bo_close(b.fd, o.handles[2]));
	require_ok(__tsr_bo_close(b.fd, o.handles[0]));
	require_err(__tsr_bo_close(b.fd, o.handles[0]), -EINVAL);
	open_all(&b, &again, r.args.fd);
	require_eq(again.handles[1], o.handles[1]);
	require_eq(again.handles[3], o.handles[3]);
	require_eq(next_handle(&b), 5);
	close(r.args.fd);
	tsr_close(&b);
	tsr_close(&a);
}

struct opener {
	struct tsr_device *dev;
	int fd;
	struct opened o;
};

static void *open_in_thread(void *arg)
{
	struct opener *opener = arg;

	open_all(opener->dev, &opener->o, opener->fd);
	return NULL;
}

/* Threads of one file that open at once get the same handles. */
static void threads_get_the_same_handles(void)
{
	static struct opener openers[4];
	struct tsr_device a = tsr_open(), b = tsr_open();
	pthread_t threads[4];
	struct request r;

	create(&a, &r, MAX_BOS, 100);
	for (int round = 0; round < (tap_slow() ? 20 : 100); round++) {
		for (int i = 0; i < 4; i++) {
			openers[i] = (struct opener){ .dev = &b, .fd = r.args.fd };
			require_ok(pthread_create(&threads[i], NULL, open_in_thread, &openers[i]));
		}
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		for (int i = 1; i < 4; i++)
			require(!memcmp(openers[0].o.handles, openers[i].o.handles,
					MAX_BOS * sizeof(uint32_t)));
		require_eq(next_handle(&b), MAX_BOS + 1);
		for (int i = 0; i < MAX_BOS; i++)
			require_ok(__tsr_bo_close(b.fd, openers[0].o.handles[i]));
	}
	close(r.args.fd);
	tsr_close(&b);
	tsr_close(&a);
}

/* ---- all or none --------------------------------------------------------- */

/* An array of handles whose first half can be written. */
static uint32_t *half_an_array(uint32_t count)
{
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(pages != MAP_FAILED);
	require_ok(munmap(pages + 4096, 4096));
	return (uint32_t *)(pages + 4096) - count / 2;
}

static void none_after_a_failure(void)
{
	struct tsr_device a = tsr_open(), b = tsr_open();
	uint32_t next = next_handle(&a);
	int objects = count_objects(), fds = open_fds();
	struct request r, bad;
	struct opened o;

	/* The last object fails: its size, and the write of its handle. */
	request_init(&bad, tsr_segs_staging(&a), 4, 8);
	bad.bos[3].size = MiB(1) << 20;
	require_err(send_request(&a, &bad), -E2BIG);
	require_eq(bad.args.fd, -1);
	request_init(&bad, tsr_segs_staging(&a), 4, 8);
	bad.args.handles.array = (uintptr_t)half_an_array(4);
	require_err(send_request(&a, &bad), -EFAULT);
	require_eq(bad.args.fd, -1);
	require_eq(next_handle(&a), next);
	tsr_wait_for(count_objects() == objects);
	require_eq(open_fds(), fds);

	/* A file that has one of the objects keeps it, and gets no other. */
	create(&a, &r, 4, 8);
	open_all(&b, &o, r.args.fd);
	for (int i = 0; i < 4; i++)
		if (i != 2)
			require_ok(__tsr_bo_close(b.fd, o.handles[i]));
	require_eq(o.handles[2], 3);
	open_init(&o, r.args.fd);
	o.args.handles.array = (uintptr_t)half_an_array(4);
	require_err(send_open(&b, &o), -EFAULT);
	require_eq(next_handle(&b), 1);
	for (uint32_t handle = 1; handle < 8; handle++) {
		struct drm_tessera_bo_info info;

		require_err(__tsr_bo_info(b.fd, handle, &info), handle == 3 ? 0 : -ENOENT);
	}
	open_init(&o, r.args.fd);
	o.args.data = 8;
	require_err(send_open(&b, &o), -EFAULT);
	require_eq(next_handle(&b), 1);
	close(r.args.fd);
	tsr_close(&b);
	tsr_close(&a);
}

/* Each allocation of an OPEN or a CREATE fails once. */
static void no_memory(void)
{
	struct tsr_device a = tsr_open(), b = tsr_open();
	unsigned int failed = 0;
	struct drm_tessera_bo_info info;
	struct request r, other;
	struct opened o;
	bool hit = true;
	int rc;

	tsr_inject_init();
	create(&a, &r, 8, 100);
	for (unsigned int nth = 1; hit; nth++) {
		open_init(&o, r.args.fd);
		tsr_inject_set(nth);
		rc = send_open(&b, &o);
		hit = tsr_inject_done();
		require_msg(!rc || (hit && (rc == -ENOMEM || rc == -EFAULT)), "%u: %d", nth, rc);
		failed += rc == -ENOMEM;
		for (uint32_t handle = 1; handle <= 8; handle++) {
			require_msg(rc != -ENOMEM || __tsr_bo_info(b.fd, handle, &info),
				    "open, allocation %u: handle %u is left", nth, handle);
			__tsr_bo_close(b.fd, handle);
		}
	}
	require(failed > 4);
	hit = true;
	for (unsigned int nth = 1; hit; nth++) {
		request_init(&other, tsr_segs_staging(&b), 3, 100);
		tsr_inject_set(nth);
		rc = send_request(&b, &other);
		hit = tsr_inject_done();
		require_msg(!rc || hit, "%u: %d", nth, rc);
		require_msg(!rc == (other.args.fd >= 0) || rc == -EFAULT, "%u: %d, fd %d", nth, rc,
			    other.args.fd);
		for (uint32_t handle = 1; handle <= 3; handle++) {
			require_msg(!rc || rc == -EFAULT || __tsr_bo_info(b.fd, handle, &info),
				    "create, allocation %u: handle %u is left", nth, handle);
			__tsr_bo_close(b.fd, handle);
		}
		if (!rc)
			close(other.args.fd);
	}
	close(r.args.fd);
	tsr_close(&b);
	tsr_close(&a);
}

/* ---- bad input and limits ------------------------------------------------ */

static void bad_create(void)
{
#define SPOIL(field, value)                                                                        \
	offsetof(struct request, field), sizeof(((struct request *)0)->field), value
	static const struct {
		const char *name;
		int err;
		size_t at, bytes;
		uint64_t value;
	} rows[] = {
		{ "flags", -EINVAL, SPOIL(args.flags, 1) },
		{ "pad", -EINVAL, SPOIL(args.pad, 1) },
		{ "no object", -EINVAL, SPOIL(args.bos.count, 0) },
		{ "other number of handles", -EINVAL, SPOIL(args.handles.count, 3) },
		{ "no address for handles", -EINVAL, SPOIL(args.handles.array, 0) },
		{ "stride of handles", -EINVAL, SPOIL(args.handles.stride, 0) },
		{ "address of handles", -EFAULT, SPOIL(args.handles.array, 8) },
		{ "too many objects", -E2BIG, SPOIL(args.bos.count, MAX_BOS + 1) },
		{ "stride of objects", -EINVAL, SPOIL(args.bos.stride, 8) },
		{ "address of objects", -EFAULT, SPOIL(args.bos.array, 8) },
		{ "too much data", -E2BIG, SPOIL(args.data_size, MAX_DATA + 1) },
		{ "address of data", -EFAULT, SPOIL(args.data, 8) },
		{ "one private data", -EINVAL, SPOIL(args.private_data.count, 1) },
		{ "private data that is no pair", -EINVAL, SPOIL(args.private_data.count, 2) },
		{ "object's VM", -EINVAL, SPOIL(bos[1].vm, 1) },
		{ "private to a VM", -EINVAL, SPOIL(bos[0].flags, DRM_TESSERA_BO_VM_PRIVATE) },
		{ "twin", -EINVAL,
		  SPOIL(bos[1].flags, DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_TWIN) },
		{ "unknown object flag", -EINVAL, SPOIL(bos[1].flags, 1u << 31) },
		{ "no segment", -EINVAL, SPOIL(bos[1].supported, 0) },
		{ "no size", -EINVAL, SPOIL(bos[1].size, 0) },
		{ "too large", -E2BIG, SPOIL(bos[1].size, MiB(1) << 20) },
	};
	struct tsr_device dev = tsr_open();
	uint32_t next = next_handle(&dev);
	struct request r;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int objects = count_objects(), rc;

		request_init(&r, tsr_segs_staging(&dev), 2, 16);
		memcpy((char *)&r + rows[i].at, &rows[i].value, rows[i].bytes);
		rc = send_request(&dev, &r);
		require_msg(rc == rows[i].err, "%s: %d, expected %d", rows[i].name, rc,
			    rows[i].err);
		require_msg(r.args.fd == -1, "%s: a descriptor", rows[i].name);
		require_msg(next_handle(&dev) == next, "%s: a handle is left", rows[i].name);
		tsr_wait_for(count_objects() == objects);
	}
	tsr_close(&dev);
}

static void bad_open(void)
{
	struct tsr_device dev = tsr_open(), b = tsr_open(), other = tsr_pci_other(&dev);
	struct opened o;
	struct request r;
	struct tsr_bo bo;
	int dmabuf;

	create(&dev, &r, 3, 16);
	bo = (struct tsr_bo){ .handle = r.handles[0] };
	dmabuf = tsr_export(&dev, &bo);
	open_init(&o, r.args.fd);
	o.args.flags = 1;
	require_err(send_open(&b, &o), -EINVAL);
	open_init(&o, r.args.fd);
	o.args.pad = 1;
	require_err(send_open(&b, &o), -EINVAL);
	open_init(&o, -1);
	require_err(send_open(&b, &o), -EBADF);
	open_init(&o, dmabuf);
	require_err(send_open(&b, &o), -EINVAL);
	open_init(&o, b.fd);
	require_err(send_open(&b, &o), -EINVAL);
	open_init(&o, r.args.fd);
	require_err(send_open(&other, &o), -EXDEV);
	open_init(&o, r.args.fd);
	o.args.handles.stride = 0;
	require_err(send_open(&b, &o), -EINVAL);
	/* too little space: the call says how much is needed */
	for (int i = 0; i < 2; i++) {
		open_init(&o, r.args.fd);
		o.args.handles.count = i ? 2 : 3;
		o.args.data_size = i ? 16 : 15;
		require_err(send_open(&b, &o), -ENOSPC);
		require_eq(o.args.handles.count, 3);
		require_eq(o.args.data_size, 16);
		require_eq(o.handles[0], 0);
	}
	require_eq(next_handle(&b), 1);
	/* A dma-buf importer does not take it for a dma-buf. */
	require_err(__tsr_import(b.fd, r.args.fd, &bo.handle), -EINVAL);
	close(dmabuf);
	close(r.args.fd);
	tsr_close(&other);
	tsr_close(&b);
	tsr_close(&dev);
}

static void full_process(void *arg)
{
	struct tsr_device dev = tsr_open();
	struct request r;

	(void)arg;
	create(&dev, &r, 1, 0);
	close(r.args.fd);
	tsr_close(&dev);
}

static void limits(void)
{
	const struct rlimit files = { 4096, 4096 };
	struct tsr_device dev = tsr_open(), b = tsr_open();
	static int fds[DRM_TESSERA_MAX_RESOURCES];
	struct request r;
	struct opened o;

	create(&dev, &r, MAX_BOS, MAX_DATA);
	open_all(&b, &o, r.args.fd);
	require_eq(o.args.handles.count, MAX_BOS);
	require_eq(o.args.data_size, MAX_DATA);
	require(!memcmp(o.data, r.data, MAX_DATA));
	require_eq(o.handles[MAX_BOS - 1], MAX_BOS);
	close(r.args.fd);
	tsr_close(&b);

	/* All files of a process count together, and a closed resource does not. */
	b = tsr_open();
	require_ok(setrlimit(RLIMIT_NOFILE, &files));
	for (int i = 0; i < DRM_TESSERA_MAX_RESOURCES; i++) {
		create(i % 2 ? &b : &dev, &r, 1, 0);
		fds[i] = r.args.fd;
	}
	request_init(&r, tsr_segs_staging(&dev), 1, 0);
	require_err(send_request(&dev, &r), -ENOSPC);
	require_err(send_request(&b, &r), -ENOSPC);
	tap_join(tap_fork(full_process, NULL));
	open_all(&dev, &o, fds[1]);
	close(fds[7]);
	create(&b, &r, 1, 0);
	close(r.args.fd);
	tsr_close(&b);
	tsr_close(&dev);
}

/* ---- members are shared objects ------------------------------------------ */

static void members_are_exported(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), handle;
	struct request r;
	struct tsr_bo bo;

	create(&dev, &r, 2, 0);
	handle = r.handles[0];
	bo = (struct tsr_bo){ .handle = handle, .size = size_of(0) };
	require_err(__tsr_offer(dev.fd, &handle, 1, DRM_TESSERA_OFFER_LOW), -EINVAL);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_err(__tsr_lock(dev.fd, &handle, DRM_TESSERA_LOCK_DISCARD), -EINVAL);
	/* returns although the resource keeps the memory */
	require_ok(__tsr_bo_destroy(dev.fd, handle, DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
	close(r.args.fd);
	tsr_close(&dev);
}

/* A surface pair in a resource: the opener has a swizzled object and its twin. */
static void surface_pair_is_a_resource(void)
{
	const struct drm_tessera_bo_private gpu = {
		.version = DRM_TESSERA_PRIVATE_VERSION,
		.layout = DRM_TESSERA_LAYOUT_TILE4K,
		.pitch = 256,
		.width = 256,
		.rows = 64,
	};
	struct tsr_device a = tsr_open(), b = tsr_open();
	struct drm_tessera_bo_info info;
	struct request r;
	struct opened o;

	request_init(&r, tsr_bit(tsr_seg_gart(&a)), 2, 16);
	r.bos[0].size = r.bos[1].size = 256 * 64;
	r.bos[0].flags = 0;
	r.privs[0] = gpu;
	r.privs[1] = gpu;
	r.privs[1].flags = DRM_TESSERA_PRIVATE_TWIN;
	r.privs[1].layout = DRM_TESSERA_LAYOUT_LINEAR;
	r.args.private_data.count = 2;
	require_ok(send_request(&a, &r));
	open_all(&b, &o, r.args.fd);
	require_ok(__tsr_bo_info(b.fd, o.handles[0], &info));
	require_eq(info.layout, DRM_TESSERA_LAYOUT_TILE4K);
	require_eq(info.pitch, 256);
	require_ok(__tsr_bo_info(b.fd, o.handles[1], &info));
	require(info.flags & DRM_TESSERA_BO_TWIN);
	require_err(__tsr_lock(b.fd, &o.handles[1], DRM_TESSERA_LOCK_DONT_WAIT), -EINVAL);
	close(r.args.fd);
	/* One pair as described, and one with two swizzled objects. */
	require_ok(send_request(&a, &r));
	close(r.args.fd);
	r.privs[1] = gpu;
	require_err(send_request(&a, &r), -EINVAL);
	tsr_close(&b);
	tsr_close(&a);
}

static void device_goes(void)
{
	struct tsr_device dev;
	struct request r;
	struct opened o;
	struct tsr_bo bo;

	tsr_pci_begin();
	dev = tsr_pci_open();
	create(&dev, &r, 3, 16);
	bo = mapped(&dev, r.handles[0], size_of(0));
	tsr_pattern_write(&bo, 1);
	tsr_pci_unbind();
	open_init(&o, r.args.fd);
	require_err(send_open(&dev, &o), -ENODEV);
	tsr_bo_unmap(&bo);
	tsr_close(&dev);
	tsr_pci_bind();
	/* The device of today is another one. */
	dev = tsr_pci_open();
	open_init(&o, r.args.fd);
	require_err(send_open(&dev, &o), -EXDEV);
	close(r.args.fd);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-14 a resource is opened by another process", opened_by_another_process, 0, 0 },
	{ "RES-14 the descriptor keeps the objects", descriptor_keeps_objects, 0, 0 },
	{ "RES-14 a file has one handle for an object", one_handle_for_an_object, 0, 0 },
	{ "RES-14 threads get the same handles", threads_get_the_same_handles, 0, 0 },
	{ "RES-14 all objects or none", none_after_a_failure, 0, 0 },
	{ "RES-14 all objects or none without memory", no_memory, 0, 0 },
	{ "RES-14 bad input to RESOURCE_CREATE", bad_create, 0, 0 },
	{ "RES-14 bad input to RESOURCE_OPEN", bad_open, 0, 0 },
	{ "RES-14 limits", limits, 0, 0 },
	{ "RES-14 members are shared objects", members_are_exported, 0, 0 },
	{ "RES-14 SWZ-18 a surface pair is a resource", surface_pair_is_a_resource, 0, 0 },
	{ "RES-14 the device goes while a resource is open", device_goes, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
