// What pages gain with a script: copy buttons, filters kept in the address, arrow keys in grids, the advisor's answer.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (name, words, attributes = {}) => {
    const element = document.createElement(name);
    if (words) element.textContent = words;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // A date is ISO in data, and on pages `3 November 2026`.
  const months = "January February March April May June July August September October November December".split(" ");
  const plainDates = (text) => text.replace(/\b(\d{4})-(\d\d)-(\d\d)\b/g, (date, year, month, day) => months[month - 1] ? `${Number(day)} ${months[month - 1]} ${year}` : date);

  // Copy buttons.
  const offerCopy = (figure) => {
    const code = figure.querySelector("code");
    if (!code || !navigator.clipboard) return;
    const button = make("button", "Copy", { type: "button", class: "copy" });
    const what = figure.querySelector("figcaption");
    button.setAttribute("aria-label", `Copy: ${what ? what.textContent : "this"}`);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not copied";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    figure.classList.add("can-copy");
    figure.append(button);
  };
  all("figure.code").forEach(offerCopy);

  // The address remembers what a form asks; empty fields are left out.
  const remember = (form) => {
    const asked = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value && value !== "all") asked.append(name, value);
    const query = asked.toString();
    history.replaceState(null, "", query ? `?${query}` : location.pathname);
  };
  const recall = (form) => {
    for (const [name, value] of new URLSearchParams(location.search)) {
      for (const field of all("[name]", form).filter((one) => one.name === name)) {
        if (field.type === "radio") field.checked = field.value === value;
        else if (field.tagName !== "SELECT" || all("option", field).some((one) => one.value === value)) field.value = value;
      }
    }
  };

  // Which rows a grid shows.
  const red = ["broken", "partial", "flaky"];
  for (const form of all("form[data-filter]")) {
    const rows = all("[data-release]");
    const filter = () => {
      const asked = new FormData(form);
      let shown = 0;
      for (const row of rows) {
        const kinds = row.dataset.kinds.split(" ").filter(Boolean);
        const fits = { tested: kinds.some((one) => one !== "infeasible"), failing: kinds.some((one) => red.includes(one)) };
        row.hidden = !(fits[asked.get("show")] ?? true) || !row.dataset.release.startsWith(asked.get("release").trim());
        if (!row.hidden && row.tagName === "TR") shown += 1;
      }
      const count = form.querySelector("[data-count]");
      count.textContent = `${shown} ${shown === 1 ? "release" : "releases"} shown`;
    };
    recall(form);
    form.hidden = false;
    form.addEventListener("input", () => { remember(form); filter(); });
    form.addEventListener("submit", (event) => { event.preventDefault(); });
    filter();
  }

  // A grid is one stop of the Tab key; inside it the arrow keys move.
  for (const table of all("table[data-grid]")) {
    table.setAttribute("role", "grid");
    const region = table.closest("[tabindex]");
    if (region) region.removeAttribute("tabindex");
    const rows = () => all("tr", table).filter((row) => !row.hidden);
    const cells = (row) => all("th, td", row);
    const target = (cell) => cell.querySelector("a") || cell;
    all("a", table).forEach((link) => { link.tabIndex = -1; });
    all("th, td", table).forEach((cell) => { if (!cell.querySelector("a")) cell.tabIndex = -1; });
    let current = null;
    const choose = (cell, focus) => {
      if (!cell) return;
      if (current) target(current).tabIndex = -1;
      current = cell;
      target(cell).tabIndex = 0;
      if (focus) target(cell).focus();
    };
    choose(table.querySelector("tbody td.place") || table.querySelector("tbody th"), false);
    table.addEventListener("focusin", (event) => { choose(event.target.closest("th, td"), false); });
    table.addEventListener("keydown", (event) => {
      const shown = rows();
      const row = current.parentElement;
      const at = { y: shown.indexOf(row), x: cells(row).indexOf(current) };
      const whole = event.ctrlKey || event.metaKey;
      const moves = {
        ArrowRight: [at.y, at.x + 1], ArrowLeft: [at.y, at.x - 1], ArrowDown: [at.y + 1, at.x], ArrowUp: [at.y - 1, at.x],
        PageDown: [at.y + 10, at.x], PageUp: [at.y - 10, at.x],
        Home: [whole ? 0 : at.y, 0], End: [whole ? shown.length - 1 : at.y, cells(row).length - 1],
      };
      const to = moves[event.key];
      if (!to || event.altKey) return;
      event.preventDefault();
      const line = cells(shown[Math.max(0, Math.min(shown.length - 1, to[0]))]);
      choose(line[Math.max(0, Math.min(line.length - 1, to[1]))], true);
    });
  }

  // The advisor: the same order as the command, see the notes in advise.json's schema.
  const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
  const before = (left, right) => {
    for (const [number, value] of left.entries()) if (value !== right[number]) return value - right[number];
    return 0;
  };
  const coded = (id) => id.replaceAll("!", "~21");
  const order = (row, asked) => [asked.need.length === 0 && asked.goal !== "closest" ? row.tier : 0, row.rank[asked.goal]];
  const admitted = (row, asked) => asked.goal !== "published" || row.recipe !== "relaxed";
  const lacking = (row, asked, table) => asked.need.filter((need) => {
    const number = table.capabilities.indexOf(need);
    return number < 0 || row.lacks.includes(number);
  });
  const unmet = (row, asked, table) => table.axes.flatMap((axis, number) => {
    const wanted = asked.at[axis.name];
    const at = axis.coordinates.indexOf(wanted);
    return wanted === undefined || at === row.at[number] ? [] : [{ axis, off: Math.abs(at - row.at[number]) }];
  });
  const answer = (table, asked) => {
    const fitting = table.rows.filter((row) => admitted(row, asked) && !unmet(row, asked, table).length && !lacking(row, asked, table).length);
    const pick = (rows, key) => [...rows].sort((one, other) => before(key(one), key(other)))[0];
    if (fitting.length) return { row: pick(fitting, (row) => order(row, asked)), proven: true };
    const distance = (row) => {
      const off = unmet(row, asked, table);
      return [admitted(row, asked) ? 0 : 1, lacking(row, asked, table).length, off.length, sum(off.map((one) => one.off)), ...order(row, asked)];
    };
    return { row: pick(table.rows, distance), proven: false };
  };
  const show = (place, table, asked, cellsPath) => {
    const found = answer(table, asked);
    place.replaceChildren();
    if (!found.row) {
      place.append(make("p", "No tested combination yet.", { class: "empty" }));
      return;
    }
    const row = found.row;
    const card = make("div", "", { class: "card" });
    if (!found.proven) {
      const changes = [
        ...(admitted(row, asked) ? [] : ["with changed dependency pins"]),
        ...unmet(row, asked, table).map((one) => `use ${one.axis.label} ${one.axis.coordinates[row.at[table.axes.indexOf(one.axis)]]} instead of ${asked.at[one.axis.name]}`),
        ...lacking(row, asked, table).map((need) => `without ${need}`),
      ];
      card.append(make("p", `No tested combination matches. The smallest change that makes it work: ${changes.join("; ")}.`, { class: "cause" }));
    }
    const tiles = make("dl", "", { class: "tiles" });
    const ordered = [...table.axes.keys()].sort((one, other) => (table.axes[other].name === table.subject) - (table.axes[one].name === table.subject) || other - one);
    for (const number of ordered) {
      const tile = make("div", "", table.axes[number].name === table.subject ? { class: "subject" } : {});
      tile.append(make("dt", table.axes[number].label), make("dd", row.versions[number]));
      tiles.append(tile);
    }
    const proof = make("p", `${table.sentences[row.words]}: ${row.tested} ${row.tested === 1 ? "run" : "runs"} with this exact lock file${row.days > 1 ? ` on ${row.days} days` : ""}, ${row.tested > 1 ? "the last " : ""}on ${plainDates(row.last)}, isolation level ${row.isolation}. `);
    proof.append(make("a", "Test results", { href: `${cellsPath}${coded(row.id)}/` }));
    card.append(tiles, proof);
    const tell = (numbers, words) => { for (const number of numbers) card.append(make("p", words(table.sentences[number]), { class: "soft" })); };
    const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
    if (table.sentences[row.score]) card.append(make("p", sentence(table.sentences[row.score]), { class: "score" }));
    if (row.failing.length) card.append(make("p", `Does not work: ${row.failing.map((number) => table.sentences[number]).join(", ")}.`));
    tell(row.stale, (text) => `To be tested again: ${plainDates(text)}.`);
    tell(row.lifted, (text) => `Changed: ${text}.`);
    for (const [tool, numbers] of [["with uv", row.uv], ["with pip", row.pip]]) {
      const figure = make("figure", "", { class: "code" });
      const pre = make("pre", "", { class: "command" });
      pre.append(make("code", numbers.map((number) => table.sentences[number]).join("\n")));
      figure.append(make("figcaption", tool), pre);
      offerCopy(figure);
      card.append(figure);
    }
    place.append(card);
  };
  for (const form of all("form[data-advise]")) {
    const place = document.querySelector("[data-answer]");
    const fixed = document.querySelector("[data-static]");
    let table = null;
    const respond = async () => {
      remember(form);
      const asked = { at: {}, need: [], goal: "best" };
      for (const [name, value] of new FormData(form)) {
        if (name === "goal") asked.goal = value;
        else if (name === "need") asked.need = value ? [value] : [];
        else if (value) asked.at[name] = value;
      }
      try {
        table = table || (await (await fetch(form.dataset.advise)).json()).advice;
        show(place, table, asked, form.dataset.cells);
        fixed.hidden = true;
      } catch {
        place.textContent = "The data could not be loaded. The answers below still hold.";
        fixed.hidden = false;
      }
    };
    recall(form);
    form.hidden = false;
    form.addEventListener("submit", (event) => { event.preventDefault(); respond(); });
    form.addEventListener("change", respond);
    if (location.search) respond();
  }
})();
