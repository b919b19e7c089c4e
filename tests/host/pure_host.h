/* SPDX-License-Identifier: MIT */
/*
 * The kernel helpers that pure/ and its tests use, for the host build. Included
 * by pure/pure.h.
 */
#ifndef TESTS_HOST_PURE_HOST_H
#define TESTS_HOST_PURE_HOST_H

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the host build of pure/ assumes a little-endian host"
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s8 __s8;
typedef s16 __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __le16;
typedef u32 __le32;
typedef u64 __le64;

#define U8_MAX ((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX ((u32)~0U)
#define U64_MAX ((u64)~0ULL)
#define S32_MAX ((s32)(U32_MAX >> 1))
#define S64_MAX ((s64)(U64_MAX >> 1))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define fallthrough __attribute__((__fallthrough__))
#define cond_resched() ((void)0)
#define __must_check __attribute__((__warn_unused_result__))
#define __maybe_unused __attribute__((__unused__))
#define __packed __attribute__((__packed__))
#define noinline __attribute__((__noinline__))
#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif
#define __counted_by(member)

/* Comparisons in pure/ are strict orders: every sort has the same result. */
static inline void sort(void *base, size_t num, size_t size,
			int (*cmp)(const void *a, const void *b), void *swap)
{
	if (num)
		qsort(base, num, size, cmp);
}

#ifndef static_assert
#define static_assert _Static_assert
#endif
#define BUILD_BUG_ON(cond) _Static_assert(!(cond), #cond)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#ifndef container_of
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#endif

#define min(a, b)                                                                                  \
	({                                                                                         \
		__auto_type _a = (a);                                                              \
		__auto_type _b = (b);                                                              \
		_a < _b ? _a : _b;                                                                 \
	})
#define max(a, b)                                                                                  \
	({                                                                                         \
		__auto_type _a = (a);                                                              \
		__auto_type _b = (b);                                                              \
		_a > _b ? _a : _b;                                                                 \
	})
#define min_t(t, a, b)                                                                             \
	({                                                                                         \
		t _a = (a);                                                                        \
		t _b = (b);                                                                        \
		_a < _b ? _a : _b;                                                                 \
	})
#define max_t(t, a, b)                                                                             \
	({                                                                                         \
		t _a = (a);                                                                        \
		t _b = (b);                                                                        \
		_a > _b ? _a : _b;                                                                 \
	})
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define clamp(v, lo, hi) min(max(v, lo), hi)
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)
#define swap(a, b)                                                                                 \
	do {                                                                                       \
		__auto_type _t = (a);                                                              \
		(a) = (b);                                                                         \
		(b) = _t;                                                                          \
	} while (0)

#define __ALIGN_MASK(x, m) (((x) + (m)) & ~(m))
#define ALIGN(x, a) __ALIGN_MASK(x, (__typeof__(x))(a)-1)
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a)-1))
#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a)-1)) == 0)
#define round_up(x, y) ALIGN(x, y)
#define round_down(x, y) ALIGN_DOWN(x, y)
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define DIV_ROUND_UP_ULL(n, d) (((u64)(n) + (d)-1) / (d))

#define BITS_PER_LONG (8 * (int)sizeof(long))
#define BITS_PER_LONG_LONG 64
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define GENMASK(h, l) (((~0UL) << (l)) & (~0UL >> (BITS_PER_LONG - 1 - (h))))
#define GENMASK_ULL(h, l) (((~0ULL) << (l)) & (~0ULL >> (63 - (h))))
#define __bf_shf(x) (__builtin_ffsll(x) - 1)
#define FIELD_PREP(mask, val) (((__typeof__(mask))(val) << __bf_shf(mask)) & (mask))
#define FIELD_GET(mask, reg) ((__typeof__(mask))(((reg) & (mask)) >> __bf_shf(mask)))
#define FIELD_MAX(mask) ((__typeof__(mask))((mask) >> __bf_shf(mask)))
#define FIELD_FIT(mask, val) (!((((__typeof__(mask))(val)) << __bf_shf(mask)) & ~(mask)))
#define BITS_TO_LONGS(n) DIV_ROUND_UP(n, BITS_PER_LONG)

#define lower_32_bits(n) ((u32)((n)&0xffffffff))
#define upper_32_bits(n) ((u32)(((u64)(n)) >> 32))

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned long __ffs(unsigned long x)
{
	return (unsigned long)__builtin_ctzl(x);
}

static inline unsigned int __ffs64(u64 x)
{
	return (unsigned int)__builtin_ctzll(x);
}

#define hweight32(x) ((unsigned int)__builtin_popcount(x))
#define hweight64(x) ((unsigned int)__builtin_popcountll(x))
#define ilog2(x) (fls64(x) - 1)
#define is_power_of_2(n) ((n) != 0 && (((n) & ((n)-1)) == 0))

static inline bool test_bit(unsigned int nr, const unsigned long *map)
{
	return map[nr / BITS_PER_LONG] & BIT(nr % BITS_PER_LONG);
}

static inline void __set_bit(unsigned int nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] |= BIT(nr % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned int nr, unsigned long *map)
{
	map[nr / BITS_PER_LONG] &= ~BIT(nr % BITS_PER_LONG);
}

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (u64)((unsigned __int128)a * b / c);
}

#define check_add_overflow(a, b, d) __builtin_add_overflow(a, b, d)
#define check_sub_overflow(a, b, d) __builtin_sub_overflow(a, b, d)
#define check_mul_overflow(a, b, d) __builtin_mul_overflow(a, b, d)

static inline size_t size_mul(size_t a, size_t b)
{
	size_t r;

	return check_mul_overflow(a, b, &r) ? SIZE_MAX : r;
}

static inline size_t size_add(size_t a, size_t b)
{
	size_t r;

	return check_add_overflow(a, b, &r) ? SIZE_MAX : r;
}

#define array_size(a, b) size_mul(a, b)
#define struct_size(p, member, n) size_add(sizeof(*(p)), size_mul(n, sizeof(*(p)->member)))

/* Speculation does not matter on the host, but the bound does. */
#define array_index_nospec(i, size) ((i) < (size) ? (i) : 0)

#define cpu_to_le16(x) ((__le16)(x))
#define cpu_to_le32(x) ((__le32)(x))
#define cpu_to_le64(x) ((__le64)(x))
#define le16_to_cpu(x) ((u16)(x))
#define le32_to_cpu(x) ((u32)(x))
#define le64_to_cpu(x) ((u64)(x))

static inline u32 get_unaligned_le32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u64 get_unaligned_le64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	memcpy(p, &v, sizeof(v));
}

static inline void put_unaligned_le64(u64 v, void *p)
{
	memcpy(p, &v, sizeof(v));
}

/* On the host every symbol is visible to the tests. */
#define VISIBLE_IF_KUNIT
#define EXPORT_SYMBOL_IF_KUNIT(symbol) _Static_assert(1, "")

#endif /* TESTS_HOST_PURE_HOST_H */
