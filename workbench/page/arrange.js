/**
 * Choose which boxes are shown, and place them.
 *
 * @typedef {{focus: string, level: string, direction: string, depth: number, indirect: boolean, uncertain: boolean,
 *   parts: boolean, jobs: boolean, open: Set<string> | null, grown: Set<string>, only: string, lit: string, from: string,
 *   to: string, folded: Set<string>, opened: Set<string>}} Asked
 *   `open`: the unfolded groups; null without groups. `grown`: boxes whose neighbours are shown too, each with the side.
 *   `folded`: tables whose columns are folded where others are not, or the other way round.
 * @typedef {{id: string, isJob: boolean, x: number, y: number, w: number, h: number, rows: Column[], more: number,
 *   fewer: boolean, size: number, up: number, down: number}} Box
 *   `fewer`: it was opened, and can show fewer columns again. `size`: how many tables a group has. `up`, `down`: how many
 *   of its neighbours are not shown.
 * @typedef {{d: string, top: number, bottom: number, left: number, right: number, middle: number[]}} Curve
 * @typedef {{edge: Edge, curve: Curve}} Route
 * @typedef {{key: string, ends: string[], change: Change, told?: boolean, count: number, isWeak?: boolean}} Link
 *   `told`: edges between columns show it too. `count`: how many links between tables it represents. `isWeak`: there are
 *   too many links, and it is not one of the strongest at its ends: it is drawn on demand.
 * @typedef {Link & {curve: Curve}} Flow
 * @typedef {Map<string, number[][]>} Bends The ends of each link -> the points through which it passes between other boxes.
 * @typedef {{boxes: Map<string, Box>, bends: Bends, routes: Route[], flows: Flow[], width: number, height: number,
 *   hidden: number}} Picture
 */

const MOST_BOXES = 100;
const MOST_ROUTES = 4000;
const MOST_LINES = 12;
const FEW_ROWS = 12;
const HEAD = 26;
const GROUP = 44;
/** If a group has at least this many links, the picture shows the strongest ones first. */
const STRONGEST = 3;
const ROW = 18;
const TURN = 24;
const WIDTHS = { box: [150, 340], job: [110, 300] };
const LONGEST_NAME = 60;
const LONGEST_TYPE = 24;
const FONT = "12px system-ui, sans-serif";
const BOLD = `600 ${FONT}`;
const SMALL = "10px system-ui, sans-serif";
const RULER = document.createElement("canvas").getContext("2d");

/**
 * Return how wide a text is, in pixels.
 * @param {string} text
 * @param {string} font
 */
function widthOf(text, font) {
  if (!RULER) return text.length * 7;
  if (RULER.font !== font) RULER.font = font;
  return RULER.measureText(text).width;
}

/**
 * Return as much of a text as there is room for.
 * @param {string} text
 * @param {number} room In pixels.
 * @param {string} font
 * @param {boolean} [end] Whether to keep its end, as for a path, instead of its beginning.
 */
function fitted(text, room, font, end) {
  if (widthOf(text, font) <= room) return text;
  const characters = Array.from(text);
  const cut = (/** @type {number} */ count) => (end ? `…${characters.slice(characters.length - count).join("")}` : `${characters.slice(0, count).join("")}…`);
  let [least, most] = [0, characters.length - 1];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (widthOf(cut(middle), font) <= room) least = middle;
    else most = middle - 1;
  }
  return cut(least);
}

/**
 * Return the boxes to show, those closest to the request first, and how many there would be.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @returns {{ids: string[], all: number}}
 */
function chosen(lineage, asked) {
  let ids;
  if (asked.from && asked.to) ids = onPath(lineage, asked);
  else if (asked.focus) ids = nearby(lineage, asked);
  else {
    ids = asked.only === "changes" ? changed(lineage) : lineage.connected();
    if (isGrouped(asked)) ids = grouped(lineage, asked, ids);
    else if (shownOf(asked, lineage, ids).length > MOST_BOXES) ids = foremost(lineage, asked, ids);
  }
  ids = shownOf(asked, lineage, [...new Set([...ids, ...neighboursOf(lineage, asked, ids)])]);
  return { ids: ids.slice(0, MOST_BOXES), all: ids.length };
}

/** Return whether groups replace their tables: not around a single node, and not on a path. @param {Asked} asked */
function isGrouped(asked) {
  return Boolean(asked.open && !asked.focus && !(asked.from && asked.to) && asked.level !== "jobs");
}

/**
 * Leave out jobs if they are hidden, and everything else if only jobs are shown.
 * @param {Asked} asked
 * @param {Lineage} lineage
 * @param {string[]} ids
 */
function shownOf(asked, lineage, ids) {
  if (asked.level === "jobs") return ids.filter((id) => lineage.jobs.has(id));
  return asked.jobs ? ids : ids.filter((id) => !lineage.jobs.has(id) || id === asked.focus);
}

/**
 * Return groups and the tables of unfolded groups, those with the most neighbours first, then the jobs of such tables.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {string[]} ids
 */
function grouped(lineage, asked, ids) {
  const tables = ids.filter((id) => lineage.datasets.has(id));
  const found = [...new Set(tables.map((id) => lineage.shownAs(id, asked.open)))];
  const weight = (/** @type {string} */ id) => {
    const dataset = lineage.datasets.get(id);
    return dataset ? degree(dataset) : Infinity;
  };
  found.sort((a, b) => (weight(a) === weight(b) ? 0 : weight(b) - weight(a)));
  const whole = new Set(found);
  const isWhole = (/** @type {Set<string>} */ of) => [...of].some((id) => whole.has(id));
  const jobs = ids.map((id) => lineage.jobs.get(id)).filter((job) => job && (isWhole(job.reads) || isWhole(job.writes)));
  return [...found, ...jobs.map((job) => job?.id || "")];
}

/**
 * Return the neighbours that the user has requested for some boxes, unless they are shown already.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {string[]} ids
 */
function neighboursOf(lineage, asked, ids) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const key of asked.grown) {
    const down = key[0] === ">";
    for (const id of lineage.around(key.slice(1), down, 1).keys()) found.add(id);
  }
  for (const id of ids) found.delete(id);
  return found;
}

/**
 * Return what was added, removed or changed, with its neighbours.
 * @param {Lineage} lineage
 */
function changed(lineage) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const [id, node] of [...lineage.datasets, ...lineage.jobs]) if (node.change) found.add(id);
  for (const column of lineage.columns.values()) if (column.change) found.add(column.dataset);
  for (const edge of lineage.edges) if (edge.change) for (const id of boxesOf(lineage, [edge])) found.add(id);
  for (const [key, change] of lineage.flows) if (change) for (const id of key.split("\n")) found.add(id);
  for (const id of [...found]) for (const down of [false, true]) for (const next of lineage.around(id, down, 1).keys()) found.add(next);
  return [...found];
}

/**
 * Return boxes in the order in which they are shown if there is no room for all: those around the busiest table, then
 * failed and unfinished jobs with what they read and write, then the rest, with connected boxes together.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {string[]} ids
 */
function foremost(lineage, asked, ids) {
  const around = (/** @type {string} */ focus, /** @type {number} */ depth) => nearby(lineage, { ...asked, focus, depth, direction: "both" });
  const found = new Set(around(lineage.busiest(), 2));
  const troubled = [...lineage.jobs.values()].filter((job) => ["bad", "open"].includes(lineage.state(job)));
  for (const job of troubled) for (const id of around(job.id, 1)) found.add(id);
  for (const id of ids) {
    if (found.size >= MOST_BOXES && asked.level !== "jobs") break;
    if (!found.has(id)) for (const each of around(id, Infinity)) found.add(each);
  }
  for (const id of ids) found.add(id);
  return [...found];
}

/**
 * @param {Lineage} lineage
 * @param {Asked} asked
 */
function nearby(lineage, asked) {
  const start = lineage.jobs.has(asked.focus) ? asked.focus : lineage.datasetOf(asked.focus);
  if (!start) return [];
  /** @type {Map<string, number>} */
  const found = new Map([[start, 0]]);
  for (const down of [false, true]) {
    if (asked.direction === (down ? "up" : "down")) continue;
    const only = lineage.columns.has(asked.focus) ? boxesOf(lineage, lineage.way(asked.focus, down, asked.indirect)) : null;
    for (const [id, far] of lineage.around(start, down, asked.depth)) {
      if ((!only || only.has(id)) && far < (found.get(id) ?? Infinity)) found.set(id, far);
    }
  }
  return [...found].sort((a, b) => a[1] - b[1]).map(([id]) => id);
}

/**
 * Return the boxes at both ends of edges, and those of their jobs.
 * @param {Lineage} lineage
 * @param {Iterable<Edge>} edges
 */
function boxesOf(lineage, edges) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const edge of edges) {
    for (const id of [lineage.datasetOf(edge.from), edge.job || "", lineage.datasetOf(edge.to)]) if (id) found.add(id);
  }
  return found;
}

/**
 * @param {Lineage} lineage
 * @param {Asked} asked
 */
function onPath(lineage, asked) {
  const edges = lineage.path(asked.from, asked.to, asked.indirect);
  if (edges) return [...boxesOf(lineage, edges)];
  const [from, to] = [asked.from, asked.to].map((id) => (lineage.jobs.has(id) ? id : lineage.datasetOf(id)));
  const down = lineage.around(from, true, Infinity);
  const up = lineage.around(to, false, Infinity);
  return [...down.keys()].filter((id) => up.has(id));
}

/**
 * Place the boxes.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {Set<string>} wanted The columns that come first in long boxes.
 * @returns {Picture}
 */
function arrange(lineage, asked, wanted) {
  const { ids, all } = chosen(lineage, asked);
  const jobsOnly = asked.level === "jobs";
  const kept = new Set(ids);
  const way = wayOf(lineage, asked);
  const graph = new dagre.graphlib.Graph();
  const [ranksep, nodesep] = asked.level === "columns" ? [70, 22] : [50, 30];
  graph.setGraph({ rankdir: "LR", nodesep, ranksep, edgesep: 14, marginx: 26, marginy: 20, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  for (const id of kept) {
    const box = sized(lineage, asked, id, wanted, way);
    boxes.set(id, box);
    graph.setNode(id, { width: box.w, height: box.h });
  }
  /** @type {Link[]} */
  const links = jobsOnly ? jobLinks(lineage, kept) : flowLinks(lineage, asked, kept);
  if (asked.parts && !jobsOnly) {
    for (const link of partLinks(lineage, asked, kept)) {
      links.push(link);
      for (const id of link.ends) {
        if (!lineage.parts.has(id) || boxes.has(id)) continue;
        const box = sized(lineage, asked, id, wanted, way);
        boxes.set(id, box);
        graph.setNode(id, { width: box.w, height: box.h });
      }
    }
  }
  for (const { ends } of links) if (ends[0] !== ends[1]) graph.setEdge(ends[0], ends[1]);
  // If each group leads to each other group, ranks show nothing, and make the picture as wide as the number of groups.
  const isGrid = isGrouped(asked) && boxes.size > 12 && graph.edgeCount() > 2 * boxes.size;
  if (isGrid) layInGrid(lineage, graph, boxes);
  else dagre.layout(graph);
  if (!isGrid) widen(graph, boxes);
  let [width, height] = [0, 0];
  for (const box of boxes.values()) {
    const node = graph.node(box.id);
    box.x = node.x - box.w / 2;
    box.y = node.y - box.h / 2;
    width = Math.max(width, box.x + box.w + 26);
    height = Math.max(height, box.y + box.h + 20);
  }
  if (isGrid) markWeak(links);
  const bends = isGrid ? new Map() : bendsOf(graph, links, boxes);
  for (const [, y] of [...bends.values()].flat()) height = Math.max(height, y + 20);
  const flows = links.map((link) => {
    const [from, to] = link.ends;
    return { ...link, curve: curveOf([right(boxes.get(from)), ...passing(bends, from, to), left(boxes.get(to))]) };
  });
  countHidden(lineage, asked, boxes);
  const routes = jobsOnly ? [] : routesOf(lineage, asked, boxes, bends);
  return { boxes, bends, routes, flows, width, height, hidden: all - ids.length };
}

/** Mark the links that are not among the strongest at their ends. @param {Link[]} links */
function markWeak(links) {
  /** @type {Map<string, number>} */
  const drawn = new Map();
  for (const link of [...links].sort((a, b) => b.count - a.count)) {
    const often = link.ends.map((id) => drawn.get(id) || 0);
    link.isWeak = Math.min(...often) >= STRONGEST;
    if (!link.isWeak) link.ends.forEach((id, place) => drawn.set(id, often[place] + 1));
  }
}

/**
 * Place boxes in a grid: those with few inputs on the left, those with many on the right.
 * @param {Lineage} lineage
 * @param {any} graph
 * @param {Map<string, Box>} boxes
 */
function layInGrid(lineage, graph, boxes) {
  const far = (/** @type {string} */ id) => graph.inEdges(id).length - graph.outEdges(id).length;
  const every = [...boxes.values()].sort((a, b) => far(a.id) - far(b.id) || lineage.label(a.id).localeCompare(lineage.label(b.id), "en", { numeric: true }));
  const w = Math.max(...every.map((box) => box.w));
  const h = Math.max(...every.map((box) => box.h));
  const rows = Math.max(1, Math.ceil(Math.sqrt((every.length * (w + 60)) / (h + 26) / 1.6)));
  every.forEach((box, place) => {
    box.w = w;
    Object.assign(graph.node(box.id), { x: 20 + w / 2 + Math.floor(place / rows) * (w + 60), y: 20 + h / 2 + (place % rows) * (h + 26) });
  });
}

/**
 * Count the neighbours of tables that are not shown.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {Map<string, Box>} boxes
 */
function countHidden(lineage, asked, boxes) {
  if (isGrouped(asked) || asked.level === "jobs") return;
  for (const box of boxes.values()) {
    if (!lineage.datasets.has(box.id)) continue;
    for (const down of [false, true]) {
      const beyond = [...lineage.around(box.id, down, 1).keys()].filter((id) => lineage.datasets.has(id) && !boxes.has(id));
      box[down ? "down" : "up"] = beyond.length;
    }
  }
}

/**
 * Return a picture with other columns in its long boxes: each box keeps its place and its size.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {Picture} picture
 * @param {Set<string>} wanted
 * @returns {Picture}
 */
function refilled(lineage, asked, picture, wanted) {
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  for (const [id, box] of picture.boxes) {
    const columns = (lineage.datasets.get(id) || lineage.parts.get(id))?.columns || [];
    boxes.set(id, { ...box, rows: rowsOf(columns, wanted, box.rows.length, box.rows) });
  }
  return { ...picture, boxes, routes: asked.level === "jobs" ? [] : routesOf(lineage, asked, boxes, picture.bends) };
}

/**
 * Return the columns on the paths of the focused column; null if the focus is not a column.
 * @param {Lineage} lineage
 * @param {Asked} asked
 */
function wayOf(lineage, asked) {
  const path = lineage.path(asked.from, asked.to, asked.indirect);
  if (path) return new Set([...path].flatMap((edge) => [edge.from, edge.to]));
  // If tables are shown without their columns, the columns on the paths of the highlighted one are shown.
  const start = asked.level === "tables" ? asked.lit : asked.focus;
  if (!lineage.columns.has(start) || (asked.from && asked.to)) return null;
  const found = new Set(lineage.family(start));
  for (const down of [false, true]) {
    if (asked.direction === (down ? "up" : "down")) continue;
    for (const edge of lineage.way(start, down, asked.indirect)) found.add(edge.from).add(edge.to);
  }
  return found;
}

/**
 * Return some columns of a dataset, in their order.
 * @param {Column[]} columns
 * @param {Set<string>} wanted Those that come first.
 * @param {number} most
 * @param {Column[]} [then] Those that come next.
 */
function rowsOf(columns, wanted, most, then = []) {
  if (columns.length <= most) return columns;
  const few = new Set(columns.filter((each) => wanted.has(each.id)).slice(0, most));
  for (const each of [...then, ...columns]) if (few.size < most) few.add(each);
  return columns.filter((each) => few.has(each));
}

/**
 * Return the size of a box, and the columns that it shows.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {string} id
 * @param {Set<string>} wanted
 * @param {Set<string> | null} way The only columns to show, unless the box is opened.
 * @returns {Box}
 */
function sized(lineage, asked, id, wanted, way) {
  const group = lineage.groups.get(id);
  const bare = { id, x: 0, y: 0, rows: [], more: 0, fewer: false, size: 0, up: 0, down: 0 };
  if (group) {
    const room = widthOf(shownEnd(group.name, LONGEST_NAME), BOLD) + 40;
    return { ...bare, isJob: false, w: between(room, WIDTHS.box), h: GROUP, size: group.size };
  }
  const part = lineage.parts.get(id);
  const dataset = part?.columns.length ? part : lineage.datasets.get(id);
  if (!dataset) {
    const room = widthOf(lineage.headOf(id), FONT) + (lineage.jobs.get(id)?.diagnostics.length ? 50 : 36);
    return { ...bare, isJob: true, w: between(room, WIDTHS.job), h: HEAD };
  }
  const { columns } = dataset;
  const isBare = asked.level === "tables";
  const folded = asked.level === "jobs" || (isBare ? !asked.folded.has(id) && !way : asked.folded.has(id));
  const few = way && !part ? Math.min(FEW_ROWS, columns.filter((each) => way.has(each.id)).length) : FEW_ROWS;
  const opened = asked.opened.has(id);
  const rows = folded ? [] : rowsOf(columns, (part ? null : way) || wanted, opened ? Infinity : few);
  const more = folded || (isBare && !rows.length) ? 0 : columns.length - rows.length;
  const fewer = !folded && opened && columns.length > few;
  const inner = (rows.length + (more || fewer ? 1 : 0)) * ROW;
  let room = widthOf(lineage.headOf(id), BOLD) + 34;
  for (const row of rows) room = Math.max(room, widthOf(shown(row.name, LONGEST_NAME), BOLD) + widthOf(lineage.typeOf(row), SMALL) + 36);
  return { ...bare, isJob: false, w: between(room, WIDTHS.box), h: HEAD + inner + (inner ? 4 : 0), rows, more, fewer };
}

/** @param {number} value @param {number[]} limits */
function between(value, [least, most]) {
  return Math.ceil(Math.min(most, Math.max(least, value)) / 10) * 10;
}

/**
 * Make tables that are above each other as wide as the widest of them.
 * @param {any} graph
 * @param {Map<string, Box>} boxes
 */
function widen(graph, boxes) {
  /** @type {Map<number, number>} */
  const widest = new Map();
  const tables = [...boxes.values()].filter((box) => !box.isJob);
  const place = (/** @type {Box} */ box) => Math.round(graph.node(box.id).x);
  for (const box of tables) widest.set(place(box), Math.max(box.w, widest.get(place(box)) || 0));
  for (const box of tables) box.w = widest.get(place(box)) || box.w;
}

/**
 * Return where links pass the boxes between their ends: beside them, where the library has left room. A link that leads
 * back passes below both of its ends.
 * @param {any} graph
 * @param {Link[]} links
 * @param {Map<string, Box>} boxes
 * @returns {Bends}
 */
function bendsOf(graph, links, boxes) {
  /** @type {Map<number, number>} */
  const ranks = new Map();
  for (const box of boxes.values()) {
    const middle = Math.round(graph.node(box.id).x);
    ranks.set(middle, Math.max(box.w, ranks.get(middle) || 0));
  }
  /** @type {Bends} */
  const found = new Map();
  for (const { ends } of links) {
    const [from, to] = ends.map((end) => boxes.get(end));
    if (from && to && from.x >= to.x) {
      found.set(ends.join("\n"), below(from, to));
      continue;
    }
    /** @type {{x: number, y: number}[]} */
    const points = graph.edge(ends[0], ends[1]).points.slice(1, -1);
    const bends = points.flatMap(({ x, y }) => {
      const half = (ranks.get(Math.round(x)) || 0) / 2;
      return half ? [[x - half, y], [x + half, y]] : [];
    });
    if (bends.length) found.set(ends.join("\n"), bends);
  }
  return found;
}

/**
 * Return the points through which a line from a box leads back to one on its left, or to itself: below both.
 * @param {Box} from
 * @param {Box} to
 */
function below(from, to) {
  const y = Math.max(from.y + from.h, to.y + to.h) + 8;
  return [[right(from)[0], y], [left(to)[0], y]];
}

/**
 * @param {Bends} bends
 * @param {string} from
 * @param {string} to
 * @param {number} [shift] The distance from the middle of the link, so that the lines of a link are side by side.
 */
function passing(bends, from, to, shift = 0) {
  return (bends.get(`${from}\n${to}`) || []).map(([x, y]) => [x, y + shift]);
}

/**
 * Return the links between boxes: from a table to its job and from a job to its table; if a job is not shown, from what
 * it reads to what it writes. The links of a group are one link with their number.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {Set<string>} kept
 */
function flowLinks(lineage, asked, kept) {
  /** @type {Map<string, Link>} */
  const found = new Map();
  const open = isGrouped(asked) ? asked.open : null;
  /** @type {Map<string, string>} */
  const known = new Map();
  const shownAs = (/** @type {string} */ id) => {
    let box = known.get(id);
    if (box === undefined) known.set(id, (box = lineage.shownAs(id, open)));
    return box;
  };
  const add = (/** @type {string} */ from, /** @type {string} */ to, /** @type {Change} */ change, /** @type {boolean} */ told) => {
    if (!kept.has(from) || !kept.has(to) || (from === to && lineage.groups.has(from))) return;
    const key = `${from}\n${to}`;
    const link = found.get(key);
    if (link) {
      link.count++;
      if (link.change !== change) link.change = link.change || change ? "changed" : "";
    } else found.set(key, { key, ends: [from, to], change, told, count: 1 });
  };
  for (const [key, change] of lineage.flows) {
    const ends = key.split("\n");
    const [from, to] = ends.map((id) => (lineage.jobs.has(id) ? id : shownAs(id)));
    const isDirect = ends.every((end) => lineage.datasets.has(end));
    if (isDirect || kept.has(lineage.jobs.has(from) ? from : to)) add(from, to, change, isDirect);
  }
  for (const job of lineage.jobs.values()) {
    if (kept.has(job.id)) continue;
    for (const read of job.reads) {
      for (const written of job.writes) {
        const change = lineage.flows.get(`${read}\n${job.id}`) || lineage.flows.get(`${job.id}\n${written}`) || "";
        add(shownAs(read), shownAs(written), change, true);
      }
    }
  }
  return [...found.values()];
}

/**
 * Return the links through CTEs, views and subqueries: from a dataset through them to its job, or to the output.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {Set<string>} kept
 */
function partLinks(lineage, asked, kept) {
  /** @type {Map<string, Link>} */
  const found = new Map();
  for (const edge of lineage.edges) {
    const [from, to] = [lineage.datasetOf(edge.from), edge.job || lineage.datasetOf(edge.to)];
    const parts = lineage.partsOf(edge);
    if (!parts.length || !kept.has(from) || !kept.has(to) || !lineage.counts(edge, asked.indirect)) continue;
    [from, ...parts].forEach((id, place, all) => {
      const ends = [id, all[place + 1] || to];
      const key = ends.join("\n");
      found.set(key, { key, ends, change: "", told: true, count: 1 });
    });
  }
  return [...found.values()];
}

/**
 * Return which job feeds which, through any dataset.
 * @param {Lineage} lineage
 * @param {Set<string>} kept
 */
function jobLinks(lineage, kept) {
  /** @type {Map<string, Link>} */
  const found = new Map();
  for (const id of kept) {
    for (const dataset of lineage.jobs.get(id)?.writes || []) {
      for (const reader of lineage.datasets.get(dataset)?.readers || []) {
        const key = `${id}\n${reader}`;
        if (reader !== id && kept.has(reader)) found.set(key, { key, ends: [id, reader], change: "", count: 1 });
      }
    }
  }
  return [...found.values()];
}

/**
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {Map<string, Box>} boxes
 * @param {Bends} bends
 * @returns {Route[]}
 */
function routesOf(lineage, asked, boxes, bends) {
  /** @type {Map<string, number[]>} */
  const places = new Map();
  for (const box of boxes.values()) {
    const dataset = lineage.datasets.get(box.id) || lineage.parts.get(box.id);
    if (!dataset) continue;
    const inner = box.y + HEAD + box.rows.length * ROW + (box.more ? ROW / 2 : 0);
    const end = box.x + box.w;
    // A fourth number marks a column that no row shows.
    for (const column of dataset.columns) places.set(column.id, [box.x, box.rows.length || box.more ? inner : box.y + HEAD / 2, end, ...(asked.level === "tables" ? [0] : [])]);
    box.rows.forEach((column, place) => places.set(column.id, [box.x, box.y + HEAD + (place + 0.5) * ROW, end]));
    places.set(box.id, [box.x, box.y + HEAD / 2, end]);
  }
  const shownIn = (/** @type {number[]} */ place) => place.length === 3;
  const routes = [];
  for (const edge of lineage.path(asked.from, asked.to, asked.indirect) || lineage.edges) {
    if (!lineage.counts(edge, asked.indirect)) continue;
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    if (!from || !to) continue;
    const job = boxes.get(edge.job || "");
    // If tables are shown without their columns, a line between the tables shows the edge.
    if ((edge.job && !job && asked.jobs) || !(shownIn(from) || shownIn(to))) continue;
    const parts = asked.parts ? lineage.partsOf(edge).flatMap((id) => boxes.get(id) || []) : [];
    const start = lineage.datasetOf(edge.from);
    const middle = boxes.get(start);
    const shift = middle ? ((from[1] - middle.y) / middle.h - 0.5) * 10 : 0;
    for (const heights of heightsIn(lineage, edge, parts, places)) {
      let last = start;
      const points = [[from[2], from[1]]];
      for (const box of [...parts, ...(job ? [job] : [])]) {
        const y = heights.get(box.id);
        const through = y === undefined ? [left(box), right(box)] : [[box.x, y], [box.x + box.w, y]];
        points.push(...passing(bends, last, box.id, shift), ...through);
        last = box.id;
      }
      const target = lineage.datasetOf(edge.to);
      const around = middle && last === target ? below(middle, middle) : passing(bends, last, target, shift);
      points.push(...around, to);
      routes.push({ edge, curve: curveOf(points) });
    }
  }
  return routes;
}

/**
 * Return the heights at which the lines of an edge pass CTEs, views and subqueries: those of the columns through which
 * it passes. If it passes several columns of one of them, there is a line for each.
 * @param {Lineage} lineage
 * @param {Edge} edge
 * @param {Box[]} parts
 * @param {Map<string, number[]>} places
 * @returns {Map<string, number>[]}
 */
function heightsIn(lineage, edge, parts, places) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  if (parts.length) {
    for (const id of lineage.passagesOf(edge)) push(found, lineage.boxOf(id), places.get(id)?.[1] ?? 0);
  }
  const lines = Math.min(MOST_LINES, Math.max(1, ...[...found.values()].map((each) => each.length)));
  return Array.from({ length: lines }, (_, line) => new Map([...found].map(([id, each]) => [id, each[line % each.length]])));
}

/** @param {Box | undefined} box @returns {number[]} */
function left(box) {
  return box ? [box.x, box.y + HEAD / 2] : [0, 0];
}

/** @param {Box | undefined} box @returns {number[]} */
function right(box) {
  return box ? [box.x + box.w, box.y + HEAD / 2] : [0, 0];
}

/**
 * Return a smooth curve through points: curved between boxes, straight past the boxes on the way. A curve that leads
 * back turns at the side of a box.
 * @param {number[][]} points
 * @returns {Curve}
 */
function curveOf(points) {
  let d = `M${points[0][0]},${points[0][1]}`;
  for (let place = 1; place < points.length; place++) {
    const [x1, y1] = points[place - 1];
    const [x2, y2] = points[place];
    if (points.length > 2 && place % 2 === 0) {
      d += `L${x2},${y2}`;
      continue;
    }
    if (x1 === x2) {
      const turn = place + 1 < points.length && points[place + 1][0] < x2 ? TURN : -TURN;
      d += `C${x1 + turn},${y1} ${x2 + turn},${y2} ${x2},${y2}`;
      continue;
    }
    const bend = x2 > x1 ? Math.max((x2 - x1) / 2, 20) : 60;
    d += `C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
  }
  const xs = points.map((point) => point[0]);
  const ys = points.map((point) => point[1]);
  const [before, after] = [points[(points.length >> 1) - 1], points[points.length >> 1]];
  const middle = [(before[0] + after[0]) / 2, (before[1] + after[1]) / 2];
  return { d, middle, left: Math.min(...xs) - 60, right: Math.max(...xs) + 60, top: Math.min(...ys), bottom: Math.max(...ys) };
}
