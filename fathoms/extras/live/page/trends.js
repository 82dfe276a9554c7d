// The figures of a pipeline over its nights: a chart with intervals, and all of it as a table.

const report = JSON.parse(document.getElementById('overview').textContent);
const main = document.getElementById('main');
const VERDICTS = { PASS: ['✓', 'good'], FAIL: ['✗', 'bad'], UNDECIDED: ['?', 'half'] };
const THEMES = { auto: 'Auto', light: 'Light', dark: 'Dark' };

/** The lowest and the highest value of the axis. */
function axisOf({ bounds, nights }) {
  if (bounds) return bounds;
  const values = nights.flatMap(({ value, low, high }) => [value, low, high]).filter(known);
  const most = Math.max(0, ...values);
  return [Math.min(0, ...values), most || 1];
}

/** One point for each night that has a figure, with its interval; a line is broken where something has changed, and
 * a dashed line marks the change. */
function trendChart(trend, room) {
  const [left, right, top, height] = [52, 14, 26, 300];
  const bottom = height - 34;
  const [least, most] = axisOf(trend);
  const { nights } = trend;
  const x = (at) => left + ((room - left - right) * (at + 0.5)) / nights.length;
  const y = (value) => bottom - ((bottom - top) * (value - least)) / (most - least || 1);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const value = least + share * (most - least);
    return [
      s('line', { x1: left, x2: room - right, y1: round(y(value)), y2: round(y(value)), class: 'rail' }),
      s('text', { x: left - 6, y: round(y(value) + 4), class: 'tick end' }, measured(value, trend.unit)),
    ];
  });
  const changes = nights.flatMap(({ changes: found }, at) => {
    if (!found.length) return [];
    const between = round((x(at) + x(at - 1)) / 2);
    const words = found.map(([what, text]) => `${what}: ${text}`).join('; ');
    return [
      s('line', { x1: between, x2: between, y1: top - 8, y2: bottom, class: 'front' }, s('title', {}, plain(words))),
      s('text', { x: between, y: top - 12, class: 'tick middle', 'aria-hidden': 'true' }, String(at + 1)),
    ];
  });
  const path = [];
  nights.forEach(({ value, changes: found }, at) => {
    if (!known(value)) return;
    const joined = path.length && !found.length && known(nights[at - 1]?.value);
    path.push(`${joined ? 'L' : 'M'}${round(x(at))} ${round(y(value))}`);
  });
  const points = nights.map((night, at) => {
    if (!known(night.value)) return null;
    const [sign, kind] = VERDICTS[night.verdict] ?? [null, 'none'];
    const words = `${night.run}: ${figureText(night)} ${night.verdict ?? ''}`;
    return [
      whisker(0, x(at), y, night),
      spot(kind === 'bad' ? 1 : 0, x(at), y(night.value), words),
      sign ? s('text', { x: round(x(at)), y: bottom + 14, class: 'tick middle', 'aria-hidden': 'true' }, sign) : null,
    ];
  });
  return chart(
    room,
    height,
    `${trend.metric} of ${trend.name} over ${nights.length} runs`,
    grid,
    changes,
    s('path', { d: path.join(''), class: 'line0' }),
    points,
    s('text', { x: left, y: bottom + 30, class: 'tick start' }, moment(nights[0]?.created).slice(0, 10)),
    s('text', { x: room - right, y: bottom + 30, class: 'tick end' }, moment(nights.at(-1)?.created).slice(0, 10)),
  );
}

function verdictCell({ verdict, line }) {
  if (!verdict) return 'n/a';
  const [sign, kind] = VERDICTS[verdict] ?? ['?', 'half'];
  const word = h(`span.status.${kind}`, {}, h('span', { 'aria-hidden': 'true' }, `${sign} `), said(verdict, 20));
  return line ? [word, h('span.small', {}, h('br'), said(line, 300))] : word;
}

function trendTable(trend) {
  const rows = trend.nights.map((night, at) => [
    String(at + 1),
    report.served && night.run ? h('a', { href: `../run/${encodeURIComponent(night.run)}/` }, said(night.run, 120)) : said(night.run || 'no run', 120),
    moment(night.created),
    [valueText(night), h('span.range', {}, rangeText(night))],
    count(night.n),
    known(night.errors) ? count(night.errors) : 'n/a',
    night.cost,
    verdictCell(night),
    [
      night.changes.map(([what, text]) => h('span.block', {}, h('strong', {}, said(what, 40)), ': ', said(text, 300))),
      night.why ? said(night.why, 300) : null,
    ],
  ]);
  const heads = ['Night', 'Run', 'Started', trend.metric, 'Questions', 'Failed', 'Cost', 'Gate', 'Changed since the run before'];
  return table(`${plain(trend.name)} by ${plain(trend.metric)}`, heads, rows.reverse(), { kind: 'nights', seen: false });
}

function choices(trend) {
  if (!report.served) return null;
  const to = (name, metric) => (location.search = `?${new URLSearchParams(metric ? { name, metric } : { name })}`);
  return h(
    'form.filters',
    { onsubmit: (event) => event.preventDefault() },
    choice('name', 'Pipeline', report.names.map((name) => [name, name]), trend?.name, (name) => to(name)),
    trend
      ? choice('metric', 'Metric', trend.metrics.map((name) => [name, name]), trend.metric, (metric) => to(trend.name, metric))
      : null,
  );
}

function trendSection(trend, at) {
  const room = main.clientWidth - 2 * Number.parseFloat(getComputedStyle(main).paddingLeft);
  const better = trend.direction === 'lower' ? 'Lower' : 'Higher';
  return section(
    `trend-${at}`,
    `${plain(trend.name)}: ${plain(trend.metric)}`,
    h(
      'p.small',
      {},
      `${better} is better. Vertical lines at the points are 95 % intervals. A dashed line with the number of a night
        marks that something has changed since the run before: figures on its two sides are not of one kind.`,
    ),
    trend.nights.some(({ verdict }) => verdict)
      ? null
      : h('p.small', {}, 'What the gate said is shown where --log names the log of the nights.'),
    trendChart(trend, room),
    trendTable(trend),
  );
}

function draw() {
  const theme = new URLSearchParams(location.hash.slice(1)).get('theme') ?? 'auto';
  document.documentElement.dataset.theme = Object.hasOwn(THEMES, theme) ? theme : 'auto';
  document
    .getElementById('theme')
    .replaceChildren(toggle('theme', 'Colours', Object.entries(THEMES), theme, (next) => location.replace(`#theme=${next}`)));
  document.getElementById('views').replaceChildren(h('a', { id: 'home', href: report.home }, 'All runs'));
  main.replaceChildren(
    ...[
      h('h2', { id: 'title' }, 'Trends'),
      choices(report.trends[0]),
      report.why ? h('p.note', {}, said(report.why, 600)) : null,
      ...report.trends.map(trendSection),
    ].filter(present),
  );
}

document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
document.getElementById('name').replaceChildren(said(report.title, 160));
document.getElementById('footer').replaceChildren(`Made by ${plain(report.version)}. This page makes no network requests.`);
window.addEventListener('hashchange', draw);
window.addEventListener('resize', draw);
draw();
