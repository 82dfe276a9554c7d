// Answer length against support: whether longer answers are supported less.

/** The mean support by length: a line from the shortest to the longest answer of each group, and its interval. */
function lengthChart(name, keys, room) {
  const [left, right, top, height] = [44, 16, 10, 280];
  const low = height - 44;
  const groupsOf = (key) => report.runs[key].lengths[name].groups;
  const marks = ticks(Math.max(1, ...keys.flatMap((key) => groupsOf(key).map(({ longest }) => longest))));
  const x = (words) => left + ((room - left - right) * words) / marks.at(-1);
  const y = (value) => low - (low - top) * value;
  const grid = [0, 0.25, 0.5, 0.75, 1].map((value) => [
    s('line', { x1: left, x2: room - right, y1: round(y(value)), y2: round(y(value)), class: 'rail' }),
    s('text', { x: left - 6, y: round(y(value) + 4), class: 'tick end' }, measured(value)),
  ]);
  const drawn = keys.map((key) => {
    const nth = chosen().indexOf(key);
    const groups = groupsOf(key).filter(({ value }) => known(value));
    const middle = ({ shortest, longest }) => x((shortest + longest) / 2);
    const path = groups.map((group, at) => `${at ? 'L' : 'M'}${round(middle(group))} ${round(y(group.value))}`);
    return [
      s('path', { d: path.join(''), class: `line${nth}`, 'stroke-dasharray': DASHES[nth] }),
      groups.map((group) => [
        s('line', {
          x1: round(x(group.shortest)),
          x2: round(x(group.longest)),
          y1: round(y(group.value)),
          y2: round(y(group.value)),
          class: `whisker line${nth}`,
        }),
        whisker(nth, middle(group) + nth, y, group),
        spot(
          nth,
          middle(group),
          y(group.value),
          `${runLabel(report.runs[key])}, ${wordsOf(group)} words: ${figureText(group)}`,
        ),
      ]),
    ];
  });
  return chart(
    room,
    height,
    `Mean ${name} by the length of answers and run`,
    grid,
    marks.map((value) => s('text', { x: round(x(value)), y: low + 18, class: 'tick middle' }, count(value))),
    s('text', { x: room - right, y: low + 38, class: 'tick end' }, 'Words of the answer →'),
    s('text', { x: left, y: low + 38, class: 'tick start' }, `↑ Mean ${name}`),
    drawn,
  );
}

const wordsOf = ({ shortest, longest }) => (shortest === longest ? count(shortest) : `${count(shortest)} to ${count(longest)}`);

/** One plot for each kind of support that some chosen run has. */
function lengthAgainstSupport(room) {
  const keys = chosen().filter((key) => Object.keys(report.runs[key].lengths ?? {}).length);
  if (!keys.length) return null;
  const names = [...new Set(keys.flatMap((key) => Object.keys(report.runs[key].lengths)))];
  const width = names.length > 1 && room > 820 ? (room - 32) / 2 : Math.min(room, 640);
  return section(
    'lengths',
    'Answer length against support',
    h(
      'p.small',
      {},
      `Answers in up to four groups of about equal size, by their number of words. A horizontal line goes from the
        shortest to the longest answer of a group, at the height of their mean support; a vertical line is its 95 %
        interval. Where the line falls to the right, longer answers are supported less.`,
    ),
    legend(keys),
    h(
      'div.pairs',
      {},
      names.map((name) => lengthFigure(name, keys.filter((key) => own(report.runs[key].lengths, name)), width)),
    ),
  );
}

function lengthFigure(name, keys, width) {
  const rows = keys.flatMap((key) =>
    report.runs[key].lengths[name].groups.map((group) => [
      named(key),
      wordsOf(group),
      valueText(group),
      rangeText(group) || ' ',
      count(group.n),
    ]),
  );
  return h(
    'div',
    {},
    h('figure', {}, h('figcaption', {}, said(name, 80)), lengthChart(name, keys, width)),
    h('ul.notes', {}, keys.map((key) => h('li', {}, named(key), ': ', said(report.runs[key].lengths[name].says, 600)))),
    behind(
      `length-${slug(name)}`,
      `Mean ${plain(name)} by the length of answers`,
      ['Run', 'Words', 'Mean', '95 % interval', 'n'],
      rows,
    ),
  );
}
