// The view of one question: its text, its gold answer, and the result of each chosen run.

/** The previous and next question in the filtered list. */
function neighbours(index, at) {
  const listed = filtered(index);
  const places = listed.includes(at) ? listed : index.questions.id.map((_, place) => place);
  const here = places.indexOf(at);
  const step = (id, text, place) =>
    place === undefined
      ? h('span.faint', {}, text)
      : h('a', { id, href: link({ id: index.questions.id[place], repeat: '0' }) }, text);
  return h(
    'nav.pager',
    { 'aria-label': 'Questions' },
    step('before', '← Previous', places[here - 1]),
    h('span', {}, `${here + 1} of ${places.length}`),
    step('after', 'Next →', places[here + 1]),
    h('a', { id: 'up', href: link({ view: 'questions', id: '', repeat: '0' }) }, 'All questions'),
  );
}

/** The gold answer: phrases, reference, and evidence in the documents. */
function goldBox(detail, answerable) {
  const number = (phrase) => detail.phrases.indexOf(phrase) + 1;
  const variants = (detail.answers ?? []).map((phrases, nth) =>
    h(
      'li',
      {},
      nth ? h('span.faint', {}, 'or ') : null,
      phrases.map((phrase, at) => [
        at ? h('span.faint', {}, ' and ') : null,
        h('mark', {}, said(phrase, 300)),
        h('sup', {}, number(phrase) || ''),
      ]),
    ),
  );
  const pages = (detail.evidence ?? []).map((found) =>
    h(
      'li',
      {},
      said(found.document, 120),
      known(found.page) ? `, page ${found.page}` : '',
      found.quote ? [': ', h('q', {}, said(found.quote, 400))] : null,
    ),
  );
  const metadata = Object.entries(detail.metadata ?? {});
  return h(
    'dl.facts',
    {},
    answerable === false
      ? [h('dt', {}, 'Answerable'), h('dd', {}, 'No: the right answer is to say so.')]
      : null,
    variants.length ? [h('dt', {}, 'Gold phrases'), h('dd', {}, h('ul.variants', {}, variants))] : null,
    detail.reference ? [h('dt', {}, 'Reference'), h('dd', {}, said(detail.reference, 2000))] : null,
    detail.answers_in_text?.length
      ? [h('dt', {}, 'Gold answer'), h('dd', {}, listed(detail.answers_in_text.map((text) => said(text, 2000))))]
      : null,
    detail.claims?.length
      ? [h('dt', {}, 'Gold claims'), h('dd', {}, h('ul', {}, detail.claims.map((text) => h('li', {}, said(text, 600)))))]
      : null,
    detail.history
      ? [h('dt', {}, 'Said before'), h('dd.said-before', {}, detail.history.split('\n').map((line) => h('div', {}, said(line, 20000))))]
      : null,
    metadata.length
      ? [
          h('dt', {}, 'Metadata'),
          h('dd', {}, listed(metadata.map(([key, value]) => [said(key, 120), ': ', said(value, 400)]))),
        ]
      : null,
    detail.files?.length
      ? [
          h('dt', {}, 'Documents'),
          h('dd', {}, listed(detail.files.map((file) => said(file, 120)))),
        ]
      : null,
    pages.length ? [h('dt', {}, 'Evidence'), h('dd', {}, h('ul', {}, pages))] : null,
  );
}

/** A small picture of a page or a figure, with boxes in points framed on it; null if this file has none. */
function thumbnail(name, what, gold, boxes = []) {
  const source = pictureOf(name);
  if (!source) return null;
  const picture = h('img', { class: `thumbnail${gold ? ' gold' : ''}`, alt: plain(what), width: 110, src: source });
  return boxes.length ? h('span.page', {}, picture, framed(boxes, own(sheetData.sizes, name))) : picture;
}

/** The picture of a retrieved page, over which the patches that match the question are coloured. */
function heatmapOf(hit) {
  const { columns, rows, values } = hit.heatmap ?? {};
  if (!(columns * rows > 0) || values?.length !== columns * rows) return null;
  const picture = thumbnail(hit.thumbnail, `page ${hit.pages} of ${hit.document}`, hit.gold);
  if (!picture) return null;
  const canvas = h('canvas.heat', { width: columns, height: rows, role: 'img', 'aria-label': 'Patches that match' });
  const pen = canvas.getContext('2d');
  const image = pen.createImageData(columns, rows);
  values.forEach((value, at) => image.data.set([208, 0, 96, Math.round(1.7 * value)], 4 * at));
  pen.putImageData(image, 0, 0);
  return h(
    'figure.heatmap',
    {},
    h('span.page', {}, picture, canvas),
    h('figcaption.small', {}, 'The stronger the colour, the better a patch matches the question, compared with the rest of this page.'),
  );
}

/** Put each picture that an answer shows, such as `![a map](image2)`, into its text, once and where it is named. */
function withPictures(detail, hits) {
  const pictures = (hits ?? []).filter((hit) => hit.modality === 'image');
  return (nodes) => {
    const seen = new Set();
    const shown = (part) => {
      const number = /^\(image(\d+)\)$/.exec(part)?.[1];
      const hit = pictures[Number(number) - 1];
      if (!hit || seen.has(hit)) return [];
      seen.add(hit);
      return [quoteFigure(detail, hit, number)];
    };
    const parts = (text) => text.split(/(\(image\d+\))/);
    return nodes.flatMap((node) => {
      if (typeof node === 'string') return parts(node).flatMap((part) => [part, ...shown(part)]);
      // what was set aside stays in one piece, with its pictures below it
      return node.className === 'aside' ? [node, ...parts(node.textContent).flatMap(shown)] : [node];
    });
  };
}

/** A picture quote with its number, its place, and the words that the model read in its stead. */
function quoteFigure(detail, hit, number) {
  const words = hit.text ? clip(readText(detail.texts, hit.text), 300) : '';
  return h(
    'figure.quote',
    {},
    thumbnail(hit.picture ?? hit.thumbnail, `image${number}`, hit.gold, hit.picture ? [] : boxesOf(hit, hit.thumbnail)),
    h(
      'figcaption.small',
      {},
      `image${number}`,
      hit.document ? [': ', said(hit.document, 120)] : null,
      (hit.pages ?? []).length ? `, page ${hit.pages.join(', ')}` : null,
      hit.gold ? h('span.tag', {}, hit.quote ? 'gold quote' : 'gold page') : null,
      words ? h('span.words', { dir: 'auto' }, said(words, 300)) : null,
    ),
  );
}

/** Frames at the place of boxes on a page of this size; none if the size is not known. */
function framed(boxes, size) {
  if (!size) return [];
  const share = (value, at) => `${round(Math.min(100, Math.max(0, (100 * value) / size[at])))}%`;
  return boxes.map(([left, top, right, bottom]) =>
    h('span.frame', {
      style: `left: ${share(left, 0)}; top: ${share(top, 1)}; width: ${share(right - left, 0)}; height: ${share(bottom - top, 1)}`,
    }),
  );
}

const LEFT_OUT = {
  unanswerable: 'it is unanswerable',
  'no-phrases': 'its gold answer has no phrases',
  'yes-no': 'its answer is yes or no',
  common: 'its answer occurs in many other documents',
  'no-text': 'its texts are not known',
};

/** The recall at each stage, and the phrases that the stage lost. */
function stageTable(repeat) {
  if (repeat.left_out)
    return h('p.small', {}, `Where it was lost is not counted: ${LEFT_OUT[repeat.left_out] ?? plain(repeat.left_out)}.`);
  if (!repeat.funnel?.length) return null;
  const rows = repeat.funnel.map((stage) => [
    STAGES[stage.stage] ?? said(stage.stage, 40),
    stage.recall,
    stage.lost,
    stage.gained,
    listed((stage.missed ?? []).map((phrase) => said(phrase, 120))),
  ]);
  return table(
    'Stage by stage',
    ['Stage', 'Recall', 'Lost', 'Gained', 'Phrases lost here'],
    rows,
    { kind: 'stages' },
  );
}

/** How many of the gold pages reached each stage, in one sentence; null if no gold page is known. */
function pageSentence(repeat) {
  const found = (repeat.metrics ?? []).filter(({ name, value }) => name.startsWith('gold-page-') && value !== 'n/a');
  if (!found.length) return null;
  const agreement = repeat.metrics.find(({ name }) => name === 'page-phrase-agreement')?.why?.meaning;
  return h(
    'p.small',
    {},
    'Gold pages: ',
    found.map(({ name, value }) => `${name.replace('gold-page-', '').replace('-', ' ')} ${value}`).join(', '),
    agreement ? ['. By phrases and by pages: ', said(agreement, 100)] : null,
    '.',
  );
}

/** The scores and the reasons for them. */
function scoreBox(repeat) {
  const scores = repeat.scores ?? {};
  const why = Object.entries(scores.why ?? {})
    .filter(([, value]) => known(value))
    .map(([name, value]) => [
      h('dt', {}, said(name, 40)),
      h('dd', {}, said(typeof value === 'string' ? value : JSON.stringify(value), 600)),
    ]);
  return h(
    'dl.facts',
    {},
    h('dt', {}, 'Correctness'),
    h('dd', {}, scores.correctness ?? 'n/a'),
    h('dt', {}, 'Hallucination'),
    h('dd', {}, known(scores.hallucination) ? (scores.hallucination ? 'yes' : 'no') : 'n/a'),
    h('dt', {}, 'Abstained'),
    h(
      'dd',
      {},
      known(scores.abstained) ? (scores.abstained ? 'yes' : 'no') : 'n/a',
      scores.label ? [' (', said(scores.label, 60), ')'] : null,
    ),
    scores.missed?.length
      ? [
          h('dt', {}, 'Missed'),
          h('dd', {}, listed(scores.missed.map((phrase) => said(phrase, 200)))),
        ]
      : null,
    why,
  );
}

/** The scores by the metrics outside the leaderboard, with parts and reasons; lists of name and value. */
function metricTable(caption, metrics) {
  const pairs = (values) =>
    listed(
      Object.entries(values ?? {}).map(([name, value]) => [
        said(name === 'lacks' ? 'needs' : name, 40),
        ': ',
        said(typeof value === 'string' ? value : JSON.stringify(value), 600),
      ]),
    );
  const rows = metrics.map(({ name, value, parts, why }) => [
    said(name, 80),
    value,
    pairs(parts),
    pairs(why),
  ]);
  return table(caption, ['Metric', 'Value', 'Parts', 'Why'], rows, { kind: 'metrics' });
}

/** The metrics that were asked for, and the others in a section that opens. */
function metricBox(repeat, key) {
  const metrics = repeat.metrics ?? [];
  const shown = metrics.filter(({ name }) => isShown(name));
  const others = metrics.filter(({ name }) => !isShown(name));
  return [
    shown.length ? metricTable('Further metrics', shown) : null,
    others.length
      ? lazy(`Other metrics (${others.length})`, () => [metricTable('Other metrics', others)], `metrics-${key}`)
      : null,
  ];
}

function hitItem(detail, hit, key) {
  const pages = (hit.pages ?? []).length ? `, page ${hit.pages.join(', ')}` : '';
  const about = [
    `${hit.rank}. `,
    said(hit.document ?? 'unknown document', 120),
    pages,
    known(hit.score) ? h('span.faint', {}, ` score ${hit.score}`) : null,
    hit.modality && hit.modality !== 'text' ? h('span.faint', {}, ' ', said(hit.modality, 20)) : null,
    hit.gold ? h('span.tag', {}, hit.quote ? 'gold quote' : 'gold page') : null,
  ];
  const phrases = new Set([hit.header, hit.text].flatMap((text) => text?.marks ?? []).map((mark) => mark[2]));
  const found = phrases.size ? h('span.tag.plainly', {}, plural(phrases.size, 'gold phrase')) : null;
  const picture = hit.picture
    ? thumbnail(hit.picture, `picture ${hit.rank}`, hit.gold)
    : thumbnail(hit.thumbnail, `page ${hit.pages} of ${hit.document}`, hit.gold, boxesOf(hit, hit.thumbnail));
  // the header that the chunker added is part of the prompt, and the funnel counts it
  const whole = () => [
    hit.header ? h('div.header', {}, passageOf(detail, hit.header)) : null,
    hit.text ? passageOf(detail, hit.text) : null,
    heatmapOf(hit),
  ];
  const opens = hit.text || hit.heatmap;
  const what = opens ? lazy([about, found], whole, `hit-${key}-${hit.rank}`) : h('p', {}, about);
  return h('li', { class: hit.gold ? 'hit gold' : 'hit' }, picture, what);
}

/** A section whose content is created when it is opened. */
function lazy(summary, content, id = null) {
  const box = h('details', {}, h('summary', { id }, summary));
  box.addEventListener('toggle', () => {
    if (box.open && box.children.length === 1) box.append(...content().flat(Infinity).filter(present));
  });
  return box;
}

/** The rounds of retrieval, each with its search text and what it found. */
function roundsBox(detail, repeat, key) {
  return () => [
    h(
      'ol.rounds',
      {},
      repeat.rounds.map((round, at) =>
        h(
          'li',
          {},
          h('p.small', {}, passageOf(detail, round.query)),
          h(
            'p.small',
            {},
            plural(round.hits.length, 'chunk'),
            known(round.calls) ? `, ${plural(round.calls, 'call')} to models` : null,
          ),
          h(
            'ol.hits',
            {},
            round.hits.map((hit) => hitItem(detail, hit, `${key}-round-${at + 1}`)),
          ),
        ),
      ),
    ),
  ];
}

/** The calls of tools, each with what it was given and what it gave back. */
function toolsBox(detail, repeat) {
  return () => [
    h(
      'ol.rounds',
      {},
      repeat.tools.map((call) =>
        h(
          'li',
          {},
          h('div.small', {}, passageOf(detail, call.name), known(call.seconds) ? `, ${call.seconds.toFixed(2)} s` : null),
          h('div.small', {}, 'Given: ', passageOf(detail, call.arguments)),
          h('div.small', {}, call.error ? 'Failed: ' : 'Gave back: ', passageOf(detail, call.error ?? call.result)),
        ),
      ),
    ),
  ];
}

function promptBox(detail, prompt) {
  const part = (piece) =>
    piece.hit === undefined
      ? passageOf(detail, piece)
      : h('p.reference', {}, `context ${piece.hit}, as above`);
  const attached = (message) =>
    message.attached?.length
      ? h(
          'p.small',
          {},
          'Attached: ',
          message.attached.map((file, at) => [at ? '; ' : '', said(file, 200)]),
        )
      : null;
  const messages = (list) =>
    list.map((message) =>
      h('div.message', {}, h('h5', {}, said(message.role, 40)), message.parts.map(part), attached(message)),
    );
  const size = [
    known(prompt.tokens) ? `${count(prompt.tokens)} tokens` : null,
    known(prompt.budget) ? `of ${count(prompt.budget)} allowed` : null,
  ]
    .filter(Boolean)
    .join(' ');
  return () => [
    size ? h('p.small', {}, size) : null,
    (prompt.cuts ?? []).map((cut) => h('p.note', {}, said(cut, 400))),
    messages(prompt.messages),
    (prompt.parts ?? []).map((before, at) =>
      lazy(before.of ? said(before.of, 200) : `Asked before: part ${at + 1}`, () => [
        messages(before.messages),
        h('h5', {}, 'reply'),
        passageOf(detail, before.reply),
      ]),
    ),
  ];
}

function usageBox(repeat) {
  const usage = Object.entries(repeat.usage ?? {})
    .filter(([, value]) => known(value) && typeof value !== 'object')
    .map(([name, value]) => [
      said(name.replaceAll('_', ' '), 40),
      typeof value === 'number' ? count(value) : said(value, 60),
    ]);
  const timings = Object.entries(repeat.timings ?? {}).map(([name, value]) => [
    [said(name, 40), ' took'],
    value,
  ]);
  const facts = [
    ['cost', repeat.cost],
    ['latency', repeat.latency],
    ...(known(repeat.first_token) ? [['first token', repeat.first_token]] : []),
    ...usage,
    ...timings,
    ['stopped by', said(repeat.stop_reason ?? 'not known', 60)],
    ...(known(repeat.seed) ? [['seed', String(repeat.seed)]] : []),
    ...(known(repeat.attempts) ? [['attempts', count(repeat.attempts)]] : []),
    ['from the cache', repeat.cached ? 'yes' : 'no'],
    ...(repeat.finished ? [['finished', said(repeat.finished, 40)]] : []),
  ];
  return () => [
    h(
      'dl.facts',
      {},
      facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
    ),
  ];
}

function answerBox(detail, repeat) {
  if (repeat.error)
    return h(
      'div.note.fail',
      {},
      h('strong', {}, said(repeat.error.kind, 60)),
      passageOf(detail, repeat.error.message),
    );
  const refusal = repeat.refusal
    ? h(
        'p.note',
        {},
        'Refused: ',
        said(typeof repeat.refusal === 'string' ? repeat.refusal : JSON.stringify(repeat.refusal), 600),
      )
    : null;
  const citations = (repeat.citations ?? []).map((cited) =>
    h(
      'li',
      {},
      cited.label ? [h('q', {}, said(cited.label, 120)), cited.document ? ': ' : ''] : null,
      cited.document ? said(cited.document, 120) : null,
      known(cited.page) ? `, page ${cited.page}` : '',
      cited.quote ? [': ', h('q', {}, said(cited.quote, 400))] : null,
      cited.label && repeat.hits && !cited.ranks?.length ? ' (not retrieved)' : null,
    ),
  );
  return [
    refusal,
    repeat.answer
      ? readText(detail.texts, repeat.answer).trim()
        ? h('div.said', {}, passageOf(detail, repeat.answer, withPictures(detail, repeat.hits)))
        : h('p.note', {}, 'No answer: the model returned nothing.')
      : h('p.note', {}, 'Only searched for: nobody was asked for an answer.'),
    citations.length ? [h('p.small', {}, 'Cited'), h('ul.small', {}, citations)] : null,
    repeat.prompt_cut ? h('p.note', {}, 'The server cut this prompt.') : null,
  ];
}

const repeatOf = (detail) => detail?.repeats[Math.min(Math.max(0, Number.parseInt(state.repeat, 10) || 0), detail.repeats.length - 1)];

const runTitle = (index, key, at, tag = 'h3') =>
  h(
    tag,
    {},
    named(key),
    ' ',
    badge(index.runs[key].outcome[at], index.runs[key].lost[at]),
    h('span.range', {}, index.runs[key].outcome[at] ?? ''),
  );

/** What stands in place of an answer: that the run was not asked, or what a large file has of it. */
function withoutDetail(index, key, at) {
  const { answer, outcome } = index.runs[key];
  if (!known(outcome[at])) return h('p.note', {}, 'This run was not asked this question.');
  return [
    known(answer?.[at]) ? h('div.said', {}, said(answer[at], 400)) : null,
    h(
      'p.note',
      {},
      'This file has no details of this question, to stay small. They are in the run: ',
      h('code', {}, 'fathoms show ', said(report.runs[key].id, 200), ' --question ', said(state.id, 200)),
    ),
  ];
}

/** What a run answered, and where the answer was lost. */
function answerCard(index, key, at, detail) {
  const title = runTitle(index, key, at);
  if (!detail) return h('article.card', {}, title, withoutDetail(index, key, at));
  const repeat = repeatOf(detail);
  return h(
    'article.card',
    {},
    title,
    repeat.loss ? h('p.loss', {}, said(repeat.loss, 600)) : null,
    answerBox(detail, repeat),
    repeat.reasoning ? lazy('Reasoning', () => [passageOf(detail, repeat.reasoning)], `reasoning-${key}`) : null,
    claimBox(detail, repeat, key),
  );
}

/** How an answer came about: scores, what was retrieved, the prompt. */
function runColumn(index, key, at, detail) {
  if (!detail) return null;
  const repeat = repeatOf(detail);
  const hits = repeat.hits;
  return h(
    'article.run',
    {},
    runTitle(index, key, at),
    h('h4', {}, 'Retrieved'),
    hits === null
      ? h('p.note', {}, 'Not known: the pipeline does not report it.')
      : hits.length
        ? h(
            'ol.hits',
            {},
            hits.map((hit) => hitItem(detail, hit, key)),
          )
        : h('p.note', {}, 'Nothing.'),
    repeat.rounds?.length
      ? lazy(`Rounds of retrieval (${repeat.rounds.length})`, roundsBox(detail, repeat, key), `rounds-${key}`)
      : null,
    repeat.tools?.length ? lazy(`Calls of tools (${repeat.tools.length})`, toolsBox(detail, repeat)) : null,
    stageTable(repeat),
    pageSentence(repeat),
    h('h4', {}, 'Scores'),
    repeat.answer || repeat.error ? scoreBox(repeat) : null,
    metricBox(repeat, key),
    repeat.prompt
      ? lazy('Prompt', promptBox(detail, repeat.prompt), `prompt-${key}`)
      : h('p.small', {}, 'The prompt is not known.'),
    lazy('Usage and timings', usageBox(repeat), `usage-${key}`),
    detail.file ? h('p.small', {}, 'In the run: ', h('code', {}, said(detail.file, 200))) : null,
  );
}

function repeatSwitch(details) {
  const most = Math.max(0, ...details.filter(Boolean).map((detail) => detail.repeats.length));
  if (most < 2) return null;
  return choice(
    'repeat',
    'Repeat',
    Array.from({ length: most }, (_, at) => [String(at), String(at + 1)]),
    state.repeat,
    (repeat) => go({ repeat }),
  );
}

/** The full question, if the title shows it cut or without its line breaks. */
function wholeQuestion(detail, line) {
  const whole = readText(detail.texts, detail.question);
  if (whole.trim() === line && !detail.question.cut) return null;
  return lazy('The whole question', () => [passageOf(detail, detail.question)], 'whole-question');
}

async function questionView() {
  const index = await readIndex();
  const at = index.place.get(state.id);
  if (at === undefined)
    return [
      h('h2', { id: 'title' }, 'Question'),
      h(
        'p.note',
        {},
        'There is no question “',
        said(state.id, 100),
        '” in this report. ',
        h('a', { href: link({ view: 'questions', id: '' }) }, 'All questions'),
      ),
    ];
  await findWords(index); // for the neighbours in the list
  const [{ text, gold }] = await readRows(index, [at]);
  const keys = chosen();
  const details = await Promise.all(keys.map((key) => readDetail(index, key, at)));
  await readSheets(details);
  const paper = sheetBox(keys, details, details.map(repeatOf));
  const some = details.find(Boolean);
  announce(`Question ${plain(state.id)}`);
  return [
    neighbours(index, at),
    h('p.small', {}, said(state.id, 80), ' · ', said(index.questions.category[at], 60)),
    h('h2.question', { id: 'title' }, said(text, 4000)),
    some ? wholeQuestion(some, text) : null,
    some ? goldBox(some, index.questions.answerable[at]) : gold ? h('p', {}, 'Gold: ', said(gold, 400)) : null,
    repeatSwitch(details),
    h(
      'div',
      { class: paper ? 'with-paper' : '' },
      h(
        'div.beside',
        {},
        keys.map((key, nth) => answerCard(index, key, at, details[nth])),
      ),
      paper,
    ),
    h(
      'div.beside',
      {},
      keys.map((key, nth) => runColumn(index, key, at, details[nth])),
    ),
  ];
}
