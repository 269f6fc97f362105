"""The response to an invalid bearer token."""

from __future__ import annotations

#: The header WWW-Authenticate for a token that expired (RFC 6750, section 3.1).
EXPIRED = 'Bearer error="invalid_token", error_description="the token expired"'
