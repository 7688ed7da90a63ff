"use strict";
// All of this page can be read without a script. It adds: sorting, copying, and the map by keyboard.
const number = text => text.trim() === "" ? NaN : Number(text.replaceAll(",", ""));

function sortable(table) {
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = row => row.cells[column].textContent;
      const order = (a, b) => {
        const [x, y] = [number(value(a)), number(value(b))];
        return Number.isNaN(x) || Number.isNaN(y) ? value(a).localeCompare(value(b)) : x - y;
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => up ? order(a, b) : order(b, a)));
    });
  });
}

function copyable(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  block.after(button);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(block);
      button.textContent = "Selected: press Ctrl+C";
    }
  });
}

function steppable(group) {
  const marks = [...group.children], chart = group.closest(".chart");
  if (!marks.length) return;
  const say = document.createElement("p");
  say.className = "say";
  say.setAttribute("aria-live", "polite");
  say.textContent = "Arrow keys step through the rows.";
  chart.after(say);
  chart.tabIndex = 0;
  chart.setAttribute("role", "group");
  chart.setAttribute("aria-label", "The map; arrow keys step through its rows");
  let at = -1;
  const go = to => {
    marks[at]?.classList.remove("on");
    at = (to + marks.length) % marks.length;
    marks[at].classList.add("on");
    say.textContent = marks[at].querySelector("title").textContent;
  };
  chart.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (event.key === "Escape") { marks[at]?.classList.remove("on"); at = -1; }
    if (!step) return;
    event.preventDefault();
    go(at < 0 ? (step > 0 ? 0 : -1) : at + step);
  });
  group.addEventListener("pointerover", event => {
    const mark = event.target.closest("circle");
    if (mark) go(marks.indexOf(mark));
  });
}

document.querySelectorAll("table").forEach(sortable);
document.querySelectorAll(".again pre").forEach(copyable);
document.querySelectorAll(".dots").forEach(steppable);
// what scrolls sideways must be reachable by keyboard
const reach = () => document.querySelectorAll(".scroll, .chart").forEach(box => {
  if (box.scrollWidth > box.clientWidth && !box.hasAttribute("tabindex")) box.tabIndex = 0;
});
reach();
document.addEventListener("toggle", reach, true);
