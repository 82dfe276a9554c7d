// The state of the view is kept in the address after the '#', so that a link to it can be shared.

const VIEWS = { overview: 'Overview', compare: 'Compare', questions: 'Questions' };
const DEFAULTS = {
  view: 'overview',
  runs: '',
  sort: '',
  scale: 'plain',
  theme: 'auto',
  category: '',
  outcome: '',
  lost: '',
  claims: '',
  q: '',
  order: 'failed',
  page: '1',
  id: '',
  repeat: '0',
  sheet: '',
  of: '',
  against: '',
  mark: '',
  a: '',
  b: '',
  flips: 'flipped',
  metric: 'correctness',
};
// changing one of these gives another list, so the view goes back to its first page
const FILTERS = ['category', 'outcome', 'lost', 'claims', 'q', 'order', 'runs', 'a', 'b', 'flips', 'metric', 'view'];

let state = { ...DEFAULTS };

function parseHash() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const next = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS)) if (given[key] !== undefined) next[key] = given[key];
  if (!Object.hasOwn(VIEWS, next.view) && next.view !== 'question') next.view = 'overview';
  return next;
}

/** The address of the current view with some changes. */
function link(changes = {}) {
  const next = { ...state, ...changes };
  if (!('page' in changes) && FILTERS.some((key) => key in changes && changes[key] !== state[key]))
    next.page = '1';
  const said = Object.entries(next).filter(([key, value]) => value !== DEFAULTS[key] && value !== '');
  return `#${new URLSearchParams(said.length ? said : [['view', next.view]])}`;
}

/** Go to a changed view and add it to the browser's history; while someone types, replace the last entry. */
function go(changes, { replace = false } = {}) {
  const target = link(changes);
  if (replace) location.replace(target);
  else location.hash = target;
}

/** The numbers of the chosen runs: at most 8, because more cannot be told apart in charts; at first the most
 * correct ones. */
function chosen() {
  const all = report.runs.map((_, key) => key);
  const wanted = state.runs
    .split(',')
    .filter((key) => /^\d+$/.test(key))
    .map(Number);
  const found = all.filter((key) => wanted.includes(key));
  return found.length ? found.slice(0, MOST_RUNS) : all.filter((key) => mostCorrect().indexOf(key) < MOST_RUNS);
}

/** The numbers of all runs, the most correct first, and those without a figure last. */
function mostCorrect() {
  const value = (key) => fig(report.runs[key], 'correctness', OVERALL).mean ?? -1;
  return report.runs.map((_, key) => key).sort((a, b) => value(b) - value(a) || a - b);
}

const chosenRuns = () => chosen().map((key) => report.runs[key]);

/** The two runs that are compared. */
function pair() {
  const runs = chosen();
  const pick = (text, fallback) =>
    /^\d+$/.test(text) && Number(text) < report.runs.length ? Number(text) : fallback;
  const a = pick(state.a, runs[0]);
  const others = [...runs, ...report.runs.map((_, key) => key)].filter((key) => key !== a);
  return [a, pick(state.b, others[0] ?? a)];
}
