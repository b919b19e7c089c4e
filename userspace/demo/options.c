// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"

static const char usage[] =
	"Usage: tessera-demo [--images DIR] [options]\n"
	"Render images on the virtual GPU and compare with a CPU renderer.\n"
	"  --images DIR          its PNG files; default: a few patterns\n"
	"  --output DIR          write scene.png (and diff.png on failure) there; default: .\n"
	"  --device PATH         render node; default: the first of tessera\n"
	"  --oversubscribe F     make textures of F times the video memory, used in one "
	"submission\n"
	"  --model MODEL         patched: one submission, cut by the kernel; or vm: virtual "
	"addresses, as\n"
	"                        many submissions as make what they need resident in turn; "
	"default: "
	"patched\n"
	"  --force-split MODE    of patched: none (cut where memory demands it), all, or "
	"random=SEED\n"
	"  --seed N              another arrangement; default 1\n"
	"  --without LIST        do not use: priorities, read-sets, clean-eviction\n"
	"  --savings             draw the scene again without each of these, and say what it "
	"saved\n"
	"  --summary-json FILE   write the summary there too\n"
	"  --show                show the picture on the screen until a line is read\n"
	"  --reference-only      only the CPU's picture; needs no device\n"
	"  --video-memory BYTES  what F refers to without a device\n"
	"Exit code: 0: the picture is right, 1: wrong pixels, 2: it could not be rendered.\n";

enum {
	OPT_HELP = 'h',
	OPT_FIRST = 256,
	OPT_VIDEO_MEMORY,
	OPT_REFERENCE,
	OPT_SHOW,
	OPT_WITHOUT,
	OPT_SAVINGS
};

static const struct option long_options[] = {
	{ "images", required_argument, NULL, 'i' },
	{ "output", required_argument, NULL, 'o' },
	{ "device", required_argument, NULL, 'd' },
	{ "oversubscribe", required_argument, NULL, 'f' },
	{ "model", required_argument, NULL, 'm' },
	{ "force-split", required_argument, NULL, 'x' },
	{ "seed", required_argument, NULL, 's' },
	{ "summary-json", required_argument, NULL, 'j' },
	{ "show", no_argument, NULL, OPT_SHOW },
	{ "without", required_argument, NULL, OPT_WITHOUT },
	{ "savings", no_argument, NULL, OPT_SAVINGS },
	{ "reference-only", no_argument, NULL, OPT_REFERENCE },
	{ "video-memory", required_argument, NULL, OPT_VIDEO_MEMORY },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static int parse_u64(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return errno || *end || end == text || *text == '-' || *value > max ? -EINVAL : 0;
}

static int parse_u32(const char *text, uint32_t *value)
{
	uint64_t wide;
	int ret = parse_u64(text, UINT32_MAX, &wide);

	*value = wide;
	return ret;
}

static int parse_factor(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return *end || end == text || !(*value >= 0 && *value <= 64) ? -EINVAL : 0;
}

static int parse_split(const char *text, struct options *options)
{
	if (!strcmp(text, "none")) {
		options->split = SPLIT_AS_NEEDED;
		return 0;
	}
	if (!strcmp(text, "all")) {
		options->split = SPLIT_ALL;
		return 0;
	}
	if (strncmp(text, "random=", 7))
		return -EINVAL;
	options->split = SPLIT_RANDOM;
	return parse_u32(text + 7, &options->split_seed);
}

static int parse_model(const char *text, struct options *options)
{
	options->vm = !strcmp(text, "vm");
	return options->vm || !strcmp(text, "patched") ? 0 : -EINVAL;
}

/* Names of techniques, separated by commas. */
static int parse_without(const char *text, struct options *options)
{
	while (*text) {
		size_t length = strcspn(text, ",");
		int i = 0;

		while (i < TECHNIQUE_COUNT && (strlen(technique_names[i]) != length ||
					       strncmp(technique_names[i], text, length)))
			i++;
		if (i == TECHNIQUE_COUNT)
			return -EINVAL;
		options->without |= TECHNIQUE_BIT(i);
		text += length;
		text += *text == ',';
	}
	return 0;
}

static int parse_one(int opt, struct options *options)
{
	switch (opt) {
	case 'i':
		options->images = optarg;
		return 0;
	case 'o':
		options->output = optarg;
		return 0;
	case 'd':
		options->device = optarg;
		return 0;
	case 'j':
		options->summary_json = optarg;
		return 0;
	case 'f':
		return parse_factor(optarg, &options->oversubscribe);
	case 'm':
		return parse_model(optarg, options);
	case 'x':
		return parse_split(optarg, options);
	case 's':
		return parse_u32(optarg, &options->seed);
	case OPT_SHOW:
		options->show = true;
		return 0;
	case OPT_WITHOUT:
		return parse_without(optarg, options);
	case OPT_SAVINGS:
		options->savings = true;
		return 0;
	case OPT_REFERENCE:
		options->reference_only = true;
		return 0;
	case OPT_VIDEO_MEMORY:
		return parse_u64(optarg, UINT64_C(1) << 40, &options->video_memory);
	default:
		return -EINVAL;
	}
}

/*
 * Returns 0 to continue, 1 if help was requested and printed, or -EINVAL after
 * printing the usage.
 */
int options_parse(int argc, char **argv, struct options *options)
{
	int opt;

	*options = (struct options){
		.output = ".",
		.seed = 1,
		.video_memory = UINT64_C(256) << 20,
	};
	while ((opt = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		if (opt == OPT_HELP) {
			fputs(usage, stdout);
			return 1;
		}
		if (parse_one(opt, options)) {
			if (opt != '?')
				fprintf(stderr, "tessera-demo: bad value '%s'\n", optarg);
			fputs(usage, stderr);
			return -EINVAL;
		}
	}
	if (optind != argc || (options->vm && options->split != SPLIT_AS_NEEDED)) {
		fputs(usage, stderr);
		return -EINVAL;
	}
	return 0;
}
