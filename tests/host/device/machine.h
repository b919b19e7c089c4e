/* SPDX-License-Identifier: MIT */
/*
 * A machine for the core of the device: VRAM, guest RAM with scattered pages, an
 * aperture, page tables, and marks of written pages.
 */
#ifndef TESTS_HOST_DEVICE_MACHINE_H
#define TESTS_HOST_DEVICE_MACHINE_H

#include "qemu/osdep.h"
#include "tessera_core.h"

#define PAGE 4096
#define VRAM_PAGES 512
#define HIDDEN_PAGES 16
#define RAM_PAGES 512
#define APERTURE_PAGES 256
#define VM_PAGES 128

/* Where the surfaces of a test are. */
enum place {
	IN_VRAM,
	IN_APERTURE,
	IN_VM, /* virtual addresses; every third page is guest RAM */
	PLACES
};

#define VRAM_BASE 0x80000000ULL
#define APERTURE_BASE 0x90000000ULL
#define HIDDEN_BASE 0xa0000000ULL
#define VM_BASE 0x40000000ULL
#define RAM_BASE 0x00100000ULL

/* Pages of guest RAM: behind the aperture, behind virtual addresses, lists. */
#define RAM_OF_VM APERTURE_PAGES
#define RAM_OF_LISTS 384

/* Pages of VRAM: behind virtual addresses, unused, page tables. */
#define VM_VRAM_FIRST 256
#define FREE_FIRST 448
#define TABLES_FIRST 500

struct machine {
	TesseraState s;
	TesseraEngine *e;
	uint8_t *ram[RAM_PAGES]; /* in no order */
	uint8_t *ram_block;
	uint64_t ptes[APERTURE_PAGES];
	bool ram_written[RAM_PAGES];
	bool vram_written[VRAM_PAGES + HIDDEN_PAGES];
	uint8_t *before; /* VRAM and guest RAM, before a packet */
	unsigned int entered;
	unsigned int interrupted;
	unsigned int errors[TSR_ERR_TYPES];
	unsigned int poison_calls;
	unsigned int uncached; /* calls of ram_begin_uncached() */
	bool aperture_shows; /* the answer of vram_shown() */
	bool no_memory; /* range_show() fails */
	struct {
		uint64_t at, bytes; /* 0: hidden */
	} shown[TSR_MAX_SWIZZLE_RANGES];
	const char *wrong; /* the first rule of TesseraHostOps that was broken */
};

typedef uint32_t packet_fn(TesseraEngine *e, const uint32_t *p);

struct machine *machine_new(bool strict);
void machine_free(struct machine *m);
uint64_t machine_base(enum place place);
uint8_t *machine_byte(struct machine *m, uint64_t addr);
void machine_use(struct machine *m, enum place place);
uint32_t machine_run(struct machine *m, packet_fn *fn, const uint32_t *p, bool interrupt);

#endif
