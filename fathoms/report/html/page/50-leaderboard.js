// The leaderboard: all runs with the columns of the paper, each score with its interval, sortable by any column.

/** Columns in the paper's order: overall, then the categories, each by correctness and hallucination. */
function scoreColumns() {
  return [OVERALL, ...CATEGORIES].flatMap((category) =>
    Object.entries(METRICS).map(([metric, label]) => ({
      key: category === OVERALL ? metric : `${metric}:${category}`,
      metric,
      category,
      label,
      better: BETTER[metric],
    })),
  );
}

/** The column to sort by, and whether the best run comes first. */
function sorting() {
  const [way, ...rest] = state.sort.split('-');
  const columns = scoreColumns();
  const column =
    columns.find((each) => each.key === rest.join('-')) ??
    (state.sort.endsWith('-name') ? { key: 'name' } : columns[0]);
  return { column, bestFirst: way !== 'worst' };
}

function sortedKeys() {
  const { column, bestFirst } = sorting();
  const keys = report.runs.map((_, key) => key).filter((key) => !report.runs[key].retrieval_only);
  const sign = bestFirst ? 1 : -1;
  if (column.key === 'name')
    return keys.sort((a, b) => sign * runLabel(report.runs[a]).localeCompare(runLabel(report.runs[b])));
  const value = (key) => fig(report.runs[key], column.metric, column.category).mean;
  const upward = column.better === 'high' ? -sign : sign;
  return keys.sort(
    (a, b) => known(value(b)) - known(value(a)) || upward * ((value(a) ?? 0) - (value(b) ?? 0)) || a - b,
  );
}

/** A column head that sorts when clicked: best first, then worst first. */
function sortHead(column, text) {
  const now = sorting();
  const mine = now.column.key === column.key;
  const rising = mine && (column.better === 'high' ? !now.bestFirst : now.bestFirst);
  const next = `${mine && now.bestFirst ? 'worst' : 'best'}-${column.key}`;
  return h(
    'th',
    {
      scope: 'col',
      'aria-sort': mine ? (rising ? 'ascending' : 'descending') : null,
      class: mine ? 'sorted' : '',
    },
    h(
      'button.sort',
      {
        id: `sort-${slug(column.key)}`,
        type: 'button',
        'aria-label': column.label ? plain(`${text}, ${nameOf(column.category)}`) : null,
        onclick: () => go({ sort: next }),
      },
      text,
      h('span', { 'aria-hidden': 'true', class: 'arrow' }, mine ? (rising ? '▲' : '▼') : ''),
    ),
  );
}

/** A small drawing of the mean and its interval from 0 to 1. */
function intervalBar(found) {
  const x = (value) => round(2 + 48 * value);
  const wide = known(found.low) && known(found.high);
  return s(
    'svg',
    { class: 'interval', width: 52, height: 9, viewBox: '0 0 52 9', 'aria-hidden': 'true' },
    s('line', { x1: 2, x2: 50, y1: 4.5, y2: 4.5, class: 'rail' }),
    wide ? s('line', { x1: x(found.low), x2: x(found.high), y1: 4.5, y2: 4.5, class: 'span' }) : null,
    known(found.mean) ? s('circle', { cx: x(found.mean), cy: 4.5, r: 3, class: 'dot' }) : null,
  );
}

/** The number of answers behind a column, if it is the same for all runs. */
function commonCount(column) {
  const runs = report.runs.filter((run) => !run.retrieval_only);
  const counts = new Set(runs.map((run) => fig(run, column.metric, column.category).n));
  return counts.size === 1 ? [...counts][0] : null;
}

function scoreCell(run, column, common) {
  const found = fig(run, column.metric, column.category);
  const first = run.best && column.metric === 'correctness' && column.category === OVERALL;
  return h(
    'td',
    { class: `figure${first ? ' best' : ''}${column.category === OVERALL ? ' overall' : ''}` },
    h('span.mean', {}, valueText(found)),
    first ? h('span.unseen', {}, ' best') : null,
    known(found.mean) ? intervalBar(found) : null,
    h('span.range', {}, rangeText(found) || ' '),
    common === null && known(found.n) ? h('span.range', {}, `n ${count(found.n)}`) : null,
  );
}

const HOW_TO_READ = `Overall is the mean of the categories. Correctness: higher is better. Hallucination: lower is
  better. In brackets, and on the line from 0 to 1: the 95 % interval.`;

/** The leaderboard of the runs of answers; runs that only searched are in the tables of further metrics. */
function leaderboard() {
  if (!ANSWERED) return reasons().length ? section('notes', 'Notes', footnotes()) : null;
  if (report.runs.length === 1) return scoresOfOne();
  const columns = scoreColumns();
  const commons = columns.map(commonCount);
  const groups = [OVERALL, ...CATEGORIES].map((category, at) =>
    h(
      'th',
      { colspan: 2, scope: 'colgroup' },
      said(nameOf(category), 40),
      known(commons[2 * at]) && commons[2 * at] === commons[2 * at + 1]
        ? h('span.range', {}, `n ${count(commons[2 * at])}`)
        : null,
    ),
  );
  const rows = sortedKeys().map((key) => {
    const run = report.runs[key];
    return h(
      'tr',
      {},
      h(
        'th',
        { scope: 'row' },
        h('a', { id: `to-${key}`, href: questionsOf(key) }, named(key)),
        footnote(run),
        run.model && !runLabel(run).includes(run.model) ? h('span.range', {}, said(run.model, 40)) : null,
        run.rank ? h('span.range', {}, `rank ${run.rank}`) : null,
      ),
      columns.map((column, at) => scoreCell(run, column, sharedCount(commons, at))),
    );
  });
  const heads = columns.map((column) => sortHead(column, column.label));
  return section(
    'leaderboard',
    'Leaderboard',
    h(
      'p.small',
      {},
      HOW_TO_READ,
      report.runs.some((run) => run.best) ? ' Shaded: significantly better than every other run.' : '',
    ),
    scroller(
      'Leaderboard',
      h(
        'table.scores',
        {},
        h('caption.unseen', {}, 'Correctness and hallucination of every run, overall and by category'),
        h('thead', {}, h('tr', {}, sortRunHead(), groups), h('tr', {}, heads)),
        h('tbody', {}, rows),
      ),
    ),
    footnotes(),
  );
}

/** The scores of a single run: a line for each category. */
function scoresOfOne() {
  const [run] = report.runs;
  const cell = (found) => [
    h('span.mean', {}, valueText(found)),
    known(found.mean) ? intervalBar(found) : null,
    h('span.range', {}, rangeText(found), known(found.n) ? ` n ${count(found.n)}` : ''),
  ];
  const rows = [OVERALL, ...CATEGORIES].map((category) => [
    said(nameOf(category), 60),
    ...Object.keys(METRICS).map((metric) => cell(fig(run, metric, category))),
  ]);
  return section(
    'scores',
    'Scores',
    h('p.small', {}, HOW_TO_READ),
    table('Correctness and hallucination by category', ['Category', ...Object.values(METRICS)], rows, { seen: false }),
    footnotes(),
  );
}

/** The metrics outside the leaderboard; those that nobody asked for open on request. */
function furtherSection() {
  if (!report.metrics.length && !report.others.length) return null;
  return section(
    'further',
    'Further metrics',
    report.metrics.map(sectionTable),
    report.others.map((found) =>
      h(
        'details.behind',
        {},
        h('summary', { id: 'other-metrics' }, `Other metrics (${found.rows.length})`),
        sectionTable(found),
      ),
    ),
  );
}

const sharedCount = (commons, at) =>
  known(commons[at]) && commons[at] === commons[at ^ 1] ? commons[at] : null;

function sortRunHead() {
  const head = sortHead({ key: 'name', better: 'low' }, 'Run');
  head.rowSpan = 2;
  return head;
}

// ---- warnings that a reader of the scores must know

const reasons = () => [...new Set(report.runs.flatMap(reasonsOf))];
const reasonsOf = (run) => [
  ...(run.complete ? [] : [`Incomplete: ${run.incomplete.join('; ') || 'the run does not say why'}`]),
  ...run.warnings,
];

function footnote(run) {
  const numbers = reasonsOf(run)
    .map((reason) => reasons().indexOf(reason) + 1)
    .sort((a, b) => a - b);
  return numbers.length ? h('sup', {}, numbers.join(', ')) : null;
}

function footnotes() {
  const list = [...reasons()];
  return list.length
    ? h(
        'ol.footnotes',
        {},
        list.map((reason) => h('li', {}, said(reason, 1000))),
      )
    : null;
}
