"""The models that choose the main text of a page: trained, and judged on pages that they have not seen."""

import os
from pathlib import Path

#: The pages with their gold texts.
CORPORA = Path(os.environ.get("LYCOSA_CORPORA", Path(__file__).parents[3] / "shared" / "corpora")) / "text"

#: Models one after the other.
STAGES = 2

#: Trees of a model.
TREES = 60

#: Models of each stage: of several each is trained on another part of the pages, and they are asked together. What
#: only some pages have taught one of them counts less.
BAGS, PART = (1, 3), 0.8

#: Trees of each model of a stage after which it is looked at whether a block is decided.
LOOK = 10
