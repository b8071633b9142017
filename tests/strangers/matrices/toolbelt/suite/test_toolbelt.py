"""What users of requests-toolbelt count on, in every release of the matrix."""

import pytest


@pytest.mark.capability("multipart", title="Multipart", says="A form is encoded as a stream.")
def test_a_form_is_encoded_as_a_stream():
    from requests_toolbelt import MultipartEncoder

    encoder = MultipartEncoder(fields={"name": "ada"})
    assert b'name="name"\r\n\r\nada' in encoder.read()
