// Hits by modality of the gold: one plot with a band for each modality, in it a line over k for each run.

const BAND_HEIGHT = 250; // a row of bands
const BAND_WIDTH = 90; // the least
const MOST_BANDS = 24;

/** The points of a run in the band of a modality; none where the run has no such gold. */
const hitsOf = (run, modality) => own(run.modalities, modality) ?? [];

function modalities(room) {
  const keys = chosen().filter((key) => Object.keys(report.runs[key].modalities).length);
  if (!keys.length) return null;
  const names = [...new Set(keys.flatMap((key) => Object.keys(report.runs[key].modalities)))].sort();
  const rows = names.flatMap((name) =>
    keys.flatMap((key) =>
      hitsOf(report.runs[key], name).map((point) => [
        said(name, 60),
        named(key),
        count(point.k),
        valueText(point),
        rangeText(point) || ' ',
        count(point.n),
      ]),
    ),
  );
  const ks = [...new Set(keys.flatMap((key) => names.flatMap((name) => hitsOf(report.runs[key], name).map(({ k }) => k))))];
  ks.sort((a, b) => a - b);
  return section(
    'modalities',
    'Hits by modality of the gold',
    h(
      'p.small',
      {},
      `The share of the questions with gold of a modality, such as text or image, for which such a gold page is
        among the first k pages; vertical lines are 95 % intervals.`,
    ),
    legend(keys),
    h('figure', {}, bandRows(names.slice(0, MOST_BANDS), room).map((row) => modalityChart(keys, row, ks, room))),
    names.length > MOST_BANDS
      ? h('p.small', {}, `${names.length - MOST_BANDS} more modalities stand in the table alone.`)
      : null,
    behind('modalities', 'Hits by modality, run and k', ['Modality', 'Run', 'k', 'Hit@k', '95 % interval', 'n'], rows),
  );
}

/** The modalities by row, each with as many as have room beside one another. */
function bandRows(names, room) {
  const fitting = Math.max(1, Math.floor((room - 52) / BAND_WIDTH));
  return names.flatMap((_, at) => (at % fitting ? [] : [names.slice(at, at + fitting)]));
}

/** One row of the plot: the bands stand side by side, and within each the values of k. */
function modalityChart(keys, names, ks, room) {
  const [left, right, top, low] = [44, 8, 28, BAND_HEIGHT - 44];
  const band = (room - left - right) / names.length;
  const step = (band - 24) / ks.length;
  const every = Math.ceil(18 / step); // so that the numbers do not touch one another
  const start = (at) => left + at * band + 12;
  const x = (at, k, nth) =>
    start(at) + (ks.indexOf(k) + 0.5) * step + (nth - (keys.length - 1) / 2) * Math.min(9, step / (keys.length + 1));
  const y = (value) => low - (low - top) * value;
  const grid = [0, 0.25, 0.5, 0.75, 1].map((value) => [
    s('line', { x1: left, x2: round(room - right), y1: round(y(value)), y2: round(y(value)), class: 'rail' }),
    s('text', { x: left - 6, y: round(y(value) + 4), class: 'tick end' }, measured(value)),
  ]);
  const heads = names.map((name, at) => [
    s('text', { x: round(start(at) + (band - 24) / 2), y: 16, class: 'tick middle' }, fit(name, band - 8)),
    at
      ? s('line', { x1: round(start(at) - 12), x2: round(start(at) - 12), y1: top, y2: low, class: 'rail' })
      : null,
    ks.map((k, index) =>
      index % every
        ? null
        : s('text', { x: round(start(at) + (index + 0.5) * step), y: low + 18, class: 'tick middle' }, String(k)),
    ),
  ]);
  const lines = names.map((name, at) => keys.map((key, nth) => modalityLine(key, name, (k) => x(at, k, nth), y)));
  return chart(
    room,
    BAND_HEIGHT,
    'Hit@k by modality of the gold and by run, over k',
    grid,
    heads,
    s('text', { x: round(room - right), y: low + 38, class: 'tick end' }, 'First k pages →'),
    s('text', { x: left, y: low + 38, class: 'tick start' }, '↑ Hit@k'),
    lines,
  );
}

/** The line of one run in one band, with its intervals. */
function modalityLine(key, name, x, y) {
  const [run, nth] = [report.runs[key], chosen().indexOf(key)];
  const points = hitsOf(run, name);
  const path = points.map(({ k, mean }, index) => `${index ? 'L' : 'M'}${round(x(k))} ${round(y(mean))}`);
  return [
    points.map((point) => whisker(nth, x(point.k), y, point)),
    s('path', { d: path.join(''), class: `line${nth}`, 'stroke-dasharray': DASHES[nth] }),
    points.map((point) =>
      spot(
        nth,
        x(point.k),
        y(point.mean),
        `${runLabel(run)}, ${plain(name)}: hit@${point.k} ${figureText(point)}, n ${point.n}`,
      ),
    ),
  ];
}
