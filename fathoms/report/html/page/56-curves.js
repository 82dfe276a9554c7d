// Curves of recall: over the number of pages that are looked at, and over the tokens of retrieved text.

const CURVES = {
  ranks: { points: 'by_rank', at: 'k', axis: (level) => `First k ${level}s`, tick: (value) => String(value) },
  tokens: {
    points: 'by_tokens',
    at: 'tokens',
    axis: () => 'Tokens of retrieved text',
    tick: (value) => (value < 1024 ? String(value) : `${value / 1024}k`),
  },
};

/** The points of one curve of a run; none where the run has no such curve. */
const curveOf = (run, kind) => run.curves?.[CURVES[kind].points] ?? [];

/** One curve for each run, on a logarithmic axis; vertical lines are the intervals. */
function curveChart(kind, keys, level, room) {
  const { at, axis, tick } = CURVES[kind];
  const [left, right, top, height] = [44, 16, 10, 280];
  const low = height - 44;
  const values = [...new Set(keys.flatMap((key) => curveOf(report.runs[key], kind).map((point) => point[at])))].sort(
    (a, b) => a - b,
  );
  const [first, last] = [Math.log(values[0]), Math.log(values.at(-1))];
  const x = (value) => left + ((room - left - right) * (Math.log(value) - first)) / (last - first || 1);
  const y = (value) => low - (low - top) * value;
  const shown = spaced(values, x);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((value) => [
    s('line', { x1: left, x2: room - right, y1: round(y(value)), y2: round(y(value)), class: 'rail' }),
    s('text', { x: left - 6, y: round(y(value) + 4), class: 'tick end' }, measured(value)),
  ]);
  const lines = keys.map((key) => {
    const [run, nth] = [report.runs[key], chosen().indexOf(key)];
    const points = curveOf(run, kind).filter((point) => known(point.value));
    const path = points.map((point, index) => `${index ? 'L' : 'M'}${round(x(point[at]))} ${round(y(point.value))}`);
    return [
      points.map((point) => whisker(nth, x(point[at]) + nth - 3, y, point)),
      s('path', { d: path.join(''), class: `line${nth}`, 'stroke-dasharray': DASHES[nth] }),
      points.map((point) =>
        spot(
          nth,
          x(point[at]),
          y(point.value),
          `${runLabel(run)}, ${tick(point[at])}: recall ${figureText(point)}`,
        ),
      ),
    ];
  });
  return chart(
    room,
    height,
    `Recall of gold ${level}s by run, over: ${axis(level)}`,
    grid,
    shown.map((value) => s('text', { x: round(x(value)), y: low + 18, class: 'tick middle' }, tick(value))),
    s('text', { x: room - right, y: low + 38, class: 'tick end' }, `${axis(level)} →`),
    s('text', { x: left, y: low + 38, class: 'tick start' }, '↑ Recall'),
    lines,
  );
}

/** The values whose ticks have room beside one another, from the left. */
function spaced(values, x) {
  let free = -Infinity;
  return values.filter((value) => {
    if (x(value) < free) return false;
    free = x(value) + 30;
    return true;
  });
}

/** The points of all curves as a table. */
function curveTable(kind, keys, level) {
  const { at, axis } = CURVES[kind];
  const rows = keys.flatMap((key) =>
    curveOf(report.runs[key], kind).map((point) => [
      named(key),
      count(point[at]),
      valueText(point),
      rangeText(point) || ' ',
      count(point.n),
    ]),
  );
  return behind(
    `recall-${kind}`,
    `Recall of gold ${level}s over: ${axis(level)}`,
    ['Run', axis(level), 'Recall', '95 % interval', 'n'],
    rows,
  );
}

/** Say how many characters a token was taken to have. */
function tokenNote(keys) {
  const runs = keys.map((key) => report.runs[key]);
  const estimated = runs.filter((run) => run.curves.estimated);
  const own = runs.filter((run) => !run.curves.estimated);
  const ratios = own.map((run) => `${runLabel(run)} ${run.curves.characters_per_token}`);
  return [
    estimated.length ? 'Tokens are estimated, 4 characters each, for: ' : null,
    said(estimated.map(runLabel).join(', '), 400),
    estimated.length && own.length ? '. ' : null,
    own.length ? 'Characters per token as in the prompts of the run: ' : null,
    said(ratios.join(', '), 400),
    '.',
  ];
}

/** Both curves of the chosen runs. */
function curves(room) {
  const keys = chosen().filter((key) => curveOf(report.runs[key], 'ranks').length);
  if (!keys.length) return null;
  const levels = new Set(keys.map((key) => report.runs[key].curves.level));
  const level = levels.size === 1 ? [...levels][0] : 'page or document';
  const others = chosen().filter((key) => !keys.includes(key));
  const width = room > 820 ? (room - 32) / 2 : room;
  const withTokens = keys.filter((key) => curveOf(report.runs[key], 'tokens').length);
  const part = (kind, some) => [
    h('figure', {}, curveChart(kind, some, level, width)),
    curveTable(kind, some, level),
  ];
  return section(
    'recall',
    'Recall of the search',
    h(
      'p.small',
      {},
      `The share of the gold ${level}s that the search has found, as the mean of the categories; vertical lines are
        95 % intervals. If fewer than k pages were retrieved, all of them count.`,
    ),
    legend(keys),
    h(
      'div.pairs',
      {},
      h('div', {}, part('ranks', keys)),
      withTokens.length
        ? h('div', {}, part('tokens', withTokens), h('p.small', {}, tokenNote(withTokens)))
        : null,
    ),
    others.length
      ? h(
          'p.small',
          {},
          'Not drawn, because gold or hits are not known: ',
          said(others.map((key) => runLabel(report.runs[key])).join(', '), 600),
        )
      : null,
  );
}
