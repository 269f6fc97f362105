"""Words too common to tell documents apart, by Snowball language name."""

_ENGLISH = """
a about above after again against all am an and any are as at be because been before being below between both but
by can could did do does doing don down during each few for from further had has have having he her here hers
herself him himself his how i if in into is it its itself just me more most my myself no nor not now of off on once
only or other our ours ourselves out over own s same she should so some such t than that the their theirs them
themselves then there these they this those through to too under until up very was we were what when where which
while who whom why will with would you your yours yourself yourselves
"""
_GERMAN = """
aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des die dies diese
dieser dir doch dort du durch ein eine einem einen einer eines er es für hat hatte hier ich ihm ihn ihr ihre im in
ist ja jede kann kein man mein mich mir mit nach nicht noch nun nur ob oder ohne sehr sein sich sie sind so über um
und uns unser unter vom von vor war was weil wenn wer wie wir wird wo zu zum zur
"""
_FRENCH = """
à au aux avec ce ces cette dans de des du elle elles en est et eux il ils je la le les leur leurs lui ma mais me même
mes moi mon ne nos notre nous on ou où par pas pour qu que qui sa se ses si son sont sur ta te tes toi ton tu un une
vos votre vous y été être avoir
"""
_SPANISH = """
a al algo como con contra cual cuando de del desde donde durante e el ella ellos en entre era es esa ese eso esta
este esto fue ha hay la las le les lo los más me mi muy ni no nos o para pero por porque que quien se ser si sin
sobre su sus también te tu un una uno y ya yo
"""
_ITALIAN = """
a ad al alla alle anche che chi ci come con da dal dalla degli dei del della delle di dove e è ed era gli ha i il in
io la le lei lo lui ma mi ne nei nel nella noi non o per più quale quando quello questo se si sono su sua sui sul
suo tra tu un una uno voi
"""
_PORTUGUESE = """
a ao aos as até com como da das de do dos e é ela ele em entre era essa esse esta este eu foi há isso já lhe mais mas
me meu minha muito na não nas nem no nos nós o os ou para pela pelo por qual quando que quem se sem ser seu sua são
só também te tem um uma você
"""
_DUTCH = """
aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen had heb
hem het hier hij hoe hun iets ik in is ja je kan maar me men met mij mijn na naar niet nog nu of om omdat ons ook op
over te tot uit uw van veel voor want was wat we wel wie wij wordt zal ze zich zij zijn zo zonder zou
"""

_LISTS = {
    "english": _ENGLISH,
    "porter": _ENGLISH,
    "german": _GERMAN,
    "french": _FRENCH,
    "spanish": _SPANISH,
    "italian": _ITALIAN,
    "portuguese": _PORTUGUESE,
    "dutch": _DUTCH,
}


def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language, case-folded, with diacritics; empty for a language without a list."""
    return frozenset(_LISTS.get(language, "").split())
