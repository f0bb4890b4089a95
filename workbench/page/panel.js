/** The side panel: what is known about the chosen node. Every foreign text is inserted as text. */

const MOST_EDGES = 60;
const MOST_LISTED = 40;
const MOST_OWNERS = 20;
const LONG_CODE = 400;
const MANY_LINES = 11;
/** What people call the kinds of edges. @type {Record<string, string>} */
const HOW = {
  IDENTITY: "copied",
  TRANSFORMATION: "computed",
  AGGREGATION: "computed from several rows",
  CONDITIONAL: "decides which value is chosen",
  JOIN: "decides which rows are joined",
  FILTER: "decides which rows are kept",
  GROUP_BY: "decides which rows are grouped",
  SORT: "decides the order",
  WINDOW: "decides which rows a window has",
};

/** Describe in a few words how an edge influences its target. @param {Edge} edge */
function wordOf(edge) {
  const known = (Object.hasOwn(HOW, edge.subtype) && HOW[edge.subtype]) || (edge.subtype || edge.type).toLowerCase().replaceAll("_", " ");
  return shown(known || "not stated", 60) + (edge.masking ? ", masked" : "");
}

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElement}
 */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  made.append(...children);
  return made;
}

/**
 * Return a text as code. A long one scrolls, so the keyboard must reach it.
 * @param {string} text
 * @param {string} [tone]
 * @param {string} [tag]
 */
function code(text, tone = "", tag = "code") {
  const isLong = text.length > LONG_CODE || text.split("\n").length > MANY_LINES;
  return el(tag, { class: tone, ...(isLong ? { tabindex: "0" } : {}) }, text);
}

class Panel {
  /**
   * @param {HTMLElement} place
   * @param {Lineage} lineage
   * @param {(id: string, how?: string) => void} go Choose another node; `how` is `around`, `from` or `to`.
   */
  constructor(place, lineage, go) {
    this.place = place;
    this.lineage = lineage;
    this.go = go;
    /** @type {Set<Edge> | null} */
    this.path = null;
  }

  /**
   * Show what is known about a node, or about everything.
   * @param {string} id
   * @param {boolean} indirect
   * @param {string} direction
   * @param {Set<Edge> | null} path The only edges to show, if only a path is shown.
   */
  show(id, indirect, direction, path) {
    const { lineage } = this;
    this.path = path;
    const job = lineage.jobs.get(id);
    const wasInside = this.place.querySelector(":focus-visible");
    this.place.scrollTop = 0;
    const group = lineage.groups.get(id);
    if (group && id) this.place.replaceChildren(...this.ofGroup(group));
    else if (job) this.place.replaceChildren(...this.ofJob(job));
    else if (lineage.parts.has(id) || lineage.partColumns.has(id)) this.place.replaceChildren(...this.ofPart(id, indirect, direction));
    else if (lineage.datasetOf(id)) this.place.replaceChildren(...this.ofData(id, indirect, direction));
    else this.place.replaceChildren(...this.ofAll());
    // A user who came here by the keyboard stays here.
    if (wasInside) this.place.focus({ preventScroll: true });
  }

  /** @param {string} id @param {string} [text] */
  link(id, text) {
    const job = this.lineage.jobs.get(id);
    const name = text ?? (job && !job.runId ? withoutClass(job.name) : this.lineage.label(id));
    const button = el("button", { type: "button", class: "link", "data-go": id }, el("bdi", {}, shown(name, 300)));
    button.addEventListener("click", () => this.go(id));
    return button;
  }

  /** @param {string} text @param {string} id @param {string} how */
  action(text, id, how) {
    const button = el("button", { type: "button", "data-how": how }, text);
    button.addEventListener("click", () => this.go(id, how));
    return button;
  }

  /** Return the title of the panel: of a long name the beginning, and the whole name where it can be scrolled. @param {string} what @param {string} name */
  title(what, name) {
    const whole = name.length > LONG_CODE ? [code(shown(name, 10000))] : [];
    return [el("h2", {}, `${what} `, el("bdi", {}, shown(name, 200))), ...whole];
  }

  ofAll() {
    const { lineage } = this;
    const runs = [...lineage.runs.values()];
    const bad = runs.filter((run) => outcome(run) === "bad");
    const open = runs.filter((run) => outcome(run) === "open");
    const doubtful = lineage.edges.filter(isDoubtful);
    const drawnRuns = [...lineage.jobs.values()].filter((job) => job.runId).length;
    const counts = [count(lineage.datasets.size, "table"), count(lineage.columns.size, "column"), count(lineage.jobs.size - drawnRuns, "job"), ...(drawnRuns ? [count(drawnRuns, "run")] : [])].join(", ");
    const root = lineage.groups.get("");
    // If there is only one group, list the groups in it.
    const listed = root?.groups.length === 1 ? lineage.groups.get(root.groups[0])?.groups : root?.groups;
    const groups = (listed || []).map((id) => lineage.groups.get(id)).filter((group) => group !== undefined).sort((a, b) => (a.isPart ? 0 : b.size - a.size));
    return [
      el("h2", {}, "All lineage"),
      el("p", { class: "sentence" }, counts),
      ...(lineage.time ? [el("p", {}, `As of ${lineage.time}`)] : []),
      ...this.changes(),
      ...this.runList(bad, "bad", "Failed runs"),
      ...this.runList(open, "open", "Runs without an end"),
      ...(groups.length > 1 ? this.listed("Groups", groups, (group) => el("li", {}, this.link(group.id, group.name), " ", el("small", {}, count(group.size, "table")))) : []),
      ...this.legend(),
      ...this.diagnostics(lineage.diagnostics),
      ...this.listed(`Uncertain edges (${doubtful.length})`, doubtful, (edge) => this.edgeItem([edge]), "doubt"),
    ];
  }

  legend() {
    const line = (/** @type {string} */ kind) => {
      const made = svg("svg", { width: 34, height: 10, "aria-hidden": "true" }, null);
      svg("path", { class: kind, d: "M1,5H33" }, made);
      return made;
    };
    const lines = [["edge lit", "a value arrives"], ["edge influence", "decides about values or rows"], ["edge decides influence", "decides about the rows of what is highlighted"], ["edge doubt", "uncertain"]];
    return [
      el("h3", {}, "Legend"),
      el("ul", { class: "legend" }, ...lines.map(([kind, text]) => el("li", {}, line(kind), ` ${text}`))),
      el("p", {}, el("span", { class: "good" }, "✓"), " complete, ", el("span", { class: "bad" }, "✕"), " failed or aborted, ", el("span", { class: "open" }, "…"), " not finished, ", el("span", { class: "doubt" }, "!"), " partly not understood"),
    ];
  }

  /** @param {Group} group */
  ofGroup(group) {
    const { lineage } = this;
    const above = lineage.groups.get(group.parent);
    const sub = group.groups.map((id) => lineage.groups.get(id)).filter((each) => each !== undefined);
    return [
      ...this.title("Group", group.name),
      el("p", { class: "sentence" }, `${count(group.size, "table")}${sub.length ? ` in ${count(sub.length, "group")}` : ""}.`),
      el("p", {}, this.action("Unfold or fold", group.id, "open")),
      ...(above?.id ? [el("p", {}, "in ", this.link(above.id))] : []),
      ...this.listed("Groups", sub, (each) => el("li", {}, this.link(each.id, each.name), " ", el("small", {}, count(each.size, "table")))),
      ...this.listed("Tables", group.datasets, (id) => el("li", {}, this.link(id))),
    ];
  }

  /**
   * Show what is known about a line: the edges of a line between columns, the links of a line between boxes.
   * @param {Route | Flow} line
   * @param {Set<string> | null} open The unfolded groups.
   */
  showLine(line, open) {
    const { lineage } = this;
    this.place.scrollTop = 0;
    if ("edge" in line) {
      const { edge } = line;
      const same = lineage.edges.filter((each) => each.from === edge.from && each.to === edge.to && each.job === edge.job);
      this.place.replaceChildren(el("h2", {}, "Edge"), el("p", { class: "sentence" }, ...this.sentenceOfEdge(edge)), el("ul", {}, this.edgeItem(surestFirst(same))));
      return;
    }
    const [from, to] = line.ends;
    const pairs = [];
    for (const job of lineage.jobs.values()) {
      const reads = from === job.id ? [""] : [...job.reads].filter((id) => lineage.shownAs(id, open) === from);
      const writes = to === job.id ? [""] : [...job.writes].filter((id) => lineage.shownAs(id, open) === to);
      for (const read of reads) for (const written of writes) pairs.push([read, written, job.id]);
    }
    const item = (/** @type {string[]} */ [read, written, job]) => el("li", {}, ...(read ? [this.link(read)] : []), ...(read && written ? [" → "] : []), ...(written ? [this.link(written)] : []), el("div", { class: "by" }, "by ", this.link(job), ...this.lastRun(job)));
    this.place.replaceChildren(el("h2", {}, "Link"), el("p", { class: "sentence" }, this.link(from), " → ", this.link(to), `: ${count(line.count, "link")}.`), ...this.listed("Its links", pairs, item));
  }

  /** @param {Edge} edge */
  sentenceOfEdge(edge) {
    const job = edge.job && this.lineage.jobs.has(edge.job) ? [" by ", this.link(edge.job)] : [];
    return [this.link(edge.to), ` is ${isInfluence(edge) ? "influenced by" : `${wordOf(edge)} from`} `, this.link(edge.from), ...job, isInfluence(edge) ? `: it ${wordOf(edge)}.` : "."];
  }

  changes() {
    const found = [];
    for (const [id, node] of [...this.lineage.datasets, ...this.lineage.columns, ...this.lineage.jobs]) {
      if (node.change) found.push(el("li", {}, el("span", { class: `tag ${node.change}` }, node.change), this.link(id)));
    }
    for (const edge of this.lineage.edges) if (edge.change) found.push(this.edgeItem([edge]));
    return found.length ? this.listed(`Changes (${found.length})`, found, (item) => item) : [];
  }

  /** @param {Run[]} runs @param {string} state @param {string} title */
  runList(runs, state, title) {
    return this.listed(`${title} (${runs.length})`, runs, (run) => el("li", {}, this.link(run.job), " ", this.runLine(run)), state);
  }

  /** @param {Run} run */
  runLine(run) {
    const state = outcome(run);
    const line = el("span", { class: `run ${state}` }, `${MARKS[state]} ${shown(run.state, 20)} ${timeOf(run.ended || run.started)}`);
    const lasted = run.started && run.ended && Date.parse(run.ended) >= Date.parse(run.started) ? ` (${duration(run)})` : "";
    const site = run.callSite ? [" ", el("small", {}, shown(run.callSite, 300))] : [];
    return el("span", {}, line, lasted, ...site, ...(run.error ? [code(shownLines(run.error, 600))] : []));
  }

  /** @param {Diagnostic[]} diagnostics */
  diagnostics(diagnostics) {
    return this.listed(`Not understood (${diagnostics.length})`, diagnostics, (each) => {
      const operator = each.operator ? `${shown(each.operator, 100)}: ` : "";
      const job = each.node && this.lineage.jobs.has(each.node) ? [this.link(each.node), " "] : [];
      return el("li", {}, ...job, el("span", { class: "doubt" }, operator + shown(each.message, 500)));
    }, "doubt");
  }

  /**
   * @template T
   * @param {string} title
   * @param {T[]} things
   * @param {(thing: T) => HTMLElement} item
   * @param {string} [tone]
   */
  listed(title, things, item, tone) {
    if (!things.length) return [];
    const list = el("ul", {}, ...things.slice(0, MOST_LISTED).map(item));
    let next = MOST_LISTED;
    const more = el("button", { type: "button" }, "more");
    more.addEventListener("click", () => {
      list.append(...things.slice(next, next + MOST_LISTED).map(item));
      next += MOST_LISTED;
      more.hidden = next >= things.length;
    });
    return [el("h3", { class: tone || "" }, title), list, ...(things.length > next ? [more] : [])];
  }

  /** @param {Job} job */
  ofJob(job) {
    return [
      ...(job.runId ? [...this.title("Run", job.runId), el("p", {}, "of job ", el("bdi", {}, shown(job.name, 200)))] : this.title("Job", job.name)),
      el("small", {}, [job.namespace, job.processing, job.kind].filter(Boolean).map((text) => shown(text, 200)).join(", ")),
      el("p", { class: "sentence" }, `Reads ${count(job.reads.size, "table")} and writes ${count(job.writes.size, "table")}.`, ...this.lastRun(job.id).map((part) => (part === " " && !job.runId ? " Last run: " : part))),
      ...this.ownersOf(job),
      el("p", {}, this.action("Only its surroundings", job.id, "around")),
      ...this.listed("Last runs", job.runId ? [] : job.runs, (run) => el("li", {}, this.runLine(run), el("br", {}), el("small", {}, shown(run.runId, 80)))),
      ...this.diagnostics(job.diagnostics),
      ...this.listed("Reads", [...job.reads], (id) => el("li", {}, this.link(id))),
      ...this.listed("Writes", [...job.writes], (id) => el("li", {}, this.link(id))),
      ...(job.sql ? [el("h3", {}, "Statement"), code(shownLines(job.sql, 20000), "", "pre")] : []),
    ];
  }

  /** @param {string} id @param {boolean} indirect @param {string} direction */
  ofData(id, indirect, direction) {
    const { lineage } = this;
    const column = lineage.columns.get(id);
    const dataset = lineage.datasets.get(lineage.datasetOf(id));
    if (!dataset) return [];
    const about = column
      ? [el("small", {}, shown(column.dataType, 300)), el("p", {}, "in ", this.link(dataset.id)), el("p", { class: "sentence" }, ...this.sentenceOfColumn(id, indirect))]
      : [el("small", {}, shown(`${dataset.namespace} ${dataset.name}`, 2000)), el("p", { class: "sentence" }, ...this.sentenceOfTable(dataset))];
    return [
      ...this.title(column ? "Column" : "Table", lineage.label(id)),
      ...about,
      ...this.ownersOf(dataset),
      el("p", {}, this.action("Only its surroundings", id, "around"), " ", this.action("Path from here", id, "from"), " ", this.action("Path to here", id, "to")),
      // A table has its own lists of tables; its edges are those of its columns.
      ...(column ? [] : this.ofDataset(dataset)),
      ...(!column || direction === "down" ? [] : this.edgeList("Comes from", lineage.way(id, false, indirect))),
      ...(!column || direction === "up" ? [] : this.edgeList("Goes to", lineage.way(id, true, indirect))),
    ];
  }

  /** Name the owners of a table or a job, if events do. @param {{owners?: string[][]}} thing */
  ownersOf({ owners = [] }) {
    const named = owners.slice(0, MOST_OWNERS).map(([name, type]) => shown(name, 200) + (type ? ` (${shown(type, 60)})` : ""));
    if (owners.length > MOST_OWNERS) named.push(`${owners.length - MOST_OWNERS} more`);
    return named.length ? [el("p", { class: "owners" }, `Owned by ${named.join(", ")}.`)] : [];
  }

  /** Return which jobs write a table, when, from how many tables, and how many are made from it. @param {Dataset} dataset */
  sentenceOfTable(dataset) {
    const { lineage } = this;
    const [writers, readers] = [[...dataset.writers], [...dataset.readers]];
    const sources = new Set([...dataset.sources, ...writers.flatMap((job) => [...(lineage.jobs.get(job)?.reads || [])])]);
    const targets = new Set([...dataset.targets, ...[...dataset.readers].flatMap((job) => [...(lineage.jobs.get(job)?.writes || [])])]);
    const named = writers.slice(0, 2).flatMap((job, place) => [place ? " and " : "", this.link(job), ...this.lastRun(job).map((part) => (part === " " ? ", " : part))]);
    const more = writers.length > 2 ? [` and ${writers.length - 2} more`] : [];
    const from = sources.size ? ` from ${count(sources.size, "table")}` : "";
    const made = writers.length ? ["Made by ", ...named, ...more, `${from}`] : sources.size ? [`Made${from}`] : ["No job here writes it"];
    const read = dataset.readers.size || targets.size ? `; read by ${count(dataset.readers.size, readers.length && readers.every((id) => lineage.jobs.get(id)?.runId) ? "run" : "job")}${targets.size ? `, ${count(targets.size, "table")} made from it` : ""}.` : "; nothing reads it.";
    const rows = dataset.rows === undefined ? [] : [` Last written: ${count(dataset.rows, "row")}.`];
    return [...made, read, ...rows];
  }

  /** Return from how many columns a column comes, and into how many it goes. @param {string} id @param {boolean} indirect */
  sentenceOfColumn(id, indirect) {
    const { lineage } = this;
    const [up, down] = [false, true].map((isDown) => {
      const edges = lineage.way(id, isDown, false);
      const ends = new Set(edges.map((edge) => (isDown ? edge.to : edge.from)));
      ends.delete(id);
      const tables = new Set([...ends].map((end) => lineage.datasetOf(end)));
      return ends.size ? `${count(ends.size, "column")} in ${count(tables.size, "table")}` : "no column";
    });
    const deciding = lineage.way(id, false, true).filter(decidesRows).length;
    const rows = deciding ? ` ${count(deciding, "edge")} decide${deciding === 1 ? "s" : ""} about its rows${indirect ? "" : " (not shown)"}.` : "";
    return [`Comes from ${up}; goes into ${down}.${rows}`];
  }

  /**
   * Return what is known about a CTE, a view or a subquery, or a column of one.
   * @param {string} id
   * @param {boolean} indirect
   * @param {string} direction
   */
  ofPart(id, indirect, direction) {
    const { lineage } = this;
    const column = lineage.partColumns.get(id);
    const part = lineage.parts.get(lineage.boxOf(id));
    if (!part) return [];
    const what = PARTS[part.role] || "";
    const about = column
      ? [el("small", {}, shown(column.dataType, 300)), el("p", {}, `in the ${what} `, this.link(part.id))]
      : this.listed("Columns", part.columns, (each) => el("li", {}, this.link(each.id, each.name), " ", el("small", {}, shown(each.dataType, 200))));
    return [
      ...this.title(column ? "Column" : what, lineage.label(id)),
      el("small", {}, shown(`${part.name}#${part.index}`, 100)),
      ...(part.job ? [el("p", {}, "of ", this.link(part.job))] : []),
      ...about,
      ...this.edgeList("Edges through it", lineage.wayThrough(id, direction, indirect)),
    ];
  }

  /** @param {Dataset} dataset */
  ofDataset(dataset) {
    const others = dataset.otherNames.length ? [el("p", {}, "also called ", shown(dataset.otherNames.join(", "), 1000))] : [];
    const beyond = (/** @type {string} */ title, /** @type {Set<string>} */ ids, /** @type {Set<string>} */ jobs, /** @type {"reads" | "writes"} */ how) => {
      const every = new Set([...ids, ...[...jobs].flatMap((job) => [...(this.lineage.jobs.get(job)?.[how] || [])])]);
      return this.listed(`${title} (${every.size})`, [...every], (id) => el("li", {}, this.link(id)));
    };
    return [
      ...others,
      ...beyond("Comes from", dataset.sources, dataset.writers, "reads"),
      ...beyond("Goes to", dataset.targets, dataset.readers, "writes"),
      ...(dataset.format ? [el("p", {}, shown(dataset.format, 60))] : []),
      ...this.listed("Written by", [...dataset.writers], (job) => el("li", {}, this.link(job), ...this.lastRun(job))),
      ...this.listed("Read by", [...dataset.readers], (job) => el("li", {}, this.link(job), ...this.lastRun(job))),
      ...this.listed("Columns", dataset.columns, (each) => el("li", {}, this.link(each.id, each.name), " ", el("small", {}, shown(each.dataType, 200)))),
    ];
  }

  /** @param {string} job */
  lastRun(job) {
    const runs = this.lineage.jobs.get(job)?.runs || [];
    return runs[0]?.state ? [" ", this.runLine({ ...runs[0], error: "" })] : [];
  }

  /** @param {string} title @param {Edge[]} edges */
  edgeList(title, edges) {
    const { path } = this;
    /** @type {Map<string, Edge[]>} */
    const groups = new Map();
    for (const edge of surestFirst(path ? edges.filter((each) => path.has(each)) : edges)) push(groups, `${edge.from}\n${edge.to}\n${edge.job}`, edge);
    const items = this.listed(`${title} (${groups.size})`, [...groups.values()].slice(0, MOST_EDGES * 20), (group) => this.edgeItem(group));
    return items.length ? items : [el("h3", {}, title), el("p", {}, path ? "nothing on this path" : "no event states any")];
  }

  /**
   * Return an item for edges that have both ends and the job in common.
   * @param {Edge[]} edges
   */
  edgeItem(edges) {
    const [first] = edges;
    const every = this.lineage.datasets.has(first.to) ? " (every row)" : "";
    const item = el("li", { class: "edge-item" }, this.link(first.from), " → ", this.link(first.to), every);
    const [surest, rest] = parted(edges);
    for (const edge of surest) item.append(...this.edgeLines(edge));
    if (rest.length) {
      const lines = rest.flatMap((edge) => this.edgeLines(edge));
      item.append(el("details", { class: "rest" }, el("summary", {}, `${rest.length} less certain`), ...lines));
    }
    const job = first.job ? this.lineage.jobs.get(first.job) : undefined;
    if (job) {
      const runs = job.runs.slice(0, 3).flatMap((run) => [el("br", {}), this.runLine({ ...run, error: "" })]);
      item.append(el("div", { class: "by" }, "by ", this.link(job.id), ...runs));
    }
    return item;
  }

  /**
   * Return what is known about an edge: its kind, its expression, its path and its certainty.
   * @param {Edge} edge
   */
  edgeLines(edge) {
    const tone = isDoubtful(edge) ? "tag doubt" : "tag";
    const line = el("div", {}, el("span", { class: tone, title: shown([edge.type, edge.subtype].filter(Boolean).join(" "), 60) }, wordOf(edge)));
    if (edge.change) line.append(el("span", { class: `tag ${edge.change}` }, edge.change));
    const lines = [line];
    if (edge.was) lines.push(code(shownLines(edge.was, 4000), "removed"));
    if (edge.expression) lines.push(code(shownLines(edge.expression, 4000), edge.was ? "added" : ""));
    const passed = this.lineage.passagesOf(edge).slice(0, MOST_LISTED);
    if (passed.length) lines.push(el("div", { class: "through" }, el("small", {}, "through "), ...passed.flatMap((id, place) => [place ? ", " : "", this.link(id)])));
    const sure = `${edge.certainty}: ${shown(reasonOf(edge), 500)}`;
    if (edge.steps?.length) lines.push(this.wayOf(edge, sure));
    if (isDoubtful(edge)) lines.push(el("div", { class: "doubt" }, sure));
    if (edge.wasSure !== undefined) lines.push(el("div", {}, el("small", {}, `before: ${edge.wasSure}`)));
    return lines;
  }

  /**
   * Return the operators that an edge passes, and on demand what each of them does.
   * @param {Edge} edge
   * @param {string} sure The certainty of the edge, in words.
   */
  wayOf(edge, sure) {
    const named = (edge.steps || []).filter((step) => step.operator);
    const path = shown([...new Set(named.map((step) => step.operator))].join(" > "), 1000);
    const working = named.filter((step) => !step.relation && (step.expression || step.certainty || step.callSite));
    const steps = working.slice(0, MOST_LISTED).map((step) => {
      const item = el("li", {}, el("span", { class: step.certainty ? "doubt" : "" }, shown(step.operator || "", 100)));
      if (step.certainty) item.append(el("span", { class: "tag doubt" }, shown(step.certainty, 20)));
      if (step.callSite) item.append(el("small", {}, ` ${shown(step.callSite, 300)}`));
      if (step.expression) item.append(code(shownLines(step.expression, 4000)));
      return item;
    });
    const list = steps.length ? [el("ol", {}, ...steps)] : [];
    return el("details", { class: "way" }, el("summary", {}, el("small", {}, path)), el("small", {}, sure), ...list);
  }
}

/**
 * Return the edges with the highest certainty among these, and the others.
 * @param {Edge[]} edges
 */
function parted(edges) {
  const best = Math.min(...edges.map(rank));
  return [edges.filter((edge) => rank(edge) === best), edges.filter((edge) => rank(edge) > best)];
}

/** @param {number} number @param {string} noun */
function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** @param {string} iso */
function timeOf(iso) {
  return iso ? shown(iso.replace("T", " ").replace(/\.\d+/, ""), 30) : "";
}

/** @param {Run} run */
function duration(run) {
  const seconds = (Date.parse(run.ended) - Date.parse(run.started)) / 1000;
  return seconds < 120 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds / 60)} min`;
}
