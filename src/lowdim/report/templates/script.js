"use strict";
// Sort a table by a column: the only thing this page needs a script for.
for (const table of document.querySelectorAll("table")) {
  const heads = table.querySelectorAll("thead th");
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const value = row => row.cells[column].textContent;
      const number = text => text.trim() === "" ? NaN : Number(text);
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [number(value(a)), number(value(b))];
        const order = Number.isNaN(x) || Number.isNaN(y) ? value(a).localeCompare(value(b)) : x - y;
        return up ? order : -order;
      });
      body.append(...rows);
    });
  });
}
