"""Licenses: one spelling of each, and what it lets others be shown. What is not known is closed."""

from __future__ import annotations

from rifflux.text.licenses.expressions import is_known, joined, license_of, permission_of
from rifflux.text.licenses.rules import NO_LICENSE_OPENS, NO_RULES, Permission, Rules, checked_rules, rules_in, spelled

__all__ = [
    "NO_LICENSE_OPENS",
    "NO_RULES",
    "Permission",
    "Rules",
    "checked_rules",
    "is_known",
    "joined",
    "license_of",
    "permission_of",
    "rules_in",
    "spelled",
]
