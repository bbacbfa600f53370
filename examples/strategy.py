"""An order of one's own in nine lines: links that look like articles come first, whatever page they are on."""

from __future__ import annotations

import pyarrow
import pyarrow.compute
from lycosa import Outcomes, Responses, Stages


class ArticlesFirst:
    """``lycosa.crawl(..., stages=lambda stages: replace(stages, parse=ArticlesFirst(stages)))``."""

    def __init__(self, stages: Stages) -> None:
        self.embedded = stages.parse

    def parse(self, responses: Responses) -> Outcomes:
        outcomes = self.embedded.parse(responses)
        links = pyarrow.table(outcomes.columns(["links"]))["links"].combine_chunks()
        priorities = pyarrow.compute.match_substring(links.values, "/article").cast(pyarrow.int32())
        return outcomes.replace("link_priorities", pyarrow.ListArray.from_arrays(links.offsets, priorities))
