"""Cookies of a request and of a session."""


def merge_cookies(session: dict[str, str], request: dict[str, str]) -> dict[str, str]:
    """Return the cookies to send: those of the request replace those of the session."""
    return {**session, **request}


class CookieJar:
    """Cookies by name, with a limit on their total size."""

    def __init__(self, limit: int = 4096) -> None:
        self.limit = limit
        self.cookies: dict[str, str] = {}

    def set(self, name: str, value: str) -> None:
        """Keep a cookie; raises ValueError if the jar would be too full."""
        size = sum(len(each) + len(text) for each, text in self.cookies.items())
        if size + len(name) + len(value) > self.limit:
            raise ValueError("too many cookies: delete some, or raise the limit")
        self.cookies[name] = value
