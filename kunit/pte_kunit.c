// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Unit tests of aperture page table entries: PAGE-8, SEG-20, COH-4, COH-13. */
#include <kunit/test.h>

#include "pure/pte.h"

#define GART	(TSR_SEGF_APERTURE | TSR_SEGF_CACHE_COHERENT | TSR_SEGF_CPU_CACHED)
#define NONCOH	(TSR_SEGF_APERTURE | TSR_SEGF_CPU_CACHED)
#define AGP_RO	(TSR_SEGF_APERTURE | TSR_SEGF_GPU_READ_ONLY | TSR_SEGF_CACHE_COHERENT)
#define UMA	(TSR_SEGF_UMA | TSR_SEGF_CACHE_COHERENT)

struct encode_case {
	const char *name;
	u64 dma;
	u32 flags;
	bool cacheable;
	int ret;
	u64 pte;
};

static const struct encode_case encode_cases[] = {
	{ "PAGE-8 COH-13 cacheable page in a coherent segment snoops", 0x123000, GART, true, 0,
	  0x123000 | TSR_APTE_VALID | TSR_APTE_WRITE | TSR_APTE_CACHED | TSR_APTE_COHERENT },
	{ "PAGE-8 COH-13 uncached page in a coherent segment does not", 0x123000, GART, false, 0,
	  0x123000 | TSR_APTE_VALID | TSR_APTE_WRITE },
	{ "PAGE-8 COH-4 cacheable page in a non-coherent segment does not", 0x123000, NONCOH, true,
	  0, 0x123000 | TSR_APTE_VALID | TSR_APTE_WRITE | TSR_APTE_CACHED },
	{ "COH-4 cacheable page in a non-coherent read-only segment", 0x123000,
	  TSR_SEGF_APERTURE | TSR_SEGF_GPU_READ_ONLY, true,
	  0, 0x123000 | TSR_APTE_VALID | TSR_APTE_CACHED },
	{ "COH-4 uncached page in a non-coherent segment", 0x123000, NONCOH, false, 0,
	  0x123000 | TSR_APTE_VALID | TSR_APTE_WRITE },
	{ "SEG-20 read-only segment gives no write access", 0x123000, AGP_RO, true, 0,
	  0x123000 | TSR_APTE_VALID | TSR_APTE_CACHED | TSR_APTE_COHERENT },
	{ "page 0", 0, GART, false, 0, TSR_APTE_VALID | TSR_APTE_WRITE },
	{ "highest page", 0xfffffffff000, GART, false, 0,
	  0xfffffffff000 | TSR_APTE_VALID | TSR_APTE_WRITE },
	{ "first page out of reach", 0x1000000000000, GART, false, -EINVAL, 0 },
	{ "highest address", U64_MAX, GART, false, -EINVAL, 0 },
	{ "address inside a page", 0x123008, GART, false, -EINVAL, 0 },
	{ "last byte of a page", 0x123fff, GART, false, -EINVAL, 0 },
	{ "SEG-36 cacheable page in a UMA segment", 0x123000, UMA, true, 0,
	  0x123000 | TSR_APTE_VALID | TSR_APTE_WRITE | TSR_APTE_CACHED | TSR_APTE_COHERENT },
	{ "segment in VRAM", 0x123000, TSR_SEGF_CPU_VISIBLE, false, -EINVAL, 0 },
	{ "no flags", 0x123000, 0, false, -EINVAL, 0 },
};

KUNIT_ARRAY_PARAM_DESC(encode, encode_cases, name);

static void test_encode(struct kunit *test)
{
	const struct encode_case *c = test->param_value;
	u64 pte = 0;

	KUNIT_EXPECT_EQ(test, tessera_pte_aperture_encode(c->dma, c->flags, c->cacheable, &pte),
			c->ret);
	KUNIT_EXPECT_EQ(test, pte, c->pte);
}

/* Each address bit is encoded in its position, and no other bit is set. */
static void test_address_bits(struct kunit *test)
{
	static const u32 flags[] = { GART, NONCOH, AGP_RO };
	unsigned int bit, f, cached;

	for (bit = TSR_PAGE_SHIFT; bit < TSR_ADDRESS_BITS; bit++) {
		for (f = 0; f < ARRAY_SIZE(flags); f++) {
			for (cached = 0; cached < 2; cached++) {
				u64 want = BIT_ULL(bit) | TSR_APTE_VALID, pte;

				if (flags[f] != AGP_RO)
					want |= TSR_APTE_WRITE;
				if (cached)
					want |= TSR_APTE_CACHED;
				if (cached && flags[f] != NONCOH)
					want |= TSR_APTE_COHERENT;
				KUNIT_ASSERT_EQ(test, 0,
						tessera_pte_aperture_encode(BIT_ULL(bit), flags[f],
									    cached, &pte));
				KUNIT_EXPECT_EQ(test, pte, want);
			}
		}
	}
}

static struct kunit_case pte_cases[] = {
	KUNIT_CASE_PARAM(test_encode, encode_gen_params),
	KUNIT_CASE(test_address_bits),
	{ }
};

static struct kunit_suite pte_suite = {
	.name = "tessera_pte",
	.test_cases = pte_cases,
};

kunit_test_suite(pte_suite);
