// Honesty: what was answered where retrieval found the evidence and where it did not, as a mosaic for each run.

const MOSAIC = 180; // the height of a column

const GRADES = ['right', 'half right', 'wrong', 'not graded'];
const HONESTY_LINES = [
  ...GRADES.map((grade) => `answered, ${grade}`),
  ...GRADES.map((grade) => `abstained, ${grade}`),
  ...['hedged', 'refused', 'failed', 'not labelled'],
];

/** The colour of a line of the table: what the model did, and whether that was right. */
const honestyKind = (name) =>
  name.startsWith('abstained')
    ? 'abstained'
    : ({ 'answered, right': 'right', 'answered, half right': 'half', 'answered, wrong': 'wrong' }[name] ?? 'apart');

function honesty(room) {
  const keys = chosen().filter((key) => report.runs[key].honesty);
  if (!keys.length) return null;
  const columns = room > 1100 ? 3 : room > 700 ? 2 : 1;
  const width = Math.min(420, (room - 28 * (columns - 1)) / columns);
  const names = HONESTY_LINES.filter((name) => keys.some((key) => own(report.runs[key].honesty.lines, name)));
  return section(
    'honesty',
    'What was answered with and without the evidence',
    h(
      'p.small',
      {},
      `A hit has a gold page of every hop among the retrieved ones. The width of a column is its share of the
        answers, the height of a part its share of the column. An honest pipeline answers hits and abstains on
        misses.`,
    ),
    h(
      'ul.legend',
      { 'aria-label': 'Legend of the answers' },
      names.map((name) =>
        h(
          'li',
          {},
          s(
            'svg',
            { width: 16, height: 14, viewBox: '0 0 16 14', 'aria-hidden': 'true' },
            s('rect', { x: 1, y: 1, width: 14, height: 12, class: `mosaic ${honestyKind(name)}` }),
          ),
          name,
        ),
      ),
    ),
    h('div.multiples', {}, keys.map((key) => honestyFigure(key, width))),
    behind(
      'honesty',
      'Answers by retrieval and run',
      ['Run', 'Answers', 'Hits', 'Misses'],
      keys.flatMap((key) =>
        Object.entries(report.runs[key].honesty.lines).map(([name, [hits, misses]]) => [
          named(key),
          name,
          count(hits),
          count(misses),
        ]),
      ),
    ),
  );
}

function honestyFigure(key, room) {
  const { lines, rates, notes } = report.runs[key].honesty;
  const columns = ['hits', 'misses'].map((head, at) => ({
    head,
    parts: Object.entries(lines).map(([name, counts]) => [name, counts[at]]),
    total: sum(Object.values(lines).map((counts) => counts[at])),
  }));
  const all = sum(columns.map(({ total }) => total));
  let left = 0;
  const drawn = columns.map(({ head, parts, total }) => {
    const start = left;
    const width = ((room - 8) * total) / all;
    left += width + 8;
    return total ? mosaicColumn(head, parts, total, start, width, room) : null;
  });
  const told = columns.map(
    ({ head, parts, total }) =>
      `${head} ${total}${total ? `: ${parts.filter(([, n]) => n).map(([name, n]) => `${name} ${n}`).join(', ')}` : ''}`,
  );
  return h(
    'figure',
    { class: 'honesty' },
    h('figcaption', {}, named(key)),
    chart(room, MOSAIC + 24, `Answers of ${runLabel(report.runs[key])} by retrieval: ${told.join('; ')}`, drawn),
    h('ul.notes', {}, [
      ...Object.entries(rates).map(([name, rate]) => h('li', {}, `${name} ${rate}`)),
      ...notes.map((note) => h('li', {}, said(note, 400))),
    ]),
  );
}

function mosaicColumn(head, parts, total, left, width, room) {
  let top = 20;
  const boxes = parts
    .filter(([, n]) => n)
    .map(([name, n]) => {
      const height = (MOSAIC * n) / total;
      const y = top;
      top += height;
      const whole = `${name.replace(/^answered, /, '')} ${n}`;
      const label = textWidth(whole) + 8 < width ? whole : String(n);
      return [
        s(
          'rect',
          { x: round(left), y: round(y), width: round(width), height: round(height), class: `mosaic ${honestyKind(name)}` },
          s('title', {}, `${head}, ${name}: ${n} of ${total}`),
        ),
        height > 13 && width > textWidth(label) + 4
          ? s('text', { x: round(left + width / 2), y: round(y + height / 2 + 4), class: 'inside' }, label)
          : null,
      ];
    });
  const name = fit(`${head} ${total}`, Math.max(width, 20));
  // a narrow column at the right edge has its name to the left, so that it is not cut
  const end = left + width > room - 4 && width < textWidth(`${head} ${total}`);
  const title = end
    ? s('text', { x: round(left + width), y: 13, class: 'name end' }, `${head} ${total}`)
    : s('text', { x: round(left), y: 13, class: 'name' }, name);
  return [boxes, title];
}
