# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Packages: what is missing is installed; what only the build needs is fetched
# and unpacked in the cache without being installed. Source after common.sh.

_apt_updated=$CACHE/apt-updated

os_codename() {
	# shellcheck disable=SC1091
	(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-unknown}")
}

check_os() {
	case $(os_codename) in
	bookworm | trixie) ;;
	*) die "this is not Debian 12 (bookworm) or 13 (trixie)" \
		"run inside such a machine or container; see README.md" ;;
	esac
	[ "$(dpkg --print-architecture)" = amd64 ] ||
		die "the build needs an amd64 machine" "use an x86-64 Debian"
}

apt_update() {
	# Without Error-Mode a list that could not be fetched is a warning, and success.
	if as_root apt-get update -o Acquire::Retries=3 -o APT::Update::Error-Mode=any; then
		touch "$_apt_updated"
		return
	fi
	# A broken third-party source, or no network, must not stop what the lists that are
	# here are good for; the next run tries again.
	echo "the package lists are not complete; going on with what is there"
	apt-cache policy linux-libc-dev | grep -q 'Candidate: [0-9]'
}

# apt_need PACKAGE…: install those that are missing.
apt_need() {
	local missing=() installed p
	installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true)"
	for p in "$@"; do
		case " ${missing[*]} " in
		*" $p "*) continue ;;
		esac
		case $installed in
		*" installed:$p "*) ;;
		*) missing+=("$p") ;;
		esac
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		die "packages are missing, and installing them needs root: ${missing[*]}" \
			"as root: apt-get install ${missing[*]}"
	fi
	apt_refresh
	step "install packages: ${missing[*]}" \
		"check the network and 'apt-get update'; then run the same command again" \
		as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends -o Acquire::Retries=3 \
		-o DPkg::Lock::Timeout=300 "${missing[@]}"
}

# apt_refresh: update the package lists unless that was done in the last 12 h
# and they are still there.
apt_refresh() {
	if [ -z "${REFRESH:-}" ] && [ -n "$(find "$_apt_updated" -mmin -720 2>/dev/null)" ] &&
		apt-cache show linux-libc-dev >/dev/null 2>&1; then
		return 0
	fi
	step "update the package lists" "check the network and /etc/apt/sources.list*" apt_update
}

# archive_uri: the Debian archive that this system itself uses.
archive_uri() {
	local codename
	codename=$(os_codename)
	# One-line and deb822 sources alike; needs no package lists.
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
		awk -v c="$codename" '$2 == c { print $1; exit }'
}

# A private apt state for each suite: Debian 13's archive beside the system's own,
# whatever the system is, without touching the system's configuration.

# suite_apt SUITE TOOL [ARG…]
suite_apt() {
	local state=$CACHE/apt-$1 tool=$2
	shift 2
	"$tool" -o Dir::Etc::sourcelist="$state/debian.sources" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null \
		-o Dir::State::lists="$state/lists" \
		-o Dir::Cache="$state/cache" \
		-o Acquire::Retries=3 -o APT::Sandbox::User=root \
		-o Debug::NoLocking=1 "$@"
}

suite_setup() {
	local suite=$1 state=$CACHE/apt-$1 uri
	uri=$(archive_uri)
	if [ -z "$uri" ]; then
		apt_update
		uri=$(archive_uri)
	fi
	[ -n "$uri" ] || die "cannot find the Debian archive in the system's sources" \
		"put an entry for this release's main component into /etc/apt/sources.list"
	mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
	cat >"$state/debian.sources" <<-END
		Types: deb deb-src
		URIs: $uri
		Suites: $suite
		Components: main
		Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
	END
	suite_apt "$suite" apt-get update
}

# suite_refresh SUITE: the private state's lists, at most 12 h old.
suite_refresh() {
	local state=$CACHE/apt-$1
	if [ -n "${REFRESH:-}" ] || [ ! -e "$state/debian.sources" ] ||
		[ -z "$(find "$state/updated" -mmin -720 2>/dev/null)" ]; then
		step "read the package lists of Debian's $1 (private, in the cache)" \
			"check the network; the system's own sources must name a Debian archive" \
			suite_setup "$1"
		touch "$state/updated"
	fi
}

# deb_dir NAME: a fresh folder for downloads.
download_debs() {
	local dir=$1
	shift
	mkdir -p "$dir"
	(cd "$dir" && apt-get download -o Acquire::Retries=3 -o APT::Sandbox::User=root "$@")
}

# download_suite_debs SUITE DIR PACKAGE…
download_suite_debs() {
	local suite=$1 dir=$2
	shift 2
	mkdir -p "$dir"
	(cd "$dir" && suite_apt "$suite" apt-get download "$@")
}
