// Reads the data of the page. In a file, the overview is plain JSON and the rest are compressed chunks that are
// unpacked when needed; `fathoms view` is asked for each part.

let report;
let CATEGORIES;
let ANSWERED; // whether anybody was asked for an answer
let METRICS;

/** Take the overview, which a run in progress gives anew when it has been scored. */
function take(overview) {
  report = overview;
  CATEGORIES = report.categories;
  ANSWERED = report.runs.some((run) => !run.retrieval_only);
  METRICS = ANSWERED ? { correctness: 'Correctness', hallucination: 'Hallucination' } : {};
}
take(JSON.parse(document.getElementById('overview').textContent));
const SERVED = Boolean(report.served);
const OVERALL = null; // the key of the overall mean; not a string, because a category may be named 'Overall'
const nameOf = (category) => category ?? 'Overall';
const MOST_RUNS = 8;
const MOST_CATEGORIES = 100; // as in the overview; with more, tables and charts are unreadable
const BETTER = { correctness: 'high', hallucination: 'low' };
const STAGES = { documents: 'documents', retrieved: 'retrieved', prompt: 'prompt', answer: 'answer' };
// what loses an answer between a stage and the one before
const LOSERS = { documents: 'parser', retrieved: 'retriever', prompt: 'prompt limit', answer: 'model' };
const lostBy = (stage) => `lost by the ${LOSERS[stage] ?? plain(stage)}`;
const OUTCOMES = {
  correct: ['✓', 'good'],
  partial: ['½', 'half'],
  wrong: ['✗', 'bad'],
  abstained: ['–', 'none'],
  'right to abstain': ['✓', 'good'],
  'answered the unanswerable': ['!', 'bad'],
  refused: ['R', 'fail'],
  error: ['E', 'fail'],
  'not scored': ['?', 'none'],
  'only searched for': ['S', 'none'],
};

const chunks = new Map();

/** The content of a chunk (base64 of gzip of JSON), as a promise that is cached. */
function chunk(name) {
  if (!chunks.has(name)) chunks.set(name, unpack(name));
  return chunks.get(name);
}

/** Ask the server of this page for JSON. */
async function ask(path, values = {}) {
  const query = new URLSearchParams(values).toString();
  let reply;
  try {
    reply = await fetch(query ? `${path}?${query}` : path);
  } catch {
    throw new Error('the command that serves this page has ended: start it again');
  }
  const found = await reply.json();
  if (!reply.ok) throw new Error(found.error);
  return found;
}

async function unpack(name) {
  if (SERVED) return ask(name);
  const element = document.getElementById(`chunk-${name}`);
  if (!element) throw new Error(`the file has no part “${name}”: it may have been cut`);
  const letters = atob(element.textContent.trim());
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

const hasChunk = (name) => document.getElementById(`chunk-${name}`) !== null;

/** The index, with a map from each question's id to its place. */
async function readIndex() {
  const index = await chunk('index');
  index.place ??= new Map(index.questions.id.map((id, at) => [id, at]));
  return index;
}

/** The details of one question in one run, with the long texts of its chunk; null if it was not asked, or if the file
 * has no details of it. */
async function readDetail(index, run, at) {
  const found = SERVED
    ? await ask('detail', { run, place: index.questions.place[at] })
    : await detailInFile(index.runs[run].detail[at], run);
  const detail = own(found?.questions, index.questions.id[at]);
  return detail ? { ...detail, texts: found.texts } : null;
}

const detailInFile = (number, run) => (number < 0 ? null : chunk(`d${run}-${number}`));

/** The texts of some questions: the question, the gold answer, and the answer of each run by its number. */
async function readRows(index, places) {
  if (!SERVED) {
    const { text, gold } = index.questions;
    return places.map((at) => ({ text: text[at], gold: gold[at], answers: index.runs.map((run) => run.answer[at]) }));
  }
  index.rows ??= new Map();
  const missing = places.map((at) => index.questions.place[at]).filter((place) => !index.rows.has(place));
  const found = missing.length ? await ask('rows', { places: missing.join() }) : [];
  missing.forEach((place, nth) => index.rows.set(place, found[nth]));
  return places.map((at) => index.rows.get(index.questions.place[at]));
}

const readText = (texts, text) => (text.p === undefined ? (text.s ?? '') : (texts[text.p] ?? ''));

/** A text of the details with its marks, and a note if the file holds only a part of it. */
function passageOf(detail, text, within) {
  const whole = readText(detail.texts, text);
  const note = text.cut
    ? h(
        'p.small',
        {},
        `This file holds ${count(whole.length)} of ${count(text.cut)} characters; the run’s own file has all: `,
        h('code', {}, said(detail.file ?? '')),
      )
    : null;
  const beyond = text.beyond
    ? h('p.small', {}, `${plural(text.beyond, 'more gold phrase')} in the part that is not here.`)
    : null;
  return passage(whole, text.marks ?? [], [note, beyond], within, text.aside ?? []);
}

/** Look up a user-given name as an own property, so that `constructor` does not find an inherited one. */
const own = (values, name) => (values && Object.hasOwn(values, name) ? values[name] : undefined);

/** A headline score of a run, for a category or for `Overall`. */
function fig(run, metric, category) {
  const found = own(run.metrics, metric) ?? {};
  return (category === OVERALL ? found.overall : own(found.categories, category)) ?? {};
}

/** The names of the metrics outside the leaderboard that some run has. */
const furtherMetrics = () =>
  [...new Set(report.runs.flatMap((run) => Object.keys(run.metrics)))].filter((name) => !own(METRICS, name));

/** Whether a metric is shown without being asked to: some run was scored by it on request. */
const isShown = (name) => report.runs.some((run) => own(run.metrics, name)?.shown);

/** A metric as some run has it, for its unit and direction. */
const metricNamed = (name) => report.runs.map((run) => own(run.metrics, name)).find(Boolean) ?? {};

/** A metric's name as a title, and whether lower values of it are better. */
const titleOf = (name) => own(METRICS, name) ?? plain(name);
const isLower = (name) => (own(BETTER, name) ?? (metricNamed(name).direction === 'lower' ? 'low' : 'high')) === 'low';

/** The lowest and the highest value of a metric; null where its values have no bounds. */
const rangeOf = (name) => (own(METRICS, name) ? [0, 1] : (metricNamed(name).range ?? null));

/** The funnel of a run for a category or for `Overall`; undefined if there is none. */
const funnelIn = (run, category) =>
  category === OVERALL ? run.funnel?.overall : own(run.funnel?.categories, category);

const funnelsIn = (run) => [run.funnel.overall, ...Object.values(run.funnel.categories)];

const runLabel = (run) => run.label;
