"""What a text file is: its encoding, separator and header, guessed from its beginning and said aloud."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from itertools import islice, pairwise
from typing import NamedTuple

from lowdim.text.fix import Fix, propose
from lowdim.text.messages import error

SEPS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "spaces"}
LOOK_BYTES = 2**18  # what the guesses are made from
LOOK_WIDE = 2**24  # the same where the first two lines are longer than that
LOOK_ROWS, LOOK_FIELDS = 200, 10_000
MOST_TITLES = 30  # records that may stand above the names
LEAST_BELOW = 3  # records of data below a second line of the header
NUMBERS_BELOW = 0.9  # of the cells of a column that are numbers below it
MOST_LOWER = 2  # records between the names and the numbers that may be names too
LEAST_RUN, LEAST_RUN_ALONE = 4, 6  # numbers of a record that rise by no accident, beside a word and without one
# What a line below the names says of the columns: their types, and what Orange calls them for
TYPE_WORDS = {
    "continuous", "c", "discrete", "d", "string", "s", "time", "t", "numeric", "num", "integer", "int", "float",
    "double", "factor", "character", "chr", "<dbl>", "<chr>", "<int>", "<fct>", "<lgl>", "categorical",
}  # fmt: skip
FLAG_WORDS = {"", "class", "meta", "ignore", "weight", "i", "m", "w", "target"}
RESPONSE_WORDS = {"", "response", "open-ended response"}
TOTAL_NAMES = {
    "total", "totals", "grand total", "sum", "mean", "average", "avg", "median", "std", "sd", "gesamt", "summe",
    "insgesamt", "mittelwert", "mittel", "durchschnitt", "moyenne", "somme", "ensemble", "media", "promedio",
    "totale", "suma", "somma", "gemiddelde", "totaal", "sum total", "grand mean", "overall", "gesamtsumme", "endsumme",
    "gesamtergebnis", "total général", "total general", "totale complessivo", "totale generale",
    "eindtotaal", "totalt", "i alt", "yhteensä", "razem", "celkem", "spolu", "összesen", "toplam", "итого", "всего",
    "合計", "総計", "平均", "合计", "总计", "總計", "합계", "총계", "평균",
}  # fmt: skip
FOOTNOTE = re.compile(r"(?=.{12}).*\s.*|[*†‡(\[].*", re.S)
REMARK = re.compile(
    r"(sources?|data sources?|notes?|footnotes?|remarks?|legend|quellen?|anmerkung(en)?|hinweise?|remarques?"
    r"|légende|fuentes?|notas?|fonti?|fontes?|bron|kilde|källa|lähde|źródło|источник|примечани[ея]|出典|注|资料来源|출처)\s*[:：].*",
    re.I | re.S,
)
SUBTOTALS = ("subtotal", "sub-total", "sub total", "zwischensumme", "sous-total", "subtotale", "subtotaal", "delsumma")
# Codes for a gap. The first set is a gap in every column; the second only among numbers, where they can be
# nothing else, for "none" and "-" may be labels.
GAP_CODES = (
    "", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "NaN", "nan", "NAN", "null", "NULL", "Null", "<NA>", "NaT", "?",
    "n.a.", "N.A.", "k. A.", "k.A.", "n. v.", "n.v.", "s. d.", "s.d.", "s/d",
)  # fmt: skip
NUMBER_GAP_CODES = (
    "None", "none", "NONE", "-", "--", "---", "–", "—", ".", "..", "...", "*", "NC", "nc", "ND", "nd", "n.d.",
    "n. d.", "N.D.", "n.b.", "b.d.", "bd", "na.", "n/d", "n.r.", "n/r", "s/o", "o. a.", "o.a.", "ns/nc", "н/д", "нд",
    # what spreadsheets, databases and programs write where a formula has no value
    "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#NV", "#N/D", "#WERT!", "#BEZUG!", "#ZAHL!",
    "#VALEUR!", "#NOMBRE!", "#¡VALOR!", "#VALOR!", "#VALORE!", "\\N", "(null)", "(blank)", "-nan", "nan(ind)",
    "-nan(ind)", "1.#QNAN", "1.#IND", "-1.#IND", *(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
    # words, and answers of surveys that are none
    "missing", "unknown", "not available", "not applicable", "not measured", "not recorded", "not reported", "no data",
    "no answer", "no response", "refused", "don't know", "dont know", "prefer not to say", "prefer not to answer",
    "blank", "empty", "keine angabe", "keine angaben", "keine daten", "weiß nicht", "weiss nicht", "fehlt", "fehlend",
    "unbekannt", "entfällt", "nicht verfügbar", "nicht erhoben", "non disponible", "manquant", "manquante", "inconnu",
    "inconnue", "non renseigné", "sans objet", "ne sait pas", "nsp", "sin dato", "sin datos", "no disponible",
    "desconocido", "no aplica", "no sabe", "sem dados", "sem informação", "não disponível", "desconhecido",
    "non disponibile", "mancante", "sconosciuto", "onbekend", "niet beschikbaar", "geen data", "saknas",
    "uppgift saknas", "okänd", "mangler", "ukendt", "ukjent", "puuttuu", "ei tietoa", "brak", "brak danych",
    "nieznane", "chybí", "neuvedeno", "нет данных", "неизвестно", "不明", "欠測", "欠損", "無回答", "缺失", "未知",
    "不详", "暂无", "무응답", "결측",
)  # fmt: skip
GAPS = {*GAP_CODES, *NUMBER_GAP_CODES}
NUMBER_TEXT = re.compile(
    r"([$€£¥₹] ?)?[+\-−]?((\d{1,3}([ '\u00a0\u2009\u202f\u2019]\d{3})+|\d+)([.,]\d*)*|[.,]\d+)"
    r"([eE][+-]?\d+|[dD][+-]\d+)?( ?[%‰€$£¥₹])?|[+-]?inf(inity)?",
    re.I,
)
# A measurement that is no plain number: "<0.5", "12.5*", "ca. 3", "10-20". Units begin with no number but 1, 10, 100.
LIMIT = re.compile(r"[<>≤≥]=?\s*[\d.,]")
MEASURED = re.compile(r"\W*((ca?|approx|about)\b\W*)?(?=\d)(?!10*(?![\d.,*†‡+?~-]))", re.I)
# What is written where nothing was measured, its letters alone; a row of these is no line of units.
NOT_MEASURED = re.compile(
    "missing|unknown|error|fail(ed)?|void|invalid|not?(data|measured|detected|available|applicable|known)|nd|bdl|lod"
    "|trace|absent|refused|bad|off|dry|lost|broken|yes|no|true|false"
)
ATTRIBUTE = re.compile(r"^[ \t]*@attribute[ \t]+('[^']*'|\"[^\"]*\"|\S+)", re.I | re.M)
RULING = re.compile(rb"^[ \t]*[|+]?:?[-=]{3,}:?(?:[ \t]*[|+ ][ \t]*:?[-=]+:?)+[ \t]*[|+]?[ \t]*$", re.M)
MOST_RULINGS = 3
END_OF_FILE = b"\x00\x1a"  # what disks and DOS add
STRANGE = re.compile("[\udc80-\udcff]+")  # bytes that are no UTF-8, as Python keeps them
LOOK_LINES = 2000  # with letters beyond ASCII, by which their encoding is guessed
CODECS = (  # the more common first
    "cp1252", "cp1254", "cp1250", "iso8859-2", "cp1251", "koi8-r", "cp1253", "cp932", "euc_kr", "gb2312", "euc_jp",
    "gb18030", "big5", "mac-roman", "cp850",
)  # fmt: skip
OWN_LETTERS = {"euc_kr": ("\uac00", "\ud7a3"), "euc_jp": ("\u3040", "\u30ff")}  # without which a text is of another
LEAST_PLAUSIBLE, MUCH_MORE = 0.5, 0.05  # of the letters of a text
PLAIN_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
LATIN = frozenset(
    "äöüßéèêëàâáãåæçñóòôõøíìîïúùûýœÄÖÜÉÈÊËÀÂÁÃÅÆÇÑÓÔÕØÍÎÚÛÝŒğışİŞĞąćęłńśźżĄĆĘŁŃŚŹŻčďěňřšťůžČĎĚŇŘŠŤŮŽőűŐŰăşţđĂŞŢĐľĺ"
)
SIGNS = frozenset("°²³µ€£§±×·‰½¼¾–—‘’“”„«»…®©™ªº¹\u00a0†‡•、。（）「」・：，％")
JOINERS = frozenset("’·–\u00a0・、")
SCRIPTS = (
    (0x41, 0x24F, "latin"), (0x370, 0x3FF, "greek"), (0x400, 0x4FF, "cyrillic"),
    (0x1100, 0x11FF, "hangul"), (0xAC00, 0xD7A3, "hangul"),
    (0x3040, 0x30FF, "east"), (0x4E00, 0x9FFF, "east"), (0xFF66, 0xFF9F, "half-width"),
)  # fmt: skip
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NAMES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with a mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
    "cp1250": "Windows-1250",
    "cp1251": "Windows-1251",
    "cp1253": "Windows-1253",
    "cp1254": "Windows-1254",
    "koi8-r": "KOI8-R",
    "cp932": "Shift-JIS",
    "gb2312": "GB 2312",
    "euc_kr": "EUC-KR",
    "mac-roman": "Mac Roman",
    "iso8859-2": "Latin-2",
    "cp850": "the code page 850 of DOS",
    "latin-1": "Latin-1",
}


class Guess(NamedTuple):
    """How a table was read: what it is, and what had to be guessed."""

    kind: str
    sep: str = ""
    decimal: str = "."
    encoding: str = ""
    header: bool | None = None
    na: tuple[str, ...] = ()
    first: str = ""  # what the first line looks like
    skipped: int = 0  # lines before the table
    names: str = ""  # where the names came from, if not from the table
    units: tuple[tuple[str, str], ...] = ()  # the columns whose cells had a unit, each with it

    def __str__(self) -> str:
        if not self.encoding:
            return self.kind
        sep = SEPS.get(self.sep, repr(self.sep))
        decimal = "decimal comma" if self.decimal == "," else "decimal point"
        return f"{self.kind}, {sep}, {decimal}, {NAMES.get(self.encoding, self.encoding)}"


def decode(data: bytes, encoding: str | None, name: str) -> tuple[bytes, str]:
    """The text as UTF-8 with plain line ends, and the encoding it had."""
    codec = encoding or guess_encoding(data)
    try:
        text = data if codec == "utf-8" else data.decode(codec).encode()
        if codec == "utf-8":
            codecs.utf_8_decode(data, "strict", True)
    except LookupError:
        raise error("LD210", option="encoding", value=encoding, allowed="utf-8, utf-16, latin-1, cp1252, ...") from None
    except UnicodeError as problem:
        if not (encoding is None and codec == "utf-8"):
            start = problem.start if isinstance(problem, UnicodeDecodeError) else 0
            line = data.count(b"\n", 0, start) + 1
            raise error(
                "LD009",
                f"{name}, line {line}",
                name=name,
                encoding=codec,
                why=f"byte {data[start]:02x} has no meaning in it",
                fix=Fix(propose(encoding=guess_encoding(data))),
            ) from None
        text = STRANGE.sub(_one_by_one, data.decode("utf-8", "surrogateescape")).encode()  # a few bytes of another one
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.replace(codecs.BOM_UTF8, b"").rstrip(END_OF_FILE), codec


def _one_by_one(strange: re.Match[str]) -> str:
    """Bytes that are no UTF-8 as Windows writes them."""
    return strange[0].encode("utf-8", "surrogateescape").decode("cp1252", "replace")


def guess_encoding(data: bytes) -> str:
    """UTF-8 if it is that but for a few bytes, UTF-16 by its mark or its zero bytes, else what gives the most plausible
    words; Latin-1 where nothing does."""
    for mark, name in BOMS:
        if data.startswith(mark):
            return name
    head = data[:4096]
    if len(head) >= 4 and head.count(0) > len(head) // 4:  # every other byte of Western text in UTF-16 is zero
        odd, even = head[1::2].count(0), head[::2].count(0)
        if max(odd, even) > 8 * min(odd, even):
            return "utf-16-le" if odd > even else "utf-16-be"
    try:
        data.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        strange = [line for line in data.split(b"\n") if not line.isascii()][:LOOK_LINES]
    sample = b"\n".join(strange)
    whole = STRANGE.sub("", mixed := sample.decode("utf-8", "surrogateescape"))
    if sum(map(len, STRANGE.findall(mixed))) < sum(not char.isascii() for char in whole):
        return "utf-8"
    best, score = "latin-1", LEAST_PLAUSIBLE
    for codec in CODECS:
        try:
            text = sample.decode(codec)
            data.decode(codec)
        except UnicodeDecodeError:
            continue
        first, last = OWN_LETTERS.get(codec, ("", chr(0x10FFFF)))
        if not any(first <= char <= last for char in text):
            continue
        if (share := plausibility(text)) > score:
            best, score = codec, share + MUCH_MORE
    return best


def plausibility(text: str) -> float:
    """The share of the letters beyond ASCII that stand as they do in words: among letters of their own script, capitals
    not behind small ones; and of signs, which stand beside words and not inside.

    >>> [plausibility("Gdańsk, Łódź".encode("cp1250").decode(codec)) for codec in ("cp1250", "cp1252")]
    [1.0, 0.5]
    """
    good = seen = 0
    for at, char in enumerate(text):
        if char.isascii():
            continue
        seen += 1
        before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
        beside = [one for one in (before, after) if one.isalpha()]
        if not char.isalpha():
            good += (
                char in SIGNS
                and not (len(beside) == 2 and char not in JOINERS)
                and not (char in "£€¿¡" and after.isalpha())
            )
        elif _script(char) == "latin":
            capital = char.isupper() and before.islower()
            odd = char not in LATIN or capital or (char.isupper() and before.isupper() and after.islower())
            word = [one for one in beside if _script(one) == "latin"]
            good += (
                not odd
                and len(word) == len(beside)
                and any(one in PLAIN_LETTERS for one in text[max(at - 2, 0) : at + 3])
            )
        else:
            good += all(_script(one) == _script(char) for one in beside) and not (char.isupper() and before.islower())
    return good / seen if seen else 0.0


def _script(char: str) -> str:
    """The script of a letter, as far as encodings tell them apart."""
    code = ord(char)
    for first, last, script in SCRIPTS:
        if first <= code <= last:
            return script
    return "other"


def beginning(text: bytes) -> str:
    """The first lines, whole; two of them where lines are long."""
    second = text.find(b"\n", text.find(b"\n", 0, LOOK_WIDE) + 1, LOOK_WIDE)
    head = text[: max(LOOK_BYTES, second + 1 or LOOK_WIDE)]
    if len(text) > len(head) and b"\n" in head:
        head = head[: head.rindex(b"\n")]
    return head.decode("utf-8", "replace")


def preamble(head: str) -> tuple[int, str | None]:
    """Lines before the table (comments, blank lines, Excel's "sep=;"), and the separator if one is named."""
    count, sep = 0, None
    for line in io.StringIO(head):
        named = re.fullmatch(r"sep=(.)\s*", line, re.I)
        if named and count == 0:
            sep = named[1]
        elif line.strip() and not line.startswith(("#", "//")):
            break
        count += 1
    return count, sep


def declared_names(text: bytes) -> tuple[list[str], int]:
    """The names of an ARFF file, and the byte where its data begin; none in any other file."""
    start = re.search(rb"^[ \t]*@data[ \t]*$", text[:LOOK_WIDE], re.I | re.M)
    if start is None or not re.search(rb"^[ \t]*@relation\b", text[: start.start()], re.I | re.M):
        return [], 0
    named = re.findall(ATTRIBUTE, text[: start.start()].decode("utf-8", "replace"))
    return [one.strip("'\"") for one in named], start.end()


def without_rulings(text: bytes) -> bytes:
    """The text without the lines that Markdown and databases draw near the names; blank ones stay in their place."""
    for line in list(RULING.finditer(text[:LOOK_BYTES]))[:MOST_RULINGS]:
        if text.count(b"\n", 0, line.start()) <= MOST_TITLES:
            text = text[: line.start()] + b" " * len(line[0]) + text[line.end() :]
    return text


def in_double_quotes(text: bytes, sep: str) -> bytes:
    """The text with cells between single quotes as cells between double ones; as it is where an apostrophe stands
    anywhere but at the ends of a cell."""
    single = text.count(b"'")
    if not single or single % 2 or b'"' in text:
        return text
    mark = re.escape(sep.encode())
    ends = len(re.findall(rb"(?:^|(?<=" + mark + rb"))'(?=[^'\n]*'(?:" + mark + rb"|$))", text, re.M))
    return text.replace(b"'", b'"') if 2 * ends == single else text


def fixed_columns(lines: list[str]) -> list[int]:
    """Where the columns of a table begin whose cells stand below each other between blanks; none where that gives no
    two columns of numbers.

    >>> fixed_columns(["town        x     y", "New York  1.5   2.5", "Rome            3.5", "Bern      4.5   5.5"])
    [0, 9, 15]
    """
    lines = [line.rstrip() for line in lines if line.strip()]
    width = max(map(len, lines), default=0)
    if len(lines) < LEAST_BELOW or width > LOOK_FIELDS or any("\t" in line for line in lines):
        return []
    blank = [all(line[at : at + 1] in ("", " ") for line in lines) for at in range(width)]
    starts = [at for at in range(width) if not blank[at] and (at == 0 or blank[at - 1])]
    cuts = [0, *(max(at for at in range(start) if blank[at]) for start in starts[1:])]
    cells = [cut_line(line, cuts) for line in lines]
    return cuts if sum(_columns_of_numbers(cells[1:])) >= 2 and all(cells[0]) else []


def cut_line(line: str, cuts: list[int]) -> list[str]:
    """The cells of a line whose columns begin at these places."""
    return [line[start:end].strip() for start, end in zip(cuts, [*cuts[1:], len(line)], strict=True)]


def records(head: str, sep: str, most: int = LOOK_ROWS) -> list[list[str]]:
    """The first records as lists of cells; blank lines are none."""
    if sep == " ":
        lines = (line for line in head.splitlines() if line.strip())  # quotes keep spaces inside
        return [[cell.strip('"') for cell in re.findall(r'"[^"]*"|\S+', line)] for line in islice(lines, most)]
    rows = []
    try:
        for record in csv.reader(io.StringIO(head), delimiter=sep):
            if record and record != [""]:
                rows.append([cell.strip() for cell in record])
            if len(rows) >= most:
                break
    except csv.Error:  # a cell beyond the csv module's own limit: what was read before it is enough
        pass
    return rows


def is_parted_by_two(head: str, mark: str = "::") -> bool:
    """Whether every line has as many of a mark of two signs, as ratings of films are parted, and no tab."""
    counts = {line.count(mark) for line in head.splitlines()[:LOOK_ROWS] if line.strip()}
    return len(counts) == 1 and counts != {0} and "\t" not in head


def guess_separator(head: str) -> str:
    """The separator that gives rows of one length and the most numbers; one column if none does."""
    best, score = ",", (0.0, 0.0, 0)
    for sep in SEPS:
        rows = records(head, sep)
        if not rows:
            continue
        width = Counter(map(len, rows)).most_common(1)[0][0]
        first = next(k for k, row in enumerate(rows) if len(row) == width)
        rows = rows[first if first <= MOST_TITLES else 0 :]  # without titles above
        times = sum(len(row) == width for row in rows)
        if width < 2 or times < 0.8 * len(rows):
            continue
        cells = [cell for row in rows for cell in row[:LOOK_FIELDS]]
        clear = sum(bool(is_number(cell)) or cell in GAP_CODES for cell in cells) / len(cells)
        steady = times / len(rows)
        if sep == " ":
            steady -= 0.05  # a space inside cells is common, one between cells is rare
        candidate = (round(steady * (0.5 + clear), 3), clear, width)
        if candidate > score:
            best, score = sep, candidate
    return best


def with_names_parted(text: bytes, rows: list[list[str]], skip: int, sep: str) -> bytes:
    """The text with the names parted as the cells below are, where another separator parts the names."""
    width = Counter(map(len, rows[1:])).most_common(1)[0][0] if len(rows) > LEAST_BELOW else 0
    if width < 2 or len(rows[0]) != 1:
        return text
    lines = text.split(b"\n", skip + 1)
    for other in SEPS:
        names = next(iter(records(lines[skip].decode("utf-8", "replace"), other)), [])
        if other != sep and len(names) == width and not any(map(is_number, names)):
            out = io.StringIO()
            csv.writer(out, delimiter="\t" if sep == " " else sep, lineterminator="").writerow(names)
            return b"\n".join([*lines[:skip], out.getvalue().encode(), *lines[skip + 1 :]])
    return text


def other_separators(head: str, sep: str) -> list[str]:
    """Separators, other than this one, under which all rows have one length above one."""
    separators = []
    for other in SEPS:
        widths = set(map(len, records(head, other)))
        if other != sep and len(widths) == 1 and min(widths) > 1:
            separators.append(other)
    return separators


def is_number(cell: str) -> bool:
    """Whether a cell could be a number under either decimal sign."""
    return NUMBER_TEXT.fullmatch(cell) is not None


def guess_header(rows: list[list[str]]) -> bool:
    """Whether the first record is a row of names.

    Words above numbers are names; numbers above numbers are data; where no column holds numbers, names are
    words that differ from each other and never come again below.
    """
    if not rows:
        return False
    first, body = rows[0], rows[1:]
    if not body:
        return not any(is_number(cell) for cell in first)
    words = numbers = 0
    for j, cell in enumerate(first):
        if _are_numbers(_seen(body, j), 0.5):
            numbers += is_number(cell)
            words += not is_number(cell) and cell not in GAPS
    if words or numbers:
        deep = words > 0 and len(lower_header(first, body)[0]) > 0
        return (
            words > numbers
            or deep
            or _runs_on(first, body, beside=words > 0 or _heads_words(first, body))
            or (_are_years(first) and not _are_years(body[0]))
        )
    fresh = all(cell not in {row[j] for row in body if j < len(row)} for j, cell in enumerate(first))
    return fresh and len(set(first)) == len(first)


def title_records(rows: list[list[str]]) -> int:
    """How many records stand above the names: titles and notes, which fill a cell or two where the table is wide.

    >>> title_records([["Wells of 2023"], ["site", "x", "y"], ["a", "1", "2"], ["b", "3", "4"]])
    1
    """
    cells = [sum(map(bool, row)) for row in rows]
    length = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    short = next((k for k, row in enumerate(rows[:MOST_TITLES]) if len(row) == length), 0)
    if short and all(len(row) == length for row in rows[short:]) and any(_columns_of_numbers(rows[short + 1 :])):
        return short if guess_header(rows[short:]) else 0
    width = Counter(cells).most_common(1)[0][0] if rows else 0
    most = max(width // 3, 1)
    above = 0
    for row, filled in zip(rows[:MOST_TITLES], cells, strict=False):
        fact = filled == 2 and width >= 2 * filled  # what is said of the whole table, and its name
        if (
            width < 3
            or (filled > most and not fact)
            or any(row[filled:])
            or (filled and all(map(is_number, row[:filled])))
        ):
            break
        above += 1
    if not above or len(rows) < above + 2 or cells[above] <= most or not guess_header(rows[above:]):
        return 0
    return 0 if _are_rows(rows[: above + 1], rows[above + 1 :]) else above


def is_size_line(rows: list[list[str]], count: int) -> bool:
    """Whether the first of `count` records says how many rows and columns follow, and perhaps how classes are called.

    >>> is_size_line([["3", "2", "setosa"], ["1.5", "2.5", "0"], ["1.7", "2.1", "0"], ["4.1", "3.3", "1"]], 4)
    True
    """
    if len(rows) < 2:
        return False
    first, width = rows[0], Counter(map(len, rows[1:])).most_common(1)[0][0]
    sizes = (str(width), str(width - 1))  # with and without the class
    return first[0] == str(count - 1) and first[1:2] != [] and first[1] in sizes and not any(map(is_number, first[2:]))


def are_numbers(cells: list[str]) -> bool:
    """Whether the cells of a column are numbers but for gaps and slips."""
    return _are_numbers([cell for cell in cells if cell not in GAPS], NUMBERS_BELOW)


def is_mixed(data: bytes, encoding: str) -> bool:
    """Whether a text in UTF-8 has bytes that are none."""
    if encoding != "utf-8":
        return False
    try:
        codecs.utf_8_decode(data, "strict", True)
    except UnicodeDecodeError:
        return True
    return False


def _columns_of_numbers(rows: list[list[str]]) -> list[bool]:
    return [_are_numbers(seen, NUMBERS_BELOW) for seen in _by_column(rows)]


def _by_column(rows: list[list[str]]) -> list[list[str]]:
    return [_seen(rows, j) for j in range(max(map(len, rows), default=0))]


def _are_rows(top: list[list[str]], below: list[list[str]]) -> bool:
    """Whether titles and the names under them may as well be the first rows of a table without names.

    They are where a cell is like those below it, and where nothing tells them apart: no column of numbers, and as many
    cells in the titles as in the names.
    """
    columns = [_seen(below, j) for j in range(len(top[-1]))]
    words = [j for j, seen in enumerate(columns) if not _are_numbers(seen, 0.5)]
    if len(words) == len(columns) and any(len(row) >= len(columns) for row in top[:-1]):
        return True
    alike = any(_is_like(row[j], columns[j]) for row in top for j in words if j < len(row))
    return alike or any(LIMIT.match(cell) for cell in top[-1])


def is_second_header(row: list[str], below: list[list[str]]) -> bool:
    """Whether a record below the names holds words wherever the columns hold numbers, as a line of units does.

    A row of data whose measurements failed does so too; its labels are like those below it.

    >>> is_second_header(["m", "kg"], [["1", "2"], ["3", "4"], ["5", "7"]])
    True
    >>> is_second_header(["S1", "wet", "wet"], [["S2", "1", "2"], ["S3", "3", "4"], ["S4", "5", "7"]])
    False
    """
    if len(below) < LEAST_BELOW:
        return False
    words, units, numbers = 0, 0, 0
    for j, cell in enumerate(row):
        seen = _seen(below, j)
        if _is_like(cell, seen):
            return False
        if not _are_numbers(seen, NUMBERS_BELOW):
            continue
        if is_number(cell) or LIMIT.match(cell) or MEASURED.match(cell):
            return False
        numbers += 1
        words += cell not in GAPS
        units += not (cell in GAPS or NOT_MEASURED.fullmatch(_letters(cell)))
    return words >= 2 and 2 * words > numbers and units > 0


def _seen(rows: list[list[str]], j: int) -> list[str]:
    """The cells of a column that are no gaps."""
    return [row[j] for row in rows if j < len(row) and row[j] not in GAPS]


def _are_numbers(seen: list[str], share: float) -> bool:
    return bool(seen) and sum(map(is_number, seen)) >= share * len(seen)


def _is_like(cell: str, seen: list[str]) -> bool:
    """Whether a cell comes again in its column, or another does that differs in its digits alone: S01 and S02."""
    if cell in GAPS or is_number(cell):
        return False
    shape = re.sub(r"\d+", "0", cell)
    return cell in seen or (shape != cell and any(re.sub(r"\d+", "0", other) == shape for other in seen))


def _letters(cell: str) -> str:
    return re.sub(r"[\W_]", "", cell).lower()


def lower_header(names: list[str], rows: list[list[str]]) -> tuple[list[list[str]], str]:
    """The first of these records that belong to the header below the names, and what they are: "types" of columns, the
    answers' line of a "survey", or "names", units and names below those of groups.

    >>> lower_header(["x", "y"], [["continuous", "d"], ["", "class"], ["1", "a"], ["2", "b"], ["3", "a"]])
    ([['continuous', 'd'], ['', 'class']], 'types')
    >>> lower_header(["id", "Seen?", "", ""], [["", "Jaws", "Alien", "Heat"], *[["7", "Jaws", "", "Heat"]] * 3])
    ([['', 'Jaws', 'Alien', 'Heat']], 'survey')
    """
    if len(rows) < 1 + LEAST_BELOW:
        return [], ""
    row, below = rows[0], rows[1:]
    said = [cell for cell in row if cell]
    if len(said) >= 2 and not any(map(is_number, said)):
        types = sum(cell.lower() in TYPE_WORDS for cell in said)
        if types >= max(2, len(row) / 2) and all(row[j] not in _seen(below, j) for j in range(len(row)) if row[j]):
            return rows[: 2 if {cell.lower() for cell in rows[1]} <= FLAG_WORDS else 1], "types"
        blank = [j for j, name in enumerate(names) if not name.strip() and j < len(row)]
        items = len(blank) >= 2 and all(row[j] for j in blank)  # of a question, beside a column of numbers
        if items and any(not row[j] and _are_numbers(_seen(below, j), NUMBERS_BELOW) for j in range(len(row))):
            return rows[:1], "survey"
        if {cell.lower() for cell in said} <= RESPONSE_WORDS:
            return rows[:1], "survey"
    numbers = _columns_of_numbers(below)
    if said and all(not (names[j].strip() or numbers[j]) for j, cell in enumerate(row) if cell):
        others = all(names[j].strip() for j, cell in enumerate(row) if not cell)
        like = any(map(_is_like, row, _by_column(below)))
        section = any(not any(one[j] for j, number in enumerate(numbers) if number and j < len(one)) for one in below)
        if sum(numbers) >= 2 and others and not (like or section):
            return rows[:1], "names"  # of the columns that have none, as pandas writes them
    for k in range(MOST_LOWER):
        below = rows[k + 1 :]
        if is_second_header(rows[k], below) and all(_names_numbers(row, below) for row in rows[:k]):
            return rows[: k + 1], "names"
    return [], ""


def _names_numbers(row: list[str], below: list[list[str]]) -> bool:
    """Whether a record has a word above a column of numbers."""
    return any(
        cell and not is_number(cell) and cell not in GAPS and _are_numbers(_seen(below, j), NUMBERS_BELOW)
        for j, cell in enumerate(row)
    )


def without_types(names: list[str]) -> list[str]:
    """Names without the letters by which Orange marks what columns are; as they are where not most have them.

    >>> without_types(["mS#town", "C#height", "cD#sort"])
    ['town', 'height', 'sort']
    """
    marked = [re.fullmatch(r"[miwc]?[CDST]?#(.+)", name) for name in names]
    most = sum(mark is not None for mark in marked)
    return [
        mark[1] if mark and 2 * most > len(names) and most > 1 else name
        for name, mark in zip(names, marked, strict=True)
    ]


def joined_names(upper: list[str], lower: list[str], *, sure: bool = False) -> list[str] | None:
    """Names of two lines as one, where the upper one names groups of columns, once each or over each column; None where
    it names every column by itself, unless both lines are `sure` to be names.

    >>> joined_names(["", "A", "", "B"], ["id", "x", "y", "z"])
    ['id', 'A x', 'A y', 'B z']
    >>> joined_names(["day", "A", "A"], ["", "x", "y"])
    ['day', 'A x', 'A y']
    """
    above = [name.strip() for name in upper]
    below = ["" if name.strip().lower() in RESPONSE_WORDS else name.strip() for name in lower]
    filled = [j for j, name in enumerate(above) if not name and below[j]]
    repeated = len(set(above) - {""}) < sum(name != "" for name in above)
    if not (filled or repeated or sure):
        return None
    group, names = "", []
    for one, other in zip(above, below, strict=True):
        group = one or group
        names.append(f"{group} {other}".strip() if other else one)
    return names


def bottom_records(rows: list[list[str]]) -> int:
    """How many of the last records are no rows of the table: footnotes, and rows of totals and means that say so.

    >>> body = [[f"r{k}", str(k), str(k * k)] for k in range(9)]
    >>> bottom_records([*body, ["Total", "36", "204"], ["", "", ""], ["* by the laboratory of 2020", "", ""]])
    3
    """
    width, below = max(map(len, rows), default=0), 0
    for k in range(1, min(MOST_TITLES, len(rows) - LEAST_BELOW) + 1 if width >= 3 else 1):
        said = [cell for cell in rows[-k] if cell]
        if not said:
            continue
        column = rows[-k].index(said[0])
        first = said[0].strip(" :.").lower()
        note = (len(said) == 1 and FOOTNOTE.match(said[0])) or REMARK.match(said[0])
        total = first in TOTAL_NAMES and len(said) > 2 and all(map(is_number, said[1:]))
        if not (note or total) or any(row[column].strip(" :.").lower() == first for row in rows[:-k]):
            break
        below = k
    return below


def _heads_words(first: list[str], body: list[list[str]]) -> bool:
    """Whether a record has a word above a column of words that is none of them."""
    columns = ((cell, _seen(body, j)) for j, cell in enumerate(first) if cell and not is_number(cell))
    return any(seen and not _are_numbers(seen, 0.5) and not _is_like(cell, seen) for cell, seen in columns)


def second_table(rows: list[list[str]], after: list[int]) -> int | None:
    """Where another table begins, of the records that stand after a blank line: words stand wherever numbers did."""
    for k in after:
        numbers = _columns_of_numbers(rows[:k])
        row = rows[k]
        words = sum(
            bool(row[j]) and not is_number(row[j]) and row[j] not in GAPS for j in range(len(row)) if numbers[j]
        )
        if k >= LEAST_BELOW and words >= 2 and not any(numbers[j] and is_number(cell) for j, cell in enumerate(row)):
            return k
    return None


def _runs_on(first: list[str], body: list[list[str]], *, beside: bool) -> bool:
    """Whether the numbers of a record rise or fall from column to column and lie outside what most columns hold, as
    wavelengths above spectra do, or count the columns: numbers of questions. `beside` a word fewer will do."""
    at = [j for j, cell in enumerate(first) if re.fullmatch(r"\d+(\.\d*)?", cell)]
    sizes = [float(first[j]) for j in at]
    steps = [b - a for a, b in pairwise(sizes)]
    least = LEAST_RUN if beside else LEAST_RUN_ALONE
    if len(at) < least or not (all(step > 0 for step in steps) or all(step < 0 for step in steps)):
        return False
    if all(step == 1 for step in steps):  # and the next record does not go on so: a table of running numbers
        return [row[j] for row in body[:1] for j in at if j < len(row)] != [f"{size + 1:g}" for size in sizes]
    outside = 0
    for j, size in zip(at, sizes, strict=True):
        seen = [float(cell) for cell in _seen(body, j) if re.fullmatch(r"[+-]?\d*\.?\d+([eE][+-]?\d+)?", cell)]
        outside += bool(seen) and not min(seen) <= size <= max(seen)
    return outside > 0.9 * len(at)


def _are_years(row: list[str]) -> bool:
    """Whether the numbers of a record are years in order, as names of columns often are."""
    years = [int(cell) for cell in row if re.fullmatch(r"(1[89]|20)\d\d", cell)]
    return len(years) >= 2 and len(years) == sum(map(is_number, row)) and years == sorted(set(years))


def first_line(row: list[str]) -> str:
    """What a record looks like: "9 numbers, 1 empty cell"."""
    numbers = sum(map(is_number, row))
    empty = sum(cell in GAP_CODES for cell in row)
    parts = [(numbers, "number"), (empty, "empty cell"), (len(row) - numbers - empty, "word")]
    return ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in parts if count)
