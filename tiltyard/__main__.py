"""``python -m tiltyard``, where the script ``tiltyard`` is not on the path."""

import sys

from .benchmarks.cli import main

sys.exit(main())
