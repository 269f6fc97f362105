"""The nouns of Rifflux: frozen values that pass between the steps of both journeys."""

from rifflux.types import document, notice, results, search
from rifflux.types.document import *  # noqa: F403
from rifflux.types.notice import *  # noqa: F403
from rifflux.types.results import *  # noqa: F403
from rifflux.types.search import *  # noqa: F403

__all__: list[str] = []
__all__ += document.__all__
__all__ += notice.__all__
__all__ += results.__all__
__all__ += search.__all__
