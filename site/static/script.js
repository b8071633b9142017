// What pages gain with a script: copy buttons, filters kept in the address, arrow keys in grids, answers in place, search.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (name, words, attributes = {}) => {
    const element = document.createElement(name);
    if (words) element.textContent = words;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // Copy buttons.
  const offerCopy = (figure) => {
    const code = figure.querySelector("code");
    if (!code || !navigator.clipboard) return;
    const button = make("button", "Copy", { type: "button", class: "copy" });
    const [caption, way] = [figure.querySelector("figcaption"), figure.closest("[data-way]")];
    button.setAttribute("aria-label", `Copy: ${caption ? caption.textContent : way ? way.dataset.way : "this"}`);
    button.addEventListener("click", async () => {
      try {
        const typed = code.textContent.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
        const isSession = code.classList.contains("language-console");
        await navigator.clipboard.writeText(isSession ? typed.join("\n") : code.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not copied";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    if (figure.classList.contains("can-copy")) return;
    figure.classList.add("can-copy");
    figure.append(button);
  };
  all(".text pre").forEach((block) => {
    const figure = make("figure", "", { class: "code" });
    block.replaceWith(figure);
    figure.append(block);
  });
  all("figure.code").forEach(offerCopy);

  // A badge to pick, to see and to copy.
  for (const form of all("form[data-badge]")) {
    const select = form.querySelector("select");
    form.addEventListener("submit", (event) => { event.preventDefault(); });
    select.addEventListener("change", () => {
      const words = select.selectedOptions[0].textContent;
      const image = form.querySelector("img");
      image.src = `${form.dataset.site}${select.value}.svg`;
      image.alt = words;
      form.querySelector("code").textContent = `[![${words.replace(/[[\]\\`]/g, "")}](${form.dataset.badge}${select.value}.svg)](${form.dataset.home})`;
    });
  }

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

  // Which rows a table shows, and which columns of a grid.
  for (const form of all("form[data-filter]")) {
    const rows = all("[data-release]");
    const heads = all("th[data-label]");
    const filter = () => {
      const asked = new FormData(form);
      const kind = asked.get("show");
      const words = (asked.get("release") || "").trim().toLowerCase();
      const beside = (asked.get("with") || "").trim();
      const begins = form.dataset.filter === "grid";
      let shown = 0;
      for (const row of rows) {
        const name = row.dataset.release;
        const fits = begins ? name.startsWith(words) : name.includes(words);
        row.hidden = !fits || (kind !== "all" && !row.dataset.kinds.split(" ").includes(kind));
        if (!row.hidden && row.tagName === "TR") shown += 1;
      }
      for (const head of heads) {
        const place = head.cellIndex + 1;
        all(`tr > :nth-child(${place})`, head.closest("table")).forEach((cell) => { cell.hidden = !head.dataset.label.startsWith(beside); });
      }
      form.querySelector("[data-count]").textContent = `${shown} ${shown === 1 ? "row" : "rows"}`;
    };
    recall(form);
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
    const cells = (row) => all("th, td", row).filter((cell) => !cell.hidden);
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
    const mark = (event) => {
      const cell = event.target.closest("td.place, thead th");
      all(".here", table).forEach((other) => { other.classList.remove("here"); });
      if (cell && cell.cellIndex > 1) all(`tr > :nth-child(${cell.cellIndex + 1})`, table).forEach((other) => { other.classList.add("here"); });
    };
    table.addEventListener("pointerover", mark);
    table.addEventListener("focusin", mark);
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

  // An answer is a part of a page of this site; in another page its links are seen from elsewhere.
  const enliven = (root) => { all("figure.code", root).forEach(offerCopy); };
  const answerOf = async (address) => {
    const response = await fetch(address);
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const answer = document.importNode(page.querySelector("[data-answer]"), true);
    const from = new URL(address, location.href);
    all("a[href]", answer).forEach((link) => link.setAttribute("href", new URL(link.getAttribute("href"), from)));
    enliven(answer);
    return answer;
  };
  const loaded = new Map();
  const json = (address) => {
    if (!loaded.has(address)) loaded.set(address, fetch(address).then((response) => response.json()));
    return loaded.get(address);
  };
  const coded = (text) => text.replaceAll("!", "~21");

  // The order in which tested combinations are recommended: see the notes in advise.json's schema.
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const before = (left, right) => {
    for (const [number, value] of left.entries()) if (value !== right[number]) return value - right[number];
    return 0;
  };
  const order = (row, asked) => [asked.goal === "closest" ? 0 : asked.need.length ? Math.min(row.outside, 1) : row.tier, row.rank[asked.goal]];
  const admitted = (row, asked) => asked.goal !== "published" || row.changed === 0;
  const lacking = (row, asked, table) => asked.need.filter((need) => {
    const number = table.capabilities.indexOf(need);
    return number < 0 || row.lacks.includes(number);
  });
  const unmet = (row, asked, table) => table.axes.flatMap((axis, number) => {
    const wanted = asked.at.get(axis.name);
    const place = axis.coordinates.indexOf(wanted);
    return wanted === undefined || place === row.at[number] ? [] : [{ axis, number, place, off: Math.abs(place - row.at[number]) }];
  });
  const ranked = (table, asked) => {
    const first = (rows, key) => [...rows].sort((row, other) => before(key(row), key(other)))[0];
    const fitting = table.rows.filter((row) => admitted(row, asked) && !unmet(row, asked, table).length && !lacking(row, asked, table).length);
    if (fitting.length) return { row: first(fitting, (row) => order(row, asked)), changes: [] };
    const row = first(table.rows, (near) => {
      const off = unmet(near, asked, table);
      return [admitted(near, asked) ? 0 : 1, lacking(near, asked, table).length, off.length, sum(off.map((axis) => axis.off)), ...order(near, asked)];
    });
    if (!row) return { row, changes: [] };
    const changes = unmet(row, asked, table).map(({ axis, number, place }) => `use ${axis.label} ${row.versions[number]} (${table.sentences[table.refusals[number][place]]})`);
    return { row, changes: [...(admitted(row, asked) ? [] : [asked.pins]), ...changes, ...lacking(row, asked, table).map((need) => `without ${need}`)] };
  };

  // Versions as the form has them: of `2.9.3` the series 2.9, where it has no 2.9.3.
  const numbers = (version) => (version.match(/\d+/g) || []).map(Number);
  const said = (sentence, value, series = "") => sentence.replace("$version", value).replace("$name", value).replace("$series", series);
  const chosen = (field, value) => {
    const versions = all("option", field).map((option) => option.value).filter(Boolean);
    if (versions.includes(value)) return { version: value, says: "" };
    const series = versions.find((version) => value.startsWith(`${version}.`));
    if (series) return { version: series, says: field.name === "python" ? "" : said(field.dataset.series, value, series) };
    const parts = numbers(value);
    if (!/^\d/.test(value) || !versions.length) return { version: "", says: said(field.dataset.other, value) };
    if (before(parts, [...numbers(versions[0]), -1]) > 0) return { version: "", says: said(field.dataset.newer, value) };
    const oldest = numbers(versions[versions.length - 1]);
    return { version: "", says: said(before(parts, oldest) < 0 ? field.dataset.older : field.dataset.other, value) };
  };
  const plain = (name) => name.toLowerCase().replace(/[-_.]+/g, "-");
  const named = (form, name) => all("select[data-names]", form).find((field) => field.dataset.names.split(" ").map(plain).includes(plain(name)));

  // What a pasted text tells: versions of Python and of packages, and which published causes it shows. The patterns come
  // with the causes and are those of `compat doctor`: advise/doctor/parse.py; `legible` and `flat` are as in advise/package_list.py.
  // What the message means is left to `compat doctor`: a second set of rules here would disagree with it.
  const legible = (text) => text.replace(/\x1b\[[0-9;?]{0,20}[A-Za-z]/g, "").replace(/^(?![^\n]*Error)(?:[^\n]*\b[A-Z][a-z]+Warning: |[^\n]{0,80}?\b[IW]\d{0,4}\b[^\n]{0,120}?\.(?:cc|py):\d{1,6}\] )[^\n]*$/gm, "").replace(/[\u2500-\u257f\u25b6\u00d7\u276f"'`\u2018\u2019\u201c\u201d]/g, "").replace(/\\+/g, "/").replace(/\s+/g, " ").trim();
  const flat = (text) => legible(text).toLowerCase().replace(/_/g, "-");
  const pythonOf = (text, patterns) => {
    for (const pattern of patterns) {
      const match = new RegExp(pattern, "i").exec(text);
      if (match) return (match[2] ? `${match[1]}.${match[2]}` : match[1]).replace(/\.$/, "");
    }
    return "";
  };
  const versionsOf = (text, pattern) => {
    const versions = new Map();
    for (const [, name, version] of text.matchAll(new RegExp(pattern, "gi"))) {
      if (!versions.has(plain(name))) versions.set(plain(name), version);
    }
    return versions;
  };
  const causesIn = (text, libraries) => {
    const whole = flat(text);
    const escaped = (part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const holds = (sign) => sign.every((part) => new RegExp(`(?<![\\w-])${escaped(part)}(?![\\w-]|\\.\\w)`).test(whole));
    return libraries.flatMap((library) => library.causes.filter((cause) => cause.signs.some(holds)).map((cause) => ({ ...cause, library })));
  };

  for (const form of all("form[data-question]")) {
    const place = document.querySelector("[data-answer]").parentElement;
    const spoken = document.querySelector("[data-spoken]");
    const fields = all("select[data-names]", form);
    const root = form.dataset.answers;
    let turn = 0;
    const asking = () => {
      const asked = { at: new Map(), need: [], goal: "" };
      for (const [name, value] of new FormData(form)) {
        if (name === "goal") asked.goal = value;
        else if (name === "need") asked.need = value ? [value] : [];
        else if (value) asked.at.set(name, value);
      }
      return asked;
    };
    // The page that has the answer: of one or two versions it is there already; of more, of needs and of preferences it is worked out.
    const addressed = async () => {
      const asked = asking();
      const goals = form.querySelector("[name=goal]");
      const first = goals ? goals.options[0].value : "";
      const texts = fields.filter((field) => field.value).map((field) => field.dataset.short + field.value);
      const isPrinted = !asked.need.length && asked.goal === first && texts.length < 3 && !fields.some((field) => field.value && "subject" in field.dataset);
      if (isPrinted && (texts.length < 2 || fields[0].value)) return { address: texts.length ? `${root}${coded(texts.join("-"))}/` : root, changes: [] };
      const table = (await json(form.dataset.table)).advice;
      const { row, changes } = ranked(table, { ...asked, pins: form.dataset.pins, goal: asked.goal || table.goals[0] });
      return row ? { address: `${form.dataset.cells}${coded(row.id)}/`, changes } : { address: root, changes: [] };
    };
    const respond = async (wrong = [], recognised = "") => {
      const mine = ++turn;
      if (!wrong.length) remember(form);
      try {
        const { address, changes } = await addressed();
        const answer = await answerOf(address);
        if (mine !== turn) return;
        const nothing = changes.length ? `No tested combination matches: ${changes.join("; ")}.` : "";
        if (nothing) answer.prepend(make("p", nothing, { class: "nothing" }));
        place.querySelector("[data-answer]").replaceWith(answer);
        await onMachine();
        spoken.textContent = wrong[0] || recognised + (nothing || answer.dataset.says);
        // What the answer shows as well is for those who listen.
        spoken.classList.toggle("unseen", !wrong.length);
      } catch {
        spoken.textContent = "The data could not be loaded. The answer below is the one that this page came with.";
        spoken.classList.remove("unseen");
      }
    };
    // Another machine than the tested one: what is known of it comes first, and the tab that works there is open.
    const machine = form.querySelector("[data-platform]");
    const onMachine = async () => {
      all("[data-elsewhere]").forEach((notice) => { notice.remove(); });
      const option = machine && machine.selectedOptions[0];
      if (!option || !option.value) return;
      const response = await fetch(option.dataset.path);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      form.before(document.importNode(page.querySelector("[data-elsewhere]"), true));
      const docker = document.querySelector("[data-answer] .tabs [value=docker]");
      if (docker) docker.checked = true;
    };
    const guess = () => {
      const told = (navigator.userAgentData && navigator.userAgentData.platform) || navigator.platform || "";
      const system = /^Mac/i.test(told) ? "macos" : /^Win/i.test(told) ? "windows" : "";
      const fitting = machine && system && [...machine.options].find((option) => option.value.startsWith(system));
      if (fitting && !machine.value) { machine.value = fitting.value; onMachine(); }
    };
    if (machine) machine.addEventListener("change", () => { respond(); });
    const choose = (values) => values.flatMap(([field, value]) => {
      const { version, says } = chosen(field, value);
      field.value = version;
      return says ? [says] : [];
    });
    const goalsAndNeeds = all("[name=need], [name=goal]", form);
    const fromAddress = () => {
      const wrong = [];
      for (const [name, value] of new URLSearchParams(location.search)) {
        const field = named(form, name) || goalsAndNeeds.find((other) => other.name === name);
        if (!value || name.startsWith("utm_")) continue;
        if (!field) wrong.push(said(form.dataset.unknown, name));
        else if (field.dataset.names) wrong.push(...choose([[field, value]]));
        else if (all("option", field).some((option) => option.value === value)) field.value = value;
        else wrong.push(`${value} is not known here.`);
      }
      respond(wrong);
    };
    form.addEventListener("submit", (event) => { event.preventDefault(); respond(); });
    fields.concat(goalsAndNeeds).forEach((field) => field.addEventListener("change", () => respond()));

    // Pasted text is matched here: no part of it is sent, kept, or put into the address.
    const paste = form.querySelector("[data-paste]");
    const findings = paste.querySelector("[data-findings]");
    const area = paste.querySelector("textarea");
    const summary = paste.querySelector("summary");
    paste.addEventListener("toggle", () => { if (paste.open) area.focus(); });
    const read = async () => {
      findings.replaceChildren();
      summary.textContent = "Paste the error";
      if (!area.value.trim()) return;
      const { libraries, most, pythons, versions: pattern } = await json(paste.dataset.paste);
      const text = legible(area.value.slice(-most));
      const versions = versionsOf(text, pattern);
      const tell = (words, path) => {
        const item = make("li", "");
        item.append(path ? make("a", words, { href: form.dataset.site + path }) : words);
        findings.append(item);
      };
      const causes = causesIn(text, libraries);
      causes.slice(0, 3).forEach((cause) => tell(cause.sentence, cause.path));
      const python = pythonOf(text, pythons);
      // A release that pip came to by itself was not asked for.
      const unasked = [...area.value.matchAll(/^Collecting (\S+)\s*$/gm)].map(([, name]) => plain(name));
      const own = libraries.find((library) => library.name === form.dataset.library);
      const values = fields.flatMap((field) => {
        if ("subject" in field.dataset && unasked.includes(plain(own.subject))) return [];
        const value = field.name === fields[0].name ? python : field.dataset.names.split(" ").map((name) => versions.get(plain(name))).find(Boolean);
        return value ? [[field, value]] : [];
      });
      fields.forEach((field) => { field.value = ""; });
      const wrong = choose(values);
      wrong.slice(1).forEach((words) => tell(words));
      const others = libraries.filter((library) => library.name !== form.dataset.library && versions.has(plain(library.subject)));
      others.forEach((library) => tell(`${library.title}: what do I install?`, library.home));
      for (const library of libraries) {
        const version = versions.get(plain(library.subject));
        if (library.releases[version]) tell(`What works with ${library.subject} ${version}`, library.releases[version]);
      }
      const known = causes.length ? [`${causes.length} known ${causes.length === 1 ? "cause" : "causes"}`] : [];
      const recognised = [...values.map(([field, value]) => `${field.parentElement.firstChild.textContent.trim()} ${value}`), ...known];
      if (!recognised.length && !findings.childElementCount) tell("No version and no published cause was recognised.");
      tell("This box reads versions and published causes alone. `compat doctor` reads the whole message, of any package.");
      await respond(wrong, known.length ? `${known[0]} recognised. ` : "");
      // What was read stands in one line, so that the answer comes next; what else was found comes after it.
      const isRead = recognised.length > 0;
      if (isRead) place.querySelector("[data-answer]").after(findings);
      else paste.append(findings);
      if (isRead) summary.replaceChildren(`Read: ${recognised.join(", ")} `, make("u", "change"));
      if (isRead && paste.open) { paste.open = false; summary.focus({ preventScroll: true }); }
    };
    let pause = 0;
    area.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(read, 250); });
    guess();
    if (location.search) fromAddress();
  }

  // Two releases, or two cells, side by side, worked out from their documents.
  for (const form of all("form[data-compare]")) {
    const place = document.querySelector("[data-comparison]");
    const spoken = document.querySelector("[data-spoken]");
    const fields = all("select", form);
    const { compare: api, home, axis } = form.dataset;
    const pairs = (text) => text.split("|").map((pair) => pair.split("="));
    const labels = pairs(form.dataset.labels);
    const metrics = new Map(pairs(form.dataset.metrics));
    const titles = new Map(pairs(form.dataset.titles));
    const states = Object.fromEntries(pairs(form.dataset.states));
    const words = { yes: "works", no: "fails", absent: "is absent" };
    const sideOf = async (name) => {
      const release = name.includes("-") ? null : await json(`${api}releases/${axis}/${coded(name)}.json`);
      const id = release ? release.representative : name;
      const cell = id && await json(`${api}cells/${coded(id)}.json`);
      const lock = cell && cell.links.lock ? await (await fetch(form.dataset.site + cell.links.lock)).text() : "";
      return { name, release, cell, packages: new Map([...lock.matchAll(/^([a-z0-9][\w.-]*)==(\S+)/gm)].map(([, pin, version]) => [pin, version])) };
    };
    const table = (head, rows) => {
      const made = make("table", "", { class: "plain sides" });
      const line = (parts, tag) => {
        const row = make("tr", "");
        parts.forEach((part, number) => { const cell = make(number ? tag : "th", part, { scope: number ? "col" : "row" }); if (number && tag === "td") cell.removeAttribute("scope"); row.append(cell); });
        return row;
      };
      made.append(make("caption", head[0], { class: "unseen" }), make("thead", ""), make("tbody", ""));
      made.children[1].append(line(head, "th"));
      rows.forEach((row) => made.children[2].append(line(row, "td")));
      const region = make("section", "", { class: "scroll", tabindex: "0", "aria-label": head[0] });
      region.append(made);
      return region;
    };
    const list = (heading, names, link) => {
      const items = make("ul", "", { class: "columns" });
      names.forEach((name) => { const item = make("li", ""); item.append(link ? make("a", titles.get(name) || name, { href: link(name) }) : make("code", name)); items.append(item); });
      return names.length ? [make("p", `${heading}:`), items] : [];
    };
    const works = (side, name) => side.release.ranges.filter((one) => one.axis === name && ["works", "relaxed", "decayed"].includes(one.state)).flatMap((one) => one.coordinates).sort((one, other) => before(numbers(one), numbers(other))).join(", ") || "none tested";
    const statuses = (cell) => new Map([...cell.works.map((name) => [name, "yes"]), ...Object.keys(cell.absent).map((name) => [name, "absent"]), ...cell.capabilities.map((one) => [one.id, one.status])]);
    const differing = (one, other) => [...new Set([...one.keys(), ...other.keys()])].sort().filter((name) => one.get(name) !== other.get(name));
    const show = async () => {
      const [from, to] = await Promise.all(fields.map((field) => sideOf(field.value)));
      const rows = [["Compared cell", ...[from, to].map(({ cell }) => (cell ? cell.id : "no suite ran"))], ["Verdict", ...[from, to].map(({ cell }) => (cell ? `${states[cell.state] || cell.state}${cell.score.words ? `: ${cell.score.words}` : ""}` : ""))]];
      if (from.release && to.release) rows.unshift(["Requires Python", from.release.requires_python || "any", to.release.requires_python || "any"], ...labels.map(([name, label]) => [`Works with ${label}`, works(from, name), works(to, name)]));
      const parts = [table(["Side by side", from.name, to.name], rows)];
      if (from.cell && to.cell) {
        const [was, now] = [statuses(from.cell), statuses(to.cell)];
        const moves = new Map();
        for (const name of differing(was, now)) if (was.has(name) && now.has(name)) { const key = `${words[was.get(name)]} in ${from.name}, ${words[now.get(name)]} in ${to.name}`; moves.set(key, [...(moves.get(key) || []), name]); }
        parts.push(make("h2", "Capabilities"), ...(moves.size ? [...moves].flatMap(([key, names]) => list(key[0].toUpperCase() + key.slice(1), names, (name) => `${home}cap/${coded(name)}/`)) : [make("p", "No capability differs.")]));
      }
      if (from.release && to.release) {
        // Older metadata has brackets around a bound.
        const lines = (side) => side.release.requires_dist.map((line) => line.replace(/ \(([^)]*)\)/, " $1"));
        const only = (side, other) => list(`Only ${side.name}`, lines(side).filter((line) => !lines(other).includes(line)));
        parts.push(make("h2", "Declared requirements"), ...only(from, to), ...only(to, from));
      }
      if (from.cell && to.cell) {
        const values = (side) => new Map(side.cell.metrics.map((one) => [one.name, `${Number(one.value.toPrecision(4)).toLocaleString("en")} ${one.unit}`]));
        const [here, there] = [values(from), values(to)];
        const [old, fresh] = [from.packages, to.packages];
        parts.push(make("h2", "Measurements"), table(["Measured", from.name, to.name], [...here].filter(([name]) => there.has(name)).map(([name, value]) => [metrics.get(name) || name.replaceAll("_", " "), value, there.get(name)])));
        const changed = differing(old, fresh);
        const more = make("details", "");
        more.append(make("summary", `${changed.length} ${changed.length === 1 ? "package differs" : "packages differ"}`), table(["Package", from.name, to.name], changed.map((name) => [name, old.get(name) || "not installed", fresh.get(name) || "not installed"])));
        parts.push(make("h2", "Packages"), more);
      }
      place.replaceChildren(...parts);
      spoken.textContent = "";
    };
    const respond = async () => {
      remember(form);
      try { await show(); } catch { place.replaceChildren(); spoken.textContent = "The documents of these two could not be loaded."; }
    };
    for (const [name, value] of new URLSearchParams(location.search)) {
      const field = fields.find((one) => one.name === name);
      if (field && value && !all("option", field).some((option) => option.value === value)) field.append(make("option", value));
    }
    recall(form);
    form.addEventListener("submit", (event) => { event.preventDefault(); respond(); });
    form.addEventListener("change", respond);
    respond();
  }

  // Search: the index is loaded when something is asked for, and looked through here.
  for (const form of all("form[data-search]")) {
    const field = form.querySelector("[name=q]");
    const results = document.querySelector("[data-results]");
    const spoken = document.querySelector("[data-spoken]");
    const everything = document.querySelector("[data-everything]");
    const most = 60;
    const links = () => all("a", results);
    let turn = 0;
    // How many letters one word must change to become another; few are a slip of the hand.
    const slips = (one, other) => {
      let row = [...Array(other.length + 1).keys()];
      for (const [place, letter] of [...one].entries()) {
        const next = [place + 1];
        for (const [column, wanted] of [...other].entries()) next.push(Math.min(next[column] + 1, row[column + 1] + 1, row[column] + (letter === wanted ? 0 : 1)));
        row = next;
      }
      return row[other.length];
    };
    const meant = (entries, words) => {
      const known = [...new Set(entries.flatMap((entry) => `${entry.words} ${entry.also}`.toLowerCase().split(/[^\w.-]+/)))].filter((word) => word.length > 2);
      const nearest = words.map((word) => known.map((other) => [slips(word, other), other]).sort(([one], [two]) => one - two)[0]);
      if (!nearest.every(([number, other]) => number <= Math.max(1, other.length / 3))) return;
      const query = nearest.map(([, other]) => other).join(" ");
      const item = make("li", "Did you mean ");
      item.append(make("a", query, { href: `?q=${encodeURIComponent(query)}` }), "?");
      results.append(item);
    };
    const seek = async () => {
      const mine = ++turn;
      remember(form);
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      everything.hidden = words.length > 0;
      if (!words.length) {
        results.replaceChildren();
        spoken.textContent = "";
        return;
      }
      try {
        const { entries } = await json(form.dataset.search);
        if (mine !== turn) return;
        const score = (entry) => {
          const own = entry.words.toLowerCase();
          const also = `${own} ${entry.also.toLowerCase()}`;
          if (!words.every((word) => also.includes(word))) return 0;
          const parts = own.split(/[^\w.+]+/);
          return 1 + sum(words.map((word) => (parts.includes(word) ? 4 : parts.some((part) => part.startsWith(word)) ? 2 : own.includes(word) ? 1 : 0)));
        };
        const ranked = entries.map((entry) => [score(entry), entry]).filter(([value]) => value).sort(([one], [other]) => other - one).map(([, entry]) => entry);
        results.replaceChildren(...ranked.slice(0, most).map((entry) => {
          const item = make("li", "");
          item.append(make("a", entry.words, { href: form.dataset.site + entry.path }), make("span", ` ${entry.kind}`, { class: "soft small" }));
          return item;
        }));
        if (!ranked.length) meant(entries, words);
        spoken.textContent = ranked.length ? `${ranked.length} ${ranked.length === 1 ? "result" : "results"}${ranked.length > most ? `, the best ${most} are shown` : ""}.` : "Nothing has these words.";
        everything.hidden = ranked.length > 0;
      } catch {
        spoken.textContent = "The index could not be loaded. The whole list is below.";
        everything.hidden = false;
      }
    };
    // Down goes from the field into the results, and up and down from one to the next.
    document.addEventListener("keydown", (event) => {
      const stops = [field, ...links()];
      const place = stops.indexOf(document.activeElement);
      const to = { ArrowDown: place + 1, ArrowUp: place - 1 }[event.key];
      if (place < 0 || to === undefined || !stops[to]) return;
      event.preventDefault();
      stops[to].focus();
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); seek().then(() => { const [first] = links(); if (first) first.focus(); }); });
    field.addEventListener("input", seek);
    recall(form);
    if (field.value) seek();
  }
})();
