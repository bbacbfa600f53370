"""What a crawl tells to Prometheus is read by its own reader, and has no label with hosts or URLs."""

from __future__ import annotations

from lycosa.observe.metrics import FAMILIES, crawl_lines
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.observe.report import make_report


def samples() -> dict[tuple[str, ...], float]:
    """The samples of a scrape by name and labels."""
    text = "".join(f"{line}\n" for line in crawl_lines(make_report()))
    families = list(text_string_to_metric_families(text))
    assert all(family.documentation for family in families)
    return {
        (sample.name.removeprefix("lycosa_crawl_"), *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_numbers_are_those_of_the_report() -> None:
    found = samples()
    assert found["pages",] == 3
    assert found["failures", "connect-timeout"] == 2
    assert found["type_bytes_total", "text/html"] == 2_900_000
    assert found["phase_seconds_total", "first_byte"] == 0.1 * 6
    assert found["cpu_seconds_total", "parse"] == 0.25
    assert found["output_behind_bytes", "pages a.parquet"] == 1_000, "quotes would end a label"
    assert (found["suspended", "names"], found["suspended", "captive"]) == (1, 0)


def test_all_families_are_told() -> None:
    names = {name for name, *_ in samples()}
    assert set(FAMILIES) <= names
