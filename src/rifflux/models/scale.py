"""The scale of a model's cosines for texts of any kind, stored with the model or measured on a few texts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rifflux.models.embedder import Embedder
from rifflux.models.folder import model_error
from rifflux.types import Scores

#: The file of a model's scale, in the model's folder.
STORED = "scale.json"
#: The minimum reach, for a model that maps all texts to the same vector.
LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class ModelScale:
    """The distribution of a model's cosines for texts of any kind.

    `noise` is the mean for two sentences about different things, `spread` its standard deviation, and `reach` the
    distance of sentences about the same thing above the noise. `missed` and `found` are for a question and a whole
    passage with its title: the best passage about something else, which is the top hit where nothing answers, and the
    passage about the same thing.
    """

    noise: float
    spread: float
    reach: float
    missed: float
    found: float

    def relative(self, cosines: Scores) -> Scores:
        """Rescale cosines with a question so that `missed` becomes 0 and `found` becomes 1.

        The result is the same for any affine transformation of the model's cosines.
        """
        return (cosines - self.missed) / (self.found - self.missed)


def stored_scale(embedder: Embedder) -> ModelScale | None:
    """Return the scale stored in a model's folder, or None without one for its fingerprint.

    Raises `ModelError` for an invalid file.
    """
    folder = getattr(embedder, "folder", None)
    path = Path(folder or "", STORED)
    if not folder or not path.is_file():
        return None
    try:
        content = json.loads(path.read_text("utf-8"))
        known = content.pop("fingerprint")
        found = ModelScale(**dict(zip(content, map(float, content.values()), strict=True)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise model_error(path, "is not a scale: remove it, or fetch the model again", error) from None
    if known == embedder.fingerprint:
        return found
    return None


def measured_scale(embedder: Embedder) -> ModelScale:
    """Measure the scale of a model on `TOPICS`, by embedding some sixty short texts."""
    texts = [text for _, *sentences in TOPICS for text in sentences]
    topics = np.repeat(np.arange(len(TOPICS)), [len(sentences) for _, *sentences in TOPICS])
    sentences = embedder.embed_documents(texts).astype(np.float64)
    cosines = sentences @ sentences.T
    same = topics[:, None] == topics
    others = cosines[~same]
    related = cosines[same & ~np.eye(len(texts), dtype=bool)]
    noise = float(others.mean())
    spread = float(others.std())
    missed, found = _missed_and_found(embedder)
    # A model that cannot distinguish topics has no reach; its cosines still differ by this much.
    least = max(spread, LEAST)
    return ModelScale(noise, spread, max(float(related.mean()) - noise, least), missed, max(found, missed + least))


def _missed_and_found(embedder: Embedder) -> tuple[float, float]:
    """Return the mean cosine of a question with the best passage about something else, and with its own passage."""
    passages = embedder.embed_documents(["\n".join((title, " ".join(sentences))) for title, *sentences in TOPICS])
    questions = np.stack([embedder.embed_query(question) for question, *_ in TOPICS])
    cosines = questions.astype(np.float64) @ passages.astype(np.float64).T
    found = float(np.diag(cosines).mean())
    np.fill_diagonal(cosines, -np.inf)
    return float(cosines.max(axis=1).mean()), found


#: Questions, each the title of sentences about the same thing; no two rows share a topic.
TOPICS = (
    (
        "How long should bread dough rise?",
        "Let the dough rise in a warm place until it has doubled, about an hour and a half.",
        "A slow rise in the refrigerator gives sourdough more flavor and a better crust.",
        "Yeast dough that rests too long collapses and bakes into a dense loaf.",
        "Knead the flour, water and salt until the dough is smooth, then cover the bowl.",
    ),
    (
        "When do swallows migrate?",
        "Barn swallows leave for Africa in September and return to their nests in April.",
        "Many songbirds travel at night and find their way by the stars.",
        "Flocks gather on wires before the long flight south across the desert.",
        "Ringing birds has shown that the same pair nests in the same barn year after year.",
    ),
    (
        "What does a hash table cost?",
        "Looking up a key in a hash table takes constant time on average.",
        "When two keys fall into the same bucket, they are kept in a list or probed further on.",
        "The table grows when it is three quarters full, and every entry is inserted again.",
        "A dictionary in Python keeps its keys in the order in which they were added.",
    ),
    (
        "How is high blood pressure treated?",
        "Patients with hypertension are first advised to eat less salt and to exercise.",
        "ACE inhibitors lower the blood pressure by widening the arteries.",
        "In the trial, systolic pressure fell by nine millimeters in the treated group.",
        "Untreated hypertension raises the risk of stroke and of kidney failure.",
    ),
    (
        "Can the tenant end the lease early?",
        "The tenant may terminate the lease with three months' notice in writing.",
        "The landlord must return the deposit within thirty days after the lease ends.",
        "Rent is due on the first day of each month; late payment is charged interest.",
        "Subletting needs the written consent of the owner of the apartment.",
    ),
    (
        "Who fought at Waterloo?",
        "Napoleon's army was defeated in 1815 by Wellington and the Prussians under Blücher.",
        "The French cavalry charged the British squares again and again that afternoon.",
        "After the battle the emperor abdicated and was exiled to Saint Helena.",
        "The Congress of Vienna redrew the borders of Europe after the wars.",
    ),
    (
        "How do black holes form?",
        "A star of more than twenty solar masses collapses into a black hole when its fuel is spent.",
        "No light escapes from inside the event horizon.",
        "The merger of two black holes was first heard in gravitational waves in 2015.",
        "Gas that falls towards the hole heats up in a disk and shines in X-rays.",
    ),
    (
        "Shall we meet on Thursday?",
        "Thursday at ten suits me, but Anna can only come after lunch.",
        "I have moved our meeting to Friday morning; the room stays the same.",
        "Could you send around the agenda before the call tomorrow?",
        "Sorry, I am on the train then. Let us talk on the phone in the evening.",
    ),
    (
        "How do I replace a bicycle chain?",
        "Push out the pin with a chain tool, and thread the new chain through the derailleur.",
        "A worn chain wears down the sprockets; measure it every thousand kilometers.",
        "Shift to the smallest cog before you take off the rear wheel.",
        "Clean and oil the chain after riding in the rain.",
    ),
    (
        "Does raising interest rates slow inflation?",
        "The central bank raised its rate by half a point to bring inflation down.",
        "Higher rates make mortgages dearer, so that households spend less.",
        "Unemployment rose as companies put off their investments.",
        "Consumer prices went up by four percent over the year, led by energy.",
    ),
)
