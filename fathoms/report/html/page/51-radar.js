// Radar plots: one plot per metric, with an axis per category and one for Overall.

const TALL = 340;
const MOST_LABELS = 12;

/**
 * The values as shares of the radius, one list per run. The centre is the lowest value of the metric and the
 * outermost ring its highest; the paper's scale divides each axis by its highest value instead.
 */
function normalise(runs, scale, [low, high]) {
  if (scale !== 'paper') {
    const part = (value) => Math.min(1, Math.max(0, (value - low) / (high - low)));
    return runs.map((values) => values.map((value) => (known(value) ? part(value) : value)));
  }
  const tops = runs[0].map((_, axis) => Math.max(0, ...runs.map((values) => values[axis]).filter(known)));
  return runs.map((values) =>
    values.map((value, axis) => (known(value) && tops[axis] > 0 ? value / tops[axis] : value)),
  );
}

const directions = (axes) =>
  Array.from({ length: axes }, (_, at) => [
    Math.sin((2 * Math.PI * at) / axes),
    -Math.cos((2 * Math.PI * at) / axes),
  ]);

/** Place label boxes outside the circle, which grows, up to a limit, until no two of them overlap. */
function placeLabels(texts, radius) {
  const sizes = texts.map((rows) => [Math.max(...rows.map((row) => textWidth(row))) + 6, rows.length * 15]);
  const around = (reach) =>
    directions(texts.length).map(([x, y], at) => {
      const distance = reach + 12 + (Math.abs(x) * sizes[at][0] + Math.abs(y) * sizes[at][1]) / 2;
      return { x: x * distance, y: y * distance, width: sizes[at][0], height: sizes[at][1] };
    });
  const meet = (a, b) =>
    Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < (a.height + b.height) / 2;
  const collide = (boxes) => boxes.some((box, at) => boxes.slice(0, at).some((other) => meet(box, other)));
  let boxes = around(radius);
  for (let grown = 0; collide(boxes) && grown < 12; grown += 1) {
    radius *= 1.08;
    boxes = around(radius);
  }
  return { radius, boxes };
}

function radarChart(metric, categories, runs, scale, room) {
  const figures = runs.map((run) => categories.map((category) => fig(run, metric, category)));
  const raw = figures.map((found) => found.map(({ mean }) => mean ?? null));
  const axes = categories.map(nameOf);
  const range = rangeOf(metric);
  // dividing by the highest value means nothing where values can be negative
  if (runs.length === 1 || range[0] < 0) scale = 'plain';
  const drawn = normalise(raw, scale, range);
  const wide = Math.max(60, Math.min(110, (room - 200) / 2));
  const texts = axes.map((axis, at) => [
    ...(axes.length > MOST_LABELS ? [String(at + 1)] : lines(axis, wide, 3)),
    ...lackOf(raw.map((values) => values[at])),
  ]);
  const { radius, boxes } = placeLabels(texts, Math.min(TALL / 2, Math.max(72, (room - 2 * wide - 40) / 2)));
  const edges = (reach) => [
    Math.min(-radius, ...boxes.map((box) => box[reach] - box[reach === 'x' ? 'width' : 'height'] / 2)),
    Math.max(radius, ...boxes.map((box) => box[reach] + box[reach === 'x' ? 'width' : 'height'] / 2)),
  ];
  const [[left, right], [top, bottom]] = [edges('x'), edges('y')];
  const scaling =
    scale === 'paper' ? 'each axis divided by its highest value' : `from ${range[0]} to ${range[1]}`;
  const title = `${titleOf(metric)} by category, ${scaling}`;
  const picture = chart(
    right - left + 8,
    bottom - top + 8,
    title,
    s(
      'g',
      { transform: `translate(${round(4 - left)} ${round(4 - top)})` },
      grid(axes.length, radius),
      boxes.map((box, at) => radarLabel(box, texts[at], axes[at])),
      drawn.map((values, nth) => outline(values, figures[nth], axes, radius, nth, runs[nth])),
      ringLabels(radius, scale === 'paper' ? [0, 1] : range),
    ),
  );
  const numbers =
    axes.length > MOST_LABELS
      ? h(
          'ol.axes',
          {},
          axes.map((axis) => h('li', {}, said(axis, 60))),
        )
      : null;
  return h(
    'figure',
    { class: 'radar' },
    h('figcaption', {}, titleOf(metric), isLower(metric) ? ' (lower is better)' : ''),
    picture,
    numbers,
    behind(
      `radar-${slug(metric)}`,
      title,
      ['Run', ...axes.map((axis) => said(axis, 60))],
      runs.map((run, nth) => [said(runLabel(run), 60), ...figures[nth].map(written)]),
    ),
  );
}

/** What the label of an axis says about the runs without a value on it, where their outline has a gap. */
function lackOf(values) {
  const lacking = values.filter((value) => !known(value)).length;
  if (!lacking) return [];
  return [lacking === values.length ? 'no value' : `no value (${lacking} of ${values.length} runs)`];
}

const written = (found) => (known(found.mean) ? valueText(found) : 'no value');

const polygon = (points) => points.map(([x, y]) => `${round(x)},${round(y)}`).join(' ');

function grid(axes, radius) {
  const ways = directions(axes);
  const rings =
    axes < 3
      ? [0.25, 0.5, 0.75, 1].map((part) => s('circle', { r: round(part * radius), class: 'rail' }))
      : [0.25, 0.5, 0.75, 1].map((part) =>
          s('polygon', {
            points: polygon(ways.map(([x, y]) => [x * part * radius, y * part * radius])),
            class: 'rail',
          }),
        );
  return [
    rings,
    ways.map(([x, y]) =>
      s('line', { x1: 0, y1: 0, x2: round(x * radius), y2: round(y * radius), class: 'rail' }),
    ),
  ];
}

/** The values of the middle and the outermost ring, and that of the centre unless it is 0. */
const ringLabels = (radius, [low, high]) =>
  (low ? [0, 0.5, 1] : [0.5, 1]).map((part) =>
    s(
      'text',
      { x: 4, y: round(-part * radius + 12), class: 'tick' },
      String(round(low + part * (high - low))),
    ),
  );

function radarLabel(box, rows, axis) {
  const top = box.y - box.height / 2 + 11;
  return s(
    'text',
    { x: round(box.x), y: round(top), class: 'label' },
    s('title', {}, plain(axis)),
    rows.map((row, at) => s('tspan', { x: round(box.x), dy: at ? 15 : 0 }, row)),
  );
}

/** One run: a line through its values with a mark on each; a missing value interrupts the line. */
function outline(values, figures, axes, radius, nth, run) {
  const ways = directions(axes.length);
  const points = values.map((value, at) =>
    known(value) ? [ways[at][0] * value * radius, ways[at][1] * value * radius] : null,
  );
  const marks = points.map(
    (point, at) => point && spot(nth, ...point, `${runLabel(run)}, ${axes[at]}: ${written(figures[at])}`),
  );
  return s(
    'g',
    {},
    s('path', { d: closedPath(points), class: `line${nth}`, 'stroke-dasharray': DASHES[nth] }),
    marks,
  );
}

function closedPath(points) {
  if (points.every(present)) return `M${polygon(points).replaceAll(' ', 'L')}Z`;
  const pairs = points
    .map((point, at) => [point, points[(at + 1) % points.length]])
    .filter(([a, b]) => a && b);
  return pairs.map(([a, b]) => `M${polygon([a])}L${polygon([b])}`).join('');
}

/** Whether a further metric has a radar: it is shown, and its values have bounds, which are the ends of an axis. */
const onRadar = (name) => isShown(name) && rangeOf(name) !== null;

/** The radars of some metrics; null without any. Those of correctness and hallucination have the choice of scale. */
function radars(room, id, title, metrics) {
  const categories = [OVERALL, ...CATEGORIES];
  const runs = chosenRuns();
  const width = room > 820 ? (room - 32) / 2 : room;
  if (!metrics.length || !CATEGORIES.length) return null;
  return section(
    id,
    title,
    id === 'radar' ? scaleChoice(runs) : null,
    legend(),
    h(
      'div.pairs',
      {},
      metrics.map((metric) =>
        radarChart(metric, categories, runs, state.scale === 'paper' ? 'paper' : 'plain', width),
      ),
    ),
  );
}

const scaleChoice = (runs) =>
    h(
      'div.controls',
      {},
      toggle(
        'scale',
        'Scale of the axes',
        [
          ['plain', 'Plain'],
          ['paper', 'Paper’s scale'],
        ],
        state.scale === 'paper' ? 'paper' : 'plain',
        (scale) => go({ scale }),
      ),
      h(
        'p.small',
        {},
        state.scale === 'paper' && runs.length > 1
          ? 'Each axis is divided by the highest value that any of these runs has on it, as in the paper.'
          : 'Values as measured: each axis goes from the lowest to the highest value that the metric can have.',
      ),
    );
