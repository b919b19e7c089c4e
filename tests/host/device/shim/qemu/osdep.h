/*
 * What the core of the device uses of QEMU's helpers and of GLib, for builds
 * without QEMU. The headers beside this one only include it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_HOST_DEVICE_OSDEP_H
#define TESTS_HOST_DEVICE_OSDEP_H

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the shim assumes a little-endian host"
#endif

/* ---- Macros -------------------------------------------------------------- */

#define KiB (INT64_C(1) << 10)
#define MiB (INT64_C(1) << 20)
#define QEMU_ALWAYS_INLINE __attribute__((always_inline))
#define QEMU_BUILD_BUG_ON(x) _Static_assert(!(x), #x)
#define QEMU_ALIGN_DOWN(n, m) ((n) / (m) * (m))
#define QEMU_IS_ALIGNED(n, m) ((n) % (m) == 0)
#define QEMU_PTR_IS_ALIGNED(p, n) QEMU_IS_ALIGNED((uintptr_t)(p), (n))
#define ROUND_UP(n, d) (((n) + (d)-1) / (d) * (d))
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN_CONST(a, b) MIN(a, b)
#define ctz32(x) __builtin_ctz(x)
#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

/* ---- Memory -------------------------------------------------------------- */

static inline void *shim_alloc(void *p)
{
	if (!p) {
		abort();
	}
	return p;
}

static inline void shim_free(void *p)
{
	free(*(void **)p);
}

static inline void *g_memdup2(const void *p, size_t bytes)
{
	return memcpy(shim_alloc(malloc(bytes)), p, bytes);
}

static inline bool buffer_is_zero(const void *p, size_t bytes)
{
	const uint8_t *b = p;

	while (bytes && !*b) {
		b++;
		bytes--;
	}
	return !bytes;
}

#define g_malloc(n) shim_alloc(malloc(n))
#define g_malloc0(n) shim_alloc(calloc(1, n))
#define g_realloc(p, n) shim_alloc(realloc(p, n))
#define g_new(type, n) ((type *)shim_alloc(malloc((n) * sizeof(type))))
#define g_new0(type, n) ((type *)shim_alloc(calloc(n, sizeof(type))))
#define g_free free
#define g_autofree __attribute__((cleanup(shim_free)))
#define g_usleep usleep

/* ---- Bytes --------------------------------------------------------------- */

#define SHIM_LOAD(name, type)                                                                      \
	static inline type name(const void *p)                                                     \
	{                                                                                          \
		type v;                                                                            \
                                                                                                   \
		memcpy(&v, p, sizeof(v));                                                          \
		return v;                                                                          \
	}
#define SHIM_STORE(name, type)                                                                     \
	static inline void name(void *p, type v)                                                   \
	{                                                                                          \
		memcpy(p, &v, sizeof(v));                                                          \
	}

SHIM_LOAD(lduw_le_p, uint16_t)
SHIM_LOAD(shim_load32, uint32_t)
SHIM_LOAD(ldq_le_p, uint64_t)
SHIM_LOAD(ldq_he_p, uint64_t)
SHIM_STORE(stw_le_p, uint16_t)
SHIM_STORE(stl_le_p, uint32_t)
SHIM_STORE(stl_he_p, uint32_t)
SHIM_STORE(stq_he_p, uint64_t)

/* Signed, as in QEMU. */
static inline int ldl_le_p(const void *p)
{
	return (int)shim_load32(p);
}

#define ldl_he_p ldl_le_p
#define le64_to_cpu(x) ((uint64_t)(x))
#define cpu_to_le64(x) ((uint64_t)(x))
#define cpu_to_le32(x) ((uint32_t)(x))

/* ---- 128-bit numbers ----------------------------------------------------- */

typedef __int128_t Int128;

#define int128_zero() ((Int128)0)
#define int128_make64(a) ((Int128)(uint64_t)(a))
#define int128_makes64(a) ((Int128)(int64_t)(a))
#define int128_make128(lo, hi) ((Int128)((__uint128_t)(uint64_t)(hi) << 64 | (uint64_t)(lo)))
#define int128_getlo(a) ((uint64_t)(a))
#define int128_gethi(a) ((int64_t)((a) >> 64))
#define int128_add(a, b) ((a) + (b))
#define int128_divs(a, b) ((a) / (b))
#define int128_divu(a, b) ((Int128)((__uint128_t)(a) / (__uint128_t)(b)))

static inline void muls64(uint64_t *lo, uint64_t *hi, int64_t a, int64_t b)
{
	__int128_t product = (__int128_t)a * b;

	*lo = product;
	*hi = product >> 64;
}

/* ---- Atomic accesses ----------------------------------------------------- */

#define qatomic_read(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define qatomic_set(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define qatomic_read__nocheck qatomic_read
#define qatomic_set__nocheck qatomic_set
#define qatomic_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define qatomic_cmpxchg__nocheck qatomic_cmpxchg
#define qatomic_cmpxchg(p, old, new)                                                               \
	({                                                                                         \
		__typeof__(*(p)) _old = (old);                                                     \
                                                                                                   \
		__atomic_compare_exchange_n(p, &_old, new, false, __ATOMIC_SEQ_CST,                \
					    __ATOMIC_SEQ_CST);                                     \
		_old;                                                                              \
	})
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define cpu_relax() ((void)0)

/* ---- Threads ------------------------------------------------------------- */

typedef pthread_t QemuThread;
typedef pthread_cond_t QemuCond;
typedef pthread_mutex_t QemuMutex;

#define qemu_mutex_init(m) pthread_mutex_init(m, NULL)
#define qemu_mutex_destroy pthread_mutex_destroy
#define qemu_mutex_lock pthread_mutex_lock
#define qemu_mutex_unlock pthread_mutex_unlock

static inline QemuMutex *shim_lock(QemuMutex *m)
{
	pthread_mutex_lock(m);
	return m;
}

static inline void shim_unlock(QemuMutex **m)
{
	pthread_mutex_unlock(*m);
}

#define QEMU_LOCK_GUARD(m)                                                                         \
	__attribute__((cleanup(shim_unlock), unused)) QemuMutex *shim_guard = shim_lock(m)

#endif
