/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kinds of waits, for base/wait.h: TESSERA_WAIT_ROW(id, name, waiter,
 * condition, locks held, bound). No include guard. "make check
 * SUITE=check-waits" compares the table in Documentation/locking.rst with this
 * list. "scripts/check-waits.py --write" updates it.
 */
TESSERA_WAIT_ROW(QUOTA, "quota",
		 "SUBMIT, SUBMIT_VM, VM_BIND, MAKE_RESIDENT",
		 "the process has fewer unfinished jobs, or less memory for them",
		 "nothing",
		 "its own jobs and calls")
TESSERA_WAIT_ROW(GATE, "gate",
		 "SUBMIT, SUBMIT_VM on an engine without preemption",
		 "few unfinished jobs of its process there, then the turn of its process",
		 "context lock, reset_lock (read)",
		 "the jobs before it; 1 s and a share for a submission whose thread does not run")
TESSERA_WAIT_ROW(FOREIGN, "foreign",
		 "SUBMIT, SUBMIT_VM, VM_BIND, MAKE_RESIDENT with nothing armed",
		 "foreign fences; before a submission in parts closes a gate, jobs of other engines, too",
		 "nothing; for jobs of other engines context lock and reset_lock (read)",
		 "the owner of the fence; a signal; the end of the device within a second")
TESSERA_WAIT_ROW(FOREIGN_PARTS, "foreign-parts",
		 "SUBMIT behind armed parts",
		 "a foreign fence, or another device's move",
		 "context lock, gate, reset_lock (read)",
		 "one job timeout, then -ETIME")
TESSERA_WAIT_ROW(PARTS, "parts",
		 "SUBMIT in parts",
		 "few of its own parts are unfinished",
		 "context lock, gate, reset_lock (read)",
		 "its own jobs")
TESSERA_WAIT_ROW(CLAIM, "claim",
		 "SUBMIT, SUBMIT_VM, MAKE_RESIDENT",
		 "the end of the claim of a segment",
		 "SUBMIT: context lock, reset_lock (read), behind armed parts the gate; others nothing",
		 "arming one batch of the claiming submission; 1 s")
TESSERA_WAIT_ROW(SPACE, "space",
		 "SUBMIT, SUBMIT_VM, MAKE_RESIDENT, a commit; suspend and evict in debugfs for dying objects",
		 "pages of a segment become free",
		 "SUBMIT: context lock, reset_lock (read), behind armed parts the gate; a commit: modeset locks; others nothing",
		 "jobs of dying objects; a number of job timeouts; commit passing_ms, suspend 30 s")
TESSERA_WAIT_ROW(HELD, "held",
		 "SUBMIT, SUBMIT_VM, MAKE_RESIDENT",
		 "another submission releases objects that it keeps over a cut",
		 "SUBMIT: context lock, reset_lock (read), behind armed parts the gate; others nothing",
		 "that submission; for MAKE_RESIDENT a number of job timeouts")
TESSERA_WAIT_ROW(TRIM, "trim",
		 "SUBMIT, SUBMIT_VM, MAKE_RESIDENT",
		 "another client, which was told what to trim, shortens its residency list",
		 "SUBMIT: context lock, reset_lock (read), behind armed parts the gate; others nothing",
		 "20 ms (trim_grace_ms) in a second for each process that waits")
TESSERA_WAIT_ROW(VICTIM, "victim",
		 "SUBMIT_VM, MAKE_RESIDENT, a commit",
		 "jobs that use an object in the way, or its reservation",
		 "nothing; a commit: modeset locks",
		 "a number of job timeouts; the thread that has the reservation; a signal")
TESSERA_WAIT_ROW(ASID, "asid",
		 "SUBMIT_VM while all address space numbers belong to VMs with jobs",
		 "the queued jobs of one of these VMs, which queues no more meanwhile",
		 "context lock, reset_lock (read)",
		 "those jobs; a signal")
TESSERA_WAIT_ROW(IDLE, "idle",
		 "BO_WAIT, LOCK, DMA_BUF_IOCTL_SYNC; expire_job in debugfs for one job",
		 "jobs that use an object",
		 "nothing",
		 "those jobs; the caller's timeout; a signal")
TESSERA_WAIT_ROW(BYTES, "bytes",
		 "CPU access, attaching to a dma-buf, PRIME_FD_TO_HANDLE, vmap",
		 "moves of an object",
		 "nothing; vmap and map_dma_buf the object's reservation",
		 "paging jobs and what they wait for; a signal; for a dma-buf and vmap a timeout")
TESSERA_WAIT_ROW(INVALIDATE, "invalidate",
		 "MMU notifier",
		 "jobs that use pages of a process",
		 "whatever reclaim holds; no lock of the driver",
		 "armed jobs that use the object")
TESSERA_WAIT_ROW(USER, "user",
		 "lookup of pages of a process",
		 "a change of the same address space",
		 "nothing; behind armed parts context lock, gate, reset_lock (read)",
		 "that change; behind armed parts one job timeout; a signal")
TESSERA_WAIT_ROW(MOVED, "moved",
		 "another driver that moves pages that were imported",
		 "the unplugged device's jobs, or memory from the reserves",
		 "reservation of the object",
		 "1 s for jobs; reclaim for memory")
TESSERA_WAIT_ROW(DESTROY, "destroy",
		 "synchronous BO_DESTROY",
		 "the client's jobs before it, and the object's last reference",
		 "nothing",
		 "those jobs; a signal")
TESSERA_WAIT_ROW(PAGES, "pages",
		 "the last holder of system pages",
		 "the device's jobs that read the pages",
		 "reservation of the object; for an import nothing",
		 "paging jobs and what they wait for")
TESSERA_WAIT_ROW(NO_MEMORY, "no-memory",
		 "an unmap, or RECLAIM with syncs, without memory for a fence",
		 "the job behind that fence, or the moves of the objects",
		 "an unmap: reservation of the object, VM lock; RECLAIM nothing",
		 "that job and what it waits for; for RECLAIM a fatal signal")
TESSERA_WAIT_ROW(DISPLAY, "display",
		 "a commit",
		 "the moves of its framebuffers, jobs that use a writeback buffer, foreign fences before a move",
		 "modeset locks",
		 "those jobs; for a cursor a signal; for foreign fences passing_ms, then -EBUSY")
TESSERA_WAIT_ROW(CLOSE, "close",
		 "the end of a context or file",
		 "the scheduler takes over its queued jobs",
		 "nothing",
		 "1 s in drm_sched, then the jobs are killed")
TESSERA_WAIT_ROW(RESET, "reset",
		 "whatever makes jobs",
		 "the end of a function-level reset",
		 "context lock, or nothing",
		 "the reset")
TESSERA_WAIT_ROW(SUSPEND, "suspend",
		 "suspend, evict_all and lock_bo in debugfs",
		 "jobs in the rings or of an object, moves to system memory",
		 "one object's reservation at a time",
		 "job timeouts")
TESSERA_WAIT_ROW(UNPLUG, "unplug",
		 "unplug and unload",
		 "imports that are under way, objects that are being destroyed, released jobs",
		 "one object's reservation at a time, or nothing",
		 "unplug 15 s each; unloading the last fence or object that is kept")
TESSERA_WAIT_ROW(PROBE, "probe",
		 "probe, ping in debugfs",
		 "the device's first answers",
		 "nothing, or the lock of pings",
		 "a timeout")
