"""A ferry, which floats on old boats only."""

import boat

FLOATS = boat.NAME < "2"
