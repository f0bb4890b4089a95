/**
 * Draws the part of a picture that the window shows, as SVG.
 *
 * @typedef {{x: number, y: number, scale: number}} View
 * @typedef {{edges: Set<Edge>, ids: Set<string>, start: string, deciding: Set<Edge>, decide: Set<string>, links: Set<string>}} Lit
 *   `edges` and `ids`: those through which values come; `deciding` and `decide`: those that only influence their rows.
 *   `links`: the keys of the links between boxes on the paths.
 * @typedef {{g: SVGElement, first: number, last: number}} Drawn
 */

const SVG = "http://www.w3.org/2000/svg";
const FAR = 0.4;
const MARKS = { good: "✓", bad: "✕", open: "…" };
const PARTS = { CTE: "CTE", VIEW: "View", SUBQUERY: "Subquery" };
const SIGNS = { added: "+", removed: "−", changed: "~" };
const STATES = { good: "complete", bad: "failed", open: "not finished" };

/** @type {Lit} */
const NOTHING_LIT = { edges: new Set(), ids: new Set(), start: "", deciding: new Set(), decide: new Set(), links: new Set() };
/** If there are more lines, the pointer can't select them. */
const MOST_HIT = 600;

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {Node | null} [parent]
 * @param {string} [text]
 * @returns {SVGElement}
 */
function svg(tag, attributes, parent, text) {
  const made = document.createElementNS(SVG, tag);
  for (const name in attributes) made.setAttribute(name, String(attributes[name]));
  if (text !== undefined) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
}

class Scene {
  /**
   * @param {SVGSVGElement} canvas
   * @param {Lineage} lineage
   * @param {(change: Change) => boolean} isShown Returns whether nodes with this change are shown.
   */
  constructor(canvas, lineage, isShown) {
    this.canvas = canvas;
    this.lineage = lineage;
    this.isShown = isShown;
    canvas.replaceChildren();
    this.defs = svg("defs", {}, canvas);
    /** @type {Set<number>} */
    this.clips = new Set();
    this.root = svg("g", { class: "scene" }, canvas);
    this.lines = svg("g", { class: "lines" }, this.root);
    this.litLines = svg("g", {}, this.root);
    this.boxes = svg("g", {}, this.root);
    /** @type {Map<string, Drawn>} */
    this.drawn = new Map();
    /** @type {Map<Route | Flow, SVGElement>} */
    this.paths = new Map();
    /** @type {WeakMap<Element, Route | Flow>} */
    this.lineOf = new WeakMap();
    /** @type {Route[] | null} */
    this.routedOf = null;
    /** @type {Set<string>} */
    this.routed = new Set();
    /** The group whose lines are emphasised. */
    this.nearTo = "";
    /** @type {Picture} */
    this.picture = { boxes: new Map(), bends: new Map(), routes: [], flows: [], width: 0, height: 0, hidden: 0 };
    /** @type {Lit} */
    this.lit = NOTHING_LIT;
    this.current = "";
    this.focus = "";
  }

  /**
   * Show another picture.
   * @param {Picture} picture
   * @param {Lit} lit
   */
  show(picture, lit) {
    this.picture = picture;
    this.lit = lit;
    this.drawn.clear();
    this.paths.clear();
    for (const layer of [this.lines, this.litLines, this.boxes]) layer.replaceChildren();
    this.root.classList.toggle("dimmed", Boolean(lit.start));
  }

  /**
   * Draw what a view shows, and remove what it does not.
   * @param {View} view
   * @param {boolean} [all] Whether to draw the whole picture.
   */
  draw(view, all) {
    const { width, height } = this.canvas.getBoundingClientRect();
    const frame = {
      left: -view.x / view.scale - 40,
      top: -view.y / view.scale - 40,
      right: (width - view.x) / view.scale + 40,
      bottom: (height - view.y) / view.scale + 40,
    };
    this.root.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
    this.root.classList.toggle("far", view.scale < FAR && !all);
    for (const box of this.picture.boxes.values()) {
      const near = all || (box.x < frame.right && box.x + box.w > frame.left && box.y < frame.bottom && box.y + box.h > frame.top);
      if (near) this.drawBox(box, frame, Boolean(all));
      else this.takeOff(box.id);
    }
    this.drawLines(frame, view, Boolean(all));
  }

  /**
   * Return what cuts a text at the end of its box, in case this browser's font is wider than computed.
   * @param {number} width Of the box.
   */
  clip(width) {
    const id = `${this.canvas.id}-clip-${width}`;
    if (!this.clips.has(width)) svg("rect", { width: width - 8, height: HEAD }, svg("clipPath", { id }, this.defs));
    this.clips.add(width);
    return `url(#${id})`;
  }

  /** @param {string} id */
  takeOff(id) {
    this.drawn.get(id)?.g.remove();
    this.drawn.delete(id);
  }

  /**
   * @param {Box} box
   * @param {{top: number, bottom: number}} frame
   * @param {boolean} all
   */
  drawBox(box, frame, all) {
    const first = all ? 0 : Math.max(0, Math.floor((frame.top - box.y - HEAD) / ROW) - 20);
    const last = all ? box.rows.length : Math.min(box.rows.length, Math.ceil((frame.bottom - box.y - HEAD) / ROW) + 20);
    const known = this.drawn.get(box.id);
    // Rows are drawn again only when the window has moved past those that exist.
    if (known && (box.rows.length <= 60 || (known.first <= Math.max(0, first + 20) && known.last >= Math.min(box.rows.length, last - 20)))) return;
    known?.g.remove();
    const job = this.lineage.jobs.get(box.id);
    const dataset = this.lineage.datasets.get(box.id);
    const part = this.lineage.parts.get(box.id);
    const group = this.lineage.groups.get(box.id);
    const thing = job || dataset;
    if (!part && !group && (!thing || !this.isShown(thing.change))) return;
    const g = svg("g", { transform: `translate(${box.x},${box.y})` });
    if (group) this.drawGroup(g, box, group);
    else if (job) this.drawJob(g, box, job);
    else if (part) this.drawPart(g, box, part);
    else if (dataset) this.drawDataset(g, box, dataset, box.rows.length <= 60 ? 0 : first, box.rows.length <= 60 ? box.rows.length : last);
    this.boxes.appendChild(g);
    this.drawn.set(box.id, { g, first, last });
  }

  /**
   * @param {SVGElement} g
   * @param {Box} box
   * @param {Job} job
   */
  drawJob(g, box, job) {
    const state = this.lineage.state(job);
    const ended = job.runs[0]?.state === "ABORT" ? "aborted" : state && STATES[state];
    const ending = state ? (job.runId ? `: ${ended}` : `, its last run: ${ended}`) : "";
    const warned = job.diagnostics.length ? `, ${job.diagnostics.length} not understood` : "";
    g.setAttribute("class", this.classes("job", job.id, job.change, state));
    const name = job.runId ? this.lineage.label(job.id) : job.name;
    this.nameIt(g, job.id, `${job.runId ? `R${shown(name, 200).slice(1)}` : `Job ${shown(name, 200)}`}${ending}${warned}${ofChange(job.change)}`);
    svg("rect", { width: box.w, height: HEAD, rx: 13 }, g);
    if (state) svg("text", { x: 9, y: 17, class: `mark ${state}` }, g, MARKS[state]);
    const room = box.w - (job.diagnostics.length ? 46 : 32);
    svg("text", { x: 24, y: 17, "clip-path": this.clip(box.w) }, g, fitted(this.lineage.headOf(job.id), room, FONT));
    if (job.diagnostics.length) svg("text", { x: box.w - 14, y: 17, class: "doubt" }, g, "!");
    svg("title", {}, g, shown(name, 300) + ending + warned);
  }

  /**
   * Draw a group: its name, and how many tables it has.
   * @param {SVGElement} g
   * @param {Box} box
   * @param {Group} group
   */
  drawGroup(g, box, group) {
    const tables = count(group.size, "table");
    g.setAttribute("class", this.classes("group", group.id, ""));
    this.nameIt(g, group.id, `Group ${shown(group.name, 200)}, ${tables}`);
    g.removeAttribute("aria-pressed");
    g.setAttribute("aria-expanded", "false");
    svg("rect", { class: "behind", x: 4, y: -4, width: box.w, height: box.h, rx: 5 }, g);
    svg("rect", { class: "paper", width: box.w, height: box.h, rx: 5 }, g);
    svg("text", { class: "name", x: 10, y: 18, "clip-path": this.clip(box.w) }, g, fitted(shownEnd(group.name, LONGEST_NAME), box.w - 36, BOLD, true));
    svg("text", { class: "type", x: 10, y: 34 }, g, tables);
    svg("text", { class: "fold", x: box.w - 16, y: 18, "data-open": group.id }, g, "▸");
    svg("title", {}, g, `${shown(group.name, 300)}: ${tables}. Click to see them`);
    this.drawLarge(g, box, group.name);
  }

  /**
   * Write a name as large as its box allows; it is shown when everything else would be too small to be read.
   * @param {SVGElement} g
   * @param {Box} box
   * @param {string} name
   */
  drawLarge(g, box, name) {
    const text = fitted(shownEnd(name.split(".").pop() || name, LONGEST_NAME), 220, BOLD, true);
    const size = Math.min(40, box.h * 0.7, ((box.w - 12) / Math.max(widthOf(text, BOLD), 1)) * 12);
    const place = `translate(${box.w / 2},${box.h / 2 + size * 0.35}) scale(${Math.max(size, 8) / 12})`;
    svg("text", { class: "large", transform: place, "text-anchor": "middle", "aria-hidden": "true" }, g, text);
  }

  /**
   * Draw the button that shows hidden neighbours of a table.
   * @param {SVGElement} g
   * @param {Box} box
   */
  drawHops(g, box) {
    for (const [number, down] of /** @type {[number, boolean][]} */ ([[box.up, false], [box.down, true]])) {
      if (!number) continue;
      const side = down ? "downstream" : "upstream";
      const hop = svg("g", { class: "hop", transform: `translate(${down ? box.w + 10 : -10},${HEAD / 2})`, "data-grow": `${down ? ">" : "<"}${box.id}` }, g);
      svg("circle", { r: 9 }, hop);
      svg("text", { y: 4, "text-anchor": "middle" }, hop, number > 99 ? "…" : `+${number}`);
      svg("title", {}, hop, `Show ${count(number, "table")} more ${side}`);
    }
  }

  /**
   * Draw a CTE, a view or a subquery: only its head if its columns are unknown.
   * @param {SVGElement} g
   * @param {Box} box
   * @param {Part} part
   */
  drawPart(g, box, part) {
    const what = PARTS[part.role] || "";
    const name = `${what} ${shown(this.lineage.label(part.id), 200)}`;
    g.setAttribute("class", this.classes("part", part.id, ""));
    g.setAttribute("role", "group");
    g.setAttribute("aria-label", name);
    svg("rect", { class: "paper", width: box.w, height: box.h, rx: 4 }, g);
    const head = svg("g", { class: this.classes("head-row", part.id, "") }, g);
    this.nameIt(head, part.id, name);
    svg("rect", { x: 1, y: 1, width: box.w - 2, height: HEAD - 2, rx: 4 }, head);
    const text = svg("text", { x: 8, y: 17, "clip-path": this.clip(box.w) }, head);
    svg("tspan", { class: "type" }, text, `${what} `);
    const room = box.w - (part.columns.length ? 34 : 20) - widthOf(`${what} `, FONT);
    svg("tspan", {}, text, fitted(shown(this.lineage.label(part.id), LONGEST_NAME), room, FONT));
    svg("title", {}, head, name);
    this.drawRows(g, box, part, 0, box.rows.length);
  }

  /**
   * @param {SVGElement} g
   * @param {Box} box
   * @param {Dataset} dataset
   * @param {number} first
   * @param {number} last
   */
  drawDataset(g, box, dataset, first, last) {
    g.setAttribute("class", this.classes("box", dataset.id, dataset.change) + (this.focus === dataset.id ? " focus" : ""));
    g.setAttribute("role", "group");
    g.setAttribute("aria-label", `Table ${shown(dataset.label, 200)}`);
    svg("rect", { class: "paper", width: box.w, height: box.h, rx: 4 }, g);
    const head = svg("g", { class: this.classes("head-row", dataset.id, "") }, g);
    this.nameIt(head, dataset.id, `Table ${shown(dataset.label, 200)}, ${count(dataset.columns.length, "column")}${ofChange(dataset.change)}`);
    svg("rect", { width: box.w, height: HEAD, rx: 4 }, head);
    const room = box.w - (dataset.columns.length ? 32 : 16);
    svg("text", { class: "name", x: 8, y: 17, "clip-path": this.clip(box.w) }, head, fitted(this.lineage.headOf(dataset.id), room, BOLD, true));
    svg("title", {}, head, shown(dataset.label, 300));
    this.drawRows(g, box, dataset, first, last);
    this.drawHops(g, box);
    this.drawLarge(g, box, dataset.label);
  }

  /**
   * Draw the columns of a box, with the symbols that fold them and show more.
   * @param {SVGElement} g
   * @param {Box} box
   * @param {{id: string, columns: Column[]}} thing
   * @param {number} first
   * @param {number} last
   */
  drawRows(g, box, thing, first, last) {
    if (thing.columns.length) {
      const sign = box.rows.length || box.more ? "▾" : "▸";
      svg("rect", { class: "fold area", x: box.w - 22, y: 1, width: 20, height: HEAD - 2, "data-fold": thing.id }, g);
      svg("text", { class: "fold", x: box.w - 16, y: 17, "data-fold": thing.id }, g, sign);
    }
    for (let place = first; place < last; place++) this.drawRow(g, box, box.rows[place], HEAD + place * ROW);
    if (box.more || box.fewer) {
      const text = box.more ? `… ${box.more} more` : "fewer";
      svg("text", { class: "type fold", x: 14, y: HEAD + box.rows.length * ROW + 13, "data-more": thing.id }, g, text);
    }
  }

  /**
   * @param {SVGElement} g
   * @param {Box} box
   * @param {Column} column
   * @param {number} y
   */
  drawRow(g, box, column, y) {
    if (!this.isShown(column.change)) return;
    const row = svg("g", { class: this.classes("row", column.id, column.change), transform: `translate(0,${y})` }, g);
    const label = `Column ${shown(this.lineage.label(column.id), 200)} ${shown(column.dataType, 60)}`.trim();
    this.nameIt(row, column.id, label + ofChange(column.change));
    svg("rect", { x: 1, width: box.w - 2, height: ROW }, row);
    // Some people do not see the colour.
    if (column.change) svg("text", { x: 4, y: 13 }, row, SIGNS[column.change]);
    const type = this.lineage.typeOf(column);
    const name = fitted(shown(column.name, LONGEST_NAME), box.w - 14 - 8 - (type ? widthOf(type, SMALL) + 10 : 0), BOLD);
    svg("text", { x: 14, y: 13, "clip-path": this.clip(box.w) }, row, name);
    if (type) svg("text", { class: "type", x: box.w - 8, y: 13, "text-anchor": "end" }, row, type);
    if (name !== column.name) svg("title", {}, row, shown(column.name, 300));
  }

  /**
   * Make an element accessible to the keyboard, screen readers and the pointer.
   * @param {SVGElement} element
   * @param {string} id
   * @param {string} label
   */
  nameIt(element, id, label) {
    element.setAttribute("data-id", id);
    element.setAttribute("role", "button");
    element.setAttribute("tabindex", this.current === id ? "0" : "-1");
    element.setAttribute("aria-label", label);
    element.setAttribute("aria-pressed", String(this.lit.start === id));
  }

  /**
   * @param {string} kind
   * @param {string} id
   * @param {string} change
   * @param {string} [state]
   */
  classes(kind, id, change, state) {
    const lit = this.lit.start === id ? "start lit" : this.lit.ids.has(id) ? "lit" : this.lit.decide.has(id) ? "decides" : "";
    return [kind, change, state, lit].filter(Boolean).join(" ");
  }

  /**
   * @param {{left: number, top: number, right: number, bottom: number}} frame
   * @param {View} view
   * @param {boolean} all
   */
  drawLines(frame, view, all) {
    const { routes, flows } = this.picture;
    const byColumns = routes.length > 0 && routes.length <= MOST_ROUTES && (view.scale >= FAR || all);
    const bare = new Set(routes.map(({ edge }) => edge.job));
    const isHit = !all && flows.length + routes.length <= MOST_HIT;
    for (const flow of flows) {
      const hasRoutes = byColumns && !this.lineage.groups.has(flow.ends[0]) && !this.lineage.groups.has(flow.ends[1]) && (flow.told ? this.isRouted(flow) : flow.ends.some((end) => bare.has(end)));
      const lit = this.isLit(flow);
      const isAsked = !flow.isWeak || lit || flow.ends.includes(this.nearTo);
      const isIn = !hasRoutes && isAsked && (all || crosses(flow.curve, frame));
      this.drawPath(flow, isIn, () => this.flowClasses(flow, lit), lit ? this.litLines : this.lines, isHit, () => this.flowTitle(flow));
    }
    for (const route of routes) {
      const lit = this.lit.edges.has(route.edge) || this.lit.deciding.has(route.edge);
      const isIn = (lit || byColumns) && (all || crosses(route.curve, frame));
      this.drawPath(route, isIn, () => this.routeClasses(route.edge, lit), lit ? this.litLines : this.lines, isHit, () => this.edgeTitle(route.edge));
    }
  }

  /** Return whether lines between columns are drawn between two tables. @param {Flow} flow */
  isRouted(flow) {
    if (this.routedOf !== this.picture.routes) {
      this.routedOf = this.picture.routes;
      this.routed = new Set(this.picture.routes.map(({ edge }) => `${this.lineage.datasetOf(edge.from)}\n${this.lineage.datasetOf(edge.to)}`));
    }
    return this.routed.has(flow.key);
  }

  /** @param {Flow} flow */
  isLit(flow) {
    return Boolean(this.lit.start) && (this.lit.links.size ? this.lit.links.has(flow.key) : flow.ends.every((id) => this.lit.ids.has(id) || this.lit.start === id));
  }

  /** @param {Flow} flow */
  flowTitle(flow) {
    const [from, to] = flow.ends.map((id) => shown(this.lineage.label(id), 120));
    return `${from} → ${to}${flow.count > 1 ? `: ${flow.count.toLocaleString("en")} links` : ""}`;
  }

  /** @param {Edge} edge */
  edgeTitle(edge) {
    const [from, to] = [edge.from, edge.to].map((id) => shown(this.lineage.label(id), 120));
    return `${from} → ${to}\n${wordOf(edge)}${edge.expression ? `: ${shown(edge.expression, 300)}` : ""}`;
  }

  /**
   * @param {Flow} flow
   * @param {boolean} lit
   */
  flowClasses(flow, lit) {
    if (!this.isShown(flow.change)) return "";
    return ["flow", flow.change, flow.count > 1 ? "many" : "", lit ? "lit" : ""].filter(Boolean).join(" ");
  }

  /**
   * @param {Edge} edge
   * @param {boolean} lit
   */
  routeClasses(edge, lit) {
    if (!this.isShown(edge.change || "")) return "";
    const words = ["edge", edge.change, isInfluence(edge) ? "influence" : "", isDoubtful(edge) ? "doubt" : "", lit ? "lit" : "", this.lit.deciding.has(edge) ? "decides" : ""];
    return words.filter(Boolean).join(" ");
  }

  /**
   * @param {Route | Flow} line
   * @param {boolean} isIn
   * @param {() => string} classes
   * @param {SVGElement} layer
   * @param {boolean} isHit Whether the pointer can select it.
   * @param {() => string} title
   */
  drawPath(line, isIn, classes, layer, isHit, title) {
    const known = this.paths.get(line);
    if (isIn && !known) {
      const named = classes();
      if (!named) return;
      const g = svg("g", { class: "line" }, layer);
      this.paths.set(line, g);
      this.lineOf.set(g, line);
      const number = "count" in line && line.count > 1 ? line.count : 0;
      svg("path", { class: named, d: line.curve.d, ...(number ? { "stroke-width": Math.min(8, 1.5 + Math.log2(number)) } : {}) }, g);
      if (isHit) svg("path", { class: "hit", d: line.curve.d }, g);
      if (isHit) svg("title", {}, g, title());
      if (number) svg("text", { class: "number", x: line.curve.middle[0], y: line.curve.middle[1] + 4, "text-anchor": "middle" }, g, number.toLocaleString("en"));
    } else if (!isIn && known) {
      known.remove();
      this.paths.delete(line);
    }
  }

  /**
   * Return the element of a node, if it is drawn.
   * @param {string} id
   * @returns {SVGElement | null}
   */
  element(id) {
    return this.root.querySelector(`[data-id="${CSS.escape(id)}"]`);
  }

  /**
   * Return the position of the middle of a node.
   * @param {string} id
   */
  placeOf(id) {
    const box = this.picture.boxes.get(this.lineage.boxOf(id));
    if (!box) return null;
    const row = box.rows.findIndex((column) => column.id === id);
    return { x: box.x + box.w / 2, y: box.y + (row < 0 ? HEAD / 2 : HEAD + (row + 0.5) * ROW), box, row };
  }
}

/** @param {Change} change */
function ofChange(change) {
  return change ? `, ${change}` : "";
}

/**
 * @param {Curve} curve
 * @param {{left: number, top: number, right: number, bottom: number}} frame
 */
function crosses(curve, frame) {
  return curve.left < frame.right && curve.right > frame.left && curve.top < frame.bottom && curve.bottom > frame.top;
}
