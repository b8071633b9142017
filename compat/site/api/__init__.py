"""The API of the site: an edition comes in; JSON documents, with their schemas, go out."""
