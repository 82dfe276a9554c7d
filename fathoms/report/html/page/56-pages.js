// The funnel by gold pages: the share of the gold pages that reach each stage, with intervals.

const PAGE_HEIGHT = 150; // the height of the axes

/** The stages that any of the chosen runs knows: the names of their metrics, with their heads. */
const pageStages = (keys) => Object.assign({}, ...keys.map((key) => report.runs[key].pages.stages));

function goldPages(room) {
  const keys = chosen().filter((key) => report.runs[key].pages);
  if (!keys.length) return null;
  const stages = pageStages(keys);
  const categories = [OVERALL, ...CATEGORIES].filter((category) =>
    keys.some((key) => pagePoints(key, category, stages).length),
  );
  const columns = room > 1100 ? 3 : room > 700 ? 2 : 1;
  const width = (room - 28 * (columns - 1)) / columns;
  const rows = keys.flatMap((key) =>
    categories.map((category) => [
      named(key),
      said(nameOf(category), 60),
      ...Object.keys(stages).map((name) => {
        const found = fig(report.runs[key], name, category);
        return [valueText(found), h('span.range', {}, `${rangeText(found)} n ${count(found.n)}`)];
      }),
    ]),
  );
  return section(
    'gold-pages',
    'Where gold pages were lost',
    h(
      'p.small',
      {},
      `The share of the gold pages that reach each stage, with its 95 % interval: parsed with text, covered by a
        retrieved chunk, still in the prompt, cited by the answer. It does not depend on how the gold answer is
        worded.`,
    ),
    legend(keys),
    h(
      'div.multiples',
      {},
      categories.map((category) => pageChart(category, keys, stages, width)),
    ),
    h(
      'ul.notes',
      {},
      keys.flatMap((key) =>
        report.runs[key].pages.notes.map((note) => h('li', {}, named(key), ': ', said(note, 600))),
      ),
    ),
    behind(
      'gold-pages',
      'Gold pages by run, category and stage',
      ['Run', 'Category', ...Object.values(stages)],
      rows,
    ),
  );
}

/** The known stages of a run: their place, and the figure. */
function pagePoints(key, category, stages) {
  return Object.keys(stages)
    .map((name, at) => ({ at, found: fig(report.runs[key], name, category) }))
    .filter(({ found }) => known(found.mean));
}

function pageChart(category, keys, stages, room) {
  const heads = Object.values(stages);
  const step = (room - 70) / Math.max(1, heads.length - 1);
  const x = (at, nth) => 34 + at * step + (nth - (keys.length - 1) / 2) * Math.min(7, 40 / keys.length);
  const y = (value) => 10 + (1 - value) * (PAGE_HEIGHT - 20);
  const rails = [0, 0.5, 1].map((value) => [
    s('line', { x1: 24, x2: round(room), y1: y(value), y2: y(value), class: 'rail' }),
    s('text', { x: 18, y: y(value) + 4, class: 'tick end' }, String(value)),
  ]);
  const names = heads.map((head, at) =>
    s('text', { x: round(34 + at * step), y: PAGE_HEIGHT + 12, class: 'tick middle' }, head),
  );
  const lines = keys.map((key, nth) => {
    const points = pagePoints(key, category, stages);
    const line = points.map(({ at, found }) => `${round(x(at, nth))},${round(y(found.mean))}`).join(' ');
    const place = chosen().indexOf(key);
    return [
      s('polyline', { points: line, fill: 'none', class: `line${place}`, 'stroke-dasharray': DASHES[place] }),
      points.map(({ at, found }) => [
        known(found.low)
          ? s('line', {
              x1: round(x(at, nth)),
              x2: round(x(at, nth)),
              y1: round(y(found.high)),
              y2: round(y(found.low)),
              class: 'span',
            })
          : null,
        spot(
          place,
          x(at, nth),
          y(found.mean),
          `${runLabel(report.runs[key])}, ${heads[at]}: ${figureText(found)}, n ${found.n}`,
        ),
      ]),
    ];
  });
  const counts = keys.flatMap((key) => pagePoints(key, category, stages).map(({ found }) => found.n));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const n = least === most ? ` n ${least}` : ` n ${least} to ${most}`;
  return h(
    'figure',
    { class: 'pages' },
    h('figcaption', {}, said(nameOf(category), 60), h('span.range', {}, n)),
    chart(
      room,
      PAGE_HEIGHT + 18,
      `Gold pages of ${nameOf(category)}: the share that reaches each stage, by run`,
      rails,
      names,
      lines,
    ),
  );
}
