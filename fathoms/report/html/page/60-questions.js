// The list of questions, with filters, search and pages.

const PAGE = 50;
const MOST_ANSWERS = 3; // of more runs, a question in the list has the outcomes only
const ORDERS = {
  failed: 'failures first',
  data: 'data-set order',
  hardest: 'hardest first',
  easiest: 'easiest first',
  apart: 'runs furthest apart first',
};

/** The lower-case texts that the search looks in, for the chosen runs; cached until other runs are chosen. */
function haystacks(index) {
  const keys = chosen();
  if (index.hay?.of !== keys.join()) {
    const texts = index.questions.id.map((id, at) =>
      [id, index.questions.text[at], index.questions.gold[at], ...keys.map((key) => index.runs[key].answer[at])]
        .join('\n')
        .toLowerCase(),
    );
    index.hay = { of: keys.join(), texts };
  }
  return index.hay.texts;
}

/** Find the questions that have all search words, before the list is filtered by them. */
async function findWords(index) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const of = JSON.stringify([words, chosen()]);
  if (index.found?.of === of) return;
  let has = () => true;
  if (words.length && SERVED) {
    const places = new Set(await ask('search', { q: words.join(' '), runs: chosen().join() }));
    has = (at) => places.has(index.questions.place[at]);
  } else if (words.length) {
    const hay = haystacks(index);
    has = (at) => words.every((word) => hay[at].includes(word));
  }
  index.found = { of, has };
}

/** The places of the questions that pass the filters, in the chosen order. */
const filtered = (index) => ordered(left(index, state), chosenIn(index));

const chosenIn = (index) => chosen().map((key) => index.runs[key]);

/** The places of the questions that match a category, an outcome, a stage of loss, judged claims and the search
 * words that `findWords` has looked for. */
function left(index, { category, outcome, lost, claims, q }) {
  const runs = chosenIn(index);
  const fits = (at) =>
    (!category || index.questions.category[at] === category) &&
    (!q || index.found.has(at)) &&
    runs.some((run) => isOf(run, at, outcome, lost) && hasClaims(run, at, claims));
  return index.questions.id.map((_, at) => at).filter(fits);
}

/** Whether a run was asked a question, and had this outcome and loss, if given. */
const isOf = (run, at, outcome, lost) =>
  run.outcome[at] !== null &&
  (!outcome || run.outcome[at] === outcome) &&
  (!lost || run.lost[at] === lost);

/** Whether an answer has claims of this kind, or its question has gold claims that the answer misses. */
const hasClaims = (run, at, kind) => !kind || Boolean(run.claims?.[at]?.[CLAIM_KINDS.indexOf(kind)]);

/** The filter by judged claims, with the questions that each kind leaves; null if no claim was judged. */
function claimFilter(index) {
  if (!chosenIn(index).some((run) => run.claims)) return null;
  const kinds = CLAIM_KINDS.map((kind) => [kind, `${kind} (${left(index, { ...state, claims: kind }).length})`]);
  const listed = withPresent([['', 'any'], ...kinds], state.claims);
  return choice('claims', 'With a claim that is', listed, state.claims, (claims) => go({ claims }));
}

/** The outcomes from the worst to the best; those that nobody knows stand before the right ones. */
const WORST = [
  'error',
  'refused',
  'wrong',
  'answered the unanswerable',
  'abstained',
  'partial',
  'not scored',
  'only searched for',
  'right to abstain',
  'correct',
];

/** The places with the questions first that failed in any of the runs. */
function failedFirst(places, runs) {
  const worst = (at) => Math.min(...runs.map((run) => run.outcome[at]).filter(known).map((one) => WORST.indexOf(one)));
  const keys = new Map(places.map((at) => [at, worst(at)]));
  return places.sort((a, b) => keys.get(a) - keys.get(b) || a - b);
}

function ordered(places, runs) {
  if (state.order === 'data' || !Object.hasOwn(ORDERS, state.order)) return places;
  if (state.order === 'failed') return failedFirst(places, runs);
  const values = (at) => runs.map((run) => run.correctness[at]).filter(known);
  const keys = new Map(
    places.map((at) => {
      const found = values(at);
      if (!found.length) return [at, Infinity];
      if (state.order === 'apart') return [at, Math.min(...found) - Math.max(...found)];
      return [at, (state.order === 'easiest' ? -1 : 1) * mean(found)];
    }),
  );
  return places.sort((a, b) => keys.get(a) - keys.get(b) || a - b);
}

const NONE = { category: '', outcome: '', lost: '', claims: '', q: '' };

/** The values of a question for a filter: its category, or the values of the runs that pass the other filter. */
function valuesOf(index, at, field, { outcome, lost }) {
  if (field === 'category') return [index.questions.category[at]];
  const runs = chosenIn(index).filter((run) => isOf(run, at, outcome, lost));
  return [...new Set(runs.map((run) => run[field][at]))].filter(known);
}

/** The options of a filter, with the number of questions that each leaves together with the other filters. */
function options(index, field, any) {
  const tally = new Map();
  for (const at of left(index, NONE))
    for (const value of valuesOf(index, at, field, NONE)) tally.set(value, 0);
  const others = { ...state, [field]: '' };
  for (const at of left(index, others))
    for (const value of valuesOf(index, at, field, others)) tally.set(value, tally.get(value) + 1);
  return [['', any], ...[...tally].map(([value, n]) => [value, `${clip(value, 60)} (${n})`])];
}

function filters(index) {
  const inOrder = (list, order) => list.sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
  const outcomes = inOrder(options(index, 'outcome', 'any'), ['', ...Object.keys(OUTCOMES)]);
  const stages = inOrder(options(index, 'lost', 'any'), ['', ...Object.keys(STAGES)]).map(([stage, text]) => [
    stage,
    stage ? text.replace(stage, LOSERS[stage] ?? stage) : text,
  ]);
  return h(
    'form.filters',
    { role: 'search', onsubmit: (event) => event.preventDefault() },
    searchField('id, question, gold, answers', 150),
    choice(
      'category',
      'Category',
      withPresent(options(index, 'category', 'all'), state.category),
      state.category,
      (category) => go({ category }),
    ),
    choice(
      'outcome',
      chosen().length > 1 ? 'Outcome of any run' : 'Outcome',
      withPresent(outcomes, state.outcome),
      state.outcome,
      (outcome) => go({ outcome }),
    ),
    choice('lost', 'Lost by', withPresent(stages, state.lost), state.lost, (lost) => go({ lost })),
    claimFilter(index),
    choice('order', 'Order', Object.entries(ORDERS), state.order, (order) => go({ order })),
    h(
      'button',
      {
        id: 'clear',
        type: 'button',
        onclick: () => go({ ...NONE, order: DEFAULTS.order }),
      },
      'Clear',
    ),
  );
}

/** Add the value in the address to the options, even if no question has it. */
const withPresent = (list, value) =>
  list.some(([key]) => key === value) ? list : [...list, [value, `${clip(value, 60)} (0)`]];

/** The symbol of an outcome, with its name for screen readers. */
function badge(outcome, lost = null) {
  if (outcome === null)
    return h('span.badge.absent', { title: 'not asked' }, '·', h('span.unseen', {}, 'not asked'));
  const [sign, kind] = OUTCOMES[outcome] ?? ['?', 'none'];
  const words = lost ? `${outcome}, ${lostBy(lost)}` : outcome;
  return h(
    `span.badge.${kind}`,
    { title: words },
    h('span', { 'aria-hidden': 'true' }, sign),
    h('span.unseen', {}, words),
  );
}

function badgeLegend() {
  return h(
    'ul.legend',
    { 'aria-label': 'Signs' },
    Object.keys(OUTCOMES).map((outcome) =>
      h('li', {}, badge(outcome), h('span', { 'aria-hidden': 'true' }, outcome)),
    ),
  );
}

function questionRow(index, at, { text, gold, answers }) {
  const keys = chosen();
  const [id, category] = [index.questions.id[at], index.questions.category[at]];
  const shown = keys.length <= MOST_ANSWERS ? keys.filter((key) => index.runs[key].outcome[at] !== null) : [];
  const answer = (key) => shortAnswer({ answer: answers[key], outcome: index.runs[key].outcome[at] }, 280);
  const marks = keys.map((key, nth) =>
    h(
      'li',
      {},
      keys.length > 1 ? swatch(nth) : null,
      h('span.unseen', {}, said(runLabel(report.runs[key]), 60), ': '),
      badge(index.runs[key].outcome[at], index.runs[key].lost[at]),
    ),
  );
  return h(
    'li',
    {},
    h(
      'div.words',
      {},
      h('a', { href: link({ view: 'question', id }), id: `question-${at}` }, said(text, 240)),
      h('p.small', {}, said(id, 60), ' · ', said(category, 40), gold ? [' · gold: ', said(gold, 120)] : null),
      h(
        'div.sides',
        {},
        shown.map((key) => h('p.small.answer', {}, keys.length > 1 ? swatch(keys.indexOf(key)) : null, answer(key))),
      ),
    ),
    h('ul.marks', {}, marks),
  );
}

async function questionsView() {
  const index = await readIndex();
  await findWords(index);
  const places = filtered(index);
  const { page, element } = pager(places.length);
  const shown = places.slice((page - 1) * PAGE, page * PAGE);
  const rows = await readRows(index, shown);
  const result = `${plural(places.length, 'question')} of ${count(index.questions.id.length)}`;
  announce(result);
  const heads = h(
    'div.columns',
    { 'aria-hidden': 'true' },
    h('span', {}, result),
    h(
      'ul.marks',
      {},
      chosen().map((_, nth) => h('li', {}, swatch(nth))),
    ),
  );
  return [
    h('h2', { id: 'title' }, 'Questions'),
    filters(index),
    chosen().length > 1 ? legend() : null,
    badgeLegend(),
    shown.length
      ? [
          heads,
          h(
            'ol.questions',
            { 'aria-label': result },
            shown.map((at, nth) => questionRow(index, at, rows[nth])),
          ),
        ]
      : h('p.note', {}, 'No question matches. Clear a filter.'),
    element,
  ];
}
