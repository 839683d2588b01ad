"""Words that lead somewhere: every citation of theory, literature, golden numbers and problems, the bibliography, and the glossary."""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TEXTS = [
    path
    for folder in ("src", "tests", "docs", "benchmarks", "examples")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md") and path.name not in (Path(__file__).name, "make_theory.py", "make_references.py")
]


def script(name):
    """A program of docs as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


theory, references = script("make_theory"), script("make_references")
PAGES = theory.pages()
WORKS = references.works()


def found(pattern, folders, names="*"):
    """(path, match) of a pattern in files below some folders of the project."""
    for path in TEXTS:
        if path.relative_to(ROOT).as_posix().startswith(folders) and path.match(names):
            yield from ((path.relative_to(ROOT), match) for match in re.finditer(pattern, path.read_text(encoding="utf-8")))


def check(wrong):
    assert not wrong, "These lead nowhere:\n" + "\n".join(wrong)


# -- theory


def test_citations_of_theory_name_sections():
    wrong = []
    for path in TEXTS:
        for page, section in theory.citations(path.read_text(encoding="utf-8")):
            if page not in PAGES or (section and section not in PAGES[page]):
                wrong.append(f"{path.relative_to(ROOT)}: theory/{page} {section}".strip())
    check(wrong)


def test_sections_that_theory_pages_name_in_each_other():
    """[penalty 5.4](penalty.md), [point surfaces](point-surfaces.md) 7.4 and "section 5.4" of the page itself."""
    wrong = []
    for name in PAGES:
        text = (DOCS / "theory" / f"{name}.md").read_text(encoding="utf-8")
        named = re.findall(r"\[[\w\s-]*?(?: (\d[\d.]*))?\]\(([a-z-]+)\.md\)(?:,?\s(\d+(?:\.\d+)*))?", text)
        for inside, page, behind in named:
            number = (inside or behind).rstrip(".")
            if page not in PAGES or (number and number not in PAGES[page]):
                wrong.append(f"theory/{name}.md: [{page} {number}]")
        own = re.sub(r"(?ms)^## \d+ Errata.*?(?=^## )", "", text)  # those name sections of the papers
        for match in re.finditer(r"\b[Ss]ections?\s(\d+(?:\.\d+)*)(?:\s(?:to|and)\s(\d+(?:\.\d+)*))?(?!\s(?:of\s(?:\[|the p)|[\d.]))", own):
            before = own[max(0, match.start() - 40) : match.start()]
            if not re.search(r"\[[^\]]*$|paper(?:'s)?[^.]*\($", before):
                wrong += [f"theory/{name}.md: {match[0]}" for number in match.groups() if number and number not in PAGES[name]]
    check(wrong)


def test_no_words_for_pages_that_do_not_ship():
    phrase = r"methods?\s+(?:#\s+)?page\b|method\s+specification|\d of the methods\b"
    check([f"{path}: {match[0]}" for path, match in found(phrase, ("src", "tests", "docs", "benchmarks", "examples"))])


def test_pages_are_as_written_by_their_program():
    """After files have moved or citations have changed: python docs/make_theory.py"""
    for path, text in theory.written().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run python docs/make_theory.py"


def test_every_section_with_a_formula_is_in_the_index_with_a_file_that_cites_it():
    """docs/theory/formulas.toml lists all sections; those `without` say what they have in place of a formula in the code."""
    formulas, without, files = theory.listed("formulas"), theory.listed("without"), theory.cited()
    assert set(formulas) | set(without) == theory.formula_sections()
    assert not set(formulas) & set(without)
    check([f"{page} {section}" for page, section in formulas if not theory.files_of(page, section, files)])
    check([f"{page} {section} is cited" for page, section in without if theory.files_of(page, section, files)])


def test_lines_of_theory_pages_are_short():
    for name in PAGES:
        for line in (DOCS / "theory" / f"{name}.md").read_text(encoding="utf-8").split("\n"):
            assert len(line) <= 140, f"{name}: {line}"


# -- golden numbers, properties, errata, problems


def listed(pattern):
    """Ids that theory pages list, by page."""
    return {name: set(re.findall(pattern, (DOCS / "theory" / f"{name}.md").read_text(encoding="utf-8"), re.M)) for name in PAGES}


GOLDEN = listed(r"^\| ([GQ]\d+) \|")
PROPERTIES = listed(r"^\* (P\d+):")
ERRATA = {name: ids | listed(r"^\| (QE\d+) \|")[name] for name, ids in listed(r"^\* (E\d+)[,:]").items()}


def test_golden_ids_of_two_pages_do_not_clash():
    """An id is one of its page, except Q19, which two pages ask for."""
    for ids in (GOLDEN, PROPERTIES):
        seen = {}
        for page, names in ids.items():
            for name in names - {"Q19"}:
                assert seen.setdefault(name, page) == page, f"{name} is on {page} and {seen[name]}"


def test_names_of_tests_lead_to_golden_numbers_properties_errata_and_problems():
    known = {name.lower() for ids in (GOLDEN, PROPERTIES, ERRATA) for names in ids.values() for name in names}
    wrong = []
    for path, match in found(r"def test_((?:(?:[GQPEgqpe]|qe|QE)\d+_)+)\w*", ("tests",), "*.py"):
        wrong += [f"{path}: {match[0]}" for name in match[1].rstrip("_").split("_") if name.lower() not in known]
    for path, match in found(r"def test_problem_(\d+)_\w*", ("tests",), "*.py"):
        wrong += [f"{path}: {match[0]}"] if match[1] not in PAGES["validation-problems"] else []
    wrong += [f"{path}: {match[0]}" for path, match in found(r"def test_(?:\d+_\d+|users_\d+|errat\w+_\d+)\w*", ("tests",), "*.py")]
    check(wrong)


def test_golden_ids_in_words_are_listed():
    """G16, Q18, P8, E25 and QE17 in docstrings and comments of code, and in docs. P11 and P33 are also stresses."""
    known = {name for ids in (GOLDEN, PROPERTIES, ERRATA) for names in ids.values() for name in names}
    wrong = []
    pattern = r"(?<![\w.\"'/])(?:G|Q|P|E|QE)[1-9]\d?(?![\w(/*\"']|\s*[=*/+]|\.\w)"
    for path, match in found(pattern, ("src", "tests", "docs", "benchmarks", "examples")):
        if match[0] not in known and not re.fullmatch(r"P[1-3]{2}", match[0]):
            wrong.append(f"{path}: {match[0]}")
    check(wrong)


def test_sources_of_validation_problems_resolve():
    from pliant.shop.validate import problems

    page = (DOCS / "theory" / "validation-problems.md").read_text(encoding="utf-8")
    wrong = []
    for name, problem in problems().items():
        where = [section for cited, section in theory.citations(problem.source) if cited == "validation-problems"]
        stated = [match[1] for section in where for match in re.finditer(rf"(?ms)^## {section} (.*?)(?=^## |\Z)", page)]
        if not stated or not any(f"`{name}`" in text for text in stated):
            wrong.append(f"{name}: {problem.source}")
        wrong += [f"{name}: [{key}]" for key in re.findall(r"\[(.+?)\]", problem.source) if key not in WORKS]
    check(wrong)


# -- literature


def plain(name):
    """A name without accents: Moeller and Möller are one, and so are Badoiu and Bădoiu."""
    text = re.sub("[äöü]", lambda match: {"ä": "a", "ö": "o", "ü": "u"}[match[0]], name.lower()).replace("æ", "ae").replace("ø", "o")
    text = "".join(letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter))
    return re.sub("(?<=[aou])e(?=[a-z])", "", text)


def families(work):
    return [plain(name.partition(", ")[0].removeprefix("Van ")) for name in work["authors"]]


def known(names, year):
    """Whether some work is of that year and of these authors, in their order from the first."""
    names = [plain(name) for name in names]
    return any(str(work.get("year", "")) == year and families(work)[: len(names)] == names for work in WORKS.values())


NAME = r"(?:De |Akenine-)?[A-ZÀ-Þ][\w-]*[a-zà-þ]"
CITED = re.compile(rf"({NAME}(?:(?:, (?:and )?| and ){NAME})*)(?: et\s+al\.)?,?\s+\(?((?:19|20)\d\d)(?!\d|-\d)")
NO_NAMES = set("January February March April May June July August September October November December".split())


def test_authors_with_a_year_are_in_the_bibliography():
    """In code: [Pauly, Pai, Guibas 2004, 4.2], (Higham 1986), Keiser et al. 2004. In brackets on theory pages: keys as they are."""
    wrong = []
    for path in TEXTS:
        if path.suffix != ".py":
            continue
        for match in CITED.finditer(re.sub(r"\s*\n\s*(?:#\s*)?", " ", path.read_text(encoding="utf-8"))):
            names = [name for name in re.split(r",? and |, ", match[1]) if name]
            if NO_NAMES & set(names):
                continue
            if match[1] + " " + match[2] not in WORKS and not known(names, match[2]):
                wrong.append(f"{path.relative_to(ROOT)}: {match[0]}")
    check(wrong)


def test_keys_in_brackets_on_theory_pages_are_in_the_bibliography():
    wrong = []
    for path in (DOCS / "theory").glob("*.md"):
        text = re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))
        for match in re.finditer(r"\[([A-ZÀ-Þ][^\[\]=|]*?)\](?!\()", re.sub(r"(?m)^    .*$", "", text)):
            for one in re.split(r";\s", match[1].replace("\n", " ")):
                if re.search(r"(?:19|20)\d\d|^Thesis|^Motheram", one) and one.partition(",")[0] not in WORKS:
                    wrong.append(f"theory/{path.name}: [{one}]")
    check(wrong)


def test_works_are_entered_whole():
    for key, work in WORKS.items():
        assert {"type", "title", "authors"} <= set(work), key
        assert "year" in work or "source_of" in work, key
        assert plain(key).replace("gross ", "").startswith(families(work)[0]) or key == "Thesis", key
        assert key.endswith(str(work.get("year", ""))), key


def test_bibliography_and_citation_file_are_up_to_date():
    """After a change of docs/references.toml: python docs/make_references.py"""
    assert (DOCS / "references.bib").read_text(encoding="utf-8") == references.bib()
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert text == references.cff() and "to come" not in text


def test_every_method_that_has_a_source_names_it_once():
    named = [method for work in WORKS.values() for method in work.get("source_of", [])]
    assert sorted(named) == ["continuous-penalty", "noniterative", "penalty", "point-surface", "quasi-rigid", "reversal"]


# -- glossary


def entries():
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.M)
    return [(word, meaning) for word, meaning, _ in rows if word not in ("word", "---")]


def test_words_of_the_glossary_are_used():
    where = [path for path in TEXTS if path.parts[len(ROOT.parts)] in ("src", "docs") and path.name != "glossary.md"]
    rest = "\n".join(path.read_text(encoding="utf-8").lower() for path in where)
    words = set(re.findall(r"[a-z]+", rest))
    for entry, _ in entries():
        for word in entry.lower().split(", "):
            assert re.search(rf"\b{word}s?\b", rest) if " " in word else {word, word + "s"} & words, f"nobody says '{word}'"


def test_words_of_the_glossary_stand_once_and_are_explained():
    names = [word for word, _ in entries()]
    assert len(names) == len(set(names)) > 40
    for word, meaning in entries():
        assert meaning.endswith("."), word


def test_places_that_the_glossary_names_exist():
    for path in re.findall(r"`([\w/]+(?:/|\.py))`", (DOCS / "glossary.md").read_text(encoding="utf-8")):
        assert (ROOT / "src" / "pliant" / path).exists(), path


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("(theory/penalty 5.4).", [("penalty", "5.4")]),
        ("theory/quasi-rigid 6.1, 8", [("quasi-rigid", "6.1"), ("quasi-rigid", "8")]),
        ("theory/noniterative 3-5;", [("noniterative", f"{k}") for k in (3, 4, 5)]),
        ("theory/penalty 7.1-7.3 and 9", [("penalty", "7.1"), ("penalty", "7.2"), ("penalty", "7.3"), ("penalty", "9")]),
        ("# theory/point-bodies\n    # 4.4", [("point-bodies", "4.4")]),
        ("theory/springs: all", [("springs", "")]),
        ("[theory/springs 4](theory/springs.md)", [("springs", "4")]),
    ],
)
def test_how_citations_are_read(text, cited):
    assert list(theory.citations(text)) == cited
