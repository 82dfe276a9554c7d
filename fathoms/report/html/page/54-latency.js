// Latency by stage.

const secondsEach = (run) => sum(run.seconds.stages.map((stage) => stage.mean ?? 0));

/** How many times the fastest of the chosen runs a run takes; '' if there is nothing to compare it with. */
function multiple(value, values) {
  const others = values.filter(known);
  const least = Math.min(...others);
  return known(value) && others.length > 1 && least > 0 ? `${fixed(value / least, 1)}×` : '';
}

/** The stages, and two further times: that of the whole answer, and that to its first token. */
const secondsRows = ({ stages, whole, first_token: first }) => [
  ...stages,
  ...(whole ? [{ name: 'whole answer', ...whole }] : []),
  ...(first ? [{ name: 'first token', ...first }] : []),
];

function latency(room) {
  const keys = chosen().filter((key) => report.runs[key].seconds?.stages?.length);
  if (!keys.length)
    return section('latency', 'Latency by stage', h('p.note', {}, 'Not known: these runs have no timings.'));
  const stages = [
    ...new Set(keys.flatMap((key) => report.runs[key].seconds.stages.map((stage) => stage.name))),
  ];
  const tone = (stage) => `tone${stages.indexOf(stage) % 5}`;
  const entry = (stage) =>
    h(
      'li',
      {},
      s(
        'svg',
        { width: 16, height: 14, viewBox: '0 0 16 14', 'aria-hidden': 'true' },
        s('rect', { x: 1, y: 1, width: 14, height: 12, class: `segment ${tone(stage)}` }),
      ),
      said(stage, 40),
    );
  const means = (name) =>
    keys.map((key) => secondsRows(report.runs[key].seconds).find((stage) => stage.name === name)?.mean);
  const rows = keys.flatMap((key) =>
    secondsRows(report.runs[key].seconds).map((stage) => [
      named(key),
      said(stage.name, 40),
      [
        valueText(stage),
        stage.range ? h('span.range', {}, stage.range) : null,
      ],
      multiple(stage.mean, means(stage.name)) || 'n/a',
      stage.p50,
      stage.p95,
      count(stage.n),
    ]),
  );
  return section(
    'latency',
    'Latency by stage',
    h(
      'p.small',
      {},
      'Mean seconds of a question, by stage, without answers from the cache.',
      keys.length > 1 ? ' A figure with × says how many times the fastest of these runs it takes.' : '',
    ),
    h('ul.legend', { 'aria-label': 'Legend of the stages' }, stages.map(entry)),
    h('figure', {}, latencyChart(keys, tone, means, room)),
    behind(
      'latency',
      'Seconds by run and stage: mean with its 95 % interval, multiple of the fastest, median, 95th percentile',
      ['Run', 'Stage', 'Mean', '× fastest', 'p50', 'p95', 'n'],
      rows,
    ),
    ingestNotes(keys),
  );
}

/** What reading the documents took: it is not done per question. */
function ingestNotes(keys) {
  const notes = keys.flatMap((key) => report.runs[key].seconds.documents ?? []);
  return notes.length ? h('ul.notes', {}, notes.map((note) => h('li', {}, said(note, 400)))) : null;
}

function latencyChart(keys, tone, means, room) {
  const totals = keys.map((key) => secondsEach(report.runs[key]));
  const steps = ticks(Math.max(...totals), room < 500 ? 2 : 4);
  const names = Math.min(
    room * 0.36,
    Math.max(...keys.map((key) => textWidth(runLabel(report.runs[key])))) + 30,
  );
  const x = (value) => names + ((room - names - 110) * value) / (steps.at(-1) || 1);
  const foot = 6 + keys.length * 24;
  const bars = keys.map((key, nth) => {
    const y = 2 + nth * 24;
    let at = 0;
    const parts = report.runs[key].seconds.stages.map((stage) => {
      const from = at;
      at += stage.mean ?? 0;
      return s(
        'rect',
        {
          x: round(x(from)),
          y,
          width: round(x(at) - x(from)),
          height: BAR,
          class: `segment ${tone(stage.name)}`,
        },
        s('title', {}, plain(`${stage.name}: ${valueText(stage)} ${multiple(stage.mean, means(stage.name))}`)),
      );
    });
    return [
      spot(chosen().indexOf(key), 8, y + 8),
      s('text', { x: 20, y: y + 12.5, class: 'name' }, fit(runLabel(report.runs[key]), names - 30)),
      parts,
      s(
        'text',
        { x: round(x(totals[nth]) + 6), y: y + 12.5, class: 'name' },
        `${measured(totals[nth], 'seconds')} ${multiple(totals[nth], totals)}`,
      ),
    ];
  });
  return chart(
    room,
    foot + 14,
    'Mean seconds of a question by run and stage',
    steps.map((value) => [
      s('line', { x1: round(x(value)), x2: round(x(value)), y1: 0, y2: foot - 4, class: 'rail' }),
      s('text', { x: round(x(value)), y: foot + 9, class: 'tick middle' }, value ? measured(value, 'seconds') : '0'),
    ]),
    bars,
  );
}
