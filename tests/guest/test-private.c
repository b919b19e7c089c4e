// SPDX-License-Identifier: MIT
/*
 * Objects private to a VM (RES-5), which share one reservation. Calls with them
 * outside their VM must be refused. They must keep their bytes when they are
 * evicted for each other and for submissions with lists. Memory is small: 8 MiB
 * visible to the CPU and 8 MiB hidden.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "call.h"
#include "foreign.h"
#include "host.h"
#include "memory.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

static const uint32_t private = DRM_TESSERA_BO_VM_PRIVATE;
static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

#define AT 0x100000000ull

/*
 * A VM with a context, and an object through which the CPU sees the contents.
 */
struct stage {
	struct tsr_device dev;
	struct tsr_vm vm;
	struct tsr_bo show;
	uint32_t set;
};

static void stage_init(struct stage *s)
{
	s->dev = tsr_open();
	s->vm = tsr_vm_open(&s->dev);
	s->set = tsr_bit(tsr_seg_hidden(&s->dev));
	s->show = tsr_vm_stage_new(&s->vm, MiB(1));
}

static void stage_fini(struct stage *s)
{
	tsr_bo_free(&s->dev, &s->show);
	tsr_vm_close(&s->vm);
	tsr_close(&s->dev);
}

static int try_new(struct stage *s, uint32_t vm, uint64_t size, uint32_t set, uint32_t flags,
		   struct tsr_bo *bo)
{
	struct drm_tessera_bo_create args = {
		.size = size,
		.supported = set,
		.flags = private | flags,
		.vm = vm,
	};
	int rc = __tsr_bo_create(s->dev.fd, &args);

	*bo = (struct tsr_bo){ .handle = args.handle, .size = size };
	return rc;
}

static struct tsr_bo new_in(struct stage *s, uint32_t vm, uint64_t size, uint32_t set,
			    uint32_t flags)
{
	struct tsr_bo bo;

	require_ok(try_new(s, vm, size, set, flags, &bo));
	return bo;
}

static struct tsr_bo new_mapped(struct stage *s, uint64_t size, uint64_t address)
{
	struct tsr_bo bo = new_in(s, s->vm.id, size, s->set, 0);

	tsr_vm_map(&s->dev, s->vm.id, &bo, 0, address, size, 0);
	return bo;
}

static void check_at(struct stage *s, uint64_t address, uint64_t bytes, uint32_t value)
{
	for (uint64_t done = 0; done < bytes; done += s->show.size) {
		uint64_t part = bytes - done < s->show.size ? bytes - done : s->show.size;

		tsr_vm_copy(&s->vm, TSR_VM_STAGE, address + done, part);
		tsr_words_check(s->show.map, part / 4, value);
	}
}

static bool is_in(struct stage *s, const struct tsr_bo *bo)
{
	return s->set & 1u << tsr_bo_info(&s->dev, bo).segment;
}

/* ---- refused calls ------------------------------------------------------- */

static void refused_to_create(void)
{
	struct stage s;
	struct tsr_device other = tsr_open();
	struct drm_tessera_bo_create args;
	uint32_t vm = tsr_vm_new(&other), more[8], num = 0;
	struct tsr_bo bo;

	stage_init(&s);
	/*
	 * No VM, or a VM of another file. Create VMs there until an id is
	 * unused here.
	 */
	require_err(try_new(&s, 0, KiB(4), s.set, 0, &bo), -ENOENT);
	while (vm <= s.vm.id && num < ARRAY_SIZE(more))
		vm = more[num++] = tsr_vm_new(&other);
	require(vm > s.vm.id);
	require_err(try_new(&s, vm, KiB(4), s.set, 0, &bo), -ENOENT);
	require_err(try_new(&s, s.vm.id, KiB(4), s.set, DRM_TESSERA_BO_TWIN, &bo), -EINVAL);
	require_err(try_new(&s, s.vm.id, 0, s.set, 0, &bo), -EINVAL);
	args = (struct drm_tessera_bo_create){
		.size = KiB(4),
		.supported = s.set,
		.vm = s.vm.id,
	};
	require_err(__tsr_bo_create(s.dev.fd, &args), -EINVAL);
	args = (struct drm_tessera_bo_create){
		.size = KiB(64),
		.supported = tsr_bit(tsr_seg_visible(&s.dev)),
		.flags = private | cpu,
		.vm = s.vm.id,
		.layout = DRM_TESSERA_LAYOUT_TILE4K,
		.pitch = 128,
	};
	require_err(__tsr_bo_create(s.dev.fd, &args), -EINVAL);
	args.flags = private;
	require_ok(__tsr_bo_create(s.dev.fd, &args));

	bo = new_in(&s, s.vm.id, KiB(4), s.set, 0);
	require_eq(tsr_bo_info(&s.dev, &bo).flags, private);
	tsr_bo_free(&s.dev, &bo);
	/* A destroyed VM is refused. */
	tsr_vm_close(&s.vm);
	require_err(try_new(&s, s.vm.id, KiB(4), s.set, 0, &bo), -ENOENT);
	tsr_close(&s.dev);
	tsr_close(&other);
}

/* Private objects cannot be used in lists, other VMs or other files. */
static void refused_to_use(void)
{
	struct drm_prime_handle prime = { .flags = O_CLOEXEC };
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP,
		.address = AT,
		.range = KiB(4),
	};
	struct drm_tessera_submit submit;
	struct tsr_cmd cmd;
	struct tsr_bo bo;
	struct stage s;
	uint32_t vm;

	stage_init(&s);
	bo = new_in(&s, s.vm.id, KiB(4), s.set, 0);
	for (int write = 0; write < 2; write++) {
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &bo, write);
		require_err(__tsr_submit(&s.dev, s.vm.patched, &cmd, 0, 0, &submit), -EINVAL);
		tsr_cmd_fini(&cmd);
	}

	vm = tsr_vm_new(&s.dev);
	op.handle = bo.handle;
	require_err(__tsr_vm_bind(s.dev.fd, vm, &op, 1, 0, 0), -EINVAL);
	require_ok(__tsr_vm_bind(s.dev.fd, s.vm.id, &op, 1, 0, 0));
	tsr_vm_free(&s.dev, vm);

	prime.handle = bo.handle;
	require_err(tsr_ioctl(s.dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), -EINVAL);
	/* The failed calls had no effect. */
	tsr_make_resident(&s.dev, &bo, 1);
	tsr_vm_fill(&s.vm, AT, KiB(4), 0x77777777);
	check_at(&s, AT, KiB(4), 0x77777777);
	tsr_bo_free(&s.dev, &bo);
	stage_fini(&s);
}

static int open_card(void)
{
	for (int minor = 0; minor < 64; minor++) {
		char path[32], name[16] = "";
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", minor);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && !tsr_ioctl(fd, DRM_IOCTL_VERSION, &version) &&
		    !strcmp(name, "tessera"))
			return fd;
		close(fd);
	}
	return -1;
}

/*
 * Flink names, which the primary node still has, do not give another file
 * access to a private object.
 */
static void refused_to_open_by_name(void)
{
	int fd = open_card(), other = open_card();
	struct drm_gem_flink flink = { 0 };
	struct drm_gem_open name = { 0 };
	struct drm_tessera_vm_create vm = { 0 };
	struct drm_tessera_bo_create args = { .size = KiB(4), .flags = private };
	struct tsr_device dev = tsr_open();

	if (fd < 0 || other < 0)
		tap_skip("no card node");
	require_ok(__tsr_vm_create(fd, &vm));
	args.vm = vm.id;
	args.supported = tsr_bit(tsr_seg_hidden(&dev));
	require_ok(__tsr_bo_create(fd, &args));
	flink.handle = args.handle;
	require_ok(tsr_ioctl(fd, DRM_IOCTL_GEM_FLINK, &flink));
	name.name = flink.name;
	require_ok(tsr_ioctl(fd, DRM_IOCTL_GEM_OPEN, &name));
	if (tsr_ioctl(other, DRM_IOCTL_GEM_OPEN, &name) == -EACCES)
		tap_skip("not authenticated");
	require_err(tsr_ioctl(other, DRM_IOCTL_GEM_OPEN, &name), -EINVAL);
	close(fd);
	close(other);
	tsr_close(&dev);
}

/*
 * Several objects of one VM in one call: sharing a reservation does not make
 * them duplicates.
 */
static void offered_together(void)
{
	struct tsr_bo bos[3];
	uint32_t handles[3], results[3];
	struct stage s;

	stage_init(&s);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = new_mapped(&s, KiB(64), AT + MiB(i));
		handles[i] = bos[i].handle;
	}
	tsr_make_resident(&s.dev, bos, 3);
	require_ok(__tsr_offer(s.dev.fd, handles, 3, DRM_TESSERA_OFFER_NORMAL));
	require_ok(__tsr_reclaim(s.dev.fd, handles, results, 3));
	/* A real duplicate is refused, with no lasting effect. */
	handles[2] = handles[0];
	require_err(__tsr_offer(s.dev.fd, handles, 3, DRM_TESSERA_OFFER_NORMAL), -EINVAL);
	require_err(__tsr_offer(s.dev.fd, handles, 3, DRM_TESSERA_OFFER_NORMAL), -EINVAL);
	require_ok(__tsr_offer(s.dev.fd, handles, 2, DRM_TESSERA_OFFER_NORMAL));
	require_err(__tsr_reclaim(s.dev.fd, handles, results, 3), -EINVAL);
	require_ok(__tsr_reclaim(s.dev.fd, handles, results, 2));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_bo_free(&s.dev, &bos[i]);
	stage_fini(&s);
}

/* ---- one reservation ----------------------------------------------------- */

#define GROUP 7
#define GROUPS 3

/*
 * MAKE_RESIDENT evicts objects of the same VM while it holds the VM's
 * reservation. Addresses stay valid and contents are kept (RES-3, RES-5). The
 * sizes leave holes, so that resident objects must be moved together.
 */
static void evicts_its_own(void)
{
	struct tsr_bo bos[GROUPS][GROUP];
	uint64_t at[GROUPS][GROUP], next = AT;
	struct stage s;

	stage_init(&s);
	for (uint32_t g = 0; g < GROUPS; g++) {
		for (uint32_t i = 0; i < GROUP; i++) {
			uint64_t size = MiB(1) + KiB(4) * ((7 * i + 3 * g) % 32);

			at[g][i] = next;
			bos[g][i] = new_mapped(&s, size, next);
			next += MiB(4);
		}
	}
	for (uint32_t round = 0; round < 3 * GROUPS; round++) {
		uint32_t g = round % GROUPS;

		tsr_make_resident(&s.dev, bos[g], GROUP);
		for (uint32_t i = 0; i < GROUP; i++) {
			uint32_t value = 0x01010101 * (g * GROUP + i + 1);

			require(is_in(&s, &bos[g][i]));
			if (round < GROUPS)
				tsr_vm_fill(&s.vm, at[g][i], bos[g][i].size, value);
			check_at(&s, at[g][i], bos[g][i].size, value);
		}
		tsr_evict(&s.dev, bos[g], GROUP);
	}
	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t i = 0; i < GROUP; i++)
			tsr_bo_free(&s.dev, &bos[g][i]);
	stage_fini(&s);
}

/*
 * Objects that were made resident stay, also within one VM. A request for too
 * much fails and reports by how much.
 */
static void resident_objects_stay(void)
{
	struct drm_tessera_make_resident out;
	struct tsr_bo bos[7], more;
	struct stage s;

	stage_init(&s);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = new_mapped(&s, MiB(1), AT + MiB(i));
	more = new_mapped(&s, MiB(2), AT + MiB(16));
	tsr_make_resident(&s.dev, bos, 7);
	require_err(__tsr_make_resident(s.dev.fd, &more.handle, 1, 0, &out), -ENOMEM);
	require_eq(out.bytes_to_trim, MiB(1));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require(is_in(&s, &bos[i]));
	tsr_evict(&s.dev, &bos[3], 1);
	tsr_make_resident(&s.dev, &more, 1);
	require(!is_in(&s, &bos[3]));
	tsr_vm_fill(&s.vm, AT + MiB(16), MiB(2), 1);
	check_at(&s, AT + MiB(16), MiB(2), 1);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_bo_free(&s.dev, &bos[i]);
	tsr_bo_free(&s.dev, &more);
	stage_fini(&s);
}

struct press {
	uint32_t key, rounds;
};

/*
 * Use more than half of the memory repeatedly, while another process does the
 * same.
 */
static void press(void *arg)
{
	const struct press *press = arg;
	struct tsr_bo bos[2][5];
	struct stage s;

	stage_init(&s);
	for (uint32_t i = 0; i < 10; i++)
		bos[i / 5][i % 5] = new_mapped(&s, KiB(700) + KiB(4) * i, AT + MiB(i));
	for (uint32_t round = 0; round < press->rounds; round++) {
		struct tsr_bo *group = bos[round % 2];
		int rc;

		for (uint32_t i = 0; i < 5; i++) {
			uint64_t at = AT + MiB(5 * (round % 2) + i);
			uint32_t value = press->key << 24 | (5 * (round % 2) + i + 1);

			rc = __tsr_make_one(&s.dev, &group[i]);
			/*
			 * The other process has its share, and this process has
			 * used up its own.
			 */
			require(!rc || rc == -ENOMEM);
			if (rc)
				continue;
			rc = round < 2 ? tsr_vm_try_fill(&s.vm, at, group[i].size, value) : 0;
			require(!rc);
			if (round < 2)
				check_at(&s, at, group[i].size, value);
			else
				tsr_vm_copy(&s.vm, TSR_VM_STAGE, at, KiB(4));
			require_ok(__tsr_evict_one(&s.dev, &group[i]));
		}
	}
	for (uint32_t i = 0; i < 10; i++)
		tsr_bo_free(&s.dev, &bos[i / 5][i % 5]);
	stage_fini(&s);
}

/* Two VMs of two processes: contents of one never appear in the other. */
static void two_vms_press(void)
{
	struct press a = { .key = 0x5a, .rounds = tap_slow() ? 8 : 24 };
	struct press b = { .key = 0xa5, .rounds = a.rounds };
	pid_t pid = tap_fork(press, &a);

	press(&b);
	tap_join(pid);
}

/*
 * Two VMs of one file: each has its own reservation, and memory moves between
 * them.
 */
static void two_vms_of_a_file(void)
{
	struct tsr_bo bos[2][6];
	struct tsr_vm other;
	struct stage s;

	stage_init(&s);
	other = tsr_vm_open(&s.dev);
	tsr_make_resident(&s.dev, &other.cmds, 1);
	for (uint32_t i = 0; i < 12; i++) {
		struct tsr_vm *vm = i / 6 ? &other : &s.vm;

		bos[i / 6][i % 6] = new_in(&s, vm->id, MiB(1), s.set, 0);
		tsr_vm_map(&s.dev, vm->id, &bos[i / 6][i % 6], 0, AT + MiB(i % 6), MiB(1), 0);
	}
	for (uint32_t round = 0; round < 6; round++) {
		struct tsr_vm *vm = round % 2 ? &other : &s.vm;
		/* four objects of this VM and two of the other in one list */
		struct tsr_bo list[6];

		for (uint32_t i = 0; i < 6; i++)
			list[i] = bos[i < 4 ? round % 2 : !(round % 2)][i];
		tsr_make_resident(&s.dev, list, 6);
		for (uint32_t i = 0; i < 4; i++) {
			if (round > 1)
				tsr_vm_copy(vm, AT + MiB(i), AT + MiB(i), MiB(1));
			tsr_vm_fill(vm, AT + MiB(i), MiB(1), 0x10 * (round % 2) + i);
		}
		if (vm == &s.vm)
			for (uint32_t i = 0; i < 4; i++)
				check_at(&s, AT + MiB(i), MiB(1), i);
		tsr_evict(&s.dev, list, 6);
	}
	for (uint32_t i = 0; i < 12; i++)
		tsr_bo_free(&s.dev, &bos[i / 6][i % 6]);
	tsr_vm_close(&other);
	stage_fini(&s);
}

/*
 * The CPU accesses two objects alternately, each as large as the host aperture.
 * The second takes the slots of the first, which shares its reservation, and
 * neither object moves.
 */
static void shares_the_host_aperture(void)
{
	const struct drm_tessera_query_segment *hid;
	struct tsr_bo bos[2];
	struct stage s;

	stage_init(&s);
	hid = tsr_seg_hidden(&s.dev);
	for (uint32_t i = 0; i < 2; i++) {
		struct drm_tessera_bo_create args = {
			.size = MiB(1),
			.flags = private | cpu,
			.vm = s.vm.id,
			.supported = tsr_bit(hid) | tsr_bit(tsr_seg_gart(&s.dev)),
			.num_preferred = 1,
			.preferred = { (uint8_t)hid->id },
		};

		require_ok(__tsr_bo_create(s.dev.fd, &args));
		bos[i] = (struct tsr_bo){ .handle = args.handle, .size = MiB(1) };
		tsr_bo_map(&s.dev, &bos[i]);
		tsr_vm_map(&s.dev, s.vm.id, &bos[i], 0, AT + MiB(i), MiB(1), 0);
	}
	tsr_make_resident(&s.dev, bos, 2);
	for (uint32_t i = 0; i < 2; i++)
		tsr_vm_fill(&s.vm, AT + MiB(i), MiB(1), 0x40 + i);
	for (uint32_t i = 0; i < 8; i++) {
		tsr_words_check(bos[i % 2].map, MiB(1) / 4, 0x40 + i % 2);
		require(is_in(&s, &bos[0]) && is_in(&s, &bos[1]));
	}
	/* CPU writes work, too. */
	tsr_pattern_write(&bos[0], 9);
	tsr_vm_copy(&s.vm, AT + MiB(1), AT, MiB(1));
	tsr_pattern_check(&bos[1], 9);
	for (uint32_t i = 0; i < 2; i++)
		tsr_bo_free(&s.dev, &bos[i]);
	stage_fini(&s);
}

/* ---- moves --------------------------------------------------------------- */

/*
 * All objects are evicted and made resident again, with their contents, in each
 * kind of segment.
 */
static void moves_keep_bytes(void)
{
	uint32_t sets[3], keys = 0;
	struct tsr_bo bos[3][4];
	struct stage s;

	stage_init(&s);
	sets[0] = tsr_bit(tsr_seg_visible(&s.dev));
	sets[1] = tsr_bit(tsr_seg_hidden(&s.dev));
	sets[2] = tsr_bit(tsr_seg_gart(&s.dev));
	for (uint32_t i = 0; i < 12; i++) {
		struct tsr_bo *bo = &bos[i / 4][i % 4];

		*bo = new_in(&s, s.vm.id, KiB(252) + KiB(4) * i, sets[i / 4], 0);
		tsr_vm_map(&s.dev, s.vm.id, bo, 0, AT + MiB(i), bo->size, 0);
		tsr_make_resident(&s.dev, bo, 1);
		tsr_vm_fill(&s.vm, AT + MiB(i), bo->size, ++keys);
	}
	for (uint32_t round = 0; round < 3; round++) {
		tsr_evict_set(sets[0] | sets[1] | sets[2]);
		for (uint32_t i = 0; i < 12; i++)
			require(!tsr_bo_info(&s.dev, &bos[i / 4][i % 4]).segment);
		require_ok(__tsr_bring_back(&s.dev, NULL));
		for (uint32_t i = 0; i < 12; i++)
			check_at(&s, AT + MiB(i), bos[i / 4][i % 4].size, i + 1);
	}
	for (uint32_t i = 0; i < 12; i++)
		tsr_bo_free(&s.dev, &bos[i / 4][i % 4]);
	stage_fini(&s);
}

/*
 * A submission with a patch list evicts private objects, also in parts, and
 * they come back afterwards.
 */
static void gives_way_to_lists(void)
{
	struct tsr_bo mine[7], big[3];
	struct tsr_cmd cmd;
	struct stage s;

	stage_init(&s);
	for (uint32_t i = 0; i < ARRAY_SIZE(mine); i++) {
		mine[i] = new_mapped(&s, MiB(1), AT + MiB(i));
		tsr_make_resident(&s.dev, &mine[i], 1);
		tsr_vm_fill(&s.vm, AT + MiB(i), MiB(1), i + 1);
		tsr_evict(&s.dev, &mine[i], 1);
	}
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < ARRAY_SIZE(big); i++) {
		big[i] = tsr_bo_new(&s.dev, MiB(5), s.set, 0);
		tsr_cmd_bind_buffer(&cmd, 0, &big[i], true);
		tsr_cmd_fill(&cmd, 0, 0, MiB(5) / 4, 0x100 + i);
	}
	require(tsr_submit(&s.dev, s.vm.patched, &cmd, 0, 0) >= 3);
	tsr_cmd_fini(&cmd);
	tsr_make_resident(&s.dev, mine, 7);
	for (uint32_t i = 0; i < ARRAY_SIZE(mine); i++) {
		check_at(&s, AT + MiB(i), MiB(1), i + 1);
		tsr_bo_free(&s.dev, &mine[i]);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(big); i++)
		tsr_bo_free(&s.dev, &big[i]);
	stage_fini(&s);
}

/* ---- lifetime ------------------------------------------------------------ */

/*
 * Destroy the VM first, or the objects, or close the file with everything, with
 * a job pending. The objects are in an aperture and in video memory.
 */
static void lives_and_dies(void)
{
	for (uint32_t how = 0; how < 6; how++) {
		struct tsr_bo bos[4];
		struct tsr_cmd cmd;
		struct stage s;

		stage_init(&s);
		for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++) {
			uint32_t set = i % 2 ? tsr_bit(tsr_seg_gart(&s.dev)) : s.set;

			bos[i] = new_in(&s, s.vm.id, KiB(256), set, 0);
			if (i < 3)
				tsr_vm_map(&s.dev, s.vm.id, &bos[i], 0, AT + MiB(i), KiB(256), 0);
		}
		tsr_make_resident(&s.dev, bos, 4);
		tsr_cmd_init(&cmd);
		tsr_cmd_bind_address(&cmd, 0, AT, KiB(256), true);
		tsr_cmd_fill(&cmd, 0, 0, KiB(64), how);
		memcpy(s.vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
		require_ok(
			__tsr_submit_vm(&s.dev, s.vm.context, s.vm.at, tsr_cmd_bytes(&cmd), 0, 0));
		tsr_cmd_fini(&cmd);
		if (how % 3 == 0) {
			tsr_vm_close(&s.vm);
			/*
			 * The VM's objects still exist, but no other VM can use
			 * them.
			 */
			require_eq(tsr_bo_info(&s.dev, &bos[3]).flags, private);
		}
		if (how < 3)
			for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
				tsr_bo_free(&s.dev, &bos[i]);
		if (how % 3 == 1)
			tsr_vm_close(&s.vm);
		tsr_close(&s.dev);
	}
}

struct unmapping {
	struct stage *s;
	struct tsr_bo *first, *last;
	struct tsr_cmd *fill_other;
};

static void unmap_and_fill_other(void *arg)
{
	struct unmapping *u = arg;
	struct drm_tessera_vm_bind_op ops[] = {
		{ .op = DRM_TESSERA_VM_BIND_MAP, .address = AT + MiB(16), .range = MiB(1) },
		{ .op = DRM_TESSERA_VM_BIND_UNMAP, .address = AT, .range = MiB(4) },
	};

	tsr_bo_free(&u->s->dev, u->last);
	ops[0].handle = u->first->handle;
	require_ok(__tsr_vm_bind(u->s->dev.fd, u->s->vm.id, ops, ARRAY_SIZE(ops), 0, 0));
	tsr_stuck_last_call();
	tsr_submit_done(&u->s->dev, u->s->vm.patched, u->fill_other);
}

/*
 * DESTROY-7: an object kept only by its mapping is unmapped, beside other
 * objects of the VM. Earlier jobs can still use its memory, and no other object
 * gets that memory until they have ended.
 */
static void unmapped_last(void)
{
	struct tsr_bo first, last, other;
	uint32_t sync, words[16];
	struct unmapping unmapping;
	struct tsr_cmd cmd, fill_other;
	struct tsr_stuck stuck;
	struct stage s;

	stage_init(&s);
	sync = tsr_syncobj_new(&s.dev);
	last = new_mapped(&s, MiB(4), AT);
	first = new_mapped(&s, MiB(1), AT + MiB(8));
	tsr_make_resident(&s.dev, &last, 1);
	tsr_make_resident(&s.dev, &first, 1);
	other = tsr_bo_new(&s.dev, MiB(4), s.set, 0);

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, last.size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(last.size / 4), 0x77);
	memcpy(s.vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	tsr_cmd_init(&fill_other);
	tsr_cmd_bind_buffer(&fill_other, 0, &other, true);
	tsr_cmd_fill(&fill_other, 0, 0, (uint32_t)(other.size / 4), 0x11);
	/* The other object's job is in the ring before this job starts. */
	stuck = tsr_stuck_start(&s.dev, s.vm.patched);
	require_ok(__tsr_submit_vm(&s.dev, s.vm.context, s.vm.at, tsr_cmd_bytes(&cmd), stuck.sync,
				   sync));
	unmapping = (struct unmapping){ &s, &first, &last, &fill_other };
	require(!tsr_stuck_during(unmap_and_fill_other, &unmapping));
	require_ok(tsr_syncobj_status(&s.dev, sync));
	tsr_gpu_read(&s.dev, s.vm.patched, &other, other.size / 8, 16, words);
	tsr_words_check(words, 16, 0x11);
	tsr_stuck_end(&stuck);
	tsr_cmd_fini(&cmd);
	tsr_cmd_fini(&fill_other);
	stage_fini(&s);
}

/* ---- the shrinker -------------------------------------------------------- */

#define SHRUNK 64
#define SHRUNK_ROUNDS (tap_slow() ? 4u : 12u)

static void shrink(struct tsr_client *client)
{
	while (!client->state->stop) {
		require_ok(tsr_write_file("/proc/sys/vm/drop_caches", "2"));
		client->state->rounds++;
	}
}

/*
 * The shrinker frees spare system pages of resident objects while the objects
 * are destroyed. Both free pages. For destruction TTM gives the object its own
 * reservation, while the shrinker may still use the VM's.
 */
static void shrinks_while_destroyed(void)
{
	uint32_t handles[SHRUNK];
	struct tsr_client shrinkers[2];
	struct tsr_bo bos[SHRUNK];
	struct stage s;

	stage_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(shrinkers); i++)
		tsr_client_start(&shrinkers[i], shrink, 0);
	for (uint32_t round = 0; round < SHRUNK_ROUNDS; round++) {
		for (uint32_t i = 0; i < SHRUNK; i++) {
			bos[i] =
				new_in(&s, s.vm.id, KiB(64), tsr_bit(tsr_seg_visible(&s.dev)), cpu);
			*(uint32_t *)tsr_bo_map(&s.dev, &bos[i]) = i;
			tsr_bo_unmap(&bos[i]);
			handles[i] = bos[i].handle;
		}
		tsr_make_resident(&s.dev, bos, SHRUNK);
		tsr_bo_wait(&s.dev, &bos[SHRUNK - 1]);
		/* no wait in between */
		for (uint32_t i = 0; i < SHRUNK; i++)
			require_ok(__tsr_bo_close(s.dev.fd, handles[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(shrinkers); i++) {
		shrinkers[i].state->stop = true;
		tsr_client_join(&shrinkers[i]);
	}
	stage_fini(&s);
}

/* ---- a search beside locked objects --------------------------------------- */

#define CROWD 1800 /* objects of one page */
#define MOST_LOOKS 1300 /* a search passes 1,024 locked objects of a process */

/* The steps of the two processes, in this order. */
enum {
	PLACED = 1,
	COUNTED,
	LOCKED,
	SEARCHED
};
static volatile uint32_t *step;

/*
 * All objects of the VM share a reservation. It is locked while one of them
 * waits for the paging engine.
 */
static void lock_crowd(void *arg)
{
	static struct tsr_bo crowd[CROWD];
	struct tsr_bo_locked holder;
	struct tsr_stuck stuck;
	struct tsr_bo held;
	struct stage s;

	stage_init(&s);
	for (uint32_t i = 0; i < CROWD; i++)
		crowd[i] = new_in(&s, s.vm.id, KiB(4), s.set, 0);
	tsr_make_resident(&s.dev, crowd, CROWD);
	/* They stay where they are, but may be evicted. */
	tsr_evict(&s.dev, crowd, CROWD);
	*step = PLACED;
	tsr_wait_for(*step == COUNTED);
	held = new_in(&s, s.vm.id, KiB(4), tsr_bit(tsr_seg_visible(&s.dev)), 0);
	stuck = tsr_stuck_next(&s.dev, s.dev.paging);
	require_ok(__tsr_make_resident(s.dev.fd, &held.handle, 1, 0, NULL));
	tsr_stuck_begun(&stuck);
	tsr_bo_lock_begin(&holder, &s.dev, &held);
	*step = LOCKED;
	tsr_wait_for(*step == SEARCHED);
	tsr_stuck_release(&stuck);
	tsr_bo_lock_end(&holder);
	stage_fini(&s);
}

/*
 * A search for space passes a limited number of objects that another thread has
 * locked. It does so with the lock of the segment held.
 */
static void passes_few_locked(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	struct tsr_bo rest = tsr_bo_new(&dev, KiB(512), tsr_bit(seg), 0);
	struct tsr_bo next = tsr_bo_new(&dev, KiB(512), tsr_bit(seg), 0);
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint64_t looks;
	pid_t pid;

	step = tsr_shared(sizeof(*step));
	tsr_gpu_touch(&dev, ctx, &rest);
	pid = tap_fork(lock_crowd, NULL);
	tsr_wait_for(*step == PLACED);
	require(tsr_query_memory(&dev, seg->id).used + next.size > seg->size);
	/* The table of segments cannot be read while a VM is locked. */
	looks = tsr_looked(seg->id);
	*step = COUNTED;
	tsr_wait_for(*step == LOCKED);
	require_ok(__tsr_submit_use(&dev, ctx, &next, false));
	require_eq(tsr_bo_info(&dev, &next).segment, seg->id);
	*step = SEARCHED;
	tap_join(pid);
	looks = tsr_looked(seg->id) - looks;
	tap_note("%llu placements looked at", (unsigned long long)looks);
	require(looks < MOST_LOOKS);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "DESTROY-7 an object kept only by its mapping is unmapped", unmapped_last, 0, 0 },
	{ "refused to create", refused_to_create, 0, 0 },
	{ "refused to use", refused_to_use, 0, 0 },
	{ "refused to open by name", refused_to_open_by_name, 0, 0 },
	{ "objects of one VM are offered together", offered_together, 0, 0 },
	{ "RES-3 MAKE_RESIDENT evicts objects of the same VM", evicts_its_own, 0, 120 },
	{ "RES-3 resident objects of the same VM stay", resident_objects_stay, 0, 0 },
	{ "RES-6 two VMs that compete see no contents of each other", two_vms_press, 0, 120 },
	{ "two VMs of a file", two_vms_of_a_file, 0, 0 },
	{ "shares the host aperture", shares_the_host_aperture, 0, 0 },
	{ "RES-5 moves keep bytes", moves_keep_bytes, 0, 90 },
	{ "RES-5 submissions with lists evict private objects", gives_way_to_lists, 0, 90 },
	{ "destroyed in any order", lives_and_dies, 0, 60 },
	{ "RES-5 a search passes few locked objects", passes_few_locked, 0, 0 },
	{ "RES-5 the shrinker frees pages of objects being destroyed", shrinks_while_destroyed, 0,
	  120 },
};

TSR_TEST_MAIN(tests)
