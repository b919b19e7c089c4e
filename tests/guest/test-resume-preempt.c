// SPDX-License-Identifier: MIT
/* The same tests on a device that can preempt (test-resume-preempt.args). */
#include "test-resume.c"
