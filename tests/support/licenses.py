"""What is written in the license fields of works, as sources have it, and what of a work may then be shown."""

from __future__ import annotations

__all__ = ["WILD"]

_TEXT = (
    # Codes: SPDX's, OpenAlex's, what people type.
    "CC-BY-4.0", "cc-by", "CC BY 4.0", "cc-by-nc-nd", "CC BY-NC-SA 3.0 IGO", "CC-BY-SA-3.0-DE", "cc by-nd-nc 1.0",
    "CC0", "CC0-1.0", "public-domain", "Public Domain", "mit", "gpl-v3", "MIT", "Apache-2.0", "GPL-2.0+", "ODbL-1.0",
    "GFDL-1.3-or-later", "OGL-UK-3.0", "BSD", "CC\u00a0BY\u20114.0",
    # Addresses: Crossref's, arXiv's, DataCite's, those of every version, port and language.
    "http://creativecommons.org/licenses/by/4.0/", "https://creativecommons.org/licenses/by-nc-nd/4.0/legalcode",
    "https://creativecommons.org/licenses/by-sa/3.0/de/deed.de", "http://creativecommons.org/licenses/by-nc/2.5",
    "creativecommons.org/licenses/by/4.0/?ref=chooser-v1", "http://creativecommons.org/licenses/publicdomain/",
    "https://creativecommons.org/publicdomain/zero/1.0/", "https://creativecommons.org/publicdomain/mark/1.0/",
    "https://opensource.org/licenses/MIT", "https://www.gnu.org/licenses/gpl-3.0.en.html",
    # Names and sentences: biblatex's `rights`, Zotero's, publishers'.
    "Creative Commons Attribution 4.0 International", "Attribution-ShareAlike 3.0 Unported",
    "Creative Commons Attribution-NonCommercial-NoDerivatives 4.0 International (CC BY-NC-ND 4.0)",
    "This work is licensed under a Creative Commons Attribution 4.0 International License.",
    "This is an open access article under the CC BY license (http://creativecommons.org/licenses/by/4.0/)",
    "Apache License, Version 2.0", "License :: OSI Approved :: MIT License",
    # Expressions and lists.
    "MIT OR Apache-2.0", "(MIT OR Apache-2.0) AND CC-BY-4.0", "GPL-2.0-only WITH Classpath-exception-2.0",
    "MIT/Apache-2.0", "CC-BY-4.0; MIT",
)  # fmt: skip
_ABSTRACT = (
    "http://arxiv.org/licenses/nonexclusive-distrib/1.0/", "http://arxiv.org/licenses/assumed-1991-2003/",
    "arXiv-nonexclusive-distrib-1.0", "CC-BY-4.0 AND arXiv-nonexclusive-distrib-1.0",
)  # fmt: skip
_NOTHING = (
    # OpenAlex, Crossref, publishers.
    "publisher-specific-oa", "other-oa", "implied-oa", "unspecified-oa", "publisher-specific, author manuscript",
    "elsevier-specific: oa user license", "http://www.elsevier.com/open-access/userlicense/1.0/",
    "https://www.elsevier.com/tdm/userlicense/1.0/", "http://www.springer.com/tdm", "vor", "tdm",
    "acs-specific: authorchoice/editors choice usage agreement", "http://doi.wiley.com/10.1002/tdm_license_1.1",
    "http://onlinelibrary.wiley.com/termsAndConditions#vor", "http://rightsstatements.org/vocab/InC/1.0/",
    # Rights that are somebody's, and words that say nothing.
    "All rights reserved", "\u00a9 Elsevier 2019", "proprietary", "closed", "Restricted", "see publisher", "fair use",
    "in copyright", "open access", "free", "Creative Commons", "CC", "Attribution required", "own", "none", "N/A.",
    "no license", "UNKNOWN LICENSE", "-", "?", "false", "0", "", "   ",
    # A license, and yet none: denied, narrowed, part of something else.
    "not CC BY", "Not MIT", "CC BY for figures only", "CC BY (figures)", "CC BY except figures", "CC BY or similar",
    "proprietary; MIT for code", "MIT (code), all rights reserved (text)", "MIT AND proprietary", "MIT OR proprietary",
    "MIT WITH restrictions", "CC BY-NC after embargo", "public domain in the US only", "not in the public domain",
    "(MIT", "MIT)", "OR MIT", "CC BY 5.0", "CC BY-SA-ND 4.0", "BUSL-1.1", "SSPL-1.0",
    # Lookalikes: Cyrillic, full width, a space without width, another host.
    "\u0421\u0421 BY 4.0", "\uff23\uff23 \uff22\uff39", "CC BY\u200b 4.0",
    "http://creativecommons.org.evil.org/licenses/by/4.0/", "http://evil.org/?creativecommons.org/licenses/by/4.0/",
)  # fmt: skip
#: What may be shown of a work to anybody, by its license: `text`, `abstract` or `nothing`.
WILD = dict.fromkeys(_TEXT, "text") | dict.fromkeys(_ABSTRACT, "abstract") | dict.fromkeys(_NOTHING, "nothing")
