// Tables as every report has them, each with its chart, if it has one: of all runs, chosen or not.

/** Lines over named places on an axis; vertical lines are the intervals. */
function sectionChart(title, { axis, ticks, lines: drawn, what }, room) {
  const [left, right, top, height] = [44, 16, 10, 260];
  const low = height - 44;
  const x = (at) => left + ((room - left - right) * (at + 0.5)) / ticks.length;
  const y = (value) => low - (low - top) * value;
  const grid = [0, 0.25, 0.5, 0.75, 1].map((value) => [
    s('line', { x1: left, x2: room - right, y1: round(y(value)), y2: round(y(value)), class: 'rail' }),
    s('text', { x: left - 6, y: round(y(value) + 4), class: 'tick end' }, measured(value)),
  ]);
  const width = (room - left - right) / ticks.length - 1;
  const names = Object.entries(drawn).slice(0, SHAPES.length);
  const paths = names.map(([name, points], nth) => {
    const found = ticks
      .map((tick, at) => ({ tick, left: x(at) + (nth - (names.length - 1) / 2) * 4, point: own(points, tick) }))
      .filter(({ point }) => known(point?.value));
    const path = found.map(({ left, point }, at) => `${at ? 'L' : 'M'}${round(left)} ${round(y(point.value))}`);
    return [
      found.map(({ left, point }) => whisker(nth, left, y, point)),
      s('path', { d: path.join(''), class: `line${nth}`, 'stroke-dasharray': DASHES[nth] }),
      found.map(({ tick, left, point }) =>
        spot(nth, left, y(point.value), `${name}, ${tick}: ${figureText(point)}, n ${point.n}`),
      ),
    ];
  });
  return chart(
    room,
    height,
    `${title}: ${what} over ${axis}`,
    grid,
    ticks.map((tick, at) => s('text', { x: round(x(at)), y: low + 18, class: 'tick middle' }, fit(tick, width))),
    s('text', { x: room - right, y: low + 38, class: 'tick end' }, `${axis} →`),
    s('text', { x: left, y: low + 38, class: 'tick start' }, `↑ ${what}`),
    paths,
  );
}

/** The names of the lines of a chart with their shapes. */
const sectionLegend = ({ lines: drawn }) =>
  h(
    'ul.legend',
    { 'aria-label': 'Legend' },
    Object.keys(drawn)
      .slice(0, SHAPES.length)
      .map((name, nth) => h('li', {}, swatch(nth), said(name, 60))),
  );

/** How many lines the chart leaves out, if it does: there are as many as shapes. */
function linesLeftOut({ lines: drawn }) {
  const more = Object.keys(drawn).length - SHAPES.length;
  if (more <= 0) return null;
  return h('p.small', {}, `${plural(more, 'more line is', 'more lines are')} in the table only.`);
}

/** A cell whose interval stays on one line. */
const unbroken = (cell) =>
  cell.split(/(\[[^\]]*\])/).map((part, at) => (at % 2 ? h('span.unbroken', {}, said(part, 200)) : said(part, 200)));

/** A table with its notes. */
const sectionTable = ({ title, header, rows, notes }) => [
  table(
    title,
    header.map((name) => said(name, 60)),
    rows.map((row) => row.map(unbroken)),
    { seen: false },
  ),
  h('ul.notes', {}, notes.map((note) => h('li', {}, said(note, 600)))),
];

/** Tables as sections of the page. */
const tables = (sections, room) =>
  sections.map((found) =>
    section(
      `table-${found.key}`,
      said(found.title, 100),
      found.chart ? sectionLegend(found.chart) : null,
      found.chart ? h('figure', {}, sectionChart(found.title, found.chart, Math.min(room, 720))) : null,
      found.chart ? linesLeftOut(found.chart) : null,
      sectionTable(found),
    ),
  );
