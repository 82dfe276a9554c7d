// What the file holds: the overview as it stands, the rest in compressed chunks that are read when needed.

const report = JSON.parse(document.getElementById('overview').textContent);
const CATEGORIES = report.categories;
const OVERALL = null; // stands among the categories, of which one may be called 'Overall' too
const nameOf = (category) => category ?? 'Overall';
const MOST_RUNS = 8;
const MOST_CATEGORIES = 100; // as many as the overview holds; more make tables and charts that nobody can read
const METRICS = { correctness: 'Correctness', hallucination: 'Hallucination' };
const BETTER = { correctness: 'high', hallucination: 'low' };
const STAGES = { documents: 'documents', retrieved: 'retrieved', prompt: 'prompt', answer: 'answer' };
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
};

const chunks = new Map();

/** The content of a chunk: base64 of gzip of JSON; a promise, kept. */
function chunk(name) {
  if (!chunks.has(name)) chunks.set(name, unpack(name));
  return chunks.get(name);
}

async function unpack(name) {
  const element = document.getElementById(`chunk-${name}`);
  if (!element) throw new Error(`the file has no part “${name}”: it may have been cut`);
  const letters = atob(element.textContent.trim());
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

const hasChunk = (name) => document.getElementById(`chunk-${name}`) !== null;

/** The index, with the place of every question by its id. */
async function readIndex() {
  const index = await chunk('index');
  index.place ??= new Map(index.questions.id.map((id, at) => [id, at]));
  return index;
}

/** The details of one question in one run, with the long texts of its chunk; null where it was not asked. */
async function readDetail(index, run, at) {
  const number = index.runs[run].detail[at];
  if (number < 0) return null;
  const { texts, questions } = await chunk(`d${run}-${number}`);
  const detail = own(questions, index.questions.id[at]);
  return detail ? { ...detail, texts } : null;
}

const readText = (texts, text) => (text.p === undefined ? (text.s ?? '') : (texts[text.p] ?? ''));

/** A text of a detail, with its marks, and a line where the file holds a part of it only. */
function passageOf(detail, text) {
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
  return passage(whole, text.marks ?? [], [note, beyond]);
}

/** A value by a name that people gave: `constructor` must not find what every object inherits. */
const own = (values, name) => (values && Object.hasOwn(values, name) ? values[name] : undefined);

/** A headline figure of a run: of a category, or of `Overall`. */
function fig(run, metric, category) {
  const found = run.metrics[metric] ?? {};
  return (category === OVERALL ? found.overall : own(found.categories, category)) ?? {};
}

/** The funnel of a run in a category, or of `Overall`; undefined where there is none. */
const funnelIn = (run, category) =>
  category === OVERALL ? run.funnel?.overall : own(run.funnel?.categories, category);

const funnelsIn = (run) => [run.funnel.overall, ...Object.values(run.funnel.categories)];

const runLabel = (run) => run.label;
