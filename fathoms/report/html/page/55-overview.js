// The overview: everything about whole runs.

function errors() {
  const rows = chosen().flatMap((key) =>
    report.runs[key].errors.map((error) => [
      named(key),
      h('code', {}, said(error.kind, 60)),
      count(error.n),
      said(error.example, 300),
    ]),
  );
  return section(
    'errors',
    'Errors',
    rows.length
      ? table(
          'Calls that failed, by run and kind',
          ['Run', 'Kind', 'Calls', 'First error'],
          rows,
        )
      : h('p.note', {}, 'None: no call of these runs failed.'),
  );
}

/** Answers that phrase recall and a judge see differently: there, gold phrases may need mending. */
function disagreements() {
  const rows = chosen().flatMap((key) =>
    (report.runs[key].disagreements ?? []).map(({ id, answer, gold, correctness, judged }) => [
      named(key),
      h('a', { href: link({ view: 'question', id }) }, said(id, 60)),
      said(answer, 280),
      said(gold, 280),
      correctness,
      judged,
    ]),
  );
  if (!rows.length) return null;
  return section(
    'disagreements',
    'Phrase recall and the judge disagree',
    h(
      'p.small',
      {},
      `Where the judge is right and phrase recall is not, the gold answer needs another variant:
        "fathoms questions check --from-run" proposes some. The first 100 of each run are listed.`,
    ),
    table(
      'Answers that are correct for one of the two only',
      ['Run', 'Question', 'Answer', 'Gold', 'Phrase recall', 'Judge'],
      rows,
    ),
  );
}

// ---- facts about the runs

const microOf = ({ metrics }) =>
  Object.keys(METRICS)
    .map((metric) => valueText(own(metrics, metric)?.micro))
    .join(', ');

const facts = (run) => [
  ['Id', h(RUN_ID.test(run.id) ? 'code.id' : 'code', {}, said(run.id, 120))],
  ['Model', said(run.model ?? 'not known', 80)],
  ['Pipeline', said(run.pipeline, 80)],
  ['Profile', said(run.profile, 40)],
  ['Started', said(moment(run.started), 40)],
  ['Data', said(run.data ?? 'not known', 80)],
  [
    'Questions asked',
    `${count(run.asked ?? run.questions)}${run.repeats > 1 ? `, ${run.repeats} repeats` : ''}`,
  ],
  ...(ANSWERED
    ? [
        ['Mean over questions: correctness, hallucination', microOf(run)],
        ['Abstentions classified by', said(run.classifier ?? 'not known', 40)],
      ]
    : []),
  ['Errors', count(run.counts.errors)],
  ['Refused', count(run.counts.refused)],
  ['Prompts shortened to fit', count(run.counts.cut_prompts)],
  ['Prompts cut by the server', count(run.counts.cut_by_server)],
  ['From the cache', count(run.counts.cached)],
  ['Cost', run.cost.total],
  ['Tokens in, out', `${count(run.tokens?.prompt)}, ${count(run.tokens?.completion)}`],
  ['Time', run.seconds.total],
  [
    'Documents',
    `${count(run.documents?.n)}${run.documents?.failed?.length ? `, ${run.documents.failed.length} failed` : ''}`,
  ],
];

/** The settings in which the chosen runs differ. */
function differences(keys) {
  const maps = keys.map((key) => new Map(report.runs[key].config));
  const names = [...new Set(maps.flatMap((map) => [...map.keys()]))];
  return names
    .filter((name) => new Set(maps.map((map) => map.get(name))).size > 1)
    .map((name) => [
      h('code', {}, said(name, 80)),
      ...maps.map((map) => (map.has(name) ? said(map.get(name), 120) : h('span.faint', {}, '–'))),
    ]);
}

function aboutRuns() {
  const keys = chosen();
  const list = keys.map((key) => facts(report.runs[key]));
  const rows = list[0].map(([name], at) => [name, ...list.map((run) => run[at][1])]);
  const different = keys.length > 1 ? differences(keys) : [];
  const heads = (first) => [first, ...keys.map((key) => named(key))];
  return section(
    'about',
    'The runs',
    table('What each run was', heads(h('span.unseen', {}, 'About')), rows, { seen: false, kind: 'runs' }),
    different.length
      ? h(
          'details.behind',
          {},
          h('summary', { id: 'differences' }, `Settings that differ (${different.length})`),
          table('Settings in which these runs differ', heads('Setting'), different, {
            seen: false,
            kind: 'runs',
          }),
        )
      : null,
    keys.map((key) =>
      h(
        'details.behind',
        {},
        h('summary', { id: `config-${key}` }, 'All settings of ', named(key)),
        table(
          'Settings',
          ['Setting', 'Value'],
          report.runs[key].config.map(([name, value]) => [h('code', {}, said(name, 80)), said(value, 2000)]),
          { seen: false },
        ),
      ),
    ),
    failedDocuments(keys),
  );
}

function failedDocuments(keys) {
  const rows = keys.flatMap((key) =>
    (report.runs[key].documents?.failed ?? []).map((failed) => [
      named(key),
      said(failed.document, 120),
      said(failed.why, 300),
    ]),
  );
  return rows.length ? table('Documents that could not be read', ['Run', 'Document', 'Why'], rows) : null;
}

function overviewView(room) {
  const different = report.same_questions
    ? null
    : h(
        'p.note',
        {},
        `These runs did not ask the same questions: their figures are not of one kind. Compare shows those that
          two of them share.`,
      );
  const notes = report.notes.map((note) => h('p.note', {}, said(note, 1000)));
  const first = [
    h('h2', { id: 'title' }, 'Overview'),
    verdict(),
    different,
    leaderboard(),
    report.runs.length === 1 ? null : notes,
    ANSWERED ? null : [furtherSection(), curves(room)],
    tables(report.sections, room),
    funnel(room),
    telling(),
    radars(room, 'radar', 'By category', Object.keys(METRICS)),
    report.runs.length === 1 ? notes : null,
  ];
  const rest = [
    ANSWERED ? furtherSection() : null,
    claimsSection(),
    lengthAgainstSupport(room),
    ANSWERED ? curves(room) : null,
    modalities(room),
    radars(room, 'radar-further', 'Further metrics by category', furtherMetrics().filter(onRadar)),
    tables(report.tables, room),
    costAndQuality(room),
    latency(room),
    errors(),
    disagreements(),
    aboutRuns(),
  ];
  return [...first, ...rest.flat().map(folded)];
}
