"""``python -m tokenbook.site [--clean] [--serve]``: build the editions of the book."""

import sys

from tokenbook.site.make.site import main

sys.exit(main())
