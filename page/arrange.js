/**
 * Which boxes are shown, and where they stand.
 *
 * @typedef {{focus: string, level: string, direction: string, depth: number, indirect: boolean, uncertain: boolean,
 *   parts: boolean, from: string, to: string, folded: Set<string>, opened: Set<string>}} Asked
 * @typedef {{id: string, isJob: boolean, x: number, y: number, w: number, h: number, rows: Column[], more: number}} Box
 * @typedef {{d: string, top: number, bottom: number, left: number, right: number}} Curve
 * @typedef {{edge: Edge, curve: Curve}} Route
 * @typedef {{key: string, ends: string[], change: Change, told?: boolean}} Link `told`: edges between columns say it too.
 * @typedef {Link & {curve: Curve}} Flow
 * @typedef {{boxes: Map<string, Box>, routes: Route[], flows: Flow[], width: number, height: number, hidden: number}} Picture
 */

const MOST_BOXES = 100;
const MOST_ROUTES = 4000;
const FEW_ROWS = 12;
const BOX_WIDTH = 220;
const JOB_WIDTH = 180;
const HEAD = 26;
const ROW = 18;

/**
 * Return the boxes to show, the closest to what is asked for first, and how many there would be.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @returns {{ids: string[], all: number}}
 */
function chosen(lineage, asked) {
  let ids;
  if (asked.from && asked.to) ids = onPath(lineage, asked);
  else if (asked.focus) ids = nearby(lineage, asked);
  else ids = lineage.connected();
  const all = ids.length;
  if (all > MOST_BOXES && !asked.focus && !(asked.from && asked.to)) {
    const busy = { ...asked, focus: lineage.busiest(), depth: 2, direction: "both" };
    ids = nearby(lineage, busy);
  }
  return { ids: ids.slice(0, MOST_BOXES), all };
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
 * Return the boxes at which edges end, and those of their jobs.
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
  if (lineage.columns.has(asked.from)) {
    const edges = lineage.between(asked.from, asked.to, asked.indirect);
    if (edges.length) return [...boxesOf(lineage, edges)];
  }
  const [from, to] = [asked.from, asked.to].map((id) => (lineage.jobs.has(id) ? id : lineage.datasetOf(id)));
  const down = lineage.around(from, true, Infinity);
  const up = lineage.around(to, false, Infinity);
  return [...down.keys()].filter((id) => up.has(id));
}

/**
 * Place the boxes.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {Set<string>} wanted The columns that stand first in long boxes.
 * @returns {Picture}
 */
function arrange(lineage, asked, wanted) {
  const { ids, all } = chosen(lineage, asked);
  const jobsOnly = asked.level === "jobs";
  const kept = new Set(jobsOnly ? ids.filter((id) => lineage.jobs.has(id)) : ids);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 22, ranksep: 70, edgesep: 8, marginx: 20, marginy: 20, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  for (const id of kept) {
    const box = sized(lineage, asked, id, wanted);
    boxes.set(id, box);
    graph.setNode(id, { width: box.w, height: box.h });
  }
  /** @type {Link[]} */
  const links = jobsOnly ? jobLinks(lineage, kept) : flowLinks(lineage, kept);
  if (asked.parts && !jobsOnly) {
    for (const link of partLinks(lineage, asked, kept)) {
      links.push(link);
      for (const id of link.ends) {
        if (!lineage.parts.has(id) || boxes.has(id)) continue;
        const box = sized(lineage, asked, id, wanted);
        boxes.set(id, box);
        graph.setNode(id, { width: box.w, height: box.h });
      }
    }
  }
  for (const { ends } of links) if (ends[0] !== ends[1]) graph.setEdge(ends[0], ends[1]);
  dagre.layout(graph);
  let [width, height] = [0, 0];
  for (const box of boxes.values()) {
    const node = graph.node(box.id);
    box.x = node.x - box.w / 2;
    box.y = node.y - box.h / 2;
    width = Math.max(width, box.x + box.w + 20);
    height = Math.max(height, box.y + box.h + 20);
  }
  const flows = links.map((link) => ({ ...link, curve: curveOf([right(boxes.get(link.ends[0])), left(boxes.get(link.ends[1]))]) }));
  const routes = asked.level === "columns" ? routesOf(lineage, asked, boxes) : [];
  return { boxes, routes, flows, width, height, hidden: all - ids.length };
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
  for (const [id, box] of picture.boxes) boxes.set(id, { ...box, rows: sized(lineage, asked, id, wanted).rows });
  return { ...picture, boxes, routes: asked.level === "columns" ? routesOf(lineage, asked, boxes) : [] };
}

/**
 * Return the size of a box, and the columns that it shows.
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {string} id
 * @param {Set<string>} wanted
 * @returns {Box}
 */
function sized(lineage, asked, id, wanted) {
  const dataset = lineage.datasets.get(id);
  if (!dataset) return { id, isJob: true, x: 0, y: 0, w: JOB_WIDTH, h: HEAD, rows: [], more: 0 };
  let rows = dataset.columns;
  if (asked.level !== "columns" || asked.folded.has(id)) rows = [];
  else if (rows.length > FEW_ROWS && !asked.opened.has(id)) {
    const first = rows.filter((each) => wanted.has(each.id)).slice(0, FEW_ROWS);
    const few = new Set([...first, ...rows.filter((each) => !wanted.has(each.id))].slice(0, FEW_ROWS));
    rows = rows.filter((each) => few.has(each));
  }
  const folded = asked.level !== "columns" || asked.folded.has(id);
  const more = folded ? 0 : dataset.columns.length - rows.length;
  const extra = folded ? 0 : rows.length * ROW + (more || asked.opened.has(id) ? ROW : 0) + 4;
  return { id, isJob: false, x: 0, y: 0, w: BOX_WIDTH, h: HEAD + extra, rows, more };
}

/**
 * @param {Lineage} lineage
 * @param {Set<string>} kept
 */
function flowLinks(lineage, kept) {
  /** @type {Link[]} */
  const found = [];
  for (const [key, change] of lineage.flows) {
    const ends = key.split("\n");
    const told = ends.every((end) => lineage.datasets.has(end));
    if (kept.has(ends[0]) && kept.has(ends[1])) found.push({ key, ends, change, told });
  }
  return found;
}

/**
 * Return the links through CTEs, views and subqueries: from a dataset through them to its job, or to what is made.
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
      found.set(key, { key, ends, change: "", told: true });
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
        if (reader !== id && kept.has(reader)) found.set(key, { key, ends: [id, reader], change: "" });
      }
    }
  }
  return [...found.values()];
}

/**
 * @param {Lineage} lineage
 * @param {Asked} asked
 * @param {Map<string, Box>} boxes
 * @returns {Route[]}
 */
function routesOf(lineage, asked, boxes) {
  /** @type {Map<string, number[]>} */
  const places = new Map();
  for (const box of boxes.values()) {
    const dataset = lineage.datasets.get(box.id);
    if (!dataset) continue;
    const inner = box.y + HEAD + box.rows.length * ROW + (box.more ? ROW / 2 : 0);
    for (const column of dataset.columns) places.set(column.id, [box.x, box.rows.length ? inner : box.y + HEAD / 2]);
    box.rows.forEach((column, place) => places.set(column.id, [box.x, box.y + HEAD + (place + 0.5) * ROW]));
    places.set(box.id, [box.x, box.y + HEAD / 2]);
  }
  const routes = [];
  for (const edge of lineage.edges) {
    if (!lineage.counts(edge, asked.indirect)) continue;
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    if (!from || !to) continue;
    const job = boxes.get(edge.job || "");
    if (edge.job && !job) continue;
    const parts = asked.parts ? lineage.partsOf(edge).map((id) => boxes.get(id)) : [];
    const through = [...parts, ...(job ? [job] : [])].flatMap((box) => (box ? [left(box), right(box)] : []));
    routes.push({ edge, curve: curveOf([[from[0] + BOX_WIDTH, from[1]], ...through, to]) });
  }
  return routes;
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
 * Return a smooth curve through points: curved between boxes, straight through those on the way.
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
    const bend = x2 > x1 ? Math.max((x2 - x1) / 2, 20) : 60;
    d += `C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
  }
  const xs = points.map((point) => point[0]);
  const ys = points.map((point) => point[1]);
  return { d, left: Math.min(...xs) - 60, right: Math.max(...xs) + 60, top: Math.min(...ys), bottom: Math.max(...ys) };
}
