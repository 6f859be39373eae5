"""The items of `make accept`: what README and docs/ promise, and how each promise is tried."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chromium
import snippets
from acceptance import Item, Measure, SkippedError, Work

#: Seconds of fuzzing, shared over the targets.
FUZZING_S = 3600
#: Who is killed twenty times each; every one needs a test whose name says so.
VICTIMS = ("driver", "worker", "nanny", "scheduler")


def bin_of(work: Work, program: str) -> Path:
    """A program of the checkout's virtual environment, which is made where there is none."""
    path = work.checkout / ".venv" / "bin" / program
    if not path.exists():
        work.must(["make", "setup"])
    return path


def seconds(what: str, value: float, most: float | None = None) -> Measure:
    """A wall time."""
    return Measure(what, round(value, 1), "s", most=most)


# ----------------------------------------------------------------------- the first minutes


def setup(work: Work) -> list[Measure]:
    """`make setup` in the fresh clone."""
    return [seconds("make setup", work.must(["make", "setup"]).seconds)]


def demo(work: Work) -> list[Measure]:
    """`make demo`, once everything is set up."""
    done = work.must(["make", "demo"])
    page = work.checkout / "out" / "report.html"
    return [
        seconds("make demo", done.seconds, 60),
        Measure("report.html written", page.exists(), least=1),
    ]


def tests(work: Work) -> list[Measure]:
    """`make test`: everything that CI checks."""
    done = work.run(["make", "test"], 3 * 3600)
    return [Measure("exit status of make test", done.code, most=0), *_counts(work, done.output)]


def _counts(work: Work, output: str) -> list[Measure]:
    """What pytest's last line counts. The reasons of skipped tests become notes."""
    found = {
        word: sum(int(n) for n in re.findall(rf"\b(\d+) {word}\b(?=.* in [\d.:]+)", output))
        for word in ("passed", "failed", "error", "errors", "skipped")
    }
    work.notes += sorted(set(re.findall(r"^SKIPPED .*", output, re.MULTILINE)))
    wrong = found["failed"] + found["error"] + found["errors"]
    return [
        Measure("tests passed", found["passed"], least=1),
        Measure("tests failed", wrong, most=0),
        Measure("tests skipped", found["skipped"]),
    ]


def _pytest(work: Work, *options: str, limit_s: float = 4 * 3600) -> list[Measure]:
    done = work.run([bin_of(work, "pytest"), "-rs", *options], limit_s)
    timed_out = [Measure("seconds allowed were not enough", 1, most=0)] if done.code == 124 else []
    return [*timed_out, *_counts(work, done.output)]


# ---------------------------------------------------------------- the papers and the references


def reproduce(work: Work) -> list[Measure]:
    """All papers in full, and the same command again."""
    shutil.rmtree(work.folder / "papers", ignore_errors=True)
    command: list[str | Path] = [
        bin_of(work, "penstock"),
        "reproduce",
        "all",
        "--out",
        work.folder / "papers",
    ]
    first, second = work.must(command, 2 * 3600), work.must(command, 2 * 3600)
    with (work.folder / "papers" / "claims.csv").open(newline="", encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    counts = [int(row["n"]) for row in claims] or [0]
    return [
        seconds("first call", first.seconds, 600),
        seconds("second call", second.seconds, 30),
        Measure("claims judged", len(claims), least=1),
        Measure("quick verdicts that it contradicts", len(_contradicted(work, claims)), most=0),
        Measure("seeds of a claim", max(counts), least=10),
        # A seed in which the claim's number is undefined is left out of its claim.
        Measure("fewest seeds of a claim", min(counts)),
    ]


def _contradicted(work: Work, full: Sequence[Mapping[str, str]]) -> list[str]:
    """Claims that the demo's report, where there is one, decides the other way."""
    quick = work.checkout / "out" / "claims.csv"
    if not quick.exists():
        return []
    verdicts = {(row["paper"], row["claim"], row["reading"]): row["verdict"] for row in full}
    with quick.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    decided = {"holds", "does not hold"}
    return [
        f"{row['paper']} {row['claim']} ({row['reading']})"
        for row in rows
        if {row["verdict"], verdicts.get((row["paper"], row["claim"], row["reading"]))} == decided
    ]


def promised_shares(root: Path) -> list[tuple[str, str]]:
    """What the README says of each reference set: its pairs, and the per cent that agree."""
    readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    return re.findall(r"(\d+) pairs[^*]*\*\*([\d.]+) % agree\*\*", readme)


def evaluate(work: Work) -> list[Measure]:
    """One discipline in short, and all of them in full."""
    penstock = bin_of(work, "penstock")
    folder = work.folder / "judged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(work.folder / "quick", ignore_errors=True)
    quick = work.must(
        [penstock, "evaluate", "red", "--quick", "--out", work.folder / "quick"], 1800
    )
    command: list[str | Path] = [penstock, "evaluate", "all", "--seeds", "10", "--out", folder]
    whole = work.must(command, 2 * 3600)
    again = work.must(command, 2 * 3600)
    with (folder / "answers.csv").open(newline="", encoding="utf-8") as file:
        answers = list(csv.DictReader(file))
    committed = work.checkout / "docs" / "evaluate" / "answers.csv"
    same = committed.read_bytes() == (folder / "answers.csv").read_bytes()
    return [
        seconds("one discipline, --quick", quick.seconds, 60),
        seconds("all, ten seeds", whole.seconds, 1800),
        seconds("the same call again", again.seconds),
        Measure("answers", len(answers), least=1),
        Measure("answers.csv is the committed one", same, least=1),
    ]


def validate(work: Work) -> list[Measure]:
    """Both reference sets; the README says how many pairs there are and what share agrees."""
    promised = promised_shares(work.checkout)
    done = work.must([bin_of(work, "penstock"), "validate"], 3 * 3600)
    found = re.findall(
        r"^(\S+\.md): \d+ of (\d+) pairs agree \(([\d.]+) %\)", done.output, re.MULTILINE
    )
    if len(promised) != 2 or len(found) != 2:
        raise RuntimeError(
            f"the README names {len(promised)} shares and validate {len(found)}; both should name 2"
        )
    measures = [seconds("penstock validate", done.seconds)]
    for (pairs, share), (report, counted, agrees) in zip(promised, found, strict=True):
        measures.append(
            Measure(f"pairs in {report}", int(counted), least=int(pairs), most=int(pairs))
        )
        measures.append(
            Measure(f"share that agrees in {report}", float(agrees), "%", least=float(share))
        )
    stale = work.run(
        ["git", "diff", "--stat", "--", "docs/validation.md", "docs/validation-papers.md"]
    )
    return [
        *measures,
        Measure("lines of difference to the committed reports", _changed(stale.output), most=0),
    ]


def _changed(stat: str) -> int:
    return sum(int(n) for n in re.findall(r"(\d+) (?:insertion|deletion)", stat))


def promised_ratio(root: Path) -> float:
    """How many times faster than ns-2 the README says that the slowest case is."""
    found = re.search(
        r"(\d+) to \d+\s+times\s+as\s+fast\s+as\s+ns-2",
        (root / "README.md").read_text(encoding="utf-8"),
    )
    if found is None:
        raise RuntimeError("the README no longer says `A to B times as fast as ns-2`")
    return float(found[1])


def bench(work: Work) -> list[Measure]:
    """`make bench`; the README says how many times faster than ns-2, from and to."""
    least = promised_ratio(work.checkout)
    done = work.must(["make", "bench"], 3 * 3600)
    page = (work.checkout / "docs" / "performance.md").read_text(encoding="utf-8")
    table = page.partition("<!-- bench:speed -->")[2].partition("<!-- /bench:speed -->")[0]
    measures = [seconds("make bench", done.seconds)]
    if shutil.which("ns") is None:
        raise SkippedError(
            "the ratios, because `ns` is not installed (Debian's package ns2)", measures
        )
    for case, ratio in re.findall(r"^\| (B\d) \|.*\| ([\d.]+)× \|$", table, re.MULTILINE):
        measures.append(Measure(f"{case}, speed over ns-2's", float(ratio), "×", least=least))
    return [*measures, Measure("cases compared with ns-2", len(measures) - 1, least=4)]


# ----------------------------------------------------------------------- what is done to it


def kills(work: Work) -> list[Measure]:
    """Twenty kills of each: sweeps end with the tables of an undisturbed one."""
    chosen = ("-m", "long", "-k", "kill")
    # `addopts` has a -q already; a second one would leave the names out.
    names = work.run([bin_of(work, "pytest"), "--collect-only", *chosen]).output
    lacking = [victim for victim in VICTIMS if not re.search(rf"::\S*{victim}", names)]
    if lacking:
        work.notes.append(f"no long test with `kill` in its name is about: {', '.join(lacking)}")
    return [Measure("victims without a test", len(lacking), most=0), *_pytest(work, *chosen)]


def flips(work: Work) -> list[Measure]:
    """A hundred flipped bits in finished files of a store: none stays unseen."""
    return _pytest(work, "-m", "long", "-k", "flip")


def fuzz_targets(root: Path) -> list[str]:
    """The targets that `fuzz/run.sh` runs where none is named."""
    listed = re.search(
        r"targets=\$\{\*:-([^}]*)\}", (root / "fuzz" / "run.sh").read_text(encoding="utf-8")
    )
    if listed is None:
        raise RuntimeError("fuzz/run.sh no longer lists its targets as `${*:-…}`")
    return listed[1].split()


def fuzz(work: Work) -> list[Measure]:
    """An hour of fuzzing, shared over the targets, two at a time."""
    script = work.checkout / "fuzz" / "run.sh"
    targets = fuzz_targets(work.checkout)
    each = FUZZING_S // len(targets)
    built = work.run([script, "1", targets[0]])  # so that two do not build at once

    def one(target: str) -> tuple[str, int, int]:
        done = work.run([script, str(each), target], each + 1800, log=work.folder / f"{target}.log")
        count = re.search(r"executed: (\d+)", done.output)
        return target, done.code, int(count[1]) if count else 0

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(one, targets))
    work.notes += [f"`{target}`: {count:,} inputs in {each} s" for target, _, count in done]
    failed = [target for target, code, _ in done if code != 0]
    if failed:
        work.notes.append(f"failed: {', '.join(failed)}; the logs are in {work.folder}")
    return [
        Measure("fuzzing, all targets", each * len(targets), "s", least=FUZZING_S - len(targets)),
        Measure("targets that failed", len(failed) + (built.code != 0), most=0),
        Measure("fewest inputs of a target", min(count for _, _, count in done), least=1),
    ]


# ---------------------------------------------------------------- real packets, examples, docs


def real_refused(work: Work) -> str | None:
    """Why this machine sends no real packets; `None` where it does."""
    code = (
        "import sys; sys.path[:0] = ['tests', 'tools']; from helpers import real; "
        "print('refused:', real.refusal() or '')"
    )
    done = work.must([bin_of(work, "python"), "-c", code])
    return done.output.partition("refused:")[2].strip() or None


def real(work: Work) -> list[Measure]:
    """The twelve cases: mean delay within 10 % in all, utilization within 2 % in eleven."""
    if why := real_refused(work):
        raise SkippedError(why)
    files = sorted((work.checkout / "scenarios" / "real").glob("*.toml"))
    command: list[str | Path] = [
        bin_of(work, "penstock"),
        "validate-real",
        *files,
        "--out",
        work.folder / "real",
        "--json",
    ]
    done = work.must(command, 3 * 3600)
    found = next(line for line in done.output.splitlines() if line.startswith('{"version"'))
    cases = json.loads(found)["cases"]

    def agreeing(metric: str) -> int:
        return sum(
            pair["agrees"] is True
            for case in cases
            for pair in case["pairs"]
            if pair["metric"] == metric
        )

    return [
        Measure("cases", len(cases), least=12),
        Measure("mean delay agrees", agreeing("delay_mean_s"), "cases", least=12),
        Measure("utilization agrees", agreeing("utilization"), "cases", least=11),
    ]


def examples(work: Work) -> list[Measure]:
    """Every example prints what is beside it."""
    return _pytest(work, "tests/test_examples.py", limit_s=3600)


def blocks(work: Work) -> list[Measure]:
    """The commands and snippets that README and docs/ show."""
    place = work.folder / "here"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "scenarios").symlink_to(work.checkout / "scenarios")
    shutil.copy(work.checkout / "scenarios" / "links" / "red.toml", place / "link.toml")
    path = f"{bin_of(work, 'penstock').parent}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    def run(command: str) -> tuple[int, str]:
        line = ["bash", "-c", command]
        done = work.run(line, 1800, cwd=place, environment={"PATH": path, "COLUMNS": "110"})
        return done.code, done.output

    python = bin_of(work, "python")
    done = snippets.try_all(work.checkout, place, run, python, real_refused(work))
    work.notes += done.wrong + done.left
    return [
        Measure("commands and snippets run", done.count, least=1),
        Measure("that failed or print something else", len(done.wrong), most=0),
        Measure("not run, with a reason", len(done.left)),
    ]


# ------------------------------------------------------------------- the lab, the site, packages


def lab(work: Work) -> list[Measure]:
    """The lab as it is built here, and how fast it goes while it is drawn."""
    if chromium.CHROMIUM is None:
        raise SkippedError(chromium.MISSING)
    python = bin_of(work, "python")
    work.must(["make", "lab"])
    told = work.run([python, work.checkout / "tools" / "lab_speed.py"])
    work.notes += re.findall(r"^at .* frames in a second$", told.output, re.MULTILINE)
    # What is promised of 20 times real time stands there.
    return [Measure("exit status of tools/lab_speed.py", told.code, most=0)]


def site(work: Work) -> list[Measure]:
    """The whole site, with the Python and the Rust API; every page in a browser."""
    made = seconds("make site", work.must(["make", "site"]).seconds)
    pages = len(list((work.checkout / "out" / "site").rglob("*.html")))
    return [made, Measure("pages", pages, least=100), *_pytest(work, "tests/test_site.py")]


def dist(work: Work) -> list[Measure]:
    """The source archive and the wheels, each tried in an empty environment."""
    done = work.must(["make", "dist"], 2 * 3600)
    work.notes += re.findall(r"^(?:no wheel|no profile|  .*not tried).*", done.output, re.MULTILINE)
    sizes = re.findall(r"^(\S+\.(?:whl|tar\.gz)): ([\d.]+) MB", done.output, re.MULTILINE)
    shown = [Measure(name, float(size), "MB") for name, size in sizes]
    return [*shown, Measure("packages made and tried", len(sizes), least=2)]


ITEMS = (
    Item("setup", "`make setup` is all that a fresh clone needs (README, Two commands)", 3, setup),
    Item(
        "demo", "`make demo` reproduces the papers in under a minute (README, The papers)", 1, demo
    ),
    Item("tests", "`make test` runs every check (README, Two commands)", 20, tests),
    Item(
        "reproduce",
        "all papers in 10 min on two cores, again in 30 s (README, The papers)",
        6,
        reproduce,
    ),
    Item(
        "evaluate",
        "a discipline judged by RFC 7928 in a minute, all of them in 30 (docs/evaluate.md)",
        35,
        evaluate,
    ),
    Item(
        "validate",
        "the share of pairs that agree with ns-2 (README, Can it be trusted?)",
        30,
        validate,
    ),
    Item("bench", "times ns-2's speed (README, Is it fast?; docs/performance.md)", 30, bench),
    Item(
        "examples",
        "every example runs and prints what is beside it (examples/README.md)",
        2,
        examples,
    ),
    Item(
        "console",
        "every command and snippet in README and docs/ runs and prints what is shown",
        15,
        blocks,
    ),
    Item(
        "kills",
        "a killed sweep goes on, tables equal (README, Use; docs/sweeps.md, docs/scale.md)",
        60,
        kills,
    ),
    Item("flips", "no flipped bit in a store stays unseen (docs/sweeps.md)", 10, flips),
    Item("real", "agreement with Linux's TCP on real packets (docs/validation-real.md)", 25, real),
    Item("fuzz", "fuzzed parsers, disciplines and engine (README, Can it be trusted?)", 35, fuzz),
    Item("lab", "100 flows at 20 times real time and 60 frames a second (docs/lab.md)", 4, lab),
    Item("site", "`make site` builds the site, and browsers find nothing wrong (docs)", 4, site),
    Item("dist", "wheels that install and run in an empty environment (docs/release.md)", 15, dist),
)
