// The list of all runs, with search and pages; runs in progress fill as answers come.

let report = JSON.parse(document.getElementById('overview').textContent);
const PAGE = 100;
const MOST = 50;
const DEFAULTS = { q: '', status: '', sort: report.sort ?? 'newest', page: '1', marked: '', theme: 'auto' };
const SORTS = {
  newest: ['newest first', (run) => run.at],
  correctness: ['most correct first', (run) => -(run.correctness ?? -Infinity)],
  cost: ['most expensive first', (run) => -(run.cost ?? -Infinity)],
  failed: ['most failed questions first', (run) => -(run.errors ?? -Infinity)],
};
const STATUS = {
  running: ['▶', 'half'],
  complete: ['✓', 'good'],
  'part failed': ['!', 'bad'],
  failed: ['✗', 'fail'],
  incomplete: ['!', 'half'],
  'not scored': ['?', 'half'],
  interrupted: ['■', 'bad'],
  damaged: ['✗', 'fail'],
};
const main = document.getElementById('main');
let state = { ...DEFAULTS };

function parseHash() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return Object.fromEntries(Object.entries(DEFAULTS).map(([key, value]) => [key, given[key] ?? value]));
}

function link(changes) {
  const next = { ...parseHash(), ...('page' in changes || 'marked' in changes ? {} : { page: '1' }), ...changes };
  return `#${new URLSearchParams(Object.entries(next).filter(([key, value]) => value !== DEFAULTS[key]))}`;
}

function go(changes, { replace = false } = {}) {
  if (replace) location.replace(link(changes));
  else location.hash = link(changes);
}

const selectedRuns = () => parseHash().marked.split(',').filter(Boolean).map(decodeURIComponent);
const addressOf = (runs) => report.address?.[runs[0]] ?? `run/${runs.map(encodeURIComponent).join(',')}/`;

/** The runs that pass search and status, in the chosen order. */
function listedRuns() {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (run) => {
    const hay = [run.run, run.name, run.model, run.data, run.status].join('\n').toLowerCase();
    return (!state.status || run.status === state.status) && words.every((word) => hay.includes(word));
  };
  const key = (SORTS[state.sort] ?? SORTS.newest)[1];
  const found = report.runs.map((run, at) => ({ ...run, at })).filter(fits);
  return found.sort((a, b) => key(a) - key(b) || a.at - b.at);
}

function drawHeader() {
  document.documentElement.dataset.theme = ['light', 'dark'].includes(state.theme) ? state.theme : 'auto';
  const themes = Object.entries({ auto: 'Auto', light: 'Light', dark: 'Dark' });
  document
    .getElementById('theme')
    .replaceChildren(toggle('theme', 'Colours', themes, state.theme, (theme) => go({ theme }, { replace: true })));
  const links = (report.links ?? []).map(([href, text]) => h('a', { href }, text));
  document.getElementById('views').replaceChildren(...links);
}

function filters() {
  const counts = (status) => report.runs.filter((run) => run.status === status).length;
  const there = Object.keys(STATUS).filter((status) => counts(status) || status === state.status);
  const kinds = [['', 'any'], ...there.map((status) => [status, `${status} (${counts(status)})`])];
  return h(
    'form.filters',
    { role: 'search', onsubmit: (event) => event.preventDefault() },
    searchField('name, model, data, status', 100),
    choice('status', 'Status', kinds, state.status, (status) => go({ status })),
    choice('sort', 'Order', Object.entries(SORTS).map(([key, [text]]) => [key, text]), state.sort, (sort) => go({ sort })),
  );
}

/** What the runs are that are marked, with a link to the page of all of them. */
function markedRuns() {
  const names = selectedRuns();
  if (!report.served) return null;
  return h(
    'p.controls',
    {},
    names.length > 1
      ? h('a', { id: 'together', href: addressOf(names) }, `Show ${names.length} marked runs together`)
      : h('span.faint', {}, 'Mark two or more runs to see them side by side.'),
    names.length ? h('button', { id: 'unmark', type: 'button', onclick: () => go({ marked: '' }) }, 'Unmark') : null,
  );
}

function markBox(run) {
  const names = selectedRuns();
  const on = names.includes(run.run);
  const next = on ? names.filter((name) => name !== run.run) : [...names, run.run];
  return h('input', {
    id: `mark-${slug(run.run)}`,
    type: 'checkbox',
    checked: on,
    disabled: !on && names.length >= MOST,
    'aria-label': `Mark ${plain(run.name)}, ${plain(run.run)}`,
    onchange: () => go({ marked: next.map(encodeURIComponent).join(',') }, { replace: true }),
  });
}

function statusCell(run) {
  const [sign, kind] = STATUS[run.status] ?? ['?', 'half'];
  const bar =
    run.status === 'running'
      ? [
          h('progress', {
            max: Math.max(1, run.expected),
            value: run.answered ?? 0,
            'aria-label': `answers of ${plain(run.name)}`,
          }),
          h('span.range', {}, `${count(run.answered ?? 0)} of ${count(run.expected)} answers`),
        ]
      : null;
  const why = run.why ? h('span.small', {}, said(run.why, 200)) : null;
  return [h(`span.status.${kind}`, {}, h('span', { 'aria-hidden': 'true' }, `${sign} `), run.status), bar, ' ', why];
}

function rowOf(run) {
  const shown = run.correctness === null && known(run['recall@10']) ? `recall@10 ${run.text['recall@10']}` : null;
  return h(
    'tr',
    {},
    report.served ? h('td', {}, markBox(run)) : null,
    h(
      'th',
      { scope: 'row' },
      h('a', { href: addressOf([run.run]), id: `run-${slug(run.run)}` }, said(run.name, 80)),
      h('span.small', {}, h('br'), said(run.run, 120)),
      downloads(run),
    ),
    h('td', {}, statusCell(run)),
    h('td', {}, said(run.model ?? 'not known', 60)),
    h('td', {}, said(run.data ?? 'not known', 60)),
    h('td', {}, shown ?? [run.text.correctness, h('span.range', {}, run.text.range), run.rank ? h('span.range', {}, `rank ${run.rank}`) : null]),
    h('td', {}, run.text.hallucination),
    h('td', {}, count(run.n || run.searched || run.expected || null)),
    h('td', {}, known(run.errors) ? count(run.errors) : 'n/a'),
    h('td.amount', {}, run.text.cost),
    h('td.amount', {}, run.text.seconds),
    h('td.amount', {}, moment(run.created)),
  );
}

/** Links to the files of a run, on a site of files. */
function downloads(run) {
  const files = report.files?.[run.run] ?? [];
  return files.length
    ? h('span.small', {}, h('br'), files.map(([href, text], at) => [at ? ', ' : '', h('a', { href, 'aria-label': `${text} of ${plain(run.run)}` }, text)]))
    : null;
}

const HEADS = ['Run', 'Status', 'Model', 'Data', 'Correctness', 'Hallucination', 'Questions', 'Failed', 'Cost', 'Time', 'Started'];

function tableOf(runs) {
  const heads = HEADS.map((text) => h('th', { scope: 'col' }, text));
  const mark = report.served ? h('th', { scope: 'col' }, 'Mark') : null;
  return scroller(
    'Runs',
    h(
      'table',
      { class: 'runs-list', id: 'all-runs' },
      h('caption.unseen', {}, 'Runs'),
      h('thead', {}, h('tr', {}, mark, heads)),
      h('tbody', {}, runs.map(rowOf)),
    ),
  );
}

function draw() {
  const focus = document.activeElement?.id;
  state = parseHash();
  drawHeader();
  const runs = listedRuns();
  const { page, element } = pager(runs.length);
  const result = `${plural(runs.length, 'run')} of ${count(report.runs.length)}`;
  announce(result);
  const shown = runs.slice((page - 1) * PAGE, page * PAGE);
  main.replaceChildren(
    ...[
      h('h2', { id: 'title' }, report.heading ?? 'All runs'),
      filters(),
      h('p.small', {}, result),
      markedRuns(),
      shown.length ? tableOf(shown) : h('p.note', {}, report.runs.length ? 'No run matches.' : 'There are no runs yet.'),
      element,
    ].filter(present),
  );
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
}

/** Listen to the server as long as the page is seen: a browser allows few connections to one server. */
const live = { source: null, timer: 0 };

function listen() {
  if (document.hidden) {
    live.source?.close();
    live.source = null;
  } else if (!live.source) {
    live.source = new EventSource('events');
    live.source.onmessage = (event) => heard(JSON.parse(event.data));
  }
}

function heard({ runs }) {
  if (!runs || JSON.stringify(runs) === JSON.stringify(report.runs)) return;
  report = { ...report, runs };
  redraw();
}

/** Draw, but not while a menu may be open. */
function redraw() {
  clearTimeout(live.timer);
  if (document.activeElement?.tagName === 'SELECT') live.timer = setTimeout(redraw, 1000);
  else draw();
}

window.addEventListener('hashchange', draw);
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
document.getElementById('name').replaceChildren(said(report.title, 160));
const reach = report.served ? 'This page asks nobody but fathoms on this machine.' : 'This page makes no network requests.';
document.getElementById('footer').replaceChildren(`Made by ${plain(report.version)}. ${reach}`);
draw();
if (report.served) {
  document.addEventListener('visibilitychange', listen);
  listen();
}
