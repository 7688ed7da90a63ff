"""Words that say how much: poor < fair < good, none < mild < severe, "1. low", "18-24", first < second, and ticks.

A column of such words measures a degree, as one of numbers does. Its labels are levels, the lowest first; all other
words name things that no order has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

LEAST_GRADES = 3  # labels that have an order; of two it says nothing
LEAST_LETTERS = 5  # letters in a row, of which each has a label: of fewer A, B and C may be groups
YES_WORDS = "yes/y/true/t/present/positive/pos/on/ja/oui/si/sí/sim/1/ticked"
NO_WORDS = "no/n/false/f/absent/negative/neg/off/nein/non/não/0/unticked"
YES, NO = frozenset(YES_WORDS.split("/")), frozenset(NO_WORDS.split("/"))
TWO_WORDS = (("not ticked", "ticked"), ("not present", "present"), ("not detected", "detected"))

# from the lowest to the highest; words of one step are alternatives
SCALES: tuple[tuple[str, ...], ...] = (
    ("very poor/very bad/terrible", "poor/bad/po", "below average/fair/fa", "average/typical/ta/ok/okay/acceptable",
     "above average/good/gd", "very good", "premium", "excellent/ex/ideal/outstanding"),
    ("none/no/nil/absent/negative/not at all", "trace/minimal/minimum/little/a little/very mild",
     "slight/mild/minor/gtl/some/a few/light", "moderate/mod/medium/average/somewhat",
     "severe/sev/major/marked/heavy/much/many/a lot/serious/strong/quite a bit",
     "very severe/extreme/very much/very heavy/critical/extremely"),
    ("unf", "lwq", "rec", "blq", "alq", "glq"),
    ("no", "mn", "av", "gd"),
    ("unf", "rfn", "fin"),
    ("i3/i2/i1", "si2", "si1", "vs2", "vs1", "vvs2", "vvs1", "if", "fl"),
    ("never", "almost never/very rarely", "rarely/seldom/hardly ever",
     "sometimes/occasionally/once in a while/now and then", "often/frequently/a lot",
     "usually/very often/most of the time/nearly always/almost always", "always/all the time"),
    ("never", "less than monthly/yearly/less than once a month", "monthly/once a month", "weekly/once a week",
     "daily/every day/daily or almost daily"),
    ("strongly disagree/completely disagree/disagree strongly", "disagree/mostly disagree",
     "somewhat disagree/slightly disagree/disagree somewhat/tend to disagree",
     "neutral/neither agree nor disagree/neither/undecided/unsure/not sure",
     "somewhat agree/slightly agree/agree somewhat/tend to agree", "agree/mostly agree",
     "strongly agree/completely agree/agree strongly"),
    ("very dissatisfied/extremely dissatisfied", "dissatisfied/somewhat dissatisfied/fairly dissatisfied",
     "neutral/neither satisfied nor dissatisfied/neither", "satisfied/somewhat satisfied/fairly satisfied",
     "very satisfied/extremely satisfied"),
    ("very unlikely/extremely unlikely", "unlikely/somewhat unlikely", "neutral/neither likely nor unlikely/possible",
     "likely/somewhat likely", "very likely/extremely likely", "certain"),
    ("very unfavorable/very unfavorably/very unfavourable",
     "unfavorable/somewhat unfavorably/somewhat unfavorable/unfavourable",
     "neutral/neither favorably nor unfavorably (neutral)/neither",
     "favorable/somewhat favorably/somewhat favorable/favourable",
     "very favorable/very favorably/very favourable"),
    ("not important/not at all important/unimportant", "slightly important/a little important",
     "somewhat important/moderately important", "important/fairly important", "very important", "extremely important"),
    ("very low/lowest/very small", "low/lower", "low medium/lower middle/below normal",
     "medium/mid/middle/moderate/med/normal/average", "upper middle/above normal", "high/higher/upper",
     "very high/highest", "extremely high"),
    ("xxs", "xs", "s", "m", "l", "xl", "xxl", "xxxl"),
    ("tiny/extra small/very small", "small", "medium/midsize/mid-size/middle", "large/big",
     "very large/extra large/very big", "huge/giant"),
    ("very short", "short", "medium/average/normal", "long/tall", "very long/very tall"),
    ("very thin", "thin", "medium/normal/average", "thick", "very thick"),
    ("light", "medium/moderate", "heavy", "very heavy"),
    ("very slow", "slow", "medium/normal/moderate/average", "fast", "very fast"),
    ("very cold/freezing", "cold", "cool", "mild/moderate", "warm", "hot", "very hot"),
    ("very easy", "easy", "medium/moderate/normal", "difficult/hard", "very difficult/very hard"),
    ("soft", "medium", "hard"),
    ("rare", "medium rare", "medium", "medium well", "well/well done"),
    ("underweight", "normal/normal weight/healthy", "overweight", "obese"),
    ("infant/baby", "child", "teen/teenager/adolescent", "young adult", "adult", "middle-aged", "senior/elderly/old"),
    ("young", "middle/middle-aged", "old"),
    ("none/no schooling", "primary/less than high school/less than high school degree/below secondary",
     "secondary/high school/high school degree/high school graduate/hs grad",
     "some college/some college or associate degree", "associate degree/associate's degree/associate",
     "bachelor/bachelors/bachelor degree/bachelor's degree/college/college grad",
     "master/masters/master's degree/graduate/graduate degree/advanced degree/tertiary",
     "doctorate/phd/doctoral degree"),
    ("bronze", "silver", "gold", "platinum"),
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    ("first/1st", "second/2nd", "third/3rd", "fourth/4th", "fifth/5th", "sixth/6th"),
    ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii"),
)  # fmt: skip
RANKS = tuple({word: k for k, step in enumerate(scale) for word in step.split("/")} for scale in SCALES)
NUMBERED = re.compile(r"\(?(\d{1,2})\)?\s*(?:[.)=:]|-(?=\s|[^\d\s]))\s*(\D.*)", re.S)
NUMBER = r"[$€£]?\s*(\d[\d,. ]*?)\s*(k|m)?"
RANGE = re.compile(rf"{NUMBER}\s*(?:%|[a-z. ]*?)\s*(?:-|–|—|to|bis|until|\.\.)\s*{NUMBER}\s*(?:%|[a-z. ]*)")
BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to|unter|bis)\s*{NUMBER}\s*(?:%|[a-z. ]*)")
ABOVE = re.compile(rf"(?:>=?|≥|over|above|more than|at least|über)\s*{NUMBER}\s*(?:%|[a-z. ]*)")
MORE = r"\+|and over|or more|and more|or over|and above|plus"
BEYOND = re.compile(rf"{NUMBER}\s*(?:%|[a-z. ]*?)\s*(?:{MORE})\s*(?:[a-z. ]*)")
THOUSANDS = {"k": 1e3, "m": 1e6}


def is_yes_no(labels: Sequence[str]) -> bool:
    """Whether two labels are the answers to a question: no and yes, absent and present.

    >>> is_yes_no(("N", "Y")), is_yes_no(("2. No", "1. Yes")), is_yes_no(("female", "male"))
    (True, True, False)
    """
    words = {_plain(_after_number(label)) for label in labels}
    if len(labels) != 2 or len(words) != 2:
        return False
    return bool(words & YES and words & NO) or any(words == set(pair) for pair in TWO_WORDS)


def grades_of(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels of a degree, the lowest first; nothing where they have no order.

    >>> grades_of(("Ex", "Fa", "Gd", "Po", "TA"))
    ('Po', 'Fa', 'TA', 'Gd', 'Ex')
    >>> grades_of(("18-24", "65+", "25-64")), grades_of(("1. Low", "2. High", "3. Higher"))
    (('18-24', '25-64', '65+'), ('1. Low', '2. High', '3. Higher'))
    >>> grades_of(("red", "green", "blue"))
    ()
    """
    if len(labels) < LEAST_GRADES:
        return ()
    words = [_plain(label) for label in labels]
    for rank in RANKS:
        if all(word in rank for word in words):
            return _sorted(labels, [rank[word] for word in words])
    bounds = [_bound(word) for word in words]
    if all(bound is not None for bound in bounds):
        return _sorted(labels, [bound for bound in bounds if bound is not None])
    numbers = [NUMBERED.fullmatch(label.strip()) for label in labels]
    if all(numbers):
        return _sorted(labels, [int(match[1]) for match in numbers if match])
    return ()


def declared_orders(came: Any) -> dict[int, tuple[str, ...]]:
    """The labels of a frame's ordered categories, in their order, by the position of the column, from 1."""
    types = enumerate(getattr(came, "dtypes", ()))
    return {j + 1: tuple(map(str, t.categories)) for j, t in types if getattr(t, "ordered", False)}


def letters_in_a_row(labels: Sequence[str]) -> bool:
    """Whether labels are single letters of the alphabet, one after the other: D to J. They may be grades, or groups."""
    letters = sorted(label.upper() for label in labels)
    single = len(letters) >= LEAST_LETTERS and all(len(letter) == 1 and letter.isalpha() for letter in letters)
    return single and ord(letters[-1]) - ord(letters[0]) == len(letters) - 1


def steps_of_one_name(labels: Sequence[str]) -> bool:
    """Whether labels are one name with a digit that runs on: G1 to G5. They may be stages, or groups."""
    found = [match for label in sorted(labels) if (match := re.fullmatch(r"(\D+)(\d)", label))]
    if not LEAST_GRADES <= len(labels) == len(found) or len({match[1] for match in found}) > 1:
        return False
    return int(found[-1][2]) - int(found[0][2]) == len(found) - 1


def is_numbered(labels: Sequence[str]) -> bool:
    """Whether all labels begin with a number of their own: "1. White", "2. Black"."""
    return all(NUMBERED.fullmatch(label.strip()) for label in labels)


def _sorted(labels: Sequence[str], rank: Sequence[Any]) -> tuple[str, ...]:
    """The labels by their ranks; none where two have the same."""
    if len(set(rank)) < len(rank):
        return ()
    return tuple(label for _, label in sorted(zip(rank, labels, strict=True)))


def _plain(label: str) -> str:
    return re.sub(r"[\s_]+", " ", label).strip(" .!\"'").lower()


def _after_number(label: str) -> str:
    match = NUMBERED.fullmatch(label.strip())
    return match[2] if match else label


def _bound(word: str) -> tuple[float, float] | None:
    """Where a range lies: its lower end, and what comes first of those that begin there; None where it is no range.

    >>> _bound("<20"), _bound("20-29"), _bound("$100,000 - $149,999"), _bound("65+"), _bound("ten")
    ((20.0, -1.0), (20.0, 0.0), (100000.0, 0.0), (65.0, 1.0), None)
    """
    for form, side in ((BELOW, -1.0), (ABOVE, 1.0), (BEYOND, 1.0), (RANGE, 0.0)):
        if match := form.fullmatch(word):
            digits = match[1].replace(",", "").replace(" ", "").rstrip(".")
            try:
                return float(digits) * THOUSANDS.get(match[2] or "", 1.0), side
            except ValueError:
                return None
    return None
