"""Checks the Helm chart by `helm lint`, `helm template`, the schemas of several Kubernetes versions, and our parser.

python -m tools.chart [--helm PROGRAM]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml
from lycosa.cli import parse_arguments

ROOT = Path(__file__).resolve().parent.parent
CHART, VALUES = ROOT / "deploy/chart/lycosa", ROOT / "deploy/values"

#: Versions of Kubernetes: from what the chart says it needs to the newest that has schemas.
OLDEST = (1, 27)

#: Objects of others, whose schemas are theirs.
FOREIGN = ("keda.sh/", "monitoring.coreos.com/")


def versions() -> list[str]:
    """Return the versions that objects are checked by: the first release of each that there is a schema of."""
    known = {tuple(map(int, text.split(".")[:2])) for text in kubernetes_validate.utils.all_versions()}
    return [".".join(map(str, version)) for version in sorted(known) if version >= OLDEST]


def render(helm: str, values: Path, version: str) -> list[dict[str, Any]]:
    """Return the objects that the chart makes of values, or end with Helm's error."""
    command = [helm, "template", "release", str(CHART), "--values", str(values), "--kube-version", version]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stderr}")
    return [found for found in yaml.safe_load_all(done.stdout) if found is not None]


def containers(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the containers of an object's pods."""
    yield from item.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])


def wrong_arguments(item: dict[str, Any]) -> list[str]:
    """Return the containers whose arguments the command line refuses."""
    wrong = []
    for container in containers(item):
        try:
            parse_arguments(container["args"])
        except SystemExit:
            wrong.append(f"arguments of {container['name']}: {' '.join(container['args'])}")
    return wrong


def problems(item: dict[str, Any], version: str) -> list[str]:
    """Return what is wrong with an object."""
    if str(item["apiVersion"]).startswith(FOREIGN):
        return []
    wrong = wrong_arguments(item)
    try:
        kubernetes_validate.validate(item, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [*wrong, f"{'.'.join(map(str, error.path))}: {error.message}"]
    except kubernetes_validate.SchemaNotFoundError:
        return [*wrong, f"no schema of {item['apiVersion']} {item['kind']}"]
    return wrong


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Checks of the Helm chart.")
    parser.add_argument("--helm", default="helm", help="program (default: helm)")
    helm, failed, kinds = parser.parse_args().helm, 0, Counter[str]()
    files = sorted(VALUES.glob("*.yaml"))
    lint = [helm, "lint", "--strict", "--quiet", str(CHART)]
    for values in files:
        failed += subprocess.run([*lint, "--values", str(values)], check=False).returncode != 0
        for version in versions():
            for item in render(helm, values, version):
                kinds[str(item["kind"])] += 1
                for problem in problems(item, version):
                    name = item["metadata"]["name"]
                    print(f"{values.name}, Kubernetes {version}: {item['kind']} {name}: {problem}")
                    failed += 1
    print(
        f"chart: {len(files)} sets of values by Kubernetes {', '.join(versions())}: {failed} problems; {dict(kinds)}"
    )
    return 1 if failed or not kinds else 0


if __name__ == "__main__":
    sys.exit(main())
