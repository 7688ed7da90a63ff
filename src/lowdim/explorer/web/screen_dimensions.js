// Dimensions: a cut on the eigenvalues, the shuffled tables' band behind it; the sentences follow the cut.
import {button, dataTable, field, numbersRow} from "./controls.js";
import {svg} from "./draw.js";
import {el, figures, general, shellWord} from "./words.js";

/** @param {any} app */
export function dimensionsScreen(app) {
  const {jury, run, sentences} = app.facts;
  if (!jury) return null;
  const most = Math.min(jury.eigenvalues.length, 20),
    cut = el("input", {
      type: "range",
      min: 0,
      max: most,
      step: 1,
      oninput: () => app.go({cut: Number(cut.value)}, {push: false}),
      onchange: () => app.go({}),
      "aria-label": "Dimensions kept",
    });
  const box = el("div", {class: "chart"}),
    sentence = el("p", {class: "lead"}),
    shares = el("p"),
    judged = el("p");
  const controls = el(
    "div",
    {},
    el("h2", {}, "Dimensions kept"),
    field("Drag the cut, or use the arrow keys", cut),
    button(`Back to ${jury.q}, as fitted`, () => app.go({cut: jury.q})),
    el("h2", {}, "What the judges say"),
    el("p", {}, jury.sentence),
    el(
      "p",
      {class: "quiet"},
      `Two judges may differ. Told from noise, ${jury.detectable}: left-out rows are predicted better by more than a standard error. Above shuffled tables: the eigenvalue of its last axis is above theirs.`,
    ),
    el(
      "ul",
      {},
      ...jury.judges.map((/** @type {any} */ j) =>
        el(
          "li",
          {},
          `${j.name}: ${j.q === null ? "cannot say" : j.q}`,
          j.detail ? el("span", {class: "quiet"}, ` ${j.detail}`) : "",
        ),
      ),
    ),
  );
  const rows = jury.rows.map((/** @type {any} */ r) =>
    numbersRow(
      String(r.q),
      r.skill === null ? "" : general(r.skill, 2),
      r.bic_weight >= 0.005 ? `${Math.round(100 * r.bic_weight)}%` : "< 1%",
      r.above_noise === null ? "" : r.above_noise ? "yes" : "no",
    ),
  );
  const numbers = dataTable(
    "Each number of dimensions",
    ["dimensions", "left-out skill", "weight by BIC", "above shuffled tables"],
    el("tbody", {}, ...rows),
  );
  const view = el("div", {}, box, numbers);
  const inspector = el(
    "div",
    {},
    el("h2", {}, "At this cut"),
    sentence,
    shares,
    judged,
    el("h3", {}, `As fitted, with ${jury.q}`),
    el("ol", {class: "sentences"}, ...sentences.map((/** @type {string} */ t) => el("li", {}, app.short(t)))),
  );
  const total = jury.eigenvalues.reduce((/** @type {number} */ s, /** @type {number} */ v) => s + v, 0);

  const paint = () => {
    const k = Math.min(app.state.cut ?? jury.q, most),
      kept =
        jury.eigenvalues.slice(0, k).reduce((/** @type {number} */ s, /** @type {number} */ v) => s + v, 0) / total;
    const row = jury.rows.find((/** @type {any} */ r) => r.q === k),
      best = Math.max(...jury.rows.map((/** @type {any} */ r) => r.skill ?? -Infinity));
    cut.value = String(k);
    sentence.textContent = `${k === 0 ? "No dimensions" : k === 1 ? "1 dimension" : `${k} dimensions`} hold ${Math.round(100 * kept)}% of the variation and leave out ${Math.round(100 * (1 - kept))}%.`;
    shares.textContent =
      row && row.skill !== null
        ? `They predict left-out cells with skill ${general(row.skill, 2)}${best > 0 ? ` (${Math.round((100 * row.skill) / best)}% of the best, ${general(best, 2)})` : ""}.`
        : "This number was not tried on left-out cells.";
    const under = [...jury.eigenvalues.slice(0, k)].filter((v, i) => i < jury.band.length && v <= jury.band[i]).length;
    judged.textContent = under
      ? `${under === 1 ? "One of them does" : `${under} of them do`} not rise above what shuffled tables show.`
      : k
        ? "All of them rise above what shuffled tables show."
        : "";
    app.numbers = {cut: k, kept, skill: row?.skill ?? null};
    draw(k);
    app.say(`${app.said} ${sentence.textContent} ${shares.textContent} ${judged.textContent}`);
  };

  const draw = (/** @type {number} */ k) => {
    const w = 640,
      h = 300,
      top = Math.max(...jury.eigenvalues, ...jury.band),
      x = (/** @type {number} */ i) => 50 + ((w - 70) * (i - 0.5)) / most,
      y = (/** @type {number} */ v) => h - 40 - ((h - 60) * v) / top;
    const bars = Array.from({length: most}, (_, i) =>
      svg("rect", {
        x: x(i + 1) - ((w - 70) / most) * 0.35,
        width: ((w - 70) / most) * 0.7,
        y: y(jury.eigenvalues[i]),
        height: h - 40 - y(jury.eigenvalues[i]),
        class: i < k ? "kept" : "left",
      }),
    );
    const labels = Array.from({length: most}, (_, i) =>
      svg("text", {x: x(i + 1), y: h - 22, "text-anchor": "middle"}, String(i + 1)),
    );
    const band = svg("polyline", {
      points: Array.from(jury.band.slice(0, most), (v, i) => `${x(i + 1)},${y(/** @type {number} */ (v))}`).join(" "),
      class: "band-line",
    });
    const line = svg("line", {x1: x(k + 0.5), x2: x(k + 0.5), y1: 12, y2: h - 36, class: "cut"});
    const picture = svg(
      "svg",
      {viewBox: `0 0 ${w} ${h}`, role: "img", class: "scree"},
      svg("title", {}, "Eigenvalues, the cut, and the 95% level of shuffled tables"),
      ...bars,
      band,
      line,
      ...labels,
      svg("text", {x: w / 2, y: h - 4, "text-anchor": "middle"}, "axis"),
      svg("text", {x: 8, y: 16}, `${figures(top, 2)}, eigenvalue`),
      svg("text", {x: w - 16, y: 24, "text-anchor": "end"}, "dashed: 95% level of shuffled tables"),
    );
    const drag = (/** @type {any} */ event) => {
      const frame = picture.getBoundingClientRect(),
        at = Math.round(((((event.clientX - frame.left) / frame.width) * w - 50) / (w - 70)) * most);
      if (event.buttons) app.go({cut: Math.min(most, Math.max(0, at))}, {push: false});
    };
    picture.addEventListener("pointerup", () => app.go({}));
    picture.addEventListener("pointerdown", drag);
    picture.addEventListener("pointermove", drag);
    box.replaceChildren(picture);
  };
  const moved = () => (app.state.cut ?? jury.q) !== jury.q;
  const command = () => (run && !moved() ? ["lowdim", "dims", run].map(shellWord).join(" ") : "");
  const python = () => {
    const jury = `${app.pythonSubject()}\njury = subject.analysis.jury\nprint(jury.text())`,
      k = Math.min(app.state.cut ?? 0, most);
    return moved()
      ? `${jury}\nprint(jury.eigenvalues[:${k}].sum() / jury.eigenvalues.sum())\nprint([row.skill for row in jury.rows if row.q == ${k}])`
      : jury;
  };
  return {name: "Dimensions", controls, view, inspector, paint, command, python};
}
