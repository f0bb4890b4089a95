/**
 * The graph, indexed for the requests of the page. Nothing here draws.
 *
 * @typedef {"added" | "removed" | "changed" | ""} Change
 * @typedef {{id: string, label: string, namespace: string, name: string, otherNames: string[], format: string,
 *   rows?: number, owners?: string[][], columns: Column[], change: Change, writers: Set<string>, readers: Set<string>, sources: Set<string>,
 *   targets: Set<string>}} Dataset
 * @typedef {{id: string, name: string, dataset: string, dataType: string, change: Change}} Column
 * @typedef {{id: string, job: string, runId: string, state: string, started: string, ended: string, error: string,
 *   callSite: string}} Run
 * @typedef {{id: string, namespace: string, name: string, processing: string, kind: string, sql: string, runs: Run[],
 *   runId: string, reads: Set<string>, writes: Set<string>, diagnostics: Diagnostic[], change: Change, owners?: string[][]}} Job
 *   A job; with a `runId`, one run of it, at which edges end: then this is drawn, with the job's name.
 * @typedef {{code: string, message: string, operator?: string, node?: string, run?: string}} Diagnostic
 * @typedef {{id: string, index: number, name: string, role: string, label: string, job: string, columns: Column[]}} Part
 *   A CTE, a view or a subquery of a statement.
 * @typedef {{operator?: string, expression?: string, relation?: string, column?: string, certainty?: string, callSite?: string}} Step
 * @typedef {{type: string, subtype: string, masking: boolean, certainty: string, expression?: string, steps?: Step[]}} Path
 * @typedef {{source: string, target: string, job?: string, run?: string, certainty: string, paths?: Path[]}} EdgeJson
 * @typedef {Path & {from: string, to: string, job: string, change?: Change, was?: string, wasSure?: string}} Edge
 *   One path of an edge of the JSON. Between a dataset and a job, its type is READ or WRITE.
 * @typedef {{id: string, name: string, parent: string, groups: string[], datasets: string[], size: number,
 *   isPart?: boolean}} Group
 *   A catalog, a schema, a folder or a part of one: `size` is how many datasets it has, including those of the groups in
 *   it. `isPart`: the tables are in the catalog, the schema or the folder of the group above.
 * @typedef {{nodes: any[], edges: EdgeJson[], time?: string}} GraphJson
 * @typedef {{result: GraphJson, diagnostics: Diagnostic[]}} AnswerJson
 * @typedef {{nodes: any[], edges: Edge[], diagnostics: Diagnostic[], time?: string}} FlatGraph
 */

/** The certainties of paths, the best first. */
const CERTAINTIES = ["exact", "opaque", "guessed", "unstated", "text"];
/** @type {Record<string, string>} */
const REASONS = {
  opaque: "It passes code that can't be read",
  guessed: "It passes an operator that is not understood",
  text: "It was taken from the text of the statement, which was not analyzed",
};
/** @type {Record<string, string>} */
const REASONS_WITHOUT_STEPS = {
  exact: "It was read from the plan.",
  guessed: "The run states it, but a part of its plan was not understood.",
  unstated: "The run states it, but not how the value is computed.",
};
/** A group with more tables is divided; a group that has most of all tables, if it has more than `MANY_ALONE`. */
const MOST_TABLES = 100;
const MANY_ALONE = 30;
const MAJORITY = 0.8;
/** The maximum number of classes or layers of a divided group; and of tables without a class that stay beside them. */
const MOST_CLASSES = 40;
const MOST_LAYERS = 6;
const FEW_TABLES = 12;
/** How many of the first words of names are tried as classes. */
const WORDS = [1, 2, 3];
const FAILED = new Set(["FAIL", "ABORT"]);
/** The maximum number of parts of a job's name that its box shows. */
const MOST_PARTS = 4;
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/**
 * Return a foreign text in a form that can be shown: cut, and without characters that are invisible or change the
 * direction of writing.
 * @param {string} text
 * @param {number} most
 */
function shown(text, most) {
  const start = text.length > most * 2 ? text.slice(0, most * 2) : text;
  const characters = Array.from(start.replace(UNSEEN, "\ufffd"));
  return characters.length > most || start.length < text.length ? characters.slice(0, most - 1).join("") + "…" : characters.join("");
}

/**
 * Return the end of a foreign text in a form that can be shown.
 * @param {string} text
 * @param {number} most
 */
function shownEnd(text, most) {
  const characters = Array.from(text.slice(-most * 2).replace(UNSEEN, "\ufffd"));
  return characters.length > most || text.length > most * 2 ? `…${characters.slice(1 - most).join("")}` : characters.join("");
}

/**
 * Return a longer text, which may have line breaks, in a form that can be shown.
 * @param {string} text
 * @param {number} most
 */
function shownLines(text, most) {
  return text.slice(0, most).replaceAll("\t", "    ").split(/\r?\n/).map((line) => shown(line, most)).join("\n") + (text.length > most ? "…" : "");
}

/**
 * Return how a run ended: `good`, `bad`, or `open` if no event states an end.
 * @param {Run} run
 */
function outcome(run) {
  return run.state === "COMPLETE" ? "good" : FAILED.has(run.state) ? "bad" : "open";
}

/** @param {Edge} edge */
function isInfluence(edge) {
  return edge.type === "INDIRECT";
}

/** The influences that decide which value a column gets: they count for the column, as an expression does. */
const OF_VALUES = new Set(["CONDITIONAL", "WINDOW"]);

/** Return whether an edge influences only rows, so that no value arrives by it. @param {Edge} edge */
function decidesRows(edge) {
  return isInfluence(edge) && !OF_VALUES.has(edge.subtype);
}

/** @param {Edge} edge */
function isDoubtful(edge) {
  return edge.certainty !== "exact";
}

/** @param {Edge} edge */
function isFlow(edge) {
  return edge.type === "READ" || edge.type === "WRITE";
}

/**
 * Return the reason for the certainty of an edge.
 * @param {Edge} edge
 */
function reasonOf({ certainty, steps = [] }) {
  const operators = [...new Set(steps.filter((step) => (step.certainty || "exact") === certainty).map((step) => step.operator).filter(Boolean))];
  const reason = REASONS[certainty];
  if (reason && (operators.length || !REASONS_WITHOUT_STEPS[certainty])) return operators.length ? `${reason}: ${operators.join(", ")}.` : `${reason}.`;
  return REASONS_WITHOUT_STEPS[certainty] || "";
}

/**
 * Return the graph of an answer with an edge for each path.
 * @param {AnswerJson} answer
 * @returns {FlatGraph}
 */
function flattened({ result: graph, diagnostics }) {
  const processes = new Set(graph.edges.flatMap((edge) => [edge.source, edge.target]).filter(isProcess));
  const edges = graph.edges.flatMap((edge) => {
    const ends = { from: edge.source, to: edge.target, job: (processes.has(edge.run || "") ? edge.run : edge.job) || "" };
    const type = isProcess(edge.target) ? "READ" : isProcess(edge.source) ? "WRITE" : "";
    const paths = edge.paths || [{ type, subtype: "", masking: false, certainty: edge.certainty }];
    return paths.map((path) => ({ ...path, ...ends }));
  });
  const ofRuns = new Set(graph.nodes.filter((node) => node.type === "run" && processes.has(node.id)).map((run) => run.job));
  const nodes = graph.nodes.map((node) => {
    if (node.type === "run") return { ...node, isDrawn: processes.has(node.id) };
    return node.type === "job" ? { ...node, isDrawn: processes.has(node.id) || !ofRuns.has(node.id) } : node;
  });
  return { ...graph, nodes, edges, diagnostics };
}

/** Return whether a node is a job or a run. @param {string} id */
function isProcess(id) {
  return id.startsWith("job|") || id.startsWith("run|");
}

/** @param {Edge} edge */
function edgeKey(edge) {
  return [edge.from, edge.to, edge.job, edge.type, edge.subtype, edge.masking].join("\n");
}

/** What an edge states besides its key. @param {Edge} edge */
function statedBy(edge) {
  return [edge.expression || "", edge.certainty].join("\n");
}

/**
 * Return two graphs as one, in which each node and edge states whether it was added, removed or changed.
 * @param {FlatGraph} before
 * @param {FlatGraph} now
 * @returns {FlatGraph}
 */
function united(before, now) {
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const young = new Set(now.nodes.map((node) => node.id));
  /** @type {any[]} */
  const nodes = now.nodes.map((node) => {
    const was = old.get(node.id);
    const changed = was && ((was.dataType || "") !== (node.dataType || "") || (was.sql || "") !== (node.sql || ""));
    return { ...node, change: was ? (changed ? "changed" : "") : "added", was: changed ? was.dataType : undefined };
  });
  for (const node of before.nodes) if (!young.has(node.id)) nodes.push({ ...node, change: "removed" });
  return { ...now, nodes, edges: unitedEdges(before.edges, now.edges) };
}

/**
 * Return the edges of two graphs: an edge that is in both with the same text and certainty is unchanged; of the others
 * with the same key, each old one has changed into a new one.
 * @param {Edge[]} before
 * @param {Edge[]} now
 * @returns {Edge[]}
 */
function unitedEdges(before, now) {
  /** @type {Map<string, Edge[]>} */
  const old = new Map();
  const same = new Set(now.map((edge) => `${edgeKey(edge)}\n${statedBy(edge)}`));
  const kept = new Set(before.map((edge) => `${edgeKey(edge)}\n${statedBy(edge)}`));
  for (const edge of before) if (!same.has(`${edgeKey(edge)}\n${statedBy(edge)}`)) push(old, edgeKey(edge), edge);
  const edges = now.map((edge) => {
    if (kept.has(`${edgeKey(edge)}\n${statedBy(edge)}`)) return edge;
    const was = old.get(edgeKey(edge))?.shift();
    /** @type {Change} */
    const change = was ? "changed" : "added";
    const changed = was && (was.expression || "") !== (edge.expression || "");
    const surer = was && was.certainty !== edge.certainty;
    return { ...edge, change, was: changed ? was.expression || "" : undefined, wasSure: surer ? was.certainty : undefined };
  });
  /** @type {Edge[]} */
  const gone = [...old.values()].flat().map((edge) => ({ ...edge, change: "removed" }));
  return [...edges, ...gone];
}

class Lineage {
  /** @param {FlatGraph} graph */
  constructor(graph) {
    /** @type {Map<string, Dataset>} */
    this.datasets = new Map();
    /** @type {Map<string, Column>} */
    this.columns = new Map();
    /** @type {Map<string, Job>} */
    this.jobs = new Map();
    /** @type {Map<string, Run>} */
    this.runs = new Map();
    /** @type {Map<string, Part>} */
    this.parts = new Map();
    /** @type {Map<string, string>} */
    this.partIds = new Map();
    /** @type {Map<string, Column>} */
    this.partColumns = new Map();
    /** @type {Map<string, Edge[]>} */
    this.throughs = new Map();
    /** Whether uncertain edges count. */
    this.uncertain = true;
    /** @type {Edge[]} */
    this.edges = [];
    /** @type {Map<string, Edge[]>} */
    this.into = new Map();
    /** @type {Map<string, Edge[]>} */
    this.outOf = new Map();
    /** @type {Map<string, Change>} */
    this.flows = new Map();
    this.diagnostics = graph.diagnostics;
    this.time = graph.time || "";
    const jobs = new Map(graph.nodes.filter((node) => node.type === "job").map((node) => [node.id, node]));
    for (const node of graph.nodes) this.addNode(node, jobs);
    for (const edge of graph.edges) this.addEdge(edge);
    for (const each of graph.diagnostics) (this.jobs.get(each.node || "") || this.jobs.get(each.run || ""))?.diagnostics.push(each);
    this.heads = headsOf(this.jobs.values());
    /** @type {Map<string, Group>} */
    this.groups = new Map();
    /** The innermost group of each dataset. @type {Map<string, string>} */
    this.groupOf = new Map();
    /** @type {Map<string, number>} */
    this.steps = new Map();
    this.makeGroups();
    /** @type {{asked: string, edges: Set<Edge> | null}} */
    this.lastPath = { asked: "", edges: null };
  }

  /**
   * @param {any} job
   * @param {Change} change
   * @param {string} runId
   * @param {Run[]} runs
   */
  addProcess(job, change, runId, runs) {
    const known = { namespace: "", name: "", processing: "", kind: "", sql: "", ...job, change, runId, runs };
    this.jobs.set(job.id, { ...known, reads: new Set(), writes: new Set(), diagnostics: [] });
  }

  /** @param {any} node @param {Map<string, any>} jobs */
  addNode(node, jobs) {
    const change = node.change || "";
    if (node.type === "dataset") {
      const known = { otherNames: [], format: "", ...node, change };
      const [writers, readers, sources, targets] = [0, 1, 2, 3].map(() => new Set());
      this.datasets.set(node.id, { ...known, columns: [], writers, readers, sources, targets });
    } else if (node.type === "column" || node.type === "version") {
      const name = node.type === "column" ? node.name : node.version ? `@${node.version}` : "before the first version";
      const column = { dataType: node.made || "", ...node, name, change };
      this.columns.set(node.id, column);
      this.datasets.get(node.dataset)?.columns.push(column);
    } else if (node.type === "job") {
      if (node.isDrawn) this.addProcess(node, change, "", []);
    } else if (node.type === "run") {
      const run = { state: "", started: "", ended: "", error: "", callSite: "", ...node };
      this.runs.set(node.id, run);
      if (run.isDrawn) this.addProcess({ ...jobs.get(node.job), id: node.id }, change, node.runId, [run]);
      this.jobs.get(node.job)?.runs.push(run);
    } else if (node.type === "operator" && node.role) {
      const part = { label: "", job: "", ...node };
      part.columns = (node.columns || []).map((/** @type {any} */ column) => ({ dataType: "", ...column, id: `${node.id}|${column.name}`, dataset: node.id, change: "" }));
      for (const column of part.columns) this.partColumns.set(column.id, column);
      this.parts.set(node.id, part);
      this.partIds.set(`${part.job}\n${part.name}#${part.index}`, node.id);
    }
  }

  /** @param {Edge} edge */
  addEdge(edge) {
    if (isFlow(edge)) {
      const reads = edge.type === "READ";
      this.addFlow(reads ? edge.to : edge.from, this.datasetOf(reads ? edge.from : edge.to), reads, edge.change || "");
      return;
    }
    if (!this.datasetOf(edge.from) || !this.datasetOf(edge.to)) return;
    this.edges.push(edge);
    push(this.into, edge.to, edge);
    push(this.outOf, edge.from, edge);
    for (const id of [...this.partsOf(edge), ...this.passagesOf(edge)]) push(this.throughs, id, edge);
    if (!edge.job) {
      this.addDirect(this.datasetOf(edge.from), this.datasetOf(edge.to), edge.change || "");
      return;
    }
    this.addFlow(edge.job, this.datasetOf(edge.from), true, edge.change || "", true);
    this.addFlow(edge.job, this.datasetOf(edge.to), false, edge.change || "", true);
  }

  /**
   * @param {string} jobId
   * @param {string} datasetId
   * @param {boolean} reads
   * @param {Change} change
   * @param {boolean} [implied]
   */
  addFlow(jobId, datasetId, reads, change, implied) {
    const job = this.jobs.get(jobId);
    const dataset = this.datasets.get(datasetId);
    if (!job || !dataset) return;
    (reads ? job.reads : job.writes).add(datasetId);
    (reads ? dataset.readers : dataset.writers).add(jobId);
    const key = reads ? `${datasetId}\n${jobId}` : `${jobId}\n${datasetId}`;
    if (!implied || !this.flows.has(key)) this.flows.set(key, change);
  }

  /**
   * Add that one dataset is made from another by a statement that is not a job.
   * @param {string} from
   * @param {string} to
   * @param {Change} change
   */
  addDirect(from, to, change) {
    if (from === to) return;
    this.datasets.get(from)?.targets.add(to);
    this.datasets.get(to)?.sources.add(from);
    const key = `${from}\n${to}`;
    if (!this.flows.has(key)) this.flows.set(key, change);
  }

  /**
   * Return the CTEs, views and subqueries through which an edge passes, from its source.
   * @param {Edge} edge
   */
  partsOf(edge) {
    if (!this.partIds.size) return [];
    const found = (edge.steps || []).map(({ operator }) => this.partIds.get(`${edge.job}\n${operator}`) || "");
    return [...new Set(found.filter(Boolean))];
  }

  /**
   * Return the columns of CTEs, views and subqueries through which an edge passes, from its source.
   * @param {Edge} edge
   */
  passagesOf(edge) {
    const found = (edge.steps || []).map(({ operator, column }) => (column ? `${this.partIds.get(`${edge.job}\n${operator}`)}|${column}` : ""));
    return found.filter((id) => this.partColumns.has(id));
  }

  /**
   * Return the box to which an id belongs: a dataset, a job, or a CTE, a view or a subquery.
   * @param {string} id
   */
  boxOf(id) {
    return this.datasetOf(id) || this.partColumns.get(id)?.dataset || id;
  }

  /** Return the type of a column, and whether every path into it masks its values. @param {Column} column */
  typeOf(column) {
    const into = (this.into.get(column.id) || []).filter((edge) => !isInfluence(edge));
    const masked = into.length && into.every((edge) => edge.masking) ? "masked" : "";
    return [shown(column.dataType, LONGEST_TYPE), masked].filter(Boolean).join(", ");
  }

  /**
   * Return the dataset to which an id belongs: itself, or that of a column; empty for others.
   * @param {string} id
   */
  datasetOf(id) {
    return this.datasets.has(id) ? id : this.columns.get(id)?.dataset || "";
  }

  /**
   * Return the name of a node as people know it.
   * @param {string} id
   */
  label(id) {
    const column = this.columns.get(id);
    if (column) return `${this.datasets.get(column.dataset)?.label}.${column.name}`;
    const passed = this.partColumns.get(id);
    if (passed) return `${this.label(passed.dataset)}.${passed.name}`;
    const part = this.parts.get(id);
    if (part) return part.label || `${part.name}#${part.index}`;
    const job = this.jobs.get(id);
    if (job?.runId) return `run ${job.runId} of ${job.name}`;
    return this.datasets.get(id)?.label ?? job?.name ?? this.groups.get(id)?.name ?? id;
  }

  /**
   * Describe a table, a column or a job, with its namespace.
   * @param {string} id
   */
  whole(id) {
    const job = this.jobs.get(id);
    const dataset = this.datasets.get(this.datasetOf(id));
    const [what, { namespace = "", name = "" }] = job ? [job.runId ? `run ${shown(job.runId, 80)} of job` : "job", job] : ["table", dataset || {}];
    const column = this.columns.get(id);
    return `${column ? `column ${shown(column.name, 120)} of the ` : ""}${what} ${shown(name, 200)} in ${shown(namespace, 120)}`;
  }

  /**
   * Return the text in the head of a box: the end of a table's or a job's name, which distinguishes it from the others.
   * @param {string} id
   */
  headOf(id) {
    const job = this.jobs.get(id);
    if (job?.runId) return shown(`run of ${this.heads.get(job.id) || job.name}`, LONGEST_NAME);
    // A statement in a file has no namespace, and is named after the file: `daily.sql:5`.
    if (job) return job.namespace ? shown(this.heads.get(id) || job.name, LONGEST_NAME) : shownEnd(job.name, LONGEST_NAME);
    const part = this.parts.get(id);
    return part ? shown(`${PARTS[part.role] || ""} ${this.label(id)}`, LONGEST_NAME) : shownEnd(this.label(id), LONGEST_NAME);
  }

  /**
   * Return the nodes that a text names: by the id, else by the whole name, else by the name or the path ignoring case,
   * else by the end of either. Tables come first, then jobs.
   * @param {string} text
   */
  find(text) {
    if (this.groups.has(text) && text) return [text];
    for (const each of [this.datasets, this.columns, this.jobs, this.parts, this.partColumns]) if (each.has(text)) return [text];
    const lower = text.toLowerCase();
    /** @type {string[][]} */
    const [whole, same, ends] = [[], [], []];
    for (const each of [this.datasets, this.jobs, this.columns]) {
      for (const id of each.keys()) {
        const name = this.label(id);
        const names = [name, this.datasets.get(id)?.name || ""].map((every) => every.toLowerCase());
        if (name === text) whole.push(id);
        else if (names.includes(lower)) same.push(id);
        else if (names.some((every) => every.endsWith(`.${lower}`) || every.endsWith(`/${lower}`))) ends.push(id);
      }
    }
    return [whole, same, ends].find((found) => found.length) || [];
  }

  /**
   * Return the edges on the path between two nodes, if one of them is a column; else null.
   * @param {string} from
   * @param {string} to
   * @param {boolean} indirect
   * @returns {Set<Edge> | null}
   */
  path(from, to, indirect) {
    const asked = JSON.stringify([from, to, indirect, this.uncertain]);
    if (this.lastPath.asked !== asked) {
      const isOfColumns = from && to && [from, to].some((id) => this.columns.has(id));
      const edges = isOfColumns ? this.between(from, to, indirect) : [];
      this.lastPath = { asked, edges: isOfColumns ? new Set(edges) : null };
    }
    return this.lastPath.edges;
  }

  /**
   * Return the columns that belong to a column: itself, the structs that contain it, and its own fields.
   * @param {string} id
   */
  family(id) {
    const column = this.columns.get(id);
    if (!column) return [id];
    const { name } = column;
    const mine = this.datasets.get(column.dataset)?.columns || [];
    return mine
      .filter((each) => each.name === name || name.startsWith(`${each.name}.`) || each.name.startsWith(`${name}.`))
      .map((each) => each.id);
  }

  /**
   * Return whether an edge is among the requested ones.
   * @param {Edge} edge
   * @param {boolean} indirect
   */
  counts(edge, indirect) {
    return (indirect || !decidesRows(edge)) && (this.uncertain || !isDoubtful(edge));
  }

  /**
   * Return the edges at a place, one step up or down. All rows of a dataset have all of its columns.
   * @param {string} id
   * @param {boolean} down
   * @param {boolean} indirect
   */
  step(id, down, indirect) {
    const index = down ? this.outOf : this.into;
    const dataset = this.datasets.get(id);
    const places = dataset ? [id, ...dataset.columns.map((each) => each.id)] : this.family(id);
    if (!down && !dataset) places.push(this.datasetOf(id));
    const found = places.flatMap((place) => index.get(place) || []);
    return found.filter((edge) => this.counts(edge, indirect));
  }

  /**
   * Return all edges up or down from a column, or at a dataset's columns, the closest first.
   * @param {string} start
   * @param {boolean} down
   * @param {boolean} indirect
   */
  way(start, down, indirect) {
    const seen = new Set([start]);
    /** @type {Set<Edge>} */
    const passed = new Set();
    let frontier = [start];
    while (frontier.length) {
      /** @type {string[]} */
      const following = [];
      for (const place of frontier) {
        for (const edge of this.step(place, down, indirect)) {
          passed.add(edge);
          const end = down ? edge.to : edge.from;
          if (!seen.has(end)) {
            seen.add(end);
            following.push(end);
          }
        }
      }
      frontier = following;
    }
    return [...passed];
  }

  /**
   * Return the edges on the paths from one column to another, or to any column of a dataset.
   * @param {string} from
   * @param {string} to
   * @param {boolean} indirect
   */
  between(from, to, indirect) {
    const down = new Set(this.way(from, true, indirect));
    return this.way(to, false, indirect).filter((edge) => down.has(edge));
  }

  /**
   * Return the datasets and jobs around one: id -> how many jobs are between. A job counts with the dataset beyond it.
   * @param {string} start A dataset or a job.
   * @param {boolean} down
   * @param {number} depth
   */
  around(start, down, depth) {
    /** @type {Map<string, number>} */
    const found = new Map([[start, 0]]);
    let frontier = [start];
    for (let far = 1; frontier.length && far <= depth * 2; far++) {
      /** @type {string[]} */
      const following = [];
      for (const id of frontier) {
        for (const next of this.neighbours(id, down)) {
          if (!found.has(next)) {
            found.set(next, Math.ceil(far / 2));
            following.push(next);
          }
        }
      }
      frontier = following;
    }
    return found;
  }

  /**
   * @param {string} id
   * @param {boolean} down
   * @returns {Iterable<string>}
   */
  neighbours(id, down) {
    const dataset = this.datasets.get(id);
    if (dataset) return [...(down ? dataset.readers : dataset.writers), ...(down ? dataset.targets : dataset.sources)];
    const job = this.jobs.get(id);
    return job ? (down ? job.writes : job.reads) : [];
  }

  /**
   * Return all edges of the paths through a CTE, a view or a subquery, or through a column of one.
   * @param {string} id
   * @param {string} direction
   * @param {boolean} indirect
   */
  wayThrough(id, direction, indirect) {
    const own = (this.throughs.get(id) || []).filter((edge) => this.counts(edge, indirect));
    const found = new Set(own);
    for (const [end, down] of /** @type {["from" | "to", boolean][]} */ ([["from", false], ["to", true]])) {
      if (direction === (down ? "up" : "down")) continue;
      for (const place of new Set(own.map((edge) => edge[end]))) for (const edge of this.way(place, down, indirect)) found.add(edge);
    }
    return [...found];
  }

  // --- groups --------------------------------------------------------------------------------------------------

  /** Make a group of each catalog, schema and folder, unless it contains nothing but another one. */
  makeGroups() {
    /** @type {Group} */
    const root = { id: "", name: "", parent: "", groups: [], datasets: [], size: 0 };
    this.groups.set("", root);
    for (const dataset of this.datasets.values()) {
      let above = root;
      root.size++;
      for (const [place, part] of placeOf(dataset).entries()) {
        const id = place ? `${above.id}\n${part}` : `group|${part}`;
        let group = this.groups.get(id);
        if (!group) {
          group = { id, name: part, parent: above.id, groups: [], datasets: [], size: 0 };
          this.groups.set(id, group);
          above.groups.push(id);
        }
        group.size++;
        above = group;
      }
      above.datasets.push(dataset.id);
    }
    for (const id of [...root.groups]) this.foldChain(id);
    for (const group of [...this.groups.values()]) if (group.id) this.divide(group, group.size > MAJORITY * root.size ? MANY_ALONE : MOST_TABLES);
    for (const group of this.groups.values()) for (const id of group.datasets) this.groupOf.set(id, group.id);
  }

  /**
   * Divide a group of more tables than can be shown: by the first words of their names, by the application that writes
   * them, or by the steps from the sources to them, whichever is the first that forms groups of several tables.
   * @param {Group} group
   * @param {number} most How many tables a group may have.
   */
  divide(group, most) {
    if (group.datasets.length <= most) return;
    const bySteps = () => this.bySteps(group.datasets);
    const divided = [...WORDS, "application"].map((how) => () => classesOf(group.datasets, (id) => this.classOf(id, how)));
    for (const tried of [...divided, bySteps]) {
      const classes = tried();
      if (!classes) continue;
      const kept = new Set(group.datasets);
      for (const [name, ids] of classes) {
        const made = { id: `${group.id}\n${name}`, name, parent: group.id, groups: [], datasets: ids, size: ids.length, isPart: true };
        this.groups.set(made.id, made);
        group.groups.push(made.id);
        for (const id of ids) kept.delete(id);
        this.divide(made, MOST_TABLES);
      }
      group.datasets = [...kept];
      return;
    }
  }

  /**
   * Return the class of a table within its group: the beginning of its name, or the application that writes it; empty
   * without one.
   * @param {string} id
   * @param {number | string} how How many words of its name, or `application`.
   */
  classOf(id, how) {
    const dataset = /** @type {Dataset} */ (this.datasets.get(id));
    if (typeof how === "number") {
      const name = dataset.label.split(/[./]/).pop() || "";
      const words = name.match(/[^_\- ]*[_\- ]+/g) || [];
      return words.length < how ? "" : `${words.slice(0, how).join("").toLowerCase()}…`;
    }
    const [job] = dataset.writers;
    const name = this.jobs.get(job)?.name || "";
    return name.includes(".") ? `by ${name.split(".")[0]}` : "";
  }

  /**
   * Divide tables into a few classes by the number of steps from sources to them; null if it is the same for all.
   * @param {string[]} ids
   * @returns {Map<string, string[]> | null}
   */
  bySteps(ids) {
    /** @type {Map<number, string[]>} */
    const layers = new Map();
    for (const id of ids) push(layers, this.stepsTo().get(id) ?? 0, id);
    if (layers.size < 2) return null;
    const far = [...layers.keys()].sort((a, b) => a - b);
    const classes = new Map();
    let begin = 0;
    let size = 0;
    far.forEach((layer, place) => {
      size += layers.get(layer)?.length || 0;
      if (size < ids.length / MOST_LAYERS && place + 1 < far.length) return;
      const [first, last] = [far[begin], layer];
      const name = last === 0 ? "sources" : first === last ? `step ${last}` : first ? `steps ${first} to ${last}` : `sources to step ${last}`;
      classes.set(name, far.slice(begin, place + 1).flatMap((each) => layers.get(each) || []));
      [begin, size] = [place + 1, 0];
    });
    return classes.size > 1 ? classes : null;
  }

  /** Return the maximum number of steps from sources to each table. A table that is made from itself counts once. */
  stepsTo() {
    if (this.steps.size) return this.steps;
    const from = (/** @type {string} */ id, /** @type {boolean} */ down) =>
      [...new Set([...this.neighbours(id, down)].flatMap((each) => (this.jobs.has(each) ? [...this.neighbours(each, down)] : [each])))].filter((each) => each !== id);
    const waiting = new Map([...this.datasets.keys()].map((id) => [id, from(id, false).length]));
    const ready = [...waiting].filter(([, count]) => !count).map(([id]) => id);
    // In a cycle, each table waits for another one: continue with the first that is left.
    const rest = waiting.keys();
    while (waiting.size) {
      const id = ready.pop() ?? rest.next().value ?? "";
      if (!waiting.delete(id)) continue;
      const step = this.steps.get(id) ?? 0;
      this.steps.set(id, step);
      for (const next of from(id, true)) {
        const left = waiting.get(next);
        if (left === undefined) continue;
        this.steps.set(next, Math.max(step + 1, this.steps.get(next) ?? 0));
        waiting.set(next, left - 1);
        if (left === 1) ready.push(next);
      }
    }
    return this.steps;
  }

  /** Merge a group with the only group in it, also in all groups below. @param {string} id */
  foldChain(id) {
    const waiting = [id];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const group = /** @type {Group} */ (this.groups.get(next));
      while (group.groups.length === 1 && !group.datasets.length) {
        const only = /** @type {Group} */ (this.groups.get(group.groups[0]));
        group.name = `${group.name}${group.name.endsWith("/") ? "" : only.name.endsWith("/") ? "/" : "."}${only.name}`;
        Object.assign(group, { groups: only.groups, datasets: only.datasets });
        for (const each of only.groups) Object.assign(/** @type {Group} */ (this.groups.get(each)), { parent: group.id });
        this.groups.delete(only.id);
      }
      waiting.push(...group.groups);
    }
  }

  /**
   * Return what represents a dataset if only some groups are unfolded: itself, or the outermost group that is folded.
   * @param {string} id
   * @param {Set<string> | null} open The unfolded groups; null if there are no groups.
   */
  shownAs(id, open) {
    if (!open) return id;
    let found = id;
    for (let group = this.groupOf.get(id) || ""; group; group = this.groups.get(group)?.parent || "") {
      if (!open.has(group)) found = group;
    }
    return found;
  }

  /**
   * Return which groups to unfold so that at most this many boxes are shown: the smallest ones first.
   * @param {number} most
   * @returns {Set<string>}
   */
  cut(most) {
    /** @type {Set<string>} */
    const open = new Set();
    const root = /** @type {Group} */ (this.groups.get(""));
    let count = root.groups.length + root.datasets.length;
    // Only a group that has most of the tables shows its parts; other groups would have too many.
    const isWhole = (/** @type {string} */ id) => {
      const group = this.groups.get(id);
      return Boolean(group && (group.isPart || (group.size <= MAJORITY * root.size && this.groups.get(group.groups[0])?.isPart)));
    };
    const waiting = root.groups.filter((id) => !isWhole(id));
    const inner = (/** @type {string} */ id) => {
      const group = this.groups.get(id);
      return group ? group.groups.length + group.datasets.length : 0;
    };
    while (waiting.length) {
      waiting.sort((a, b) => inner(b) - inner(a));
      const id = /** @type {string} */ (waiting.pop());
      if (count + inner(id) - 1 > most) break;
      count += inner(id) - 1;
      open.add(id);
      waiting.push(...(this.groups.get(id)?.groups || []).filter((each) => !isWhole(each)));
    }
    return open;
  }

  /** Return the name of the application, or the part that the names of all jobs share; empty without one. */
  application() {
    const jobs = [...this.jobs.values()];
    const applications = new Set(jobs.filter((job) => job.kind === "APPLICATION").map((job) => job.name));
    const [only] = applications;
    if (applications.size === 1) return only;
    const firsts = new Set(jobs.map((job) => job.name.split(".")[0]));
    const [first] = firsts;
    if (firsts.size === 1 && jobs.some((job) => job.name !== first)) return first;
    const namespaces = new Set(jobs.map((job) => job.namespace).filter(Boolean));
    const [namespace] = namespaces;
    return namespaces.size === 1 ? namespace : "";
  }

  /** Return the boxes that have a connection, or all boxes if none has. */
  connected() {
    const datasets = [...this.datasets.values()].filter((each) => degree(each));
    const jobs = [...this.jobs.values()].filter((each) => each.reads.size + each.writes.size);
    const found = [...datasets, ...jobs].map((each) => each.id);
    return found.length ? found : [...this.datasets.keys()];
  }

  /** Return the dataset with the most jobs around it; empty without one. */
  busiest() {
    let best = "";
    let most = -1;
    for (const each of this.datasets.values()) {
      if (degree(each) > most) [best, most] = [each.id, degree(each)];
    }
    return best;
  }

  /**
   * Return how the last run of a job ended; empty if no run is known.
   * @param {Job} job
   */
  state(job) {
    return job.runs[0]?.state ? outcome(job.runs[0]) : "";
  }
}

/**
 * Return classes of tables, with those of fewer than three tables as one class; null unless there are several classes,
 * but few, and most tables are in one.
 * @param {string[]} ids
 * @param {(id: string) => string} classOf
 * @returns {Map<string, string[]> | null}
 */
function classesOf(ids, classOf) {
  /** @type {Map<string, string[]>} */
  const every = new Map();
  for (const id of ids) push(every, classOf(id), id);
  const classes = new Map([...every].filter(([name, members]) => name && members.length > 2));
  const others = [...every].filter(([name]) => !classes.has(name)).flatMap(([, members]) => members);
  if (classes.size < 2 || classes.size > MOST_CLASSES || others.length * 2 > ids.length) return null;
  if (others.length > FEW_TABLES) classes.set("others", others);
  return classes;
}

/**
 * Return the catalog and the schema of a table, or the folders of a path, the outermost first.
 * @param {Dataset} dataset
 */
function placeOf({ label, namespace, name }) {
  const isPath = label.includes("/");
  const parts = (isPath ? name : label).split(isPath ? "/" : ".").slice(0, -1).filter(Boolean);
  if (isPath) return [...(namespace && namespace !== "file" ? [namespace] : []), ...parts.map((part) => `${part}/`)];
  return parts.length ? parts : [namespace || "(no namespace)"];
}

/**
 * Return how many neighbours a dataset has.
 * @param {Dataset} dataset
 */
function degree(dataset) {
  return dataset.readers.size + dataset.writers.size + dataset.sources.size + dataset.targets.size;
}

/** Return the rank of an edge's certainty: 0 for the best. @param {Edge} edge */
function rank(edge) {
  return CERTAINTIES.indexOf(edge.certainty);
}

/**
 * Return the edges of values, then those of influences, the most certain first; equally certain ones keep their order.
 * @template {Edge} E
 * @param {E[]} edges
 * @returns {E[]}
 */
function surestFirst(edges) {
  return [...edges].sort((a, b) => Number(isInfluence(a)) - Number(isInfluence(b)) || rank(a) - rank(b));
}

/**
 * @template K, V
 * @param {Map<K, V[]>} map
 * @param {K} key
 * @param {V} value
 */
function push(map, key, value) {
  const found = map.get(key);
  if (found) found.push(value);
  else map.set(key, [value]);
}

/** Spark's classes in the names of jobs. */
const SPARKS_CLASS = /^(execute_\w+|adaptive_spark_plan|streaming_query|\w+_(command|exec|plan)|(append|overwrite|replace|create|delete|update|merge|write|insert|alter|drop|truncate|atomic)_\w+)$/;

/** Return the name of a job without Spark's class in it. @param {string} name */
function withoutClass(name) {
  const parts = name.split(".");
  if (parts.length > 2 && SPARKS_CLASS.test(parts[parts.length - 2])) parts.splice(-2, 1);
  return parts.join(".");
}

/**
 * Return the text in the box of each job: the last part of its name, followed by as many of the parts before it as are
 * needed to distinguish it from the others: `default_daily (insert_into)`.
 * @param {Iterable<{id: string, name: string}>} jobs
 * @returns {Map<string, string>}
 */
function headsOf(jobs) {
  const found = new Map();
  let open = [...jobs];
  for (let before = 0; open.length && before < MOST_PARTS; before++) {
    /** @type {Map<string, typeof open>} */
    const byHead = new Map();
    for (const job of open) {
      const parts = job.name.split(".");
      const last = parts.pop() || job.name;
      const rest = before ? parts.slice(-before).map((part) => (SPARKS_CLASS.test(part) ? part.replace(/^execute_/, "").split("_")[0] : part)).join(".") : "";
      push(byHead, rest ? `${last} (${rest})` : last, job);
    }
    for (const [head, same] of byHead) for (const { id } of same) found.set(id, head);
    open = [...byHead.values()].filter((same) => same.length > 1).flat();
  }
  return found;
}
