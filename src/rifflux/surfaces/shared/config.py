"""Settings: defaults, then a file, then the environment (`RIFFLUX_*`), then flags. Nothing else reads them.

The file is TOML: `.rifflux/config.toml` in the working directory or above it, else `rifflux/config.toml` in the
user's configuration folder. An unknown key is an error, so that a misspelt one is noticed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from rifflux import Cure, InvalidArgument, NotFound
from rifflux.kernels import PURE
from rifflux.requests import MODE, MOST_RESULTS
from rifflux.surfaces.shared.nouns import JsonObject
from rifflux.types.limits import READER_LIMITS, READER_MEMORY_MB, READER_SECONDS

if TYPE_CHECKING:
    from rifflux import ChatModel, Embedder, Finder, Index, Progress, RerankSettings

FOLDER = ".rifflux"
_INDEX = Path(FOLDER, "index.db")
#: The settings that an index on a cluster is opened with.
_ACCESS = ("opensearch_user", "opensearch_password", "opensearch_ca")
_FILE = Path(FOLDER, "config.toml")
_PREFIX = "RIFFLUX_"
_SWITCHES = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}
#: The names of the types of settings in messages.
_TYPES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list of strings",
    dict: "a table",
}


@dataclass(frozen=True)
class Settings:
    """The settings with their defaults. `origins` names the source of each value that differs from its default."""

    db: str = field(
        default="",
        metadata={"help": "the index file, or opensearch://HOST:PORT/NAME; empty: the nearest .rifflux/index.db"},
    )
    opensearch_user: str = field(default="", metadata={"help": "user of the cluster of an index with an address"})
    opensearch_password: str = field(default="", repr=False, metadata={"help": "password of that user", "secret": True})
    opensearch_ca: str = field(default="", metadata={"help": "file of certificates to trust besides the usual ones"})
    state: str = field(
        default="", metadata={"help": "file for tokens, usage and feedback, beside an index that is only read"}
    )
    language: str = field(default="", metadata={"help": "language of texts, such as german; empty: the index's own"})
    model: str = field(default="", metadata={"help": "embedding model; empty: the index's own, else the bundled one"})
    base_url: str = field(default="", metadata={"help": "endpoint for models named openai:NAME"})
    api_key: str = field(default="", repr=False, metadata={"help": "key for that endpoint", "secret": True})
    query_prefix: str = field(
        default="", metadata={"help": "before each question for that endpoint, as 'query: '; the index records it"}
    )
    document_prefix: str = field(
        default="", metadata={"help": "before each text for that endpoint, as 'passage: '; the index records it"}
    )
    threads: int = field(default=0, metadata={"help": "processor cores to use; 0: all"})
    top_k: int = field(default=10, metadata={"help": "results of a search"})
    mode: str = field(default="hybrid", metadata={"help": MODE.help})
    fusion: str = field(
        default="",
        metadata={"help": "rrf, linear, balanced or adaptive, with knobs as in linear:by-specificity; empty: its own"},
    )
    rrf_k: float = field(
        default=60.0, metadata={"help": "k of RRF in search_rifflux; other searches have it in fusion, as in rrf:k=10"}
    )
    boosts: Mapping[str, Any] = field(
        default_factory=dict, metadata={"help": "factors for what is named, as in {identified = 2}; JSON in a variable"}
    )
    reranker: str = field(
        default="", metadata={"help": "none, features, maxsim, cross-encoder or llm for every hybrid search"}
    )
    rerank_top: int = field(default=0, metadata={"help": "how many hits a reranker takes; 0: as many as is its way"})
    neighbors: str = field(default="scan", metadata={"help": "how vectors are searched: scan, or hnsw for millions"})
    synonyms: str = field(default="", metadata={"help": "file of words that stand for each other"})
    rerank_model: str = field(default="", metadata={"help": "cross-encoder: a folder, or a name that was fetched"})
    llm_url: str = field(default="", metadata={"help": "OpenAI-compatible endpoint for the reranker llm"})
    llm_model: str = field(default="", metadata={"help": "the model to ask there"})
    llm_key: str = field(default="", repr=False, metadata={"help": "key for that endpoint", "secret": True})
    chat_url: str = field(default="", metadata={"help": "OpenAI-compatible endpoint that writes answers"})
    chat_model: str = field(default="", metadata={"help": "the model to ask there; empty: answers are quoted"})
    chat_key: str = field(default="", repr=False, metadata={"help": "key for that endpoint", "secret": True})
    chat_timeout: float = field(default=60.0, metadata={"help": "seconds that it may take for an answer"})
    max_file_mb: float = field(default=20.0, metadata={"help": "larger files are skipped"})
    reader_seconds: int = field(
        default=READER_LIMITS.processor_s,
        metadata={"help": "processor seconds that reading a file may take; then it fails"},
    )
    reader_memory_mb: int = field(
        default=READER_LIMITS.memory_mb, metadata={"help": "memory that reading a file may take; else it fails"}
    )
    hidden: bool = field(default=False, metadata={"help": "index hidden files too"})
    all_files: bool = field(
        default=False, metadata={"help": "read lock files, minified and generated code, and dumps too"}
    )
    exclude: tuple[str, ...] = field(default=(), metadata={"help": "more patterns to leave out, as in .gitignore"})
    facets: tuple[str, ...] = field(default=(), metadata={"help": "metadata fields that queries may name"})
    prices: tuple[str, ...] = field(default=(), metadata={"help": "MODEL=PRICE of a million tokens, for usage"})
    budget: float = field(default=0.0, metadata={"help": "what a user may spend in a month; 0: any amount"})
    user_tokens: int = field(default=20, metadata={"help": "valid tokens that a user may have at a time"})
    document_chunks: int = field(
        default=5_000, metadata={"help": "chunks of a document that is sent to a service; a longer one is refused"}
    )
    request_chunks: int = field(
        default=500_000, metadata={"help": "chunks that one request to a service may bring; more are refused"}
    )
    embed_timeout: float = field(
        default=2.0, metadata={"help": "seconds that a model may take for a question; then words alone answer"}
    )
    intents: Mapping[str, Any] = field(
        default_factory=dict, metadata={"help": "by intent: weights of works, limits of packs; JSON in a variable"}
    )
    licenses: Mapping[str, Any] = field(
        default_factory=dict,
        metadata={"help": 'what more licenses let be shown, as in {"other-oa" = "text"}; JSON in a variable'},
    )
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def index_path(self, *, create: bool = False) -> Path:
        """Return the index to use; with `create`, a new one in the working directory if none is found."""
        if self.db:
            from rifflux.store import IndexPlace  # slow, and not every command has an index

            return IndexPlace.of(self.db).path
        found = find_above(_INDEX)
        if found:
            return found
        if create:
            return Path.cwd() / _INDEX
        raise NotFound("no index here or in a folder above", cure=Cure.ADD)

    def location(self, *, create: bool = False) -> str | Path:
        """Return the address of an index on a cluster, else `index_path`."""
        if self.db:
            from rifflux.store import IndexPlace  # slow, and not every command has an index

            if not IndexPlace.of(self.db).is_file:
                # The engine reads them there, also in other processes of a server.
                access = {each: str(getattr(self, each)) for each in _ACCESS}
                os.environ.update({f"RIFFLUX_{name.upper()}": value for name, value in access.items() if value})
                return self.db
        return self.index_path(create=create)

    def redacted(self) -> JsonObject:
        """Return every setting and its value; secrets only say whether they are set."""
        values = {name: getattr(self, name) for name in _DEFAULTS}
        return values | {name: "(set)" if values[name] else "" for name in _SECRETS}


_DEFAULTS: JsonObject = {name: value for name, value in vars(Settings()).items() if name != "origins"}
#: Numbers that must not be 0.
_POSITIVE = frozenset(
    {"user_tokens", "document_chunks", "request_chunks", "max_file_mb", "embed_timeout", "chat_timeout"}
)
#: The least and the largest value of other numbers.
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "budget": (0, math.inf),
    "reader_memory_mb": READER_MEMORY_MB,
    "reader_seconds": READER_SECONDS,
    "rerank_top": (0, MOST_RESULTS),
    "rrf_k": (0, math.inf),
    "threads": (0, math.inf),
    "top_k": (1, MOST_RESULTS),
}
_SECRETS = {each.name for each in fields(Settings) if each.metadata.get("secret")}


def exposed_keys(settings: Settings) -> list[Path]:
    """Return the configuration files with keys that everybody on this machine may read."""
    places = {settings.origins.get(name, "") for name in _SECRETS if getattr(settings, name)}
    files = sorted(Path(place) for place in places if Path(place).is_file())
    return [path for path in files if os.name != "nt" and path.stat().st_mode & 0o004]


def find_above(relative: Path) -> Path | None:
    """Return the nearest such file in the working directory or a folder above it."""
    here = Path.cwd()
    return next((folder / relative for folder in (here, *here.parents) if (folder / relative).is_file()), None)


def load(environment: Mapping[str, str] | None = None, **flags: Any) -> Settings:
    """Return the effective settings; `flags` that are None are ignored."""
    if environment is None:
        environment = os.environ
    values: JsonObject = {}
    origins: dict[str, str] = {}
    path = _config_file(environment)
    given = {name: value for name, value in flags.items() if value is not None}
    for source, read in (
        (str(path), _from_file(path) if path else {}),
        ("environment", _from_environment(environment)),
        ("flag", given),
    ):
        values |= read
        origins |= dict.fromkeys(read, source)
    return Settings(**values, origins=origins)


def _config_file(environment: Mapping[str, str]) -> Path | None:
    if named := environment.get(_PREFIX + "CONFIG"):
        if not Path(named).is_file():
            raise NotFound(f"no configuration file at {named}: mend or unset {_PREFIX}CONFIG")
        return Path(named)
    home = Path(environment.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()) / "rifflux" / "config.toml"
    return find_above(_FILE) or (home if home.is_file() else None)


def _from_file(path: Path) -> JsonObject:
    import tomllib

    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InvalidArgument(f"{path} cannot be read: {error}") from None
    return {name: _checked(name, value, str(path)) for name, value in table.items()}


def _from_environment(environment: Mapping[str, str]) -> JsonObject:
    """Variables of Rifflux; CONFIG, which names the file, and PURE, which turns off kernels, are no settings."""
    found = {}
    for variable, text in environment.items():
        if not variable.startswith(_PREFIX) or variable in (_PREFIX + "CONFIG", PURE):
            continue
        name = variable.removeprefix(_PREFIX).lower()
        found[name] = _checked(name, _parsed(name, text), variable)
    return found


def _parsed(name: str, text: str) -> Any:
    """Return a variable's text as the type of the setting it names."""
    default = _DEFAULTS.get(name)
    try:
        match default:
            case bool():
                return _SWITCHES[text.lower()]
            case int() | float():
                return type(default)(text)
            case tuple():
                return [part.strip() for part in text.split(",") if part.strip()]
            case dict():
                return json.loads(text)
            case _:
                return text
    except (ValueError, KeyError):
        raise InvalidArgument(f"{_PREFIX}{name.upper()} must be {_TYPES[type(default)]}, not {text!r}") from None


def _checked(name: str, value: Any, source: str) -> Any:
    if name not in _DEFAULTS:
        raise InvalidArgument(f"{source}: no setting {name!r}; choose from {', '.join(_DEFAULTS)}")
    wanted = type(_DEFAULTS[name])
    if wanted is tuple and isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = tuple(value)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not wanted:
        if name in _SECRETS:
            given = ""
        else:
            given = f", not {value!r}"
        raise InvalidArgument(f"{source}: {name} must be {_TYPES[wanted]}{given}")
    try:
        _check_meaning(name, value)
    except InvalidArgument as error:
        raise InvalidArgument(f"{source}: {error}") from None
    return value


def _check_meaning(name: str, value: Any) -> None:
    """Refuse an unusable value of the right type, so that no search fails on it later."""
    if value == _DEFAULTS[name]:
        return
    least, most = _BOUNDS.get(name, (-math.inf, math.inf))
    if name in _BOUNDS and not (least <= value <= most and math.isfinite(value)):
        raise InvalidArgument(f"{name} must be {_bounds(least, most)}, not {value}")
    if name in _POSITIVE and not value > 0:
        raise InvalidArgument(f"{name} must be more than 0, not {value}")
    match name:
        case "mode":
            from rifflux.session.arguments import named_mode

            named_mode(value)
        case "fusion":
            from rifflux.retrieve.fuse.spelled import fusion_of

            fusion_of(value)
        case "intents":
            from rifflux.works.intent.intents import adjusted_intents

            adjusted_intents(value, name)
        case "licenses":
            from rifflux.text.licenses import checked_rules

            checked_rules(value, name)


def _bounds(least: float, most: float) -> str:
    """Return the bounds of a number in words."""
    if math.isinf(most):
        return f"{least:g} or more"
    return f"from {least:g} to {most:g}"


class Opening(TypedDict, total=False):
    """Arguments of `rifflux.open` that settings decide."""

    language: str
    model: str | Embedder | None
    threads: int | None
    base_url: str | None
    query_prefix: str
    document_prefix: str
    api_key: str | None
    rerankers: RerankSettings | None
    chat: ChatModel | None
    synonyms: str | Path | None
    intents: Mapping[str, Mapping[str, Any]] | None
    neighbors: str
    fusion: str | None
    reranker: str | None
    rerank_top: int
    boosts: Mapping[str, float] | None
    licenses: Mapping[str, str] | None
    embed_timeout: float
    prices: Mapping[str, float] | None
    budget: float
    state: str | Path | None
    reader_seconds: int
    reader_memory_mb: int


def opening(settings: Settings) -> Opening:
    """Return the arguments of `rifflux.open` from the settings."""
    return {
        "language": settings.language,
        "model": settings.model or None,
        "threads": settings.threads or None,
        "base_url": settings.base_url or None,
        "query_prefix": settings.query_prefix,
        "document_prefix": settings.document_prefix,
        "api_key": settings.api_key or None,
        "rerankers": configured_rerankers(settings),
        "chat": configured_chat(settings),
        "synonyms": settings.synonyms or None,
        "intents": settings.intents,
        "neighbors": settings.neighbors,
        "fusion": settings.fusion or None,
        "reranker": settings.reranker or None,
        "rerank_top": settings.rerank_top,
        "boosts": settings.boosts,
        "licenses": settings.licenses,
        "embed_timeout": settings.embed_timeout,
        "prices": configured_prices(settings),
        "budget": settings.budget,
        "state": settings.state or None,
        "reader_seconds": settings.reader_seconds,
        "reader_memory_mb": settings.reader_memory_mb,
    }


def open_configured(
    settings: Settings, *, create: bool = False, profile: str = "files", progress: Progress | None = None
) -> Index:
    """Open the index of the settings; a new one is created for `profile`.

    `progress` is told of bringing one of an earlier version up to date.
    """
    import rifflux

    location = settings.location(create=create)
    return rifflux.open(location, create=create, profile=profile, progress=progress, **opening(settings))


def finder(settings: Settings) -> Finder:
    """Return the finder of files that the settings describe."""
    from rifflux import Finder

    return Finder(
        int(settings.max_file_mb * 2**20),
        hidden=settings.hidden,
        exclude=settings.exclude,
        all_files=settings.all_files,
    )


def view_of(index: Index, user: str) -> Index:
    """Return a user's view of the index; without a user, the index itself."""
    from rifflux import Scope

    if user:
        return index.scoped(Scope(user))
    return index


def configured_prices(settings: Settings) -> Mapping[str, float] | None:
    """Return the prices of models; None if the settings have none."""
    if not settings.prices:
        return None
    from rifflux.service.usage import read_prices

    return read_prices(settings.prices)


def configured_rerankers(settings: Settings) -> RerankSettings | None:
    """Return the locations of reranker models; None if the settings have none."""
    if not (settings.rerank_model or settings.llm_url or settings.llm_model or settings.llm_key):
        return None
    from rifflux import RerankSettings

    return RerankSettings(settings.rerank_model, settings.llm_url, settings.llm_model, settings.llm_key)


def configured_chat(settings: Settings) -> ChatModel | None:
    """Return the chat model; None if the settings name none. Raises `InvalidArgument`."""
    given = settings.chat_url, settings.chat_model, settings.chat_key
    if not any(given):
        return None
    if not (settings.chat_url and settings.chat_model):
        raise InvalidArgument("a chat model has an endpoint and a name: set chat_url and chat_model, or neither")
    if not settings.chat_timeout > 0:
        raise InvalidArgument(f"chat_timeout is more than 0 seconds, not {settings.chat_timeout}")
    from rifflux import ChatModel

    return ChatModel(settings.chat_model, settings.chat_url, settings.chat_key or None, settings.chat_timeout)


def configured_model(settings: Settings) -> str | Embedder | None:
    """Return the embedding model for new indexes; an endpoint's gets its address and key."""
    if settings.model:
        return configured_as(settings, settings.model)
    if settings.query_prefix or settings.document_prefix:
        raise InvalidArgument("query_prefix and document_prefix are for a model behind an endpoint: set model too")
    if settings.base_url or settings.api_key:
        raise InvalidArgument("base_url and api_key are set, but no model: set it too, such as openai:NAME")
    return None


def configured_as(settings: Settings, model: str) -> str | Embedder:
    """Return a model that is not named in the settings; an endpoint's gets their address and key."""
    given = settings.base_url, settings.api_key, settings.query_prefix, settings.document_prefix
    if not any(given):
        return model
    from rifflux import load_embedder

    return load_embedder(
        model,
        base_url=settings.base_url or None,
        api_key=settings.api_key or None,
        query_prefix=settings.query_prefix,
        document_prefix=settings.document_prefix,
    )
