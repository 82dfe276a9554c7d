// The claims of one answer: each with its verdict, the passage that decided, and what the answer misses.

const AROUND = 160; // characters of a text that are shown on either side of a sentence

/** The comparison of the claims of the answer that is chosen, or the first one. */
function chosenComparison(claims) {
  const found = claims.compared.filter(({ of }) => of === 'answer');
  return found.find(({ by }) => by === state.against) ?? found[0];
}

/** Everything about the judged claims of one answer. */
function claimBox(detail, repeat, key) {
  const { claims } = repeat;
  if (!claims) return null;
  if (claims.left_out)
    return [
      h('h4', {}, 'Claims'),
      h('p.note', {}, 'Left out to keep this file small; the run’s own file has them: ', h('code', {}, said(detail.file ?? ''))),
    ];
  const compared = chosenComparison(claims);
  return [
    h('h4', {}, 'Claims'),
    compared ? answerClaims(detail, repeat, key, compared) : null,
    goldClaims(detail, repeat, key),
    judgingCost(claims.judging),
    splitting(key),
  ];
}

/** The claims of the answer: in its text and as a list, filtered by what they are. */
function answerClaims(detail, repeat, key, compared) {
  const others = repeat.claims.compared.filter(({ of }) => of === 'answer');
  const rows = compared.claims.map((row, at) => ({ ...row, number: at + 1 }));
  if (!rows.length) return h('p.note', {}, 'The answer makes no claim that a judge could check.');
  const shown = state.mark ? rows.filter(({ mark }) => markKey(mark) === state.mark) : rows;
  const tally = Object.keys(CLAIM_MARKS).map((mark) => [mark, rows.filter((row) => row.mark === mark).length]);
  const buttons = tally
    .filter(([mark, n]) => n || markKey(mark) === state.mark)
    .map(([mark, n]) => [markKey(mark), `${CLAIM_MARKS[mark][0]} ${mark} ${n}`]);
  return [
    h(
      'div.controls',
      {},
      others.length > 1
        ? choice(
            `against-${key}`,
            'Compared with',
            others.map(({ by }) => [by, comparedWith(by)]),
            compared.by,
            (against) => go({ against }),
          )
        : h('p.small', {}, `Compared with ${comparedWith(compared.by)}.`),
      toggle(`mark-${key}`, 'Claims shown', [['', `All ${rows.length}`], ...buttons], state.mark, (mark) => go({ mark })),
    ),
    compared.count > rows.length ? h('p.small', {}, `The first ${rows.length} of ${compared.count} claims.`) : null,
    kindsOfHallucination(compared),
    repeat.answer ? markedAnswer(readText(detail.texts, repeat.answer), shown, key) : null,
    shown.length
      ? h(
          'ol.claims',
          { 'aria-label': 'Claims of the answer' },
          shown.map((row) => claimItem(detail, repeat, key, row, compared.by)),
        )
      : h('p.note', {}, 'No claim of this answer is of this kind.'),
  ];
}

/** Say what contradicted and unsupported claims are called where sources were the premises; nothing if no
    claim has a label, which would tell whether the judge has two or three. */
function kindsOfHallucination({ by, three }) {
  if (!isOfSources(by) || !known(three)) return null;
  return h(
    'p.small',
    {},
    three
      ? `Contradicted claims are intrinsic hallucinations: the sources say otherwise. Unsupported claims are
          extrinsic ones: they add to the sources, and may be true.`
      : `This judge has two labels, so that “unsupported” covers both what contradicts the sources (intrinsic
          hallucination) and what adds to them (extrinsic).`,
  );
}

/** The answer with its claims underlined, each followed by its sign and its number, which lead to the claim. */
function markedAnswer(whole, rows, key) {
  const text = clip(whole, LONG);
  const placed = rows.filter(({ said: place }) => place && place[1] <= text.length);
  const cuts = [...new Set([0, text.length, ...placed.flatMap(({ said: place }) => place)])].sort((a, b) => a - b);
  const parts = cuts.slice(0, -1).map((from, at) => {
    const to = cuts[at + 1];
    const inside = placed.filter(({ said: place }) => place[0] <= from && to <= place[1]);
    const words = pieces(text.slice(from, to));
    const gravest = GRAVEST.find((mark) => inside.some((row) => row.mark === mark));
    const ends = inside.filter(({ said: place }) => place[1] === to);
    return [
      gravest ? h(`span.claim.${markKey(gravest)}`, {}, words) : words,
      ends.map((row) => claimNumber(row, key)),
    ];
  });
  return [
    h('div.passage.claimed', { dir: 'auto', tabindex: isHigh(text) ? 0 : null }, parts),
    text.length < whole.length ? h('p.small', {}, `The first ${count(text.length)} characters of the answer.`) : null,
  ];
}

/** The sign and the number of a claim in the answer, which lead to the claim in the list. */
function claimNumber({ number, mark }, key) {
  const [sign, kind] = CLAIM_MARKS[mark];
  return h(
    `button.number.${kind}`,
    {
      id: `said-${key}-${number}`,
      type: 'button',
      'aria-label': `Claim ${number}: ${mark}`,
      title: `Claim ${number}: ${mark}`,
      onclick: () => document.getElementById(`claim-${key}-${number}`)?.focus(),
    },
    `${sign}${number}`,
  );
}

/** One claim of the answer: what it is, by what, and the passage to check that. */
function claimItem(detail, repeat, key, row, by) {
  const back = row.said
    ? h(
        'button.back',
        { type: 'button', onclick: () => document.getElementById(`said-${key}-${row.number}`)?.focus() },
        'In the answer',
      )
    : null;
  return h(
    'li.claim-item',
    { id: `claim-${key}-${row.number}`, tabindex: -1, value: row.number },
    h('p', {}, claimBadge(row.mark, true), known(row.p) ? h('span.faint', {}, ` p ${row.p}`) : null, ' ', back),
    h('p', {}, said(row.claim, 400)),
    sentenceNote(row),
    h('p.small', {}, decision(repeat, row, by), row.why ? [' ', said(row.why, 400)] : null),
    evidence(detail, repeat, row),
  );
}

/** Say how a claim is tied to the answer where its own words do not stand there. */
function sentenceNote(row) {
  if (row.verbatim) return null;
  if (!row.said) return h('p.small', {}, 'No sentence of the answer is known to make this claim.');
  return h(
    'p.small',
    {},
    row.guessed
      ? 'The judge did not say which sentence makes this claim; the one that is most like it is underlined.'
      : 'In other words than the answer: its sentence is underlined.',
  );
}

/** Say what decided about a claim. */
function decision(repeat, row, by) {
  const name = premiseName(repeat, row);
  const what = own(COMPARED, by)?.[1] ?? 'sources';
  const several = (row.premises ?? 0) > 1;
  if (row.mark === 'supported') return ['Supported by ', name, '.'];
  if (row.mark === 'contradicted') return ['Contradicted by ', name, several ? '; nothing supports it.' : '.'];
  if (row.mark === 'unparsed') return ['The reply of the judge on ', name, ' could not be read.'];
  if (row.mark === 'not judged') return ['There is no verdict on ', name, '.'];
  if (row.premise && several) return `None of ${count(row.premises)} ${what} supports it.`;
  if (row.premise) return ['Not supported by ', name, '.'];
  return by.startsWith('cited') ? 'Its sentence cites nothing that it could be compared with.' : `Not supported by ${what}.`;
}

/** The name of a premise: the retrieved texts with their documents and pages, or what the run calls it. */
function premiseName(repeat, row) {
  const hits = (row.ranks ?? []).map((rank) => repeat.hits?.find((hit) => hit.rank === rank)).filter(Boolean);
  if (!hits.length) return said(row.premise ?? 'a source', 300);
  return hits.map((hit, at) => [at ? ' and ' : '', hitName(hit)]);
}

const hitName = (hit) => [
  `${hit.modality && hit.modality !== 'text' ? said(hit.modality, 20).textContent : 'text'} ${hit.rank} (`,
  said(hit.document ?? 'unknown document', 120),
  hit.pages?.length ? `, page ${hit.pages.join(', ')})` : ')',
];

/** The words of the premise that the judge quotes, or the sentence that is most like a claim, in its surroundings, and the picture of its page. */
function evidence(detail, repeat, row) {
  const { near } = row;
  const rank = near?.rank ?? row.ranks?.[0];
  const hit = known(rank) ? repeat.hits?.find((one) => one.rank === rank) : null;
  const gold = (detail.evidence ?? []).find(
    (found) => near?.place && near.place === `${found.document}, page ${found.page}`,
  );
  const picture = hit
    ? thumbnail(hit.thumbnail, `page ${hit.pages} of ${hit.document}`, hit.gold, boxesOf(hit, hit.thumbnail))
    : gold
      ? thumbnail(gold.thumbnail, `page ${gold.page} of ${gold.document}`, true, gold.boxes ?? [])
      : null;
  const there = hit && row.ranks?.length === 1 && row.mark !== 'unsupported';
  const name = row.quoted ? 'The judge quotes ' : 'Nearest sentence ';
  const quote = near ? quoted(detail, repeat, near, hit, there, name) : null;
  return quote || picture ? h('div.evidence', {}, picture, quote) : null;
}

/** The sentence, marked, with what stands around it, and what it is; `there` says that its text was just named. */
function quoted(detail, repeat, near, hit, there, name) {
  const place = there
    ? 'there'
    : near.answer !== undefined
      ? 'in the answer'
      : near.place !== undefined
        ? ['in ', said(near.place, 200)]
        : ['in ', hit ? hitName(hit) : `text ${near.rank}`];
  const head = h('p.small', {}, name, place, ':');
  if (near.passage !== undefined) return h('div', {}, head, h('blockquote', { dir: 'auto' }, h('mark', {}, said(near.passage, 400))));
  const text = near.answer ? repeat.answer : hit?.text;
  const [from, to] = near.answer ?? near.at;
  const whole = text ? readText(detail.texts, text) : '';
  if (to > whole.length) return h('div', {}, head, h('p.small', {}, 'It stands in the part of the text that this file leaves out.'));
  const before = clipStart(whole.slice(0, from), AROUND);
  const after = clip(whole.slice(to), AROUND);
  return h(
    'div',
    {},
    head,
    h(
      'blockquote',
      { dir: 'auto' },
      from > before.length ? '…' : null,
      pieces(before),
      h('mark', {}, pieces(whole.slice(from, to))),
      pieces(after),
      to + after.length < whole.length ? '…' : null,
    ),
  );
}

/** The last `limit` UTF-16 units, without splitting a surrogate pair. */
function clipStart(text, limit) {
  const start = Math.max(0, text.length - limit);
  return text.slice(start && /[\udc00-\udfff]/.test(text.charAt(start)) ? start + 1 : start);
}

// ---- what the answer misses

/** The claims of the gold answer: those that the answer misses first, each with where it was to be found. */
function goldClaims(detail, repeat, key) {
  const found = repeat.claims.compared.filter(({ of }) => of === 'gold');
  if (!found.length) return null;
  const by = found.find((one) => one.by === 'answer');
  const rows = (by ?? found[0]).claims.map((row, at) => ({
    row,
    number: at + 1,
    elsewhere: found.filter((one) => one !== by && one.claims[at]?.claim === row.claim),
  }));
  const item = ({ row, number, elsewhere }) =>
    h(
      'li.claim-item',
      { id: `gold-${key}-${number}`, value: number },
      h('p', {}, claimBadge(row.mark), ' ', by ? inAnswer(row) : null),
      h('p', {}, said(row.claim, 400)),
      elsewhere.map((one) => [
        h('p.small', {}, whereFound(repeat, one.claims[number - 1], one.by)),
        one.claims[number - 1].mark === 'supported' ? evidence(detail, repeat, one.claims[number - 1]) : null,
      ]),
    );
  const missed = by ? rows.filter(({ row }) => isMissed(row)) : rows;
  const others = by ? rows.filter(({ row }) => !isMissed(row)) : [];
  const list = (some) => h('ol.claims', {}, some.map(item));
  return [
    h('h5', {}, by ? `Claims of the gold answer that the answer misses: ${missed.length} of ${rows.length}` : 'Claims of the gold answer'),
    missed.length ? list(missed) : h('p.small', {}, rows.length ? 'None.' : 'The gold answer makes no claim.'),
    others.length ? lazy(`The others (${others.length})`, () => [list(others)], `found-${key}`) : null,
  ];
}

const isMissed = ({ mark }) => mark === 'unsupported' || mark === 'contradicted';

const inAnswer = ({ mark }) =>
  h(
    'strong',
    {},
    {
      supported: 'in the answer',
      contradicted: `${MISSED}: the answer contradicts it`,
      unsupported: MISSED,
      unparsed: 'not known: the reply of the judge could not be read',
    }[mark] ?? 'not known: not judged',
  );

/** Say whether a claim of the gold answer was to be found in what it was compared with. */
function whereFound(repeat, row, by) {
  if (row.mark === 'supported') return ['It stands in ', premiseName(repeat, row), '.'];
  if (row.mark === 'unsupported' || row.mark === 'contradicted') {
    const has = row.mark === 'contradicted' ? 'contradicted by ' : 'not in ';
    return [`It is ${has}`, row.mark === 'contradicted' ? premiseName(repeat, row) : comparedWith(by).replace('each ', 'any '), '.'];
  }
  return `Whether it stands in ${comparedWith(by)} is not known.`;
}

/** How well the way in which texts were split into claims finds those that were released; null if not known. */
function splitting(key) {
  const says = report.runs[key].judging?.splitting;
  return says ? h('p.small', {}, 'How texts were split: ', said(says, 400), '.') : null;
}

/** What the verdicts on one answer took. */
function judgingCost(judging) {
  if (!judging) return null;
  const tokens = known(judging.prompt_tokens) && known(judging.completion_tokens);
  return h(
    'p.small',
    {},
    'Judging these claims took ',
    plural(judging.verdicts, 'verdict'),
    judging.lists ? ` and ${plural(judging.lists, 'list of claims', 'lists of claims')}` : '',
    ': ',
    tokens ? `${count(judging.prompt_tokens)} + ${count(judging.completion_tokens)} tokens` : 'tokens not known',
    `, cost ${judging.cost}, ${judging.seconds}.`,
  );
}
