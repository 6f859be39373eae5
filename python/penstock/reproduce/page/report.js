// Tables of class `sortable`: a click on a column's head sorts by it, a second the other way round. A cell's
// `data-sort` goes before its text; numbers sort as numbers, and cells without a value stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.sort ?? cell.textContent.trim();
    return text !== "" && isFinite(text) ? Number(text) : text;
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.setAttribute("aria-sort", other === head ? (down ? "descending" : "ascending") : "none");
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => ({ row, key: value(row, column) }));
      keyed.sort((a, b) => (a.key === "" || b.key === "" ? compare(a.key, b.key) : (down ? -1 : 1) * compare(a.key, b.key)));
      body.append(...keyed.map((each) => each.row));
    });
  });
}
// A link into something folded unfolds it, also in browsers that do not do so by themselves.
const unfold = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!target) return;
  const inside = target.matches(".claim") ? target.querySelector("details") : target;
  for (let each = inside; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
// A paper's marks are one stop of the Tab key; the arrow keys, Home and End go from mark to mark.
for (const list of document.querySelectorAll(".marks")) {
  const marks = [...list.querySelectorAll("a")];
  marks.forEach((mark, i) => {
    mark.tabIndex = i ? -1 : 0;
    mark.addEventListener("keydown", (event) => {
      const to = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: marks.length - 1 }[event.key];
      if (to === undefined || !marks[to]) return;
      event.preventDefault();
      mark.tabIndex = -1;
      marks[to].tabIndex = 0;
      marks[to].focus();
    });
  });
}
