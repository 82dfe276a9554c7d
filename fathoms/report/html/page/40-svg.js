// Small drawing functions: SVG elements, the mark of a run, scales.

const SVG = 'http://www.w3.org/2000/svg';
const DASHES = ['', '7 3', '2 2.5', '9 3 2 3', '4 2', '12 3 3 3', '1 3', '6 2 1 2 1 2'];
const FONT = 12;
const pen = document.createElement('canvas').getContext('2d');

function s(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  setProperties(element, properties);
  element.append(...children.flat(Infinity).filter(present).map(asNode));
  return element;
}

/** A chart as a named image; its values are also in a table next to it. */
function chart(width, height, title, ...children) {
  const box = { viewBox: `0 0 ${round(width)} ${round(height)}`, width: round(width), height: round(height) };
  return s(
    'svg',
    { class: 'chart', role: 'img', 'aria-label': plain(title), ...box },
    s('title', {}, plain(title)),
    children,
  );
}

const round = (value) => Math.round(value * 100) / 100;

/** The width of a text in the charts' font, in pixels. */
function textWidth(text, size = FONT, weight = 400) {
  pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/** The text, cut to the available width. */
function fit(text, room, size = FONT) {
  const all = plain(clip(text, 300));
  if (textWidth(all, size) <= room) return all;
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(`${clip(all, middle)}…`, size) <= room) low = middle;
    else high = middle - 1;
  }
  return `${clip(all, low)}…`;
}

/** Wrap a text to at most `most` lines, none wider than `room`. */
function lines(text, room, most = 2) {
  const found = [''];
  for (const word of plain(clip(text, 200))
    .trim()
    .split(/\s+|(?<=[-_/:])/)) {
    const glue = /[-_/:]$/.test(found.at(-1)) ? '' : ' ';
    const longer = `${found.at(-1)}${glue}${word}`.trim();
    if (textWidth(longer) <= room || found.at(-1) === '') found[found.length - 1] = longer;
    else found.push(word);
  }
  const kept = found.slice(0, most);
  if (found.length > most) kept[most - 1] += ` ${found[most]}`;
  return kept.map((line) => fit(line, room));
}

const SHAPES = [
  'M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0z',
  'M-3.8-3.8h7.6v7.6h-7.6z',
  'M0-5L4.8 3.6h-9.6z',
  'M0-5.2L5.2 0L0 5.2L-5.2 0z',
  'M0 5L4.8-3.6h-9.6z',
  'M-1.6-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z',
  'M-4.8-2.5L-2.5-4.8L0-2.3L2.5-4.8L4.8-2.5L2.3 0L4.8 2.5L2.5 4.8L0 2.3L-2.5 4.8L-4.8 2.5L-2.3 0z',
  'M0-5.4L1.5-1.8L5.2-1.6L2.4.8L3.3 4.5L0 2.5L-3.3 4.5L-2.4.8L-5.2-1.6L-1.5-1.8z',
];

/** The shape of the nth chosen run in its colour, at a point. */
function spot(nth, x, y, title = null) {
  const shape = s('path', {
    d: SHAPES[nth],
    transform: `translate(${round(x)} ${round(y)})`,
    class: `run${nth}`,
  });
  if (title) shape.append(s('title', {}, plain(title)));
  return shape;
}

/** The interval of a point of the nth chosen run: a line at `x` between its bounds, if both are known. */
function whisker(nth, x, y, { low, high }) {
  if (!known(low) || !known(high)) return null;
  const ends = { x1: round(x), x2: round(x), y1: round(y(low)), y2: round(y(high)) };
  return s('line', { ...ends, class: `whisker line${nth}` });
}

/** The same shape for legends and tables, where the name is next to it. */
function swatch(nth) {
  return s(
    'svg',
    { class: 'swatch', width: 14, height: 14, viewBox: '-7 -7 14 14', 'aria-hidden': 'true' },
    spot(nth, 0, 0),
  );
}

/** The name of a run, with its shape if it is one of the chosen runs. */
function named(key, text = runLabel(report.runs[key])) {
  const nth = chosen().indexOf(key);
  return h('span.named', {}, nth >= 0 ? swatch(nth) : h('span.swatch.none'), breakable(text));
}

const RUN_ID = /^\d{8}T\d{6,9}Z_\S{1,100}$/; // as fathoms makes them; a run from elsewhere may have any id

/** A name that may wrap after hyphens and underscores, but neither inside words nor inside the id of a run. */
function breakable(text) {
  const id = report.runs.map((run) => run.id).find((one) => RUN_ID.test(one) && text.includes(one));
  if (id) {
    const [before, ...after] = text.split(id);
    return [breakable(before), h('span.id', {}, said(id, 120)), breakable(after.join(id))];
  }
  const name = said(text, 60);
  for (const node of [...name.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE)) {
    node.replaceWith(
      ...node.data.split(/(?<=[-_/])(?![-_/])/).flatMap((part, at) => (at ? [h('wbr'), part] : [part])),
    );
  }
  return name;
}

/** The legend: shape, colour and dashes of each run. */
function legend(keys = chosen()) {
  return h(
    'ul.legend',
    { 'aria-label': 'Legend' },
    keys.map((key) => {
      const nth = chosen().indexOf(key);
      const line = s('line', {
        x1: -15,
        x2: 15,
        y1: 0,
        y2: 0,
        class: `line${nth}`,
        'stroke-dasharray': DASHES[nth],
      });
      return h(
        'li',
        {},
        s(
          'svg',
          { width: 32, height: 14, viewBox: '-16 -7 32 14', 'aria-hidden': 'true' },
          line,
          spot(nth, 0, 0),
        ),
        breakable(runLabel(report.runs[key])),
      );
    }),
  );
}

/** Axis ticks at round numbers, from 0 to at least `most`. */
function ticks(most, wanted = 4) {
  const rough = Math.max(most, 1e-9) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough - 1e-12);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, at) => at * step);
}
