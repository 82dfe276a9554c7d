// The funnel: how much of the gold answer reached the model's answer, and at which stage the rest was lost.

const BAR = 17;

/** The stages known for at least one chosen run, in order. */
function funnelStages(runs) {
  const all = new Set(runs.flatMap((run) => run.funnel?.stages ?? []));
  return Object.keys(STAGES).filter((stage) => all.has(stage));
}

/** The last stage that a run has: the answer, or what was retrieved where it only searched. */
const lastStage = (values) => Object.keys(STAGES).findLast((stage) => Object.hasOwn(values.recall, stage));
const REACHED = ANSWERED ? 'reached the answer' : 'was retrieved';

/** The segments of one bar: what reached the answer, then what each stage lost. */
function segments(values, stages) {
  const parts = [{ kind: 'reached', name: REACHED, value: values.recall[lastStage(values)] ?? 0, text: values.text.recall[lastStage(values)] }];
  for (const stage of stages)
    parts.push({ kind: `lost-${stage}`, name: lostBy(stage), value: values.loss[stage] ?? 0, text: values.text.loss[stage] });
  return parts.filter((part) => part.value > 0);
}

function funnelBar(values, stages, x, y, left) {
  let at = 0;
  const parts = segments(values, stages);
  if (!parts.length)
    return s(
      'text',
      { x: left, y: y + 12.5, class: 'tick start' },
      known(values.recall[lastStage(values)])
        ? 'nothing reached the answer; losses not known'
        : 'not known: none of its questions is in the funnel',
    );
  const drawn = parts.map((part) => {
    const [start, width] = [left + x * at, x * part.value];
    at += part.value;
    const text =
      width > 30
        ? s(
            'text',
            { x: round(start + width / 2), y: y + 12.5, class: `inside ${part.kind}` },
            part.text,
          )
        : null;
    return [
      s(
        'rect',
        { x: round(start), y, width: round(width), height: BAR, class: `segment ${part.kind}` },
        s('title', {}, `${part.name}: ${part.text}`),
      ),
      text,
    ];
  });
  const sign = mixed(values, stages)
    ? s('text', { x: round(left + x * at + 3), y: y + 15, class: 'name' }, '†')
    : null;
  return [drawn, sign, gainBar(values, stages, x, y + BAR + 2, left)];
}

/** The gains at each stage, drawn below the bar; they are never subtracted from the losses. */
function gainBar(values, stages, x, y, left) {
  let at = 0;
  return stages
    .filter((stage) => values.gain[stage] > 0)
    .map((stage) => {
      const start = left + x * at;
      at += values.gain[stage];
      return s(
        'rect',
        {
          x: round(start),
          y,
          width: round(Math.max(2, x * values.gain[stage] - 1)),
          height: 4,
          class: 'gained',
        },
        s('title', {}, `gained after the ${LOSERS[stage]}: ${values.text.gain[stage]}`),
      );
    });
}

function funnelChart(category, keys, stages, most, room) {
  const names = Math.min(
    room * 0.36,
    Math.max(...keys.map((key) => textWidth(runLabel(report.runs[key])))) + 30,
  );
  const x = (room - names - 14) / most;
  const step = BAR + 12;
  const rows = keys.map((key, nth) => {
    const run = report.runs[key];
    const values = funnelIn(run, category);
    const y = 4 + nth * step;
    const label = fit(runLabel(run), names - 30);
    return [
      spot(chosen().indexOf(key), 8, y + 8),
      s('text', { x: 20, y: y + 12.5, class: 'name' }, s('title', {}, plain(runLabel(run))), label),
      values
        ? funnelBar(values, stages, x, y, names)
        : s('text', { x: names, y: y + 12.5, class: 'tick start' }, 'not known'),
    ];
  });
  const foot = 8 + keys.length * step;
  const axis = [0, 0.5, 1].map((part) => [
    s('line', {
      x1: round(names + part * x),
      x2: round(names + part * x),
      y1: 0,
      y2: foot - 6,
      class: 'rail',
    }),
    s('text', { x: round(names + part * x), y: foot + 8, class: 'tick middle' }, String(part)),
  ]);
  return h(
    'figure',
    { class: 'funnel' },
    h('figcaption', {}, said(nameOf(category), 60), h('span.range', {}, funnelCounts(category, keys))),
    chart(
      room,
      foot + 14,
      `Funnel of ${nameOf(category)}: what reached the answer and what each stage lost, by run`,
      axis,
      rows,
    ),
  );
}

function funnelCounts(category, keys) {
  const counts = [
    ...new Set(
      keys
        .map((key) => funnelIn(report.runs[key], category))
        .filter(present)
        .map((values) => values.n[lastStage(values)])
        .filter(known),
    ),
  ].sort((a, b) => a - b);
  if (!counts.length) return ' not known';
  return counts.length === 1 ? ` n ${counts[0]}` : ` n ${counts[0]} to ${counts.at(-1)}`;
}

function funnelTable(keys, stages, categories) {
  const heads = [
    'Run',
    'Category',
    ...stages.flatMap((stage) => [
      `in ${STAGES[stage]}`,
      'n',
      lostBy(stage),
      `gained after the ${LOSERS[stage]}`,
      'compared',
    ]),
  ];
  const rows = keys.flatMap((key) =>
    categories
      .filter((category) => funnelIn(report.runs[key], category))
      .map((category) => {
        const values = funnelIn(report.runs[key], category);
        return [
          said(runLabel(report.runs[key]), 60),
          said(nameOf(category), 60),
          ...stages.flatMap((stage) => [
            values.text.recall[stage],
            count(values.n[stage]),
            values.text.loss[stage],
            values.text.gain[stage],
            count(values.compared[stage]),
          ]),
        ];
      }),
  );
  return behind('funnel', 'Recall, losses and gains by stage, run and category', heads, rows);
}

function funnelLegend(stages) {
  const entry = (kind, text) =>
    h(
      'li',
      {},
      s(
        'svg',
        { width: 16, height: 14, viewBox: '0 0 16 14', 'aria-hidden': 'true' },
        s('rect', {
          x: 1,
          y: kind === 'gained' ? 5 : 1,
          width: 14,
          height: kind === 'gained' ? 4 : 12,
          class: kind === 'gained' ? 'gained' : `segment ${kind}`,
        }),
      ),
      text,
    );
  return h(
    'ul.legend',
    { 'aria-label': 'Legend of the funnel' },
    entry('reached', REACHED),
    stages.map((stage) => entry(`lost-${stage}`, lostBy(stage))),
    entry('gained', 'gained'),
  );
}

/** The explanations that the bars shown here need. */
function funnelWords(keys, stages) {
  const all = keys.flatMap((key) => funnelsIn(report.runs[key]));
  return [
    'Phrase recall of the gold answer, by stage. Losses and gains are means over questions, averaged separately.',
    all.some((values) => stages.some((stage) => values.gain[stage] > 0))
      ? 'Gains are shown below their bar; with them, a bar may be longer than 1.'
      : '',
    keys.some((key) => !report.runs[key].funnel.stages.includes('documents'))
      ? 'If a bar ends before 1, the rest was lost before the first known stage.'
      : '',
    all.some((values) => mixed(values, stages))
      ? 'The parts of a bar with a † cover different numbers of questions (see the table), so they may not add up.'
      : '',
    keys.some((key) => report.runs[key].funnel.estimated) ? 'Some stages are estimates.' : '',
  ].filter(Boolean);
}

/** Whether the stages cover different numbers of questions. */
function mixed(values, stages) {
  const counts = stages.flatMap((stage) => [
    known(values.recall[stage]) ? values.n[stage] : null,
    known(values.loss[stage]) ? values.compared[stage] : null,
  ]);
  return new Set(counts.filter(known)).size > 1;
}

/** Notes about what was left out or estimated, each with the runs that it applies to. */
function funnelNotes(keys) {
  const runs = new Map();
  for (const key of keys)
    for (const note of report.runs[key].funnel.notes)
      runs.set(note, [...(runs.get(note) ?? []), runLabel(report.runs[key])]);
  const names = (list) => (list.length === keys.length ? null : [' (', said(list.join(', '), 400), ')']);
  return runs.size
    ? h(
        'ul.notes',
        {},
        [...runs].map(([note, list]) =>
          h(
            'li',
            {},
            said(note.replace(/^\* /, 'Overall is a mean of fewer categories: '), 1000),
            names(list),
          ),
        ),
      )
    : null;
}

function funnel(room) {
  const keys = chosen().filter((key) => report.runs[key].funnel);
  if (!keys.length)
    return section(
      'funnel',
      'Where answers were lost',
      h('p.note', {}, 'Not known: these runs have no funnel under this profile.'),
    );
  const others = chosen().filter((key) => !keys.includes(key));
  const stages = funnelStages(keys.map((key) => report.runs[key]));
  const categories = [OVERALL, ...CATEGORIES].filter((category) =>
    keys.some((key) => funnelIn(report.runs[key], category)),
  );
  const totals = keys
    .flatMap((key) => funnelsIn(report.runs[key]))
    .map((values) => sum(segments(values, stages).map((part) => part.value)));
  const columns = room > 1100 ? 3 : room > 700 ? 2 : 1;
  const width = (room - 28 * (columns - 1)) / columns;
  const bars = (category, wide) => funnelChart(category, keys, stages, Math.max(1, ...totals), wide);
  return section(
    'funnel',
    'Where answers were lost',
    h('p.small', {}, funnelWords(keys, stages).join(' ')),
    funnelLegend(stages),
    bars(categories[0], Math.min(room, 760)),
    categories.length > 1
      ? h(
          'details.behind',
          {},
          h('summary', { id: 'funnel-categories' }, 'By category'),
          h('div.multiples', {}, categories.slice(1).map((category) => bars(category, width))),
        )
      : null,
    others.length
      ? h(
          'p.small',
          {},
          'Not drawn, because only the answers are known: ',
          said(others.map((key) => runLabel(report.runs[key])).join(', '), 600),
        )
      : null,
    funnelNotes(keys),
    funnelTable(keys, stages, categories),
  );
}
