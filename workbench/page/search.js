/** The search: finds tables, columns and jobs while the user types. */

const MOST_FOUND = 40;

class Search {
  /**
   * @param {HTMLInputElement} input
   * @param {HTMLElement} list
   * @param {Lineage} lineage
   * @param {(id: string) => void} choose
   */
  constructor(input, list, lineage, choose) {
    this.input = input;
    this.list = list;
    this.choose = choose;
    this.place = 0;
    /** @type {{id: string, what: string, name: string, lower: string, path: string}[]} */
    this.things = [];
    for (const [what, ids] of /** @type {[string, Iterable<string>][]} */ ([["table", lineage.datasets.keys()], ["job", lineage.jobs.keys()], ["column", lineage.columns.keys()]])) {
      for (const id of ids) {
        const name = lineage.label(id);
        const path = lineage.datasets.get(id)?.name || "";
        this.things.push({ id, what: lineage.jobs.get(id)?.runId ? "run" : what, name, lower: name.slice(0, 2000).toLowerCase(), path: path.slice(-2000).toLowerCase() });
      }
    }
    input.addEventListener("input", () => this.look());
    input.addEventListener("focus", () => this.look());
    input.addEventListener("blur", () => this.close());
    input.addEventListener("keydown", (event) => this.key(event));
    // The list stays while it is used: a finger moves it, or the mouse drags its scroll bar.
    list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  /** @param {string} text */
  found(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    /** @type {{thing: {id: string, what: string, name: string}, rank: number}[]} */
    const hits = [];
    if (!words.length) return hits;
    for (const thing of this.things) {
      if (!words.every((word) => thing.lower.includes(word) || thing.path.includes(word))) continue;
      const [word] = words;
      // A node with this name comes before the parts of such a node.
      const own = Math.max(thing.lower.lastIndexOf("."), thing.lower.lastIndexOf("/")) + 1;
      const at = thing.lower.indexOf(word, own);
      const begins = at >= 0 && (at === own || thing.lower[at - 1] === "_");
      hits.push({ thing, rank: (thing.lower.endsWith(text.toLowerCase()) ? 0 : 4) + (begins ? 0 : at >= 0 ? 1 : 2) });
    }
    hits.sort((a, b) => a.rank - b.rank || a.thing.name.length - b.thing.name.length);
    return hits;
  }

  look() {
    const hits = this.found(this.input.value);
    const found = hits.slice(0, MOST_FOUND);
    const isAsked = Boolean(this.input.value.trim());
    const more = hits.length - found.length;
    const rest = more ? `… ${more} more` : isAsked && !found.length ? "nothing found" : "";
    this.place = 0;
    this.list.replaceChildren(
      ...found.map(({ thing }, place) => {
        const item = el("li", { role: "option", id: `found-${place}`, "data-go": thing.id }, el("bdi", {}, shown(thing.name, 120)), " ", el("small", {}, thing.what));
        item.addEventListener("click", () => this.take(thing.id));
        return item;
      }),
      ...(rest ? [el("li", { role: "option", "aria-disabled": "true" }, el("small", {}, rest))] : []),
    );
    this.list.hidden = !isAsked;
    this.input.setAttribute("aria-expanded", String(isAsked));
    this.mark();
  }

  /** Return the results that can be chosen. */
  items() {
    return [...this.list.children].filter((item) => item.hasAttribute("data-go"));
  }

  mark() {
    const items = this.items();
    items.forEach((item, place) => item.setAttribute("aria-selected", String(place === this.place)));
    const item = items[this.place];
    if (item) this.input.setAttribute("aria-activedescendant", item.id);
    else this.input.removeAttribute("aria-activedescendant");
    item?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.place = Math.max(0, Math.min(this.items().length - 1, this.place + step));
      this.mark();
      event.preventDefault();
    } else if (event.key === "Enter") {
      const id = this.items()[this.place]?.getAttribute("data-go");
      if (id) this.take(id);
    } else if (event.key === "Escape") {
      this.input.blur();
      this.choose("");
    }
    event.stopPropagation();
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  /** @param {string} id */
  take(id) {
    this.input.value = "";
    this.close();
    this.input.blur();
    this.choose(id);
  }
}
