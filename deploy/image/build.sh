#!/bin/sh
# Builds the wheel: build.sh SOURCE WHEELS
set -eu
source=$1
wheels=$2
python3 -m venv "$wheels.venv"
"$wheels.venv/bin/pip" install -q --disable-pip-version-check 'maturin>=1.10,<2'
mkdir -p "$wheels"
(cd "$source" && "$wheels.venv/bin/maturin" build --release --locked --quiet --out "$wheels")
rm -rf "$wheels.venv"
