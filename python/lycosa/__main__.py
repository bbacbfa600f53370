"""``python -m lycosa`` is ``lycosa``."""

from lycosa.cli import main

raise SystemExit(main())
