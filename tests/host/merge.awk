# SPDX-License-Identifier: MIT
# Joins the TAP output of several programs into one stream. The last line of each
# program is "exit CODE NAME", so that a crash counts as a failure.
BEGIN { print "TAP version 13" }
/^TAP version/ || /^1\.\./ { next }
/^exit / {
	if ($2 != 0 && !bad_here) {
		printf "not ok %d - %s ended with code %s\n", ++n, $3, $2
		bad++
	}
	bad_here = 0
	next
}
/^ok / || /^not ok / {
	if ($1 == "not") {
		bad++
		bad_here = 1
	}
	sub(/ok [0-9]+/, "ok " ++n)
	print
	fflush()
	next
}
{ print; fflush() }
END { print "1.." n; exit bad != 0 }
