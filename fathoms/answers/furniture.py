"""Finds what stands around an answer and is no part of it: lists of sources, offers of further help,
disclaimers, confidence, time stamps, and openings such as "Sure!".

Everything is decided line by line from the end, and sentence by sentence in the last line, so that each
character is looked at a few times at most. What would leave nothing of an answer is left in place by
`fathoms.answers.reading`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["sources", "offer", "disclaimer", "confidence", "opening"]


class Piece(NamedTuple):
    """A stretch of a text, and what kind of furniture it is."""

    kind: Kind
    start: int
    end: int


_SUFFIX = r"\.(?:pdf|docx?|pptx?|xlsx?|html?|txt|md|csv|json|vtt|srt|png|jpe?g)\b"
_FILE = rf"[\w)\]]{_SUFFIX}"
_HAS_FILE = re.compile(_SUFFIX, re.IGNORECASE)
_NAMED_PLACE = re.compile(rf"{_FILE}|https?://|www\.|\bdoi\b|§", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w")
_DECORATION = r"(?:[#>*_\-–—=•·\s]|[^\w\s.,;:：!?'\"()\[\]{}/\\$%&@+<|~^`])*+"  # noqa: RUF001
_WORD_END = r"(?![^\W_])"
"""Ends a word as `\\b` does, but also before the `_` of emphasis."""
_WORDS_OF_SOURCES = (
    r"(?:(?:data |key |main |primary |cited |used |the )?(?:sources?|source\(s\)|references?|refs?\.?"
    r"|citations?"
    r"|footnotes?|evidence"
    r"|supporting (?:documents?|evidence|passages?|texts?|quotes?|excerpts?)|works cited"
    r"|bibliography|further reading"
    r"|retrieved from|(?:documents?|docs?|contexts?|files?) used|(?:learn|read) more"
    r"|more (?:information|details|at)|links?"
    r"|source documents?|referenced? documents?|source files?)"
    r"(?: (?:used|cited|consulted|list))?|quellen?|belege|literatur|références?|fuentes?"
    r"|referencias|fonti|riferimenti"
    r"|fontes|bronnen|källor|来源|參考|参考(?:文献|资料)?|引用元?|出典|источники)"
)
_HEADING = re.compile(
    rf"{_DECORATION}{_WORDS_OF_SOURCES}{_WORD_END}{_DECORATION}[:：]?{_DECORATION}",  # noqa: RUF001
    re.IGNORECASE,
)
_HEADING_WITH_ITEMS = re.compile(
    rf"{_DECORATION}{_WORDS_OF_SOURCES}{_WORD_END}{_DECORATION}[:：]{_DECORATION}(?P<items>[^\n]*)",  # noqa: RUF001
    re.IGNORECASE,
)
_RELATED = (
    r"(?:related|see also|follow[- ]?ups?|suggested"
    r"|you (?:may|might|could) (?:also )?(?:ask|like|want|be interested)|people also ask"
    r"|next questions?|other questions?|more questions?|further questions?)"
)
_RELATED_HEADING = re.compile(rf"{_DECORATION}{_RELATED}\b[^\n:]{{0,60}}[:?]?{_DECORATION}", re.IGNORECASE)
_RELATED_WITH_ITEMS = re.compile(rf"{_DECORATION}{_RELATED}\b[^\n:]{{0,60}}:[^\n]*", re.IGNORECASE)
_INLINE_HEADING = re.compile(
    rf"(?:(?<=[.!?…。])|(?<=[.!?][\"')\]*_”])"
    rf"|(?<=[—–]))\s+(?P<head>[(\[*_]{{0,4}}\b{_WORDS_OF_SOURCES}\b[*_]{{0,4}}\s?[:：])"  # noqa: RUF001
    r"(?P<items>.*)",
    re.IGNORECASE,
)
_LEAD = rf"{_DECORATION}[(\[{{]{{0,2}}[*_]{{0,3}}"
_STANDS = r"(?:(?:this|it|the \w+) )?(?:(?:is|was|can be) )?(?:found|stated|given|shown|listed) (?:in|on|at)"
_ITEM = re.compile(
    r"\s*(?:[-*+•·–—]|\(?\[?\^?\d{1,3}\]?[.):]?|[a-z][.)]|[¹²³⁴⁵⁶⁷⁸⁹⁰]+|【[^】]*】)\s*\S",  # noqa: RUF001
    re.IGNORECASE,
)
_NOTE = re.compile(r"\s*(?:\[\^[\w-]{1,20}\]:|\[\d{1,3}\]:?\s+\S|[¹²³⁴⁵⁶⁷⁸⁹]{1,2}\s*\S)")
_PAGE = r"(?:page[=:]?|pp?\.?|pages?:?|pg\.?|seiten?|S\.|slides?|sheet)\s*[*_]*[:.]?[*_]*\s*"
_PAGES = r"\d+(?:\s*(?:[-–,&]|and)\s*\d+)*"  # noqa: RUF001
_ONLY_SOURCE = re.compile(
    rf"{_LEAD}(?:(?:see|from|in|according to|source|via|{_STANDS}"
    rf"|(?:source )?(?:document|file)(?: ?name)?)\b[*_]*:?[*_]*\s*)?"
    rf"(?:(?!\b(?:is|are|was|were)\b)[\w .,()&'’-]){{0,120}}?{_FILE}"  # noqa: RUF001
    rf"(?:\s*[,:;#(]?\s*(?:{_PAGE})?{_PAGES}\)?)?[\s*_)\]}}.]*",
    re.IGNORECASE,
)
_PLACE = re.compile(
    rf"https?://\S{{1,500}}|www\.\S{{1,500}}|[^\s,;|<>(]{{0,80}}{_FILE}|\b{_PAGE}{_PAGES}"
    rf"|\b(?:documents?|docs?|sources?|passages?|chunks?|excerpts?|sections?|files?|hits?)"
    rf"[ :#]{{1,3}}{_PAGES}",
    re.IGNORECASE,
)
_AROUND_PLACES = re.compile(
    r"\b(?:sources?|refs?|references?|docs?|documents?|files?|names?|pages?|numbers?|no|nr|sections?|chapters?"
    r"|passages?|chunks?|excerpts?|contexts?|citations?|evidence|links?|url|cited|used"
    r"|retrieved|relevant|supporting"
    r"|from|in|on|at|of|by|to|the|this|it|(?:is|was)(?= (?:found|stated|given|shown|listed|taken|based))|can"
    r"|be|and|via|see|cf|please|refer|consult|according|based|taken"
    r"|found|stated|given|shown|listed|information|answer|quelle|seite)\b|[\d_]",
    re.IGNORECASE,
)
_POINTER = re.compile(
    rf"{_DECORATION}(?:please )?(?:see|refer to|consult|check|visit|read)\s[^\n.!?]{{1,120}}\sfor "
    r"(?:(?:more|further|additional|full|complete|all|the)\s){0,2}(?:details?|information|context)\b[^\n]{0,60}",
    re.IGNORECASE,
)
_CONFIDENCE = re.compile(
    rf"{_LEAD}\s*\"?(?:(?:answer|overall|my|model|estimated)\s+)?"
    r"(?:confidence|certainty|relevance|groundedness"
    # a probability alone may be what was asked for, but not `answer probability: 0.7` or `Reliability: 70 %`
    r"|(?:probability|reliability)(?:(?<=[a-z] .{11})|(?=[^\n]{1,12}[%★●■]))"
    r"|konfidenz|konfianz|confiance)"
    r"(?:[\s_]+(?:score|level|rating|in this answer))?\"?(?:\s*\([^()\n]{1,20}\))?"
    r"[*_\s]*+(?:[:=–—-]|is)[*_\s]*+"  # noqa: RUF001
    r"(?:(?:about|around|very)?\s*(?:high|medium|moderate|low|certain|hoch|mittel|niedrig)|[★☆⭐●○■□█▓▒░▰▱]+\s*"
    r"(?:\d{1,3}\s?%)?|(?:about |around |~)?\d{1,3}(?:[.,]\d{1,4})?"
    r"(?:\s*(?:%|/\s*\d{1,3}|percent|out of \d{1,3}))?)[^\n]{0,40}?[*_)\]}\s.]*"
    r"|[^\n\w]*(?:(?:this|my|the) (?:answer|response) (?:has|comes with) (?:an? )?)?(?:estimated |overall )?"
    r"(?:very |fairly )?(?:(?:high|medium|moderate|low)[- ]confidence"
    r"|confidence (?:of|about|around|[:=]) (?:about |around )?\d{1,3} ?%?)[\s.*_)]*"
    r"|I(?:['’]m| am) (?:(?:\d{1,3}\s?%|very|fairly|quite|highly|reasonably|not(?: very)?) )?"  # noqa: RUF001
    r"(?:confident|certain|sure) (?:in|about|of) (?:this|that|my|the)(?: answer| response)?\b"
    r"(?:,? (?:as|because|since|given)\b[^\n]{0,160}|[^\n]{0,20})",
    re.IGNORECASE,
)
_NAMED_PAGE = re.compile(
    rf"{_DECORATION}[(\[][^()\[\]\n]{{1,100}}[,;:]\s*(?:{_PAGE}|section\s|chapter\s|§\s?){_PAGES}(?:\.\d+)*[)\]][\s*_.]*",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"[^\w\n]*(?:(?:best|kind|warm)(?: regards| wishes)?|regards|sincerely|cheers|yours(?: \w+)?),?[ \t]*"
    r"\n\s*[^\w\n]*\w+(?:[ -]\w+){0,4}\W*",
    re.IGNORECASE,
)
"""Matches a closing formula with the name below it."""
_BOT = re.compile(
    r"[^\n\w]{0,3}[—–-]\s?(?:\w+[ -]){0,3}\w*(?:bot|assistant|copilot|AI|GPT)\b\W*",  # noqa: RUF001
    re.IGNORECASE,
)
_IN_ANGLES = re.compile(r"\s*(?:<<[^<>\n]{1,200}>>\s*)+")
_CLARIFIES = re.compile(
    r"\b(?:(?:do|did) you mean|are you (?:asking|referring)|(?:can|could) you (?:please )?(?:clarify|specify"
    r"|rephrase|tell me|confirm)|have in mind|(?:which|what) (?:\w+ ){0,4}(?:do|did|are) you)\b",
    re.IGNORECASE,
)
"""Matches a question that asks what was meant: it is what such an answer says, and no offer."""
_ANNOUNCES = re.compile(
    r"\b(?:(?:is|are|was|were) (?:this|these)|as follows|the following(?: \w+){0,2})[.:]?\Z", re.IGNORECASE
)
_OF_FURNITURE = re.compile(
    r"\b(?:note|disclaimer|important|remember|follow|questions? you|next|suggest\w*|confidence|explore|like"
    r"|offer|related|further|answer)\b",
    re.IGNORECASE,
)
"""Matches a word by which a line announces furniture."""
_STAMP = re.compile(
    rf"{_DECORATION}[(\[]?(?:(?:(?:this\s+)?(?:answer|response|reply)\s+(?:was\s+)?)?generated|answered|created"
    r"|updated|last (?:updated|modified)|time ?stamp"
    r"|as of|retrieved|accessed|response time|latency|elapsed|tokens(?: used)?|model|took|date"
    r"|time|duration|cost)\b"
    r"[^\n]{0,60}?(?:(?<=tokens: )\d|(?<=used: )\d|[$€]\s?0\.\d"
    r"|\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|tokens)\b|gpt"
    r"|claude|gemini|llama|qwen|mistral)"
    r"[^\n]{0,60}",
    re.IGNORECASE,
)
_GENERATED = re.compile(
    rf"{_DECORATION}(?:disclaimer|haftungsausschluss)[*_]*:[^\n]*"
    rf"|{_DECORATION}[(\[]?(?:AI[- ])?(?:generated|written|created|produced|powered)"
    r" (?:by|with|using) (?:an? )?(?:AI|artificial|copilot|chatgpt|gpt|claude|gemini|llama|qwen|mistral)\b"
    r"[\w .-]{0,40}"
    r"[\s*_)\].]*|\W*[⏱⌛⏳🕒]\W*\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\W*|finish[_ ]reason\s?[:=][^\n]{0,20}"
    r"|\[\d{1,2}:\d\d(?::\d\d)?\]|\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\w:+ .]{0,12}"
    r"|\(\d+ tokens\)|\[(?:END|DONE|STOP|EOF)\]|\W*end of (?:answer|response|reply)\W*",
    re.IGNORECASE,
)
_SPECIAL_TOKEN = re.compile(r"<\|[\w-]{2,30}\|>\Z")
_COURTESY = re.compile(
    rf"{_DECORATION}(?:(?:many )?thanks?(?: you)?\b[^\n.!?]{{0,60}}|cheers"
    r"|have an? \w+ (?:day|evening|weekend|week)"
    r"|(?:best|kind|warm)(?: regards| wishes)?,?|regards,?|sincerely,?|(?:good|best of) luck[^\n.!?]{0,40}"
    r"|you['’]re welcome|take care|(?:your |an? )?(?:AI |virtual )?assistant)[\s*_.!]*",  # noqa: RUF001
    re.IGNORECASE,
)
_ASKS = re.compile(
    rf"{_DECORATION}(?:(?:and|or|so|but|also)\s)?(?:(?:would|do|did|does|can|could|shall|should|may|might"
    r"|will|are|is)\s"
    r"(?:you|I|we|it|this|that|there)\b|(?:want|need|interested|curious|ready|any)\b"
    r"|(?:what|which|who|where|when|why|how)\b(?=[^\n]*\b(?:you|your|I|me|we|else)\b))[^\n]{0,240}\?[\s*_)]*",
    re.IGNORECASE,
)
_DISCLAIMER = re.compile(
    rf"{_DECORATION}[(\[]?(?:(?:(?:please\s+)?note(?:\s+that)?|disclaimer|important|caution|warning"
    rf"|hinweis|remember)\b)?[*_\s:,]*+"
    r"(?:[^\n]{0,160}(?<![^\W_])(?:AI[- ]generated|generated (?:by|with|using) (?:an? )?(?:AI|artificial"
    r"|language model|LLM)"
    r"|(?:I am|I'm|I’m|as) an? (?:AI|artificial|language model)|(?:AI|assistants?"  # noqa: RUF001
    r"|language models?|LLMs?|chatbots?|chatgpt|gemini|claude|copilot|notebooklm|perplexity"
    r"|(?:answers?|responses?|repl(?:y|ies)|information|contents?|outputs?|results?|summar(?:y|ies)|this|I"
    r"|passages?|excerpts?|contexts?)"
    r"\b[^\n.]{0,40}?) (?:can|may|might|could) (?:not )?"
    r"(?:be|contain|make|produce|include|have) (?:entirely |fully |always |some |occasional )?"
    r"(?:inaccura\w*|accurate|incorrect|correct|wrong|incomplete|complete|errors?|mistakes?|outdated"
    r"|up to date)"
    r"|(?:this|the|my) (?:answer|response|reply|information) (?:is|was) (?:based|derived|drawn|taken)"
    r" (?:only|solely|exclusively|entirely) (?:on|from)"
    r"|(?:answer|response|reply|message|summary) (?:is|was) (?:(?:generated|written|created|an?) )?automat\w*"
    r"|(?:is|am|are|was) (?:an? |the )?automated (?:answer|response|reply|message)"
    r"|I only (?:have|had) access to|I can only (?:see|access|read)\b[^\n]{0,40} (?:files?|documents?|pages?)"
    r"|my (?:knowledge|access|answers?) (?:is|are) (?:limited|restricted) to"
    r"|(?:answer|response|reply|summary) (?:is|was) (?:generated|created|written|produced) (?:by|with) an? AI"
    r"|(?:double|cross)[- ]check important details"
    r"|(?:information|answer|response)(?: above| given)? (?:is|was) based on (?:the|your)"
    r"|(?:not|n['’]t) (?:a substitute for|intended as|meant as|constitute)"  # noqa: RUF001
    r"|(?:is|are) not (?:legal|medical|financial|professional|tax|investment)"
    r"|(?:consult|seek|contact) (?:a|an|your|with a)\b[^\n]{0,40}(?:professional|expert|advisor|specialist"
    r"|(?:doctor|lawyer|physician|attorney)\b"
    r"(?=[^\n]*\b(?:advice|guidance|your (?:\w+ )?(?:case|situation))))"
    r"|(?:please |always )?(?:verify|double[- ]check|cross[- ]check|confirm|check) (?:important|critical"
    r"|this|these|the|any|all|with|against)\b[^\n]{0,60}"
    r"(?:info(?:rmation)?|facts?|answers?|documents?|sources?|originals?)"
    r"|(?:please|always) (?:verify|double[- ]check|cross[- ]check|confirm|check)\b[^\n]{0,60}"
    r"(?:figures?|values?|details?)"
    r"|(?:please )?(?:double|cross)[- ]check(?: (?:this|it|them|everything))?(?=\W*\Z)"
    r"|based (?:only |solely )?on [^\n]{0,60}\b(?:documents?|excerpts?|context|passages?|pages?)"
    r"(?: provided| above| only)*(?=\W*\Z))\b)[^\n]*",
    re.IGNORECASE,
)
_OFFER = re.compile(
    rf"{_DECORATION}(?:(?:but|and|so|also|otherwise|alternatively|however|please|just|anyway)\b,?\s+)*(?:"
    r"would you (?:like|want|prefer|care)\b|do you (?:want|need|have any)\b|(?:shall|should|may|can"
    r"|could) I\b(?=[^\n]{0,200}\?)"
    r"|want (?:me|to)\b(?=[^\n]{0,200}\?)|need (?:any|more|further|anything)\b(?=[^\n]{0,200}\?)"
    r"|(?:please\s+)?let me know\b|(?:please )?feel free\b|(?:please )?do(?:n['’]t"  # noqa: RUF001
    r"| not) hesitate\b"
    r"|is there anything else\b|anything else\b(?=[^\n]{0,200}\?)|any (?:other|further|more) questions\b"
    r"|(?:I['’]m|I am|I['’]d be|I would be|we are|we['’]re|we['’]d be"  # noqa: RUF001
    r"|always) (?:\w+ )?(?:happy|glad|here|able|ready|pleased|available) (?:to|if)\b"
    r"|happy to\b|glad to\b|say the word\b|(?:was|is|did|does) (?:this|that|my|the) (?:answer|response|reply"
    r"|information|summary)?\b[^\n]{0,20}\b(?:help|helpful|useful|clear)\b[^\n]{0,40}\?"
    r"|(?:do let|please do let) me know\b|(?:you(?:['’]re| are) )?welcome to ask\b"  # noqa: RUF001
    r"|(?:more|further|other|any) questions\b|ask (?:me )?(?:anything|if|for|again|away)\b"
    r"|let['’]s (?:continue|move on)\b"  # noqa: RUF001
    r"|(?:I|we) (?:can|could|will|would)\b(?=[^\n]{0,200}\bif you (?:like|want|wish|prefer|need)\b)"
    r"|I (?:can|could|will|would|['’]ll) (?:also |gladly "  # noqa: RUF001
    r"|happily |then |certainly |be (?:happy|glad) to )"
    r"|I['’](?:ll|d) (?:also |gladly |happily |be (?:happy|glad) to )"  # noqa: RUF001
    r"|(?:I )?hope (?:this|that|it) (?:helps?|answers?|clarifies|clears|is (?:useful|helpful|what you))"
    r"|(?:just )?(?:tell|ask) me\b(?=[^\n]{0,160}\b(?:if|and|any|more|which|what)\b)"
    r"|(?:if|once|when|whenever|should) you\b(?=[^\n]{0,240}(?:\bI\b|\bI['’]|\bhelp"  # noqa: RUF001
    r"|\bhappy\b|\bglad\b|\b(?:let|ask|tell) me\b|\bjust (?:ask|say)\b"
    r"|\bfeel free\b|\?))"
    r"|if (?:this|that|it) (?:is|was|does|did)(?: not|n['’]t) what you\b"  # noqa: RUF001
    r"|(?:provide|share|upload|send|give me)\b(?=[^\n]{0,120}\b(?:more|additional|further)"
    r" (?:context|details?|information|documents?|pages?)\b[^\n]{0,200}\byou\b)"
    r"|would (?:it|that) (?:help|be (?:helpful|useful)) if I\b(?=[^\n]{0,200}\?)"
    r"|you (?:can|may|could|are welcome to) (?:also |always )?(?:ask|tell) me\b"
    r"|if (?:there is|there are|there['’]s|a|the|any|anything"  # noqa: RUF001
    r"|another)\b(?=[^\n]{0,240}(?:\bI (?:can|could|will|would|['’]ll)\b"  # noqa: RUF001
    r"|\bI['’](?:ll|d|m)\b|\blet me\b|\bhappy\b|\bglad\b|\bjust ask\b))"  # noqa: RUF001
    r"|with (?:more|additional|further|the|that)\b(?=[^\n]{0,200},? I (?:can|could|would|will)\b)"
    r")[^\n]*",
    re.IGNORECASE,
)
_OF_SOURCES = (
    r"(?:provided|given|supplied|retrieved|available|uploaded|attached|above|relevant|search|following)"
)
_SOURCES = (
    r"(?:contexts?|documents?|texts?|passages?|excerpts?|information|sources?|materials?"
    r"|files?|pages?|results?|data|knowledge base)"
)
_AFTER_SOURCES = (
    r"(?:provided|above|given|supplied|retrieved|available|you (?:gave|provided|shared|uploaded))"
)
_OPENING = re.compile(
    r"[*_#>\s]*+(?:"
    r"(?:(?:yes[,!] )?(?:sure(?: thing)?|certainly|of course|absolutely|gladly|okay|ok|great"
    r"|alright|all right|got it|no problem"
    r"|good question|great question|excellent question|that['’]s an? \w+ question"  # noqa: RUF001
    r"|what an? \w+ question|interesting question"
    r"|hello|hi(?: there)?|hallo|bonjour|good (?:morning|afternoon|evening|day)"
    r"|thank you for (?:your|the|asking|reaching out|contacting)[^.!?\n]{0,60}"
    r"|thanks for (?:your|the|asking)[^.!?\n]{0,60}"
    r"|thank you|thanks|happy to help|glad you asked[^.!?\n]{0,40}|let me (?:help|check|look"
    r"|see)[^.!?\n:]{0,60}"
    r"|I(?:['’]d| would) be (?:happy|glad) to help[^.!?\n]{0,40}|I(?:['’]ve"  # noqa: RUF001
    r"| have)? (?:carefully )?(?:checked|looked|searched|reviewed|went|gone|read)"
    r"(?![^.!?\n]{0,160}(?:\b(?:but|not?|none|neither|nothing|nowhere|only|cannot|found)\b|n['’]t\b))"  # noqa: RUF001
    r"[^.!?\n]{0,80})"
    r"\s?[!.,:—–-]+(?=\s)(?! (?:is|was|are|were|means|appears)\b))"  # noqa: RUF001
    r"|(?:here(?:['’]s| is| are)[^.!?\n:]{0,60}(?::|(?<=[Aa]nswer to your question)[.]))(?=\s)"  # noqa: RUF001
    r"|from what I (?:can|could) (?:see|find|tell|gather)[^.!?\n,:]{0,60}[,:]"
    r"|as an AI\b[^.!?\n:]{0,80}\bhere(?:['’]s| is)[^.!?\n:]{0,40}:"  # noqa: RUF001
    r"|[^\w\n]*(?:searched|searching|analy[sz]ed|retrieved) (?:\w+ ){1,3}"
    r"(?:documents?|files?|sources?|pages?|passages?)[. …]*(?=\n)|thought for (?:\w+ ){0,3}\w+(?=\n)"
    r"|(?:(?:based|relying) (?:up)?on|according to|from|per|using|given|in light of|looking at"
    r"|as (?:stated|mentioned|described|noted|shown) in)"
    rf" (?:the (?:information|content|details) (?:\w+ )?(?:in|from|of) )?"
    r"(?:the |your |these |this |all |my )?"
    rf"(?:(?:{_OF_SOURCES} )+{_SOURCES}(?: {_AFTER_SOURCES})?|{_SOURCES} {_AFTER_SOURCES})\s?[,:]"
    r"|(?:as per|after (?:reviewing|reading|checking|analy[sz]ing|searching|looking (?:at|through)))"
    rf" (?:the |your |these |all )(?:{_OF_SOURCES} )*{_SOURCES}(?: {_AFTER_SOURCES})?\s?[,:]"
    r"|(?:(?:final |short |direct )?answer|a(?=\s?:)|assistant|response|reply|tl;?dr|in (?:short|brief)"
    r"|antwort|réponse|respuesta)\s?[*_]{0,2}"
    r"(?:\s?[:：][*_]{0,2}(?=\s|\S)|[ \t]*(?=\n))"  # noqa: RUF001
    r")\s*",
    re.IGNORECASE,
)
_ENDS_SENTENCE = re.compile(r"[.!?…]+[\"'”’)\]*_]*\s+(?=\S)|[。！？]+")  # noqa: RUF001
_NO_END = re.compile(
    r"(?:\b(?:pp?|pg|figs?|vs|etc|cf|e\.g|i\.e|approx|ca|al|dr|mr|mrs|ms|st|prof|eqs?|secs?|vol|inc"
    r"|ltd|tab)|\b[A-Z])\.\s*\Z",
    re.IGNORECASE,
)
_NUMBER_SIGN = re.compile(r"\b(?:no|nr|art|ch)\.\s*\Z", re.IGNORECASE)
_RULE = re.compile(r"\s*(?:[-*_=]\s?){3,}\s*")
_SUMMARY = re.compile(r"<details>\s{0,9}<summary>([^<>\n]{1,80})</summary>")
_TAG_OF_SOURCES = re.compile(r"</(?P<tag>(?:sources?|references?|citations?)>)\Z", re.IGNORECASE)
_HINT = re.compile(
    r"(?:[.)\]\d*_?!:]|\b(?:help|helps|know|ask|questions?|thanks|day|cheers|details|it|that|you|high|low|medium|ai|pdf|incorrect|advice|ms|s"
    r"|sec|seconds|tokens))\W{0,6}\Z",
    re.IGNORECASE,
)
_TAIL = 40
_MOST_OPENINGS = 3
_LONGEST_PLACES = 200
_LONGEST_LINE = 1500
_LONGEST_SENTENCE = 500
"""A longer line is no furniture as a whole; its last sentences may be."""


def closing(text: str, end: int) -> Iterator[Piece]:
    """Yield the furniture at the end of `text[:end]`, from the last to the first."""
    sources = _Sources(text)
    while end > 0:
        last = end
        while end > 0 and (text[end - 1].isspace() or _is_picture(text[end - 1])):
            end -= 1
        start = text.rfind("\n", 0, end) + 1
        piece = sources.at(start, end) or _line(text, start, end) or _sentence(text, start, end)
        if piece is None or (piece.kind != "sources" and _is_announced(text, piece.start)):
            return
        yield piece._replace(end=last)
        end = piece.start


def _is_announced(text: str, start: int) -> bool:
    """Return whether what stands before a place says that the answer follows: `It asks two things:`."""
    lines = text[max(0, start - _LONGEST_SENTENCE) : start].split("\n")
    in_list = bool(lines[-1].strip()) and _ITEM_MARK.fullmatch(lines[-1]) is not None
    while len(lines) > 1 and (not lines[-1].strip() or (in_list and _ITEM_MARK.match(lines[-1]))):
        lines.pop()
    before = lines[-1].rstrip("*_ ")
    announces = (before.endswith(":") and " " in before) or _ANNOUNCES.search(before[-_TAIL:])
    return bool(announces) and _OF_FURNITURE.search(before) is None


def _is_picture(character: str) -> bool:
    """Return whether a character is an emoji or a part of one."""
    return character > "\u2000" and (
        character in "\u200d\ufe0f"
        or (character not in "★☆⭐●○■□█▓▒░▰▱" and unicodedata.category(character) in ("So", "Sk"))
    )


def opening(text: str, start: int) -> Iterator[Piece]:
    """Yield the furniture at the beginning of `text[start:]`."""
    for _ in range(_MOST_OPENINGS):
        found = _OPENING.match(text, start)
        if found is None or not text[found.end() : found.end() + 1]:
            return
        yield Piece("opening", start, found.end())
        start = found.end()


def may_have(text: str) -> bool:
    """Return whether a text may have furniture: cheap, and wrong only by saying yes."""
    return "\n" in text or _HINT.search(text[-_TAIL:]) is not None or _OPENING.match(text) is not None


def _line(text: str, start: int, end: int) -> Piece | None:
    """Return the last line as furniture if it is a rule, a confidence, a time stamp or a disclaimer."""
    if end - start > _LONGEST_LINE:
        return None
    if token := _SPECIAL_TOKEN.search(text[max(start, end - _TAIL) : end]):
        return Piece("disclaimer", end - len(token[0]), end)
    since = max(0, start - _TAIL)
    above = text[since:start].rstrip().rfind("\n") + 1
    if above and _SIGNED.fullmatch(text, since + above, end):
        return Piece("offer", since + above, end)
    for kind, pattern in _WHOLE_LINES:
        if pattern.fullmatch(text, start, end):
            return Piece(kind, start, end)
    return None


def _is_disclaimer(sentence: str) -> bool:
    """Return whether a sentence is a disclaimer; the pattern is slow, and most sentences lack its words."""
    lower = sentence.lower()
    return (
        any(word in lower for word in _OF_DISCLAIMERS) or ("ai" in lower and _AI.search(lower) is not None)
    ) and _DISCLAIMER.fullmatch(sentence) is not None


_AI = re.compile(r"(?<![^\W_])ai(?![^\W_])")
_OF_DISCLAIMERS = (
    *("language model", "llm", "chatbot", "assistant", "inaccura", "incorrect", "incomplete", "mistake"),
    *("error", "outdated", "substitute", "intended", "meant as", "constitute", "legal", "medical", "financ"),
    *("wrong", "accurate", "limited", "automat", "disclaimer", "complete"),
    *("solely", "only", "exclusively", "entirely", "based"),
    *("professional", "consult", "verify", "check", "confirm", "advi"),
)


_WHOLE_LINES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("disclaimer", _RULE),
    ("confidence", _CONFIDENCE),
    ("disclaimer", _STAMP),
    ("disclaimer", _GENERATED),
    ("offer", _RELATED_WITH_ITEMS),
    ("offer", _IN_ANGLES),
)
_LAST_SENTENCES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("confidence", _CONFIDENCE),
    ("sources", _POINTER),
    ("sources", _NAMED_PAGE),
    ("offer", _BOT),
    ("offer", _COURTESY),
)


class _Sources:
    """Finds lists of sources at the end of a text. A list is looked for once above each line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._searched = len(text) + 1

    def at(self, start: int, end: int) -> Piece | None:
        """Return the list of sources that ends with the line `start:end`."""
        text = self._text
        line = text[start:end]
        if closing := _TAG_OF_SOURCES.search(line[-_TAIL:]):
            begin = text.rfind(f"<{closing['tag']}", 0, end)
            return Piece("sources", begin, end) if begin > 0 else None
        if line.endswith("</details>") and (begin := text.rfind("<details>", 0, end)) > 0:
            head = _SUMMARY.match(text, begin)
            return Piece("sources", begin, end) if head and _HEADING.fullmatch(head[1]) else None
        if len(line) <= _LONGEST_LINE:
            if (heading := _HEADING_WITH_ITEMS.fullmatch(line)) and heading["items"]:
                return Piece("sources", start, end) if _are_places(heading["items"]) else None
            is_item = start > 0 and (_ITEM.match(line) or _are_places(line))
            if is_item and (listed := self._list(start, end)):
                return listed
            inline = _INLINE_HEADING.search(line) if _has_inline_heading(line) else None
            if inline and _are_places(inline["items"]) and not _has_more(inline["items"]):
                return Piece("sources", start + inline.start(), end)
            if _NOTE.match(line) and _are_places(line[4:]) and start > 0:
                return Piece("sources", start, end)
            if start > 0 and (_names_only_file(line) or _has_only_places(line)):
                return Piece("sources", start, end)
        return None

    def _list(self, start: int, end: int) -> Piece | None:
        """Return the list under a heading, which lies above the line, if every line between is an item."""
        text, at, items, last = self._text, start, 0, end
        has_place = False
        if end >= self._searched:
            return None
        while True:
            line = text[at:end].strip()
            heading = _HEADING.fullmatch(line) if 0 < len(line) <= 80 else None
            if heading and items and has_place:
                return Piece("sources", at, last)
            if items and len(line) <= 80 and _RELATED_HEADING.fullmatch(line):
                return Piece("offer", at, last)
            if line and not (len(line) <= _LONGEST_LINE and (_ITEM.match(line) or _are_places(line))):
                break
            if line:
                items += 1
                has_place = has_place or _are_places(_ITEM_MARK.sub("", line))
            if at == 0:
                break
            end = at - 1
            at = text.rfind("\n", 0, end) + 1
        self._searched = min(self._searched, at)
        return None


def _has_inline_heading(line: str) -> bool:
    """Return whether a line may have a heading of sources; the pattern is slow, few lines have a colon."""
    if ":" not in line and "：" not in line:  # noqa: RUF001
        return False
    lower = line.lower()
    return not lower.isascii() or any(word in lower for word in _STEMS_OF_SOURCES)


_STEMS_OF_SOURCES = (
    *(
        "source",
        "reference",
        "citation",
        "footnote",
        "evidence",
        "document",
        "passage",
        "cited",
        "bibliograph",
    ),
    *("reading", "retrieved", "quelle", "beleg", "literatur", "fuente", "referencia", "fonti", "riferimenti"),
    *("fontes", "bronnen"),
)
_ITEM_MARK = re.compile(r"^\s*(?:[-*+•·–—]|\d{1,3}[.)])\s*")  # noqa: RUF001


def _are_places(items: str) -> bool:
    """Return whether what follows a heading names a file, an address, a page or a number."""
    return _DIGIT.search(items) is not None or _NAMED_PLACE.search(items) is not None


def _names_only_file(text: str) -> bool:
    """Return whether a text is the name of a file, with its page and what introduces it."""
    return _HAS_FILE.search(text) is not None and _ONLY_SOURCE.fullmatch(text) is not None


def _has_only_places(line: str) -> bool:
    """Return whether a line names files, addresses or pages, and says nothing else."""
    if len(line) > _LONGEST_PLACES or not _are_places(line):
        return False
    rest, places = _PLACE.subn(" ", line)
    return places > 0 and _WORD.search(_AROUND_PLACES.sub(" ", rest)) is None


def _has_more(items: str) -> bool:
    """Return whether a sentence follows the items; full stops of abbreviations end none."""
    plain = re.sub(r"\b(?:pp?|pg|S|no|vol|ed|al|fig|sec|ch)\.(?=\s)", "", items, flags=re.IGNORECASE)
    return _ENDS_SENTENCE.search(plain.rstrip(" .")) is not None


def _last_sentence(text: str, start: int, end: int) -> int:
    """Return where the last sentence of `text[start:end]` begins."""
    for stop in reversed([found.start() for found in _STOP.finditer(text, start + 1, end)]):
        at = stop
        while at > start and text[at] in _CLOSING:
            at -= 1
        if text[at] not in ".!?…。！？":  # noqa: RUF001
            continue
        after = stop + 1
        while after < end and text[after].isspace():
            after += 1
        before = text[max(start, at - 8) : at + 1]
        is_number = _NUMBER_SIGN.search(before) is not None and text[after : after + 1].isdigit()
        if after < end and not (text[at] == "." and at == stop and (is_number or _NO_END.search(before))):
            return after
    return start


_STOP = re.compile(r"[.!?…)\"”’\]*_。！？](?:(?<=[。！？])| )")  # noqa: RUF001
_CLOSING = ")\"'”’]*_"  # noqa: RUF001


def _sentence(text: str, start: int, end: int) -> Piece | None:
    """Return the last sentence of a line if it is an offer, a disclaimer, a confidence or a source."""
    cut = _last_sentence(text, max(start, end - _LONGEST_SENTENCE), end)
    last = text[cut:end]
    if _OFFER.fullmatch(last):
        return Piece("offer", cut, end)
    if _is_disclaimer(last):
        return Piece("disclaimer", cut, end)
    if "?" in last[-_TAIL:] and _ASKS.fullmatch(last) and not _CLARIFIES.search(last):
        return Piece("offer", cut, end)
    if cut > 0:
        if _names_only_file(last):
            return Piece("sources", cut, end)
        for kind, pattern in _LAST_SENTENCES:
            if pattern.fullmatch(last):
                return Piece(kind, cut, end)
    return None
