# SPDX-License-Identifier: MIT
# Makes the header of trace events without QEMU of the list of trace events: each does nothing.
BEGIN { print "/* Generated from trace-events. */" }
/^[a-z]/ {
	sub(/\) ".*/, ")")
	printf "static inline void trace_%s\n{\n}\n", $0
}
