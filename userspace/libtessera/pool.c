// SPDX-License-Identifier: MIT
/*
 * Small buffers as pieces of large objects. All pieces of an object have one
 * size, a power of two, so no piece is lost to fragmentation between sizes. A
 * piece that is given back waits for the timeline point of its last job. The
 * timelines are only asked when a size has no free piece. An object whose pieces
 * are all free is destroyed if its size has another free piece: a program that
 * takes and gives one piece in turns therefore keeps its object.
 */
#include <errno.h>
#include <string.h>

#include "priv.h"

#define MIN_PIECE 256 /* no two pieces share a CPU cache line */
#define MAX_SIZES 32

struct tessera_piece {
	TAILQ_ENTRY(tessera_piece) list; /* of free ones of the slab, or of those that wait */
	struct pool_slab *slab;
	struct tessera_syncobj *timeline; /* reference; only while it waits */
	uint64_t point;
};

/* An object and its pieces. */
struct pool_slab {
	TAILQ_ENTRY(pool_slab) of_size; /* only while a piece is free */
	LIST_ENTRY(pool_slab) of_pool;
	struct tessera_bo *bo; /* reference */
	uint32_t shift; /* of the size of a piece */
	uint32_t count, num_free;
	TAILQ_HEAD(, tessera_piece) free;
	struct tessera_piece pieces[];
};

struct tessera_pool {
	struct tessera_device *dev;
	struct tessera_bo_desc desc; /* of an object */
	uint32_t min_shift, max_shift; /* of the sizes of pieces */
	pthread_mutex_t lock; /* protects all fields below, and all pieces */
	TAILQ_HEAD(pool_size, pool_slab) sizes[MAX_SIZES]; /* objects with free pieces */
	LIST_HEAD(, pool_slab) slabs; /* all objects */
	TAILQ_HEAD(, tessera_piece) waiting; /* in the order in which they were given */
};

static uint32_t shift_of(uint64_t size)
{
	return size > 1 ? 64 - __builtin_clzll(size - 1) : 0;
}

static bool is_power_of_two(uint64_t value)
{
	return value && !(value & (value - 1));
}

int tessera_pool_new(struct tessera_device *dev, const struct tessera_bo_desc *desc, uint64_t min,
		     uint64_t max, struct tessera_pool **out)
{
	struct tessera_pool *pool;

	if (!is_power_of_two(min) || !is_power_of_two(max) || min < MIN_PIECE || max < min ||
	    shift_of(max) - shift_of(min) >= MAX_SIZES || max > desc->size / 2 ||
	    desc->layout != TSR_LAYOUT_LINEAR)
		return -EINVAL;
	pool = tessera_alloc(dev, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	pool->dev = tessera_device_ref(dev);
	pool->desc = *desc;
	pool->min_shift = shift_of(min);
	pool->max_shift = shift_of(max);
	pthread_mutex_init(&pool->lock, NULL);
	for (uint32_t i = 0; i < MAX_SIZES; i++)
		TAILQ_INIT(&pool->sizes[i]);
	LIST_INIT(&pool->slabs);
	TAILQ_INIT(&pool->waiting);
	*out = pool;
	return 0;
}

static struct pool_size *size_of(struct tessera_pool *pool, const struct pool_slab *slab)
{
	return &pool->sizes[slab->shift - pool->min_shift];
}

/* Caller holds the lock. */
static void slab_del(struct tessera_pool *pool, struct pool_slab *slab)
{
	LIST_REMOVE(slab, of_pool);
	if (slab->num_free)
		TAILQ_REMOVE(size_of(pool, slab), slab, of_size);
	tessera_bo_retire(slab->bo);
	tessera_free(pool->dev, slab);
}

/* Caller holds the lock. The object may be destroyed. */
static void piece_free(struct tessera_pool *pool, struct tessera_piece *piece)
{
	struct pool_slab *slab = piece->slab;
	struct pool_size *size = size_of(pool, slab);

	if (!slab->num_free++)
		TAILQ_INSERT_TAIL(size, slab, of_size);
	TAILQ_INSERT_TAIL(&slab->free, piece, list);
	if (slab->num_free == slab->count && TAILQ_FIRST(size) != TAILQ_LAST(size, pool_size))
		slab_del(pool, slab);
}

static void piece_waited(struct tessera_pool *pool, struct tessera_piece *piece)
{
	TAILQ_REMOVE(&pool->waiting, piece, list);
	tessera_syncobj_del(piece->timeline);
	piece->timeline = NULL;
}

/*
 * Caller holds the lock. Frees the pieces that no job uses any more. Later ones
 * that wait for a timeline found busy are skipped, because their points are
 * normally later.
 */
static void pool_settle(struct tessera_pool *pool)
{
	const struct tessera_syncobj *busy = NULL;
	struct tessera_piece *piece, *next;

	for (piece = TAILQ_FIRST(&pool->waiting); piece; piece = next) {
		uint64_t reached;

		next = TAILQ_NEXT(piece, list);
		if (piece->timeline == busy)
			continue;
		if (tessera_syncobj_query(piece->timeline, &reached) || reached < piece->point) {
			busy = piece->timeline;
			continue;
		}
		piece_waited(pool, piece);
		piece_free(pool, piece);
	}
}

/* Caller holds the lock. */
static int slab_new(struct tessera_pool *pool, uint32_t shift)
{
	struct pool_slab *slab;
	struct tessera_bo *bo;
	uint32_t count;
	int ret = tessera_bo_new(pool->dev, &pool->desc, &bo);

	if (ret)
		return ret;
	count = pool->desc.size >> shift;
	slab = tessera_alloc(pool->dev, sizeof(*slab) + count * sizeof(slab->pieces[0]));
	if (!slab) {
		tessera_bo_del(bo);
		return -ENOMEM;
	}
	slab->bo = bo;
	slab->shift = shift;
	slab->count = count;
	slab->num_free = count;
	TAILQ_INIT(&slab->free);
	for (uint32_t i = 0; i < count; i++) {
		slab->pieces[i].slab = slab;
		TAILQ_INSERT_TAIL(&slab->free, &slab->pieces[i], list);
	}
	LIST_INSERT_HEAD(&pool->slabs, slab, of_pool);
	TAILQ_INSERT_TAIL(size_of(pool, slab), slab, of_size);
	return 0;
}

/* Caller holds the lock. */
static int piece_take(struct tessera_pool *pool, uint32_t shift, struct tessera_piece **out)
{
	struct pool_size *size = &pool->sizes[shift - pool->min_shift];
	struct pool_slab *slab;
	int ret;

	if (TAILQ_EMPTY(size))
		pool_settle(pool);
	if (TAILQ_EMPTY(size)) {
		ret = slab_new(pool, shift);
		if (ret)
			return ret;
	}
	slab = TAILQ_FIRST(size);
	*out = TAILQ_FIRST(&slab->free);
	TAILQ_REMOVE(&slab->free, *out, list);
	if (!--slab->num_free)
		TAILQ_REMOVE(size, slab, of_size);
	return 0;
}

int tessera_pool_take(struct tessera_pool *pool, uint64_t size, struct tessera_piece **out)
{
	uint32_t shift = shift_of(size);
	int ret;

	if (!size)
		return -EINVAL;
	if (shift > pool->max_shift)
		return -E2BIG;
	if (shift < pool->min_shift)
		shift = pool->min_shift;
	pthread_mutex_lock(&pool->lock);
	ret = piece_take(pool, shift, out);
	pthread_mutex_unlock(&pool->lock);
	return ret;
}

void tessera_pool_give(struct tessera_pool *pool, struct tessera_piece *piece,
		       struct tessera_syncobj *timeline, uint64_t point)
{
	if (!piece)
		return;
	pthread_mutex_lock(&pool->lock);
	if (timeline) {
		piece->timeline = tessera_syncobj_ref(timeline);
		piece->point = point;
		TAILQ_INSERT_TAIL(&pool->waiting, piece, list);
	} else {
		piece_free(pool, piece);
	}
	pthread_mutex_unlock(&pool->lock);
}

void tessera_pool_del(struct tessera_pool *pool)
{
	struct tessera_device *dev;

	if (!pool)
		return;
	dev = pool->dev;
	while (!TAILQ_EMPTY(&pool->waiting))
		piece_waited(pool, TAILQ_FIRST(&pool->waiting));
	while (!LIST_EMPTY(&pool->slabs))
		slab_del(pool, LIST_FIRST(&pool->slabs));
	pthread_mutex_destroy(&pool->lock);
	tessera_free(dev, pool);
	tessera_device_del(dev);
}

struct tessera_bo *tessera_piece_bo(const struct tessera_piece *piece)
{
	return piece->slab->bo;
}

uint64_t tessera_piece_offset(const struct tessera_piece *piece)
{
	return (uint64_t)(piece - piece->slab->pieces) << piece->slab->shift;
}

uint64_t tessera_piece_size(const struct tessera_piece *piece)
{
	return UINT64_C(1) << piece->slab->shift;
}
