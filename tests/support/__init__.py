"""What tests are made from: worlds, records, editions, an index, hostile texts.

No test stands here.
"""
