// Compares two runs question by question, the changed questions first.

const FLIPS = { flipped: 'flipped', won: 'won by B', lost: 'won by A', tied: 'tied', all: 'all shared' };

/** The scores of all questions of a run in the index by one metric. */
const scoresIn = (run, metric) => (own(METRICS, metric) ? run[metric] : own(run.metrics, metric)) ?? [];

/** The metrics to choose from: those of the leaderboard, and the further ones that are shown and that single
 * questions have. A ratio of counts over all answers, such as abstention-f1, is none of them. */
const compared = () => [
  ...Object.keys(METRICS),
  ...furtherMetrics().filter((name) => isShown(name) && metricNamed(name).by_question),
];

/** Format a score in the unit of its metric. */
const scored = (metric, value) => measured(value, metricNamed(metric).unit);

/** The difference between the two runs for every question that both were asked. */
function comparison(index, a, b, metric) {
  const [first, second] = [index.runs[a], index.runs[b]];
  const [of, against] = [scoresIn(first, metric), scoresIn(second, metric)];
  const sign = isLower(metric) ? -1 : 1;
  const both = index.questions.id
    .map((_, at) => at)
    .filter((at) => first.outcome[at] !== null && second.outcome[at] !== null);
  return both
    .filter((at) => known(of[at]) && known(against[at]))
    .map((at) => {
      const difference = sign * (against[at] - of[at]);
      return { at, difference, result: difference > 0 ? 'won' : difference < 0 ? 'lost' : 'tied' };
    });
}

function tally(rows) {
  const n = (result) => rows.filter((row) => row.result === result).length;
  return [n('won'), n('lost'), n('tied')];
}

function signed(metric, value) {
  const size = scored(metric, Math.abs(value));
  return Number(size) === 0 ? size : `${value > 0 ? '+' : '-'}${size}`;
}

function tallyTable(index, rows, a, b, metric) {
  const category = (row) => index.questions.category[row.at];
  const line = (name, some) => {
    const [won, lost, tied] = tally(some);
    const value = (key) => mean(some.map((row) => scoresIn(index.runs[key], metric)[row.at]));
    return [
      name,
      count(won),
      count(lost),
      count(tied),
      scored(metric, value(a)),
      scored(metric, value(b)),
      signed(metric, value(b) - value(a)),
    ];
  };
  const groups = new Map(index.questions.category.map((name) => [name, []])); // in the order of the data set
  for (const row of rows) groups.get(category(row)).push(row);
  const lines = [...groups]
    .filter(([, some]) => some.length)
    .slice(0, MOST_CATEGORIES)
    .map(([name, some]) => line(said(name, 60), some));
  return table(
    `${titleOf(metric)}, question by question`,
    ['Category', 'Won by B', 'Won by A', 'Tied', 'A', 'B', 'B - A'],
    [...lines, line('All questions', rows)],
    { kind: 'tally' },
  );
}

function comparisonRow(index, row, { text, gold, answers }, a, b, metric) {
  const { id, category } = index.questions;
  const side = (key, letter) => {
    const run = index.runs[key];
    return h(
      'div.side',
      {},
      h(
        'p',
        {},
        badge(run.outcome[row.at], run.lost[row.at]),
        h('strong', {}, ` ${letter} `),
        scored(metric, scoresIn(run, metric)[row.at]),
        h('span.range', {}, run.outcome[row.at]),
      ),
      h('p.small', {}, answers[key] ? said(answers[key], 280) : h('span.faint', {}, 'no answer')),
    );
  };
  return h(
    'li',
    {},
    h(
      'div.words',
      {},
      h(
        'a',
        {
          id: `question-${row.at}`,
          href: link({ view: 'question', id: id[row.at], runs: [...new Set([a, b])].join(',') }),
        },
        said(text, 240),
      ),
      h(
        'p.small',
        {},
        said(id[row.at], 60),
        ' · ',
        said(category[row.at], 40),
        gold ? [' · gold: ', said(gold, 120)] : null,
      ),
    ),
    h('div.sides', {}, side(a, 'A'), side(b, 'B')),
  );
}

function compareControls(a, b, metric) {
  const runs = report.runs.map((run, key) => [String(key), clip(runLabel(run), 60)]);
  return h(
    'form.filters',
    { onsubmit: (event) => event.preventDefault() },
    choice('run-a', 'A', runs, String(a), (key) => go({ a: key, b: String(b) })),
    choice('run-b', 'B', runs, String(b), (key) => go({ a: String(a), b: key })),
    h('button', { id: 'swap', type: 'button', onclick: () => go({ a: String(b), b: String(a) }) }, 'Swap'),
    choice('metric', 'Metric', compared().map((name) => [name, titleOf(name)]), metric, (key) => go({ metric: key })),
  );
}

/** The questions with one kind of change, those with the largest difference first. */
async function flipList(index, rows, a, b, metric) {
  const show = Object.hasOwn(FLIPS, state.flips) ? state.flips : 'flipped';
  const [won, lost, tied] = tally(rows);
  const counts = { flipped: won + lost, won, lost, tied, all: rows.length };
  const wanted = { flipped: (row) => row.result !== 'tied', all: () => true };
  const listed = rows
    .filter(wanted[show] ?? ((row) => row.result === show))
    .sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference) || x.at - y.at);
  const { page, element } = pager(listed.length);
  const onPage = listed.slice((page - 1) * PAGE, page * PAGE);
  const texts = await readRows(index, onPage.map((row) => row.at));
  const result = `${plural(listed.length, 'question')} of ${count(rows.length)} that both were scored on`;
  announce(result);
  const kinds = Object.entries(FLIPS).map(([key, text]) => [key, `${text} (${count(counts[key])})`]);
  return [
    h('h3.next', {}, 'Questions'),
    toggle('flips', 'Which questions', kinds, show, (flips) => go({ flips })),
    h('p.small', {}, result),
    h(
      'ol.questions.compared',
      {},
      onPage.map((row, nth) => comparisonRow(index, row, texts[nth], a, b, metric)),
    ),
    element,
  ];
}

const MEANING = 'The run with the better value wins; the means here are over questions. ';
const LUCK = 'A paired test says whether a difference is more than chance: ';

async function compareView() {
  const title = h('h2', { id: 'title' }, 'Compare');
  if (report.runs.length < 2) {
    const how = SERVED
      ? 'This page has one run. To compare runs, mark two or more in the list of all runs.'
      : 'This report has one run. To compare runs, make a report of two or more: fathoms report RUN RUN.';
    return [title, h('p.note', {}, how)];
  }
  const index = await readIndex();
  const [a, b] = pair();
  const metric = compared().includes(state.metric) ? state.metric : (compared()[0] ?? 'correctness');
  const rows = comparison(index, a, b, metric);
  return [
    title,
    compareControls(a, b, metric),
    h('p.small', {}, MEANING, LUCK, h('code', {}, 'fathoms compare A B'), '.'),
    rows.length
      ? [tallyTable(index, rows, a, b, metric), await flipList(index, rows, a, b, metric)]
      : h('p.note', {}, 'There is no question that both runs were scored on.'),
  ];
}
