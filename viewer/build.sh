#!/bin/sh
# Builds the page out of this folder with npm: build.sh WORK-FOLDER PAGE DEPFILE. Called by meson.
# Nothing is written beside the sources: they are copied into the work folder, and their packages are installed there
# (again only when the lock file or node changes).
set -eu
mkdir -p "$1"
source=$(cd "$(dirname "$0")" && pwd)
work=$(cd "$1" && pwd)
page=$2 depfile=$3

fail() {
	echo "viewer: $*" >&2
	echo "viewer: \"meson configure -Dviewer=disabled\" builds heapscope without its page" >&2
	exit 1
}

# what an older version of the sources had must not stay; the installed packages do
find "$work" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed -exec rm -rf {} +
(cd "$source" && find . \( -name node_modules -o -name dist \) -prune -o -type f -print) | sort >"$work/files"
tar -C "$source" -cf - -T "$work/files" | tar -C "$work" -xf -

install() {
	wanted=$(node --version && npm --version && cat package.json package-lock.json)
	[ ! -d node_modules ] || [ "$wanted" != "$(cat installed 2>/dev/null)" ] || return 0
	rm -rf node_modules installed
	npm ci --ignore-scripts --prefer-offline --no-audit --no-fund >npm.log 2>&1 || {
		cat npm.log >&2
		fail "npm could not install the packages that the page is built with (is there a network?)"
	}
	printf '%s\n' "$wanted" >installed
}

build() {
	npm run --silent build >build.log 2>&1 || {
		cat build.log >&2
		fail "the page could not be built, see above"
	}
}

(cd "$work" && install && build)
cp "$work/dist/index.html" "$page.new"
mv "$page.new" "$page"
{
	printf '%s:' "$page"
	while read -r file; do
		printf ' %s' "$(printf '%s' "$source/${file#./}" | sed 's/[ #$]/\\&/g')"
	done <"$work/files"
	echo
} >"$depfile"
