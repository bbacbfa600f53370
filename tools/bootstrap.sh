#!/bin/sh
# Makes what the Makefile's targets need: Rust, the virtual environment, Debian's packages.
# usage: bootstrap.sh rust | fuzz | venv DIR | helm PROGRAM | debian PACKAGE...
# As root on Debian it installs what is missing; elsewhere it names it and stops.
set -eu

HELM=v3.22.0 # the last of 3: charts of API version 2
RUST_MINIMUM=89 # of 1.x; the same as rust-version in Cargo.toml

say() { printf 'lycosa: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

# Installs Debian packages, or names them.
debian() {
    missing=""
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    can_install || fail "these Debian packages are missing:$missing; install them: apt-get install$missing"
    say "installing Debian packages:$missing"
    # A package that starts a server must not start it: everything here listens on loopback only, when asked to.
    policy=/usr/sbin/policy-rc.d
    made_policy=""
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && made_policy=1
    fi
    status=0
    # shellcheck disable=SC2086 # words are meant
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $missing; } \
        >/tmp/lycosa-apt.$$ 2>&1 || status=$?
    [ -z "$made_policy" ] || rm -f "$policy"
    [ "$status" = 0 ] || { tail -n 5 /tmp/lycosa-apt.$$ >&2; fail "apt-get failed; its output is in /tmp/lycosa-apt.$$"; }
    rm -f /tmp/lycosa-apt.$$
}

# The minor version of cargo 1.x; nothing where there is no cargo.
cargo_minor() { cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p'; }

rust() {
    [ -d "$HOME/.cargo/bin" ] && PATH="$HOME/.cargo/bin:$PATH"
    minor=$(cargo_minor)
    if [ -z "$minor" ] || [ "$minor" -lt "$RUST_MINIMUM" ]; then
        if can_install && apt-cache show cargo-web >/dev/null 2>&1; then
            debian cargo-web rustc-web
            hash -r
            minor=$(cargo_minor)
        fi
    fi
    if [ -z "$minor" ] || [ "$minor" -lt "$RUST_MINIMUM" ]; then
        fail "Rust 1.$RUST_MINIMUM or newer is needed (found: $(cargo --version 2>/dev/null || echo none)); see https://rustup.rs," \
            "or on Debian 12: apt-get install cargo-web rustc-web"
    fi
    if ! command -v cc >/dev/null 2>&1; then
        if can_install; then debian gcc libc6-dev; else fail "a C compiler is needed: apt-get install gcc libc6-dev"; fi
    fi
}

# libFuzzer is C++; its driver is in a crate, its counters come from any Rust compiler.
fuzz() {
    rust
    command -v c++ >/dev/null 2>&1 && return 0
    if can_install; then debian g++; else fail "a C++ compiler is needed: apt-get install g++"; fi
}

venv() {
    [ -x "$1/bin/python" ] && return 0
    python=""
    for candidate in python3.14 python3.13 python3.12 python3.11 python3; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            python=$candidate
            break
        fi
    done
    [ -n "$python" ] || fail "Python 3.11 or newer is needed: apt-get install python3"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        if can_install; then debian python3-venv; else fail "Python's venv is needed: apt-get install python3-venv"; fi
    fi
    "$python" -m venv "$1"
}

# Helm, as a Go module.
helm() {
    [ -x "$1" ] && return 0
    command -v go >/dev/null 2>&1 || debian golang-go
    GOBIN=$(cd "$(dirname "$1")" && pwd) go install "helm.sh/helm/v3/cmd/helm@$HELM"
}

command=${1:-}
[ $# -gt 0 ] && shift
case "$command" in
    rust) rust ;;
    fuzz) fuzz ;;
    venv) venv "$1" ;;
    debian) debian "$@" ;;
    helm) mkdir -p "$(dirname "$1")" && helm "$1" ;;
    *) fail "usage: bootstrap.sh rust | fuzz | venv DIR | debian PACKAGE..." ;;
esac
