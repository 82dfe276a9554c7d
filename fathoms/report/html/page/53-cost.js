// The chart of cost against correctness, with the Pareto front.

/** The cost of a question: in dollars if any run knows them, otherwise in seconds. */
function costAxis(runs) {
  const priced = runs.some((run) => known(run.cost.per_question.value));
  if (priced || !runs.some((run) => known(run.seconds.per_question.value)))
    return { label: 'Cost per question', of: (run) => run.cost.per_question, unit: 'US dollars', what: 'cost' };
  return { label: 'Seconds per question', of: (run) => run.seconds.per_question, unit: 'seconds', what: 'seconds' };
}

/** The Pareto front: the points to which no other is cheaper and at least as good, or as cheap and better. */
function paretoFront(points) {
  const sorted = [...points].sort((a, b) => a.x - b.x || b.y - a.y);
  let last = null;
  return sorted.filter((point) => {
    const equal = last && point.x === last.x && point.y === last.y;
    if (last && point.y <= last.y && !equal) return false;
    last = point;
    return true;
  });
}

/** Find a place for a point's name that overlaps nothing: to its right, left, above or below. */
function placeName(text, x, y, taken, room, height) {
  const width = textWidth(text) + 4;
  const spots = [
    [x + 9, y - 8],
    [x - 9 - width, y - 8],
    [x - width / 2, y - 25],
    [x - width / 2, y + 9],
    [x + 7, y - 21],
    [x + 7, y + 6],
    [x - 7 - width, y - 21],
    [x - 7 - width, y + 6],
  ];
  const free = spots
    .map(([left, top]) => ({ left, top, right: left + width, bottom: top + 16 }))
    .find(
      (box) =>
        box.left >= 0 &&
        box.right <= room &&
        box.top >= 0 &&
        box.bottom <= height &&
        !taken.some(
          (other) =>
            box.left < other.right &&
            other.left < box.right &&
            box.top < other.bottom &&
            other.top < box.bottom,
        ),
    );
  if (free) taken.push(free);
  return free ?? null;
}

function paretoChart(points, front, axis, room) {
  const [left, right, top, height] = [44, 16, 10, 320];
  const low = height - 44;
  const steps = ticks(Math.max(...points.map((point) => point.x)) * 1.04 || 1, room < 500 ? 3 : 5);
  const tall = ticks(Math.max(0.1, ...points.map((point) => point.high ?? point.y)), 5);
  const x = (value) => left + ((room - left - right) * value) / steps.at(-1);
  const y = (value) => low - ((low - top) * value) / tall.at(-1);
  const taken = points.map((point) => ({
    left: x(point.x) - 6,
    right: x(point.x) + 6,
    top: y(point.y) - 6,
    bottom: y(point.y) + 6,
  }));
  const names = points.map((point) => {
    const text = fit(runLabel(report.runs[point.key]), room / 3);
    const box = placeName(text, x(point.x), y(point.y), taken, room, low);
    return box && s('text', { x: round(box.left + 2), y: round(box.top + 12), class: 'name' }, text);
  });
  return chart(
    room,
    height,
    `${axis.label} against overall correctness, with the Pareto front`,
    paretoAxes({ x, y, left, end: room - right, low }, steps, tall, axis),
    s('path', { d: frontPath(front, x, y, room - right), class: 'front' }),
    points.map((point) => whisker(point.nth, x(point.x), y, point)),
    points.map((point) =>
      spot(
        point.nth,
        x(point.x),
        y(point.y),
        `${runLabel(report.runs[point.key])}: ${point.amount}, correctness ${point.text}`,
      ),
    ),
    names,
  );
}

/** Grid lines for correctness, ticks and titles for both axes; `frame` has the scales and the edges. */
function paretoAxes(frame, steps, tall, axis) {
  return [
    tall.map((value) => [
      s('line', {
        x1: frame.left,
        x2: frame.end,
        y1: round(frame.y(value)),
        y2: round(frame.y(value)),
        class: 'rail',
      }),
      s('text', { x: frame.left - 6, y: round(frame.y(value) + 4), class: 'tick end' }, measured(value)),
    ]),
    steps.map((value, at) =>
      s(
        'text',
        {
          x: round(frame.x(value)),
          y: frame.low + 18,
          class: at ? (at === steps.length - 1 ? 'tick end' : 'tick middle') : 'tick start',
        },
        value ? measured(value, axis.unit) : '0',
      ),
    ),
    s('text', { x: frame.end, y: frame.low + 38, class: 'tick end' }, `${axis.label} →`),
    s('text', { x: frame.left, y: frame.low + 38, class: 'tick start' }, '↑ Overall correctness'),
  ];
}

/** The front as steps: between two runs, the best available correctness is that of the cheaper one. */
function frontPath(front, x, y, end) {
  if (!front.length) return '';
  const steps = front.map((point, at) =>
    at ? `H${round(x(point.x))}V${round(y(point.y))}` : `M${round(x(point.x))} ${round(y(point.y))}`,
  );
  return `${steps.join('')}H${round(end)}`;
}

function costAndQuality(room) {
  const keys = chosen();
  const axis = costAxis(chosenRuns());
  const made = keys.map((key, nth) => {
    const quality = fig(report.runs[key], 'correctness', OVERALL);
    return {
      key,
      nth,
      x: axis.of(report.runs[key]).value,
      amount: axis.of(report.runs[key]).text,
      y: quality.mean ?? null,
      text: valueText(quality),
      low: quality.low,
      high: quality.high,
    };
  });
  const all = made.filter((point) => !report.runs[point.key].retrieval_only);
  if (!all.length) return null;
  const points = all.filter((point) => known(point.x) && known(point.y));
  const front = paretoFront(points);
  const missing = all.filter((point) => !points.includes(point));
  const rows = all.map((point) => [
    named(point.key),
    point.amount,
    point.text,
    front.includes(point) ? 'yes' : 'no',
  ]);
  const why =
    axis.what === 'seconds' ? 'No run here has a known cost, so seconds per question are shown instead. ' : '';
  return section(
    'cost',
    axis.what === 'seconds' ? 'Time against quality' : 'Cost against quality',
    h(
      'p.small',
      {},
      why,
      'The line joins the runs that no other run beats in both (the Pareto front); vertical lines are 95 % intervals.',
    ),
    points.length
      ? [legend(points.map((point) => point.key)), h('figure', {}, paretoChart(points, front, axis, room))]
      : h('p.note', {}, 'Nothing can be drawn: no run here has both a known correctness and a known cost or time.'),
    missing.length && points.length
      ? h(
          'p.note',
          {},
          `Not drawn, because ${axis.what === 'cost' ? 'cost' : 'time'} or correctness is not known: `,
          listed(missing.map((point) => said(runLabel(report.runs[point.key]), 60))),
        )
      : null,
    behind(
      'cost',
      'Cost, quality and the Pareto front',
      ['Run', axis.label, 'Overall correctness', 'On the front'],
      rows,
    ),
  );
}
