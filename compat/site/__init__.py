"""The `site` room: an Edition (all that is known on a day) in, the files of a static site out."""
