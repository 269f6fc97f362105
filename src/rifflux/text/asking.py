"""Words that ask, and say nothing of what is asked for: `Could you tell me about …`, `What is …?`, `… meaning`.

A question is taken apart by runs of words, not by a list of wordings. At its beginning, words are let go as long as
they are stop words or words that ask; at its end, as long as they are stop words or words that close a question. Verbs
that also name what people look for (`find`, `list`, `show`) only ask where somebody is told to do it or somebody is
told something: `show me`, `where can I find`, not `find` alone, which is a command too. Nouns such as `details` ask
where a preposition follows. What tells questions apart (`how`, `why`, `who`, `when`) stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rifflux.text.stopwords import stop_words

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
#: What a formula, a name or a path has next to its letters, and a sentence has not.
_INSIDE = frozenset("$\\{}^_=+*/|<>@#~&%")
#: `How does X work?` asks what X is.
_WORKING = frozenset({"work", "works"})


@dataclass(frozen=True, slots=True)
class Framed:
    """A question as the words that ask before it, its subject, and those after it."""

    before: str
    subject: str
    after: str


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a language that ask.

    `verbs` do nothing else at the beginning of a question, `doubtful` ones may be its subject, `nouns` ask before a
    preposition, `closing` words at the end; `fillers` are polite, and `kinds` tell what sort of answer is wanted.
    """

    verbs: frozenset[str]
    doubtful: frozenset[str]
    nouns: frozenset[str]
    closing: frozenset[str]
    fillers: frozenset[str]
    kinds: frozenset[str]
    stop: frozenset[str]


# In each language: verbs; doubtful; nouns; closing; fillers; kinds.
_LISTS: Mapping[str, Sequence[str]] = {
    "english": (
        "tell explain describe define clarify elaborate outline summarize summarise inform remind teach enlighten",
        "show give find list see know learn look looking search searching read hear get need want like wondering wonder"
        " curious help interested provide point say says write written mention discuss cover talk talks happen"
        " understand remember recall check fetch bring pull share present locate ask asking introduce walk",
        "information info details detail definition meaning explanation description overview summary introduction"
        " everything anything something stuff facts documentation docs documents notes passages sections pages text"
        " material primer background context knowledge insight insights section passage page note document chapter"
        " entry article articles paper papers anyone someone somebody anybody",
        "mean means meaning definition explained described defined discussed mentioned covered documented found stated"
        " explanation overview summary details info information please thanks stand stands say says talk entail refer"
        " refers",
        "please hi hello hey dear kindly thanks thank maybe briefly quickly shortly exactly basically actually simply"
        " regarding concerning around relating got there 's us let lets let's i'd i'm what's where's i've d m ve s re",
        "how why when who whom whose which",
    ),
    "german": (
        "erkläre erklär erklären erkläre beschreibe beschreib beschreiben definiere definieren erzähl erzähle erzählen"
        " erläutere erläutern sag sage sagen",
        "zeig zeige zeigen gib geben finde finden suche suchen such liste wissen lernen sehen lesen brauche möchte"
        " will würde gern gerne kannst können könntest könnten hilf helfen steht gibt heißt",
        "information informationen infos info details einzelheiten definition bedeutung erklärung beschreibung"
        " überblick übersicht zusammenfassung alles etwas näheres genaueres dokumentation",
        "bedeutung definition erklärt beschrieben definiert erwähnt bedeutet heißt erklärung überblick details bitte"
        " danke",
        "bitte hallo danke mal kurz genau eigentlich bezüglich hinsichtlich betreffend",
        "wie warum weshalb wieso wann wer wen wem wessen welche welcher welches",
    ),
    "french": (
        "explique expliquer expliquez décris décrire décrivez définis définir définissez raconte racontez dis dites"
        " parle parlez",
        "montre montrer montrez donne donner donnez trouve trouver trouvez cherche chercher liste savoir connaître voir"
        " lire voudrais aimerais veux peux pouvez pourrais pourriez faut trouve-t-on",
        "information informations infos détails détail définition signification explication description aperçu résumé"
        " tout quelque chose documentation",
        "signification définition expliqué décrit défini mentionné signifie veut dire explication aperçu détails"
        " merci svp",
        "bonjour salut merci svp plaît s'il brièvement exactement concernant est-ce c'est qu'est-ce",
        "comment pourquoi quand qui quel quelle quels quelles",
    ),
    "spanish": (
        "explica explicar explícame describe describir define definir cuenta cuéntame contar di dime háblame",
        "muestra mostrar muéstrame da dame dar encuentra encontrar busca buscar busco lista saber conocer ver leer"
        " quiero quisiera necesito puedes podrías puede podría gustaría significa",
        "información datos detalles definición significado explicación descripción resumen todo algo documentación",
        "significado definición explicado descrito definido mencionado significa explicación resumen detalles favor"
        " gracias",
        "hola favor gracias brevemente exactamente respecto acerca",
        "cómo como por qué porqué cuándo cuando quién quien cuál cual cuáles",
    ),
    "italian": (
        "spiega spiegare spiegami descrivi descrivere definisci definire racconta raccontami dimmi parlami",
        "mostra mostrare mostrami dai dammi dare trova trovare cerca cercare cerco elenca sapere conoscere vedere"
        " leggere vorrei voglio puoi potresti può potrebbe significa",
        "informazioni informazione dettagli dettaglio definizione significato spiegazione descrizione panoramica"
        " riassunto tutto qualcosa documentazione",
        "significato definizione spiegato descritto definito menzionato significa spiegazione riassunto dettagli"
        " grazie",
        "ciao salve favore grazie brevemente esattamente riguardo cos'è",
        "come perché quando chi quale quali",
    ),
    "portuguese": (
        "explica explique explicar descreve descreva descrever define defina definir conta conte diz diga fala fale",
        "mostra mostre mostrar dá dê dar encontra encontrar encontre procura procurar procuro lista saber conhecer ver"
        " ler quero queria gostaria preciso pode poderia podes significa",
        "informação informações detalhes detalhe definição significado explicação descrição resumo tudo algo"
        " documentação",
        "significado definição explicado descrito definido mencionado significa explicação resumo detalhes favor"
        " obrigado obrigada",
        "olá oi favor obrigado obrigada brevemente exatamente respeito acerca sobre",
        "como porquê porque quando quem qual quais",
    ),
    "dutch": (
        "vertel vertellen leg leggen uitleggen beschrijf beschrijven definieer definiëren zeg zeggen",
        "toon tonen laat zien geef geven vind vinden zoek zoeken lijst weten leren lezen wil zou graag kun kunt"
        " kunnen staat betekent",
        "informatie info details detail definitie betekenis uitleg beschrijving overzicht samenvatting alles iets"
        " documentatie",
        "betekenis definitie uitgelegd beschreven gedefinieerd genoemd betekent uitleg overzicht details alstublieft"
        " bedankt",
        "hallo alsjeblieft alstublieft bedankt even kort precies eigenlijk betreffende",
        "hoe waarom wanneer wie wiens welke welk",
    ),
}


#: Words for works and for writing them, and those that stand before who wrote them, by language.
_WRITING: Mapping[str, tuple[str, str]] = {
    "english": (
        "work works book books thesis theses preprint preprints publication publications publish publishes published"
        " writing writings write writes wrote written author authors authored bibliography journal contribution"
        " contributions output available year years either",
        "by",
    ),
    "german": (
        "arbeit arbeiten werk werke buch bücher aufsatz aufsätze artikel veröffentlichung veröffentlichungen schriften"
        " veröffentlicht veröffentlichte publiziert publizierte geschrieben schrieb verfasst autor autoren jahr",
        "von",
    ),
    "french": (
        "travail travaux œuvre œuvres ouvrage ouvrages livre livres article articles publication publications publié"
        " publiés écrit écrits auteur auteurs année",
        "par",
    ),
    "spanish": (
        "trabajo trabajos obra obras libro libros artículo artículos publicado publicó escrito autor año",
        "por",
    ),
    "italian": ("lavoro lavori opera opere libro libri articolo articoli pubblicato scritto autore anno", "di da"),
    "portuguese": ("trabalho trabalhos obra obras livro livros artigo artigos publicado escrito autor ano", "por"),
    "dutch": ("werk werken boek boeken artikel artikelen gepubliceerd geschreven auteur jaar", "van door"),
}
WRITTEN_BY: Mapping[str, frozenset[str]] = {language: frozenset(by.split()) for language, (_, by) in _WRITING.items()}


@cache
def _words_of(language: str) -> _Words | None:
    if language == "porter":
        language = "english"
    if language not in _LISTS:
        return None
    verbs, doubtful, nouns, closing, fillers, kinds = (frozenset(each.split()) for each in _LISTS[language])
    return _Words(verbs, doubtful, nouns, closing, fillers, kinds, stop_words(language) - kinds)


def framed(text: str, language: str) -> Framed:
    """Return a question with the words apart that only ask; one of nothing else is all subject."""
    known = _words_of(language)
    places = [*_WORD.finditer(text)]
    if known is None or len(places) < 2:
        return Framed("", text, "")
    words = [place[0].casefold().replace("’", "'") if _is_apart(place) else "" for place in places]
    if language == "english" and words[0] == "how" and words[1] in known.stop and words[-1] in _WORKING:
        first = max(2, 1 + _leading(words[1:], known))
        last = len(words) - 1
    else:
        first = _leading(words, known)
        last = _trailing(words, first, known)
    if first >= last or known.stop.issuperset(words[first:last]):
        return Framed("", text, "")
    start = places[first].start() if first else 0
    while start and text[start - 1] in _INSIDE:
        start -= 1
    if last < len(words):
        end = places[last - 1].end()
    else:
        end = len(text)
    return Framed(text[:start].strip(), text[start:end].strip() if first or last < len(words) else text, text[end:])


def asks_only(words: Iterable[str], language: str) -> bool:
    """Return True if words only ask for works: `articles written by`, `what did … publish`."""
    if language == "porter":
        language = "english"
    known = _words_of(language)
    writing = frozenset(_WRITING.get(language, ("", ""))[0].split())
    if known is None:
        return not any(words)
    asking = (known.verbs, known.doubtful, known.nouns, known.closing, known.fillers, known.kinds, known.stop, writing)
    return all(any(word in each for each in asking) for word in words)


def asks_how(subject: str, language: str) -> bool:
    """Return True if the subject of a question begins with a question word: how, why, who."""
    known = _words_of(language)
    first = _WORD.search(subject)
    return bool(known and first and first[0].casefold() in known.kinds)


def _is_apart(place: re.Match[str]) -> bool:
    """Return True for a word of a sentence; one in a formula, a name or a path asks nothing, as the `A` of `m_A`."""
    text, start, end = place.string, *place.span()
    return text[start - 1 : start] not in _INSIDE and text[end : end + 1] not in _INSIDE


def _leading(words: Sequence[str], known: _Words) -> int:
    """Return how many words before the subject ask; none if they are stop words only, but for `what is`."""
    end = asking = 0
    for place, word in enumerate(words):
        if word in known.kinds:
            break
        if word in known.verbs:
            asking = end = place + 1
        elif word in known.doubtful or word in known.nouns:
            told = place > 0 and word in known.doubtful and end == place and words[place - 1] in known.stop
            if told or _leads_on(words, place, known):
                asking = end = place + 1
            else:
                break
        elif word in known.stop or word in known.fillers:
            end = place + 1
        else:
            break
    if asking or end > 1:
        return end
    return 0


def _leads_on(words: Sequence[str], place: int, known: _Words) -> bool:
    """Return True if a stop word follows, right away or after others that ask: `detailed information on`."""
    for word in words[place + 1 :]:
        if word in known.stop or word in known.verbs or word in known.fillers:
            return True
        if word not in known.doubtful and word not in known.nouns:
            return False
    return False


def _trailing(words: Sequence[str], first: int, known: _Words) -> int:
    """Return where the subject ends, before words that close a question."""
    end = place = len(words)
    while place > first + 1:
        word = words[place - 1]
        if word in known.closing or word in known.fillers:
            end = place - 1
        elif word not in known.stop:
            break
        place -= 1
    return end
