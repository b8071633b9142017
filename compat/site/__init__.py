"""The `site` room: an Edition (everything known on a day) in, the files of a static site out."""
