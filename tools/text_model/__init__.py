"""The models that choose the main text of a page: trained, and judged on pages that they have not seen."""
