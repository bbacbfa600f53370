#!/bin/sh
# Installs the wheel with all that a cluster needs: install.sh WHEELS DIRECTORY
set -eu
wheels=$1
directory=$2
wheel=$(ls "$wheels"/lycosa-*.whl)
python3 -m venv "$directory"
"$directory/bin/pip" install -q --disable-pip-version-check --no-cache-dir "$wheel[dispatch,kafka,parquet,postgres]"
"$directory/bin/lycosa" --version
