/**
 * The page: the request in its address and its controls, and the actions of the keyboard and the pointer.
 */

// At a smaller scale, nobody can read the names.
const UNREADABLE = 0.5;
// At this scale, all names of the first picture can be read.
const READABLE = 0.62;
// An address with one of these states which boxes to show.
const EXPLICIT = ["level", "jobs", "groups", "focus", "from", "to", "parts", "only"];
// The maximum number of boxes in the first picture, in successive tries.
const CUTS = [80, 50, 30, 18, 8];

class Page {
  constructor() {
    const now = flattened(/** @type {AnswerJson} */ (dataOf("graph")));
    const before = dataOf("before");
    this.lineage = new Lineage(before ? united(flattened(before), now) : now);
    for (const key of ["rows", "owners"]) {
      for (const [id, known] of Object.entries(dataOf(key) || {})) Object.assign(this.lineage.datasets.get(id) || this.lineage.jobs.get(id) || {}, { [key]: known });
    }
    this.compared = Boolean(before);
    this.view = { x: 0, y: 0, scale: 1 };
    /** Messages about names in the address that no node has, or several nodes. @type {string[]} */
    this.missed = [];
    /** @type {Asked & {lit: string, time: string}} */
    this.asked = this.fromAddress();
    this.waiting = 0;
    /** Places the view after the window's size has changed; null once the user has moved it. @type {(() => void) | null} */
    this.place = null;
    this.printing = false;
    /** The fingers on the picture, or the mouse while it is pressed. @type {Map<number, {x: number, y: number}>} */
    this.pointers = new Map();
    this.moved = false;
    /** @type {Picture} */
    this.picture = { boxes: new Map(), bends: new Map(), routes: [], flows: [], width: 0, height: 0, hidden: 0 };
    /** @type {Lit} */
    this.lit = NOTHING_LIT;
    this.application = shown(this.lineage.application(), 120);
    byId("heading").textContent = this.application ? `${this.application}: lineage` : "Lineage";
    const canvas = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (byId("canvas")));
    const left = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (byId("left")));
    this.scene = new Scene(canvas, this.lineage, (change) => this.isShown(change));
    this.past = new Scene(left, this.lineage, (change) => change !== "added");
    this.panel = new Panel(byId("panel"), this.lineage, (id, how) => this.go(id, how));
    this.search = new Search(/** @type {HTMLInputElement} */ (byId("search")), byId("results"), this.lineage, (id) => {
      if (id) this.go(id, "around");
      this.take(id || this.scene.current);
    });
    this.listen();
    for (const pane of [canvas, left]) this.listenTo(pane);
    this.listenToMap();
    byId("times").hidden = !this.compared;
    byId("parts").closest("label")?.toggleAttribute("hidden", !this.lineage.parts.size);
    byId("groups").closest("label")?.toggleAttribute("hidden", this.lineage.groups.size < 4);
    /** The request without an address: the first picture. @type {Partial<Asked>} */
    this.first = this.overview();
    this.beginWhereNothingIsAsked();
    this.ask();
    this.begin();
  }

  // --- the request ---------------------------------------------------------------------------------------------

  /**
   * Return how much to show of everything: as much as can be read at once.
   * @returns {Partial<Asked>}
   */
  overview() {
    const { lineage } = this;
    const { width, height } = byId("canvas").getBoundingClientRect();
    const plain = { jobs: true, open: null };
    /** @type {Partial<Asked>[]} */
    const tries = [{ ...plain, level: "columns" }, { ...plain, level: "tables" }, { ...plain, level: "tables", jobs: false }];
    for (const most of CUTS) if (lineage.groups.size > 3) tries.push({ level: "tables", jobs: false, open: lineage.cut(most) });
    let [best, found] = [0, tries[0]];
    for (const each of tries) {
      const asked = { ...this.asked, focus: "", lit: "", from: "", to: "", only: "", parts: this.asked.parts, grown: new Set(), ...each };
      const { ids, all } = chosen(lineage, asked);
      if (all > ids.length) continue;
      const picture = arrange(lineage, asked, new Set());
      const scale = Math.min(width / picture.width, height / picture.height);
      if (scale > best) [best, found] = [scale, each];
      if (best >= READABLE) break;
    }
    return found;
  }

  /** Show the overview, unless the address states what to show. */
  beginWhereNothingIsAsked() {
    const address = new URLSearchParams(location.hash.slice(1));
    if (this.asked.focus || EXPLICIT.some((key) => address.has(key)) || dataOf("unfold")) return;
    Object.assign(this.asked, this.first, address.size ? {} : this.onlyChanges());
  }

  /** Return what a comparison shows first: the changes, if there are any. @returns {Partial<Asked>} */
  onlyChanges() {
    if (!this.compared || !changed(this.lineage).length) return {};
    return { only: "changes", level: "columns", jobs: true, open: null };
  }

  /** @returns {Asked & {lit: string, time: string}} */
  fromAddress() {
    const address = new URLSearchParams(location.hash.slice(1));
    this.missed = [];
    const named = (/** @type {string} */ key) => {
      const name = address.get(key) || "";
      const [id = "", ...others] = name ? this.lineage.find(name) : [];
      if (name && !id) this.missed.push(`Nothing here is called ${shown(name, 120)}.`);
      if (others.length) this.missed.push(`${others.length + 1} nodes here are called ${shown(name, 120)}; this is the ${this.lineage.whole(id)}. Search shows the others.`);
      return id;
    };
    const first = location.hash.length > 1 ? "" : String(dataOf("around") || "");
    const around = first ? this.lineage.find(first)[0] || "" : named("focus");
    const depth = address.get("depth");
    const lit = named("lit");
    return {
      focus: this.isPart(around) ? "" : around,
      lit: lit || (first && this.lineage.columns.has(around) ? around : ""),
      level: oneOf(address.get("level"), ["columns", "tables", "jobs"]),
      direction: oneOf(address.get("direction"), ["both", "up", "down"]),
      depth: depth === "all" || (!depth && first) ? Infinity : Math.max(1, Number(depth) || 2),
      indirect: address.get("indirect") === "1",
      jobs: address.get("jobs") !== "0",
      open: address.get("groups") === "1" ? new Set(address.getAll("open").map((id) => `group|${id}`).filter((id) => this.lineage.groups.has(id))) : null,
      grown: new Set(address.getAll("grown").flatMap((text) => this.lineage.find(text.slice(1)).slice(0, 1).map((id) => text[0] + id))),
      only: oneOf(address.get("only"), ["", "changes"]),
      uncertain: address.get("uncertain") !== "0",
      parts: address.get("parts") === "1" || this.isPart(lit) || (location.hash.length < 2 && Boolean(dataOf("unfold"))),
      from: named("from"),
      to: named("to"),
      time: oneOf(address.get("time"), ["changes", "sides", "before", "now"]),
      folded: new Set(),
      opened: new Set(),
    };
  }

  toAddress() {
    const { asked } = this;
    const address = new URLSearchParams();
    for (const key of /** @type {const} */ (["focus", "lit", "from", "to"])) if (asked[key]) address.set(key, this.short(asked[key]));
    if (asked.focus) address.set("depth", asked.depth === Infinity ? "all" : String(asked.depth));
    const isFirst = this.isFirst();
    if (!isFirst && (asked.level !== "columns" || this.first.level !== "columns")) address.set("level", asked.level);
    if (asked.direction !== "both") address.set("direction", asked.direction);
    if (asked.indirect) address.set("indirect", "1");
    if (!isFirst && !asked.jobs) address.set("jobs", "0");
    if (!isFirst && asked.open) address.set("groups", "1");
    for (const id of (!isFirst && asked.open) || []) address.append("open", id.slice("group|".length));
    for (const key of asked.grown) address.append("grown", key[0] + this.short(key.slice(1)));
    if (asked.only && (!isFirst || address.size)) address.set("only", asked.only);
    if (!asked.uncertain) address.set("uncertain", "0");
    if (asked.parts) address.set("parts", "1");
    else if (dataOf("unfold")) address.set("parts", "0");
    if (this.compared && asked.time !== "changes") address.set("time", asked.time);
    const text = address.toString();
    if (text !== location.hash.slice(1)) history.pushState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  /** Return whether the requested boxes are those of the first picture. */
  isFirst() {
    const { asked } = this;
    const first = { ...this.first, ...(asked.only ? this.onlyChanges() : {}) };
    return Object.entries(first).every(([key, value]) => asked[key] === value) && !asked.focus && !asked.from && !asked.to;
  }

  /** Return the name of a node if it identifies the node, else its id. @param {string} id */
  short(id) {
    const name = this.lineage.label(id);
    const found = name.length < 200 ? this.lineage.find(name) : [];
    return found.length === 1 && found[0] === id ? name : id;
  }

  /**
   * Choose a node.
   * @param {string} id
   * @param {string} [how] `around` shows only its surroundings; `from` and `to` are ends of a path.
   */
  go(id, how) {
    const { asked } = this;
    if (how && this.isPart(id)) return;
    if (this.lineage.groups.has(id)) return this.goToGroup(id, how);
    const was = asked.lit;
    if (how === "around") asked.grown = new Set();
    if (how === "around") Object.assign(asked, { focus: id, from: "", to: "", lit: this.lineage.columns.has(id) ? id : "" });
    else if (how === "from" || how === "to") Object.assign(asked, { [how]: id });
    else asked.lit = asked.lit === id ? "" : id;
    const isFolded = this.isPart(asked.lit) && !asked.parts;
    if (isFolded) asked.parts = true;
    const needed = how || isFolded || (asked.lit && !this.scene.placeOf(asked.lit));
    if (needed && !how && !isFolded) Object.assign(asked, { focus: id, from: "", to: "" });
    this.scene.current = id;
    this.missed = [];
    const before = this.scene.placeOf(id);
    // If tables are shown without their columns, those on the paths appear and disappear with the highlight.
    const isBare = asked.level === "tables" && [was, asked.lit].some((each) => this.lineage.columns.has(each));
    this.ask(Boolean(needed || isBare));
    if (needed) this.begin();
    else this.anchor(id, before);
  }

  /**
   * Show what is known about a group, or unfold or fold it.
   * @param {string} id
   * @param {string} [how] `open` to unfold or fold it.
   */
  goToGroup(id, how) {
    const { asked } = this;
    if (how === "open") {
      Object.assign(asked, { focus: "", from: "", to: "" });
      asked.open = new Set(asked.open || this.lineage.cut(MOST_BOXES));
      if (!asked.open.delete(id)) for (let each = id; each; each = this.lineage.groups.get(each)?.parent || "") asked.open.add(each);
    }
    asked.lit = how === "open" ? "" : id;
    this.ask();
    this.begin();
    this.panel.show(id, asked.indirect, asked.direction, null);
  }

  /** Show the neighbours of a table too. @param {string} key The side and the table. */
  grow(key) {
    const { asked } = this;
    const id = key.slice(1);
    const before = this.scene.placeOf(id);
    asked.grown.add(key);
    this.ask();
    this.anchor(id, before);
  }

  /** Return whether a node is a CTE, a view or a subquery, or a column of one. @param {string} id */
  isPart(id) {
    return this.lineage.parts.has(id) || this.lineage.partColumns.has(id);
  }

  /**
   * Move the view so that a node is where it was.
   * @param {string} id
   * @param {{x: number, y: number} | null} before
   */
  anchor(id, before) {
    const after = this.scene.placeOf(id);
    if (before && after && (before.x !== after.x || before.y !== after.y)) {
      this.place = null;
      this.view.x += (before.x - after.x) * this.view.scale;
      this.view.y += (before.y - after.y) * this.view.scale;
    }
    this.draw();
  }

  /**
   * Arrange and show what is requested.
   * @param {boolean} [anew] Whether other boxes may be shown now; else everything keeps its place.
   */
  ask(anew = true) {
    const { asked, lineage } = this;
    lineage.uncertain = asked.uncertain;
    this.lit = this.litBy(asked.lit);
    const wanted = new Set([...this.lit.ids, ...this.lit.decide]);
    if (anew || !this.picture.boxes.size) this.picture = arrange(lineage, asked, wanted);
    else this.picture = refilled(lineage, asked, this.picture, wanted);
    // A link may lead to a box for which there is no room.
    const shownAs = lineage.shownAs(lineage.boxOf(asked.lit), asked.open);
    if (anew && asked.lit && !lineage.groups.has(asked.lit) && !asked.focus && !asked.from && !asked.to && !this.picture.boxes.has(shownAs) && !(lineage.jobs.has(asked.lit) && !asked.jobs)) {
      asked.focus = asked.lit;
      this.picture = arrange(lineage, asked, wanted);
    }
    if (!this.scene.placeOf(this.scene.current)) this.scene.current = asked.lit || asked.focus || [...this.picture.boxes.keys()][0] || "";
    this.past.current = this.scene.current;
    this.scene.focus = this.past.focus = lineage.datasetOf(asked.focus);
    this.show();
    this.toAddress();
    this.control();
    this.panel.show(asked.lit || asked.focus, asked.indirect, asked.direction, lineage.path(asked.from, asked.to, asked.indirect));
    const title = this.application ? `${this.application}, lineage` : "Lineage";
    document.title = asked.lit || asked.focus ? `${shown(lineage.label(asked.lit || asked.focus), 80)} - ${title}` : title;
  }

  show() {
    const sides = this.compared && this.asked.time === "sides";
    byId("past").hidden = byId("now").hidden = !sides;
    for (const scene of this.scenes()) scene.show(this.picture, this.lit);
    this.draw();
    this.drawMap();
  }

  /** Return what is on the screen: the picture, or both if two times are shown side by side. */
  scenes() {
    return byId("past").hidden ? [this.scene] : [this.scene, this.past];
  }

  /** @param {string} id @returns {Lit} */
  litBy(id) {
    const { lineage, asked } = this;
    if (!id) return NOTHING_LIT;
    const edges = this.wayOf(id, false);
    /** @type {Set<string>} */
    const ids = new Set([id]);
    if (!this.isPart(id) && !lineage.columns.has(id)) {
      for (const down of [false, true]) {
        if (asked.direction === (down ? "up" : "down") || lineage.groups.has(id)) continue;
        for (const each of lineage.around(id, down, Infinity).keys()) ids.add(each);
      }
    }
    this.addEnds(ids, edges);
    ids.add(lineage.boxOf(id));
    const links = isGrouped(asked) ? this.linksOn(ids) : new Set();
    for (const each of [...ids]) if (lineage.datasets.has(each)) ids.add(lineage.shownAs(each, isGrouped(asked) ? asked.open : null));
    ids.delete("");
    const deciding = asked.indirect ? this.wayOf(id, true) : new Set();
    for (const edge of edges) deciding.delete(edge);
    /** @type {Set<string>} */
    const decide = new Set();
    this.addEnds(decide, deciding);
    for (const each of ids) decide.delete(each);
    return { edges, ids, start: id, deciding, decide, links };
  }

  /**
   * Return the edges on the paths of a column, or through a CTE, a view or a subquery.
   * @param {string} id
   * @param {boolean} indirect Whether influences on rows count.
   */
  wayOf(id, indirect) {
    const { lineage, asked } = this;
    /** @type {Set<Edge>} */
    const edges = new Set();
    if (this.isPart(id)) for (const edge of lineage.wayThrough(id, asked.direction, indirect)) edges.add(edge);
    else if (lineage.columns.has(id)) {
      for (const down of [false, true]) {
        if (asked.direction === (down ? "up" : "down")) continue;
        for (const edge of lineage.way(id, down, indirect)) edges.add(edge);
      }
    }
    const path = lineage.path(asked.from, asked.to, asked.indirect);
    if (path) for (const edge of edges) if (!path.has(edge)) edges.delete(edge);
    return edges;
  }

  /** Add the ends of edges, their boxes and their jobs. @param {Set<string>} ids @param {Iterable<Edge>} edges */
  addEnds(ids, edges) {
    const { lineage } = this;
    for (const edge of edges) {
      for (const each of [edge.from, edge.to, lineage.datasetOf(edge.from), lineage.datasetOf(edge.to), edge.job || ""]) ids.add(each);
      for (const each of [...lineage.partsOf(edge), ...lineage.passagesOf(edge)]) ids.add(each);
    }
    ids.delete("");
  }

  /** Return the keys of the links between boxes by which jobs lead from some tables to others. @param {Set<string>} ids */
  linksOn(ids) {
    const { lineage, asked } = this;
    /** @type {Set<string>} */
    const found = new Set(["\n"]);
    for (const id of ids) {
      const job = lineage.jobs.get(id);
      if (!job) continue;
      const [reads, writes] = [job.reads, job.writes].map((side) => [...side].filter((each) => ids.has(each)).map((each) => lineage.shownAs(each, asked.open)));
      for (const read of reads) found.add(`${read}\n${id}`);
      for (const written of writes) found.add(`${id}\n${written}`);
      for (const read of reads) for (const written of writes) found.add(`${read}\n${written}`);
    }
    return found;
  }

  /** @param {Change} change */
  isShown(change) {
    if (!this.compared || this.asked.time === "changes") return true;
    return this.asked.time === "before" ? change !== "added" : change !== "removed";
  }

  /** Set the controls to the request, and state what is not shown. */
  control() {
    const { asked, lineage, picture } = this;
    for (const key of /** @type {const} */ (["level", "direction", "time"])) select(key).value = asked[key];
    const depth = asked.depth === Infinity ? "all" : String(asked.depth);
    if (![...select("depth").options].some((option) => option.value === depth)) select("depth").add(new Option(depth, depth));
    select("depth").value = depth;
    select("depth").disabled = !asked.focus;
    for (const key of /** @type {const} */ (["indirect", "uncertain", "parts", "jobs"])) input(key).checked = asked[key];
    input("groups").checked = Boolean(asked.open);
    input("groups").disabled = Boolean(asked.focus);
    input("jobs").disabled = asked.level === "jobs";
    const ends = [asked.from && `from ${shown(lineage.label(asked.from), 120)}`, asked.to && `to ${shown(lineage.label(asked.to), 120)}`].filter(Boolean);
    const rest = asked.from && asked.to ? (picture.boxes.size ? "" : ": there is none") : ": choose the other end";
    const leave = el("button", { type: "button" }, "Leave the path");
    leave.addEventListener("click", () => this.leavePath());
    byId("path").hidden = !ends.length;
    byId("path").replaceChildren(...(ends.length ? [`Only the path ${ends.join(" ")}${rest} `, leave] : []));
    const instead = asked.focus ? "Search for one, or choose a depth or a direction." : "Search for one.";
    const notes = [...this.missed];
    if (asked.only) notes.push("Only changes and their neighbours are shown. Overview shows everything.");
    if (picture.hidden) notes.push(`${picture.boxes.size} boxes are shown, the ${isGrouped(asked) ? "busiest" : "closest"} ones; ${picture.hidden} more are not. ${instead}`);
    byId("note").hidden = !notes.length;
    byId("note").textContent = notes.join(" ");
    const { edges, start } = this.lit;
    for (const scene of this.scenes()) {
      scene.root.classList.toggle("few", picture.boxes.size <= 12);
      scene.root.classList.toggle("dense", picture.flows.some((flow) => flow.isWeak));
    }
    byId("live").textContent = start ? `${shown(lineage.label(start), 120)}: ${count(edges.size, "edge")} highlighted` : "";
  }

  leavePath() {
    Object.assign(this.asked, { from: "", to: "" });
    this.ask();
    this.begin();
  }

  // --- the view ------------------------------------------------------------------------------------------------

  /** Draw with the next frame. */
  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (this.printing) return;
      for (const scene of this.scenes()) scene.draw(this.view);
      this.drawView();
    });
  }

  /** Show the whole picture or, if it is too large to be read, the surroundings of what was requested. */
  begin() {
    this.fit();
    this.place = () => this.begin();
    const { asked, picture } = this;
    const { scale } = this.view;
    const id = asked.lit || asked.focus || (picture.hidden || scale < UNREADABLE ? this.lineage.busiest() : "");
    const start = this.scene.placeOf(id);
    if (scale >= 0.5 || !start) return;
    this.stand(id);
    const { width, height } = byId("canvas").getBoundingClientRect();
    // If the picture fills the window, nothing else is shown.
    const [x, y] = [[width, picture.width, start.x], [height, picture.height, start.y]].map(([room, size, at]) => {
      const free = room - size * 0.8;
      return free > 0 ? free / 2 : Math.max(free, Math.min(0, room / 2 - at * 0.8));
    });
    this.view = { x, y, scale: 0.8 };
  }

  /** Place two times beside or above each other, so that they are as large as possible. */
  share() {
    const { width, height } = byId("panes").getBoundingClientRect();
    const { picture } = this;
    const beside = Math.min(width / 2 / picture.width, height / picture.height);
    const above = Math.min(width / picture.width, height / 2 / picture.height);
    byId("panes").classList.toggle("stacked", above > beside);
  }

  /** Show the whole picture. */
  fit() {
    this.share();
    const { width, height } = byId("canvas").getBoundingClientRect();
    const picture = this.picture;
    const scale = Math.min(1.2, width / Math.max(picture.width, 1), height / Math.max(picture.height, 1));
    this.view = { x: (width - picture.width * scale) / 2, y: (height - picture.height * scale) / 2, scale };
    this.place = () => this.fit();
    this.draw();
  }

  /** Draw the whole picture, so that it fits any paper: the browser does not report the size of the paper. */
  beforePrint() {
    this.printing = true;
    const { width, height } = extent(this.picture);
    for (const scene of this.scenes()) {
      scene.canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
      scene.canvas.style.maxWidth = `${width}px`;
      scene.draw({ x: 0, y: 0, scale: 1 }, true);
    }
  }

  afterPrint() {
    this.printing = false;
    for (const scene of this.scenes()) {
      scene.canvas.removeAttribute("viewBox");
      scene.canvas.style.maxWidth = "";
    }
    this.draw();
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] */
  zoom(factor, x, y) {
    const { width, height } = byId("canvas").getBoundingClientRect();
    const [px, py] = [x ?? width / 2, y ?? height / 2];
    const scale = Math.max(0.02, Math.min(4, this.view.scale * factor));
    const real = scale / this.view.scale;
    this.view = { x: px - (px - this.view.x) * real, y: py - (py - this.view.y) * real, scale };
    this.place = null;
    this.draw();
  }

  /** Move the view so far that it contains a node. @param {string} id */
  reveal(id) {
    const place = this.scene.placeOf(id);
    if (!place) return;
    const { width, height } = byId("canvas").getBoundingClientRect();
    const { view } = this;
    const [x, y] = [place.x * view.scale + view.x, place.y * view.scale + view.y];
    const margin = Math.min(120, width / 4, height / 4);
    view.x += Math.max(margin - x, 0) + Math.min(width - margin - x, 0);
    view.y += Math.max(margin - y, 0) + Math.min(height - margin - y, 0);
    this.place = null;
    for (const scene of this.scenes()) scene.draw(view);
    this.drawView();
  }

  // --- pointer -------------------------------------------------------------------------------------------------

  /** @param {SVGSVGElement} pane */
  listenTo(pane) {
    pane.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { left, top } = pane.getBoundingClientRect();
      const amount = event.deltaY * (event.deltaMode === 1 ? 20 : 1);
      this.zoom(Math.exp(-Math.max(-200, Math.min(200, amount)) / 400), event.clientX - left, event.clientY - top);
    }, { passive: false });
    pane.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      if (event.isPrimary) this.pointers.clear();
      this.moved = this.pointers.size > 0;
      this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    pane.addEventListener("pointermove", (event) => this.drag(pane, event));
    for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) pane.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    pane.addEventListener("pointerover", (event) => this.near(event.target));
    pane.addEventListener("focusin", (event) => this.near(event.target));
    pane.addEventListener("click", (event) => this.click(event));
  }

  /**
   * Move the picture with the pointer, and enlarge it as two fingers part.
   * @param {SVGSVGElement} pane
   * @param {PointerEvent} event
   */
  drag(pane, event) {
    const { pointers } = this;
    const last = pointers.get(event.pointerId);
    // The page may not notice a button that is released outside of the window.
    if (!event.buttons) pointers.delete(event.pointerId);
    if (!last || !event.buttons) return;
    if (!this.moved && Math.abs(event.clientX - last.x) + Math.abs(event.clientY - last.y) < 4) return;
    this.moved = true;
    if (!pane.hasPointerCapture(event.pointerId)) pane.setPointerCapture(event.pointerId);
    const before = gripOf(pointers);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const after = gripOf(pointers);
    const { left, top } = pane.getBoundingClientRect();
    this.view = { ...this.view, x: this.view.x + after.x - before.x, y: this.view.y + after.y - before.y };
    this.zoom(before.spread && after.spread ? after.spread / before.spread : 1, after.x - left, after.y - top);
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (this.moved) {
      this.moved = false;
      return;
    }
    const target = /** @type {Element} */ (event.target);
    const grown = target.closest("[data-grow]")?.getAttribute("data-grow");
    if (grown) return this.grow(grown);
    const line = target.closest(".line");
    if (line) return this.choose(line);
    const fold = target.getAttribute("data-fold");
    const more = target.getAttribute("data-more");
    const id = target.closest("[data-id]")?.getAttribute("data-id");
    if (fold) this.toggle(this.asked.folded, fold);
    else if (more) this.toggle(this.asked.opened, more);
    else if (id && event.shiftKey && this.asked.lit && id !== this.asked.lit) this.pathTo(id);
    else if (id) this.go(id, this.lineage.groups.has(id) ? "open" : undefined);
    else if (this.asked.lit) this.go(this.asked.lit);
  }

  /** Emphasise the lines that begin or end at a group. @param {EventTarget | null} target */
  near(target) {
    const id = target instanceof Element ? target.closest(".group")?.getAttribute("data-id") || "" : "";
    if (id === this.scene.nearTo) return;
    for (const scene of this.scenes()) {
      scene.nearTo = id;
      scene.draw(this.view);
      for (const [line, g] of scene.paths) g.classList.toggle("near", Boolean(id) && "ends" in line && line.ends.includes(id));
    }
  }

  /** Show what is known about a line. @param {Element} element */
  choose(element) {
    const line = this.scene.lineOf.get(element) || this.past.lineOf.get(element);
    for (const other of document.querySelectorAll(".line.chosen")) other.classList.remove("chosen");
    element.classList.add("chosen");
    if (line) this.panel.showLine(line, isGrouped(this.asked) ? this.asked.open : null);
  }

  /** Show only the path between the highlighted node and another, in either direction. @param {string} id */
  pathTo(id) {
    const { asked, lineage } = this;
    const ends = [lineage.datasetOf(asked.lit) || asked.lit, lineage.datasetOf(id) || id];
    const down = lineage.around(ends[0], true, Infinity).has(ends[1]);
    Object.assign(asked, down ? { from: asked.lit, to: id } : { from: id, to: asked.lit });
    this.ask();
    this.begin();
  }

  /** @param {Set<string>} set @param {string} id */
  toggle(set, id) {
    if (!set.delete(id)) set.add(id);
    const before = this.scene.placeOf(id);
    this.ask();
    // The box stays where the pointer is.
    this.anchor(id, before);
  }

  // --- keyboard ------------------------------------------------------------------------------------------------

  /** @param {KeyboardEvent} event */
  key(event) {
    const target = /** @type {Element} */ (event.target);
    const isOther = event.ctrlKey || event.metaKey || event.altKey || target.closest("select, input");
    // Enter and Space press a button, and arrows scroll the panel.
    const isOwn = target.closest("button, aside") && (event.key.startsWith("Arrow") || ["Enter", " "].includes(event.key));
    if ((isOther || isOwn) && event.key !== "Escape") return;
    const { current } = this.scene;
    const actions = {
      "/": () => byId("search").focus(),
      "+": () => this.zoom(1.25),
      "=": () => this.zoom(1.25),
      "-": () => this.zoom(0.8),
      "0": () => this.fit(),
      "?": () => this.toggleKeys(),
      Escape: () => this.escape(),
      Enter: () => this.press(current),
      " ": () => this.press(current),
      c: () => current && (this.go(current, "around"), this.take(current)),
      x: () => this.lineage.datasetOf(current) && (this.grow(`<${this.lineage.datasetOf(current)}`), this.grow(`>${this.lineage.datasetOf(current)}`), this.take(current)),
      f: () => current && !this.lineage.groups.has(current) && (this.toggle(this.asked.folded, this.lineage.boxOf(current)), this.take(this.lineage.boxOf(current))),
      ArrowUp: () => this.take(this.beside(current, -1)),
      ArrowDown: () => this.take(this.beside(current, 1)),
      ArrowLeft: () => this.take(this.across(current, false)),
      ArrowRight: () => this.take(this.across(current, true)),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Highlight the current node of the keyboard, or unfold a group. @param {string} current */
  press(current) {
    if (!current) return;
    const group = this.lineage.groups.get(current);
    this.go(current, group ? "open" : undefined);
    this.take(group ? this.scene.current : current);
  }

  escape() {
    if (!byId("keys").hidden) this.toggleKeys();
    else if (this.asked.lit) this.go(this.asked.lit);
    else if (this.asked.from || this.asked.to) this.leavePath();
  }

  toggleKeys() {
    byId("keys").hidden = !byId("keys").hidden;
    byId("help").setAttribute("aria-expanded", String(!byId("keys").hidden));
  }

  /** Make a node the current one of the keyboard. @param {string} id */
  take(id) {
    if (!id) return;
    this.reveal(id);
    this.stand(id);
    this.scene.element(id)?.focus({ preventScroll: true });
  }

  /** Make a node the one to which the Tab key leads. @param {string} id */
  stand(id) {
    for (const scene of [this.scene, this.past]) {
      scene.element(scene.current)?.setAttribute("tabindex", "-1");
      scene.current = id;
      scene.element(id)?.setAttribute("tabindex", "0");
    }
  }

  /** Return the row above or below, or the box there. @param {string} id @param {number} step */
  beside(id, step) {
    const place = this.scene.placeOf(id);
    if (!place) return "";
    const next = place.row + step;
    if (next === -1) return place.box.id;
    if (place.box.rows[next]) return place.box.rows[next].id;
    const column = [...this.picture.boxes.values()].filter((box) => Math.abs(box.x - place.box.x) < box.w && (box.y - place.box.y) * step > 0);
    column.sort((a, b) => (a.y - b.y) * step);
    return column[0]?.id || "";
  }

  /** Return where the keyboard goes to the left or to the right: along an edge if there is one. @param {string} id @param {boolean} down */
  across(id, down) {
    if (this.isPart(id)) {
      const passing = (this.lineage.throughs.get(id) || []).find((each) => this.scene.placeOf(down ? each.to : each.from));
      return passing ? (down ? passing.to : passing.from) : "";
    }
    const columns = this.lineage.columns.has(id);
    const edge = columns && this.lineage.step(id, down, this.asked.indirect).find((each) => this.scene.placeOf(down ? each.to : each.from));
    if (edge) return down ? edge.to : edge.from;
    const box = this.lineage.datasetOf(id) || id;
    const next = [...this.lineage.neighbours(box, down)].find((each) => this.picture.boxes.has(each));
    if (next) return next;
    const link = this.picture.flows.find(({ ends }) => ends[down ? 0 : 1] === box && ends[0] !== ends[1]);
    return link ? link.ends[down ? 1 : 0] : "";
  }

  // --- the small map -------------------------------------------------------------------------------------------

  drawMap() {
    const map = byId("map");
    map.replaceChildren();
    const { width, height } = extent(this.picture);
    map.setAttribute("viewBox", `0 0 ${width} ${height}`);
    for (const box of this.picture.boxes.values()) {
      const lit = this.lit.ids.has(box.id) ? "lit" : "";
      svg("rect", { x: box.x, y: box.y, width: box.w, height: box.h, class: `${box.isJob ? "job" : ""} ${lit}`.trim() }, map);
    }
    svg("rect", { class: "view" }, map);
  }

  drawView() {
    const frame = byId("map").querySelector(".view");
    const { width, height } = byId("canvas").getBoundingClientRect();
    const { x, y, scale } = this.view;
    for (const [name, value] of Object.entries({ x: -x / scale, y: -y / scale, width: width / scale, height: height / scale })) frame?.setAttribute(name, String(value));
    // If the whole picture is visible, the map would only cover a part of it.
    const { picture } = this;
    const isWhole = x > -1 && y > -1 && x + picture.width * scale < width + 1 && y + picture.height * scale < height + 1;
    byId("map").toggleAttribute("hidden", isWhole);
  }

  listenToMap() {
    const map = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (byId("map")));
    const move = (/** @type {PointerEvent} */ event) => {
      if (!event.buttons) return;
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM()?.inverse());
      const { width, height } = byId("canvas").getBoundingClientRect();
      this.view = { ...this.view, x: width / 2 - point.x * this.view.scale, y: height / 2 - point.y * this.view.scale };
      this.place = null;
      this.draw();
    };
    map.addEventListener("pointerdown", move);
    map.addEventListener("pointermove", move);
  }

  // --- controls ------------------------------------------------------------------------------------------------

  listen() {
    const { asked } = this;
    const changed = (/** @type {string} */ id, /** @type {(value: string) => void} */ take) =>
      byId(id).addEventListener("change", () => {
        take(select(id).value);
        this.ask();
        this.begin();
      });
    changed("level", (value) => Object.assign(this.asked, { level: value }));
    changed("direction", (value) => Object.assign(this.asked, { direction: value }));
    changed("depth", (value) => Object.assign(this.asked, { depth: value === "all" ? Infinity : Number(value) }));
    changed("time", (value) => Object.assign(this.asked, { time: value }));
    changed("groups", () => Object.assign(this.asked, { open: input("groups").checked ? this.lineage.cut(CUTS[2]) : null, lit: "" }));
    for (const key of ["indirect", "uncertain", "parts", "jobs"]) changed(key, () => Object.assign(this.asked, { [key]: input(key).checked }));
    const pressed = (/** @type {string} */ id, /** @type {() => void} */ act) => byId(id).addEventListener("click", act);
    pressed("nearer", () => this.zoom(1.25));
    pressed("further", () => this.zoom(0.8));
    pressed("fit", () => this.fit());
    pressed("help", () => this.toggleKeys());
    pressed("side", () => {
      byId("panel").hidden = !byId("panel").hidden;
      byId("side").setAttribute("aria-expanded", String(!byId("panel").hidden));
      if (this.place) this.place();
      else this.draw();
    });
    pressed("print", () => window.print());
    pressed("svg", () => downloadSvg(this.exported()));
    pressed("png", () => downloadPng(this.exported(), this.picture));
    pressed("all", () => {
      Object.assign(this.asked, { focus: "", lit: "", from: "", to: "", only: "", grown: new Set(), folded: new Set() }, this.first);
      this.ask();
      this.begin();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("resize", () => (this.place ? this.place() : this.draw()));
    window.addEventListener("popstate", () => {
      this.asked = { ...this.fromAddress(), folded: asked.folded, opened: asked.opened };
      this.beginWhereNothingIsAsked();
      this.ask();
      this.begin();
    });
    window.addEventListener("beforeprint", () => this.beforePrint());
    window.addEventListener("afterprint", () => this.afterPrint());
  }

  exported() {
    return svgText(this.lineage, this.picture, this.lit, (change) => this.isShown(change));
  }
}

/**
 * Return the middle of one or two pointers, and how far they are from each other.
 * @param {Map<number, {x: number, y: number}>} pointers
 */
function gripOf(pointers) {
  const [first, second = first] = [...pointers.values()];
  return { x: (first.x + second.x) / 2, y: (first.y + second.y) / 2, spread: Math.hypot(first.x - second.x, first.y - second.y) };
}

/** @param {string} id */
function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

/** @param {string} id */
function select(id) {
  return /** @type {HTMLSelectElement} */ (byId(id));
}

/** @param {string} id */
function input(id) {
  return /** @type {HTMLInputElement} */ (byId(id));
}

/** Return data of the page; null if there is none. @param {string} id @returns {any} */
function dataOf(id) {
  const text = document.querySelector(`script[type="application/json"]#${id}`)?.textContent;
  return text ? JSON.parse(text) : null;
}

/** @param {string | null} value @param {string[]} allowed */
function oneOf(value, allowed) {
  return allowed.includes(value || "") ? value || "" : allowed[0];
}

const page = new Page();
performance.mark("ready");
