// The judged claims of whole runs, and how claims are named and marked everywhere.

/** The signs of what a claim can be, and their colours; the order is that of the report's data. */
const CLAIM_MARKS = {
  supported: ['✓', 'good'],
  contradicted: ['✗', 'bad'],
  unsupported: ['○', 'half'],
  unparsed: ['?', 'fail'],
  'not judged': ['–', 'none'],
};
const MISSED = 'missed'; // claims of the gold answer that the answer lacks
const GRAVEST = ['contradicted', 'unsupported', 'unparsed', 'not judged', 'supported'];
const COMPARED = {
  retrieved: ['each retrieved text', 'retrieved texts'],
  context: ['the whole context', 'the context'],
  'cited sources': ['the sources that the sentence cites', 'cited sources'],
  'gold pages': ['each gold page', 'gold pages'],
  'gold pages together': ['the gold pages together', 'gold pages'],
  'cited gold pages': ['each gold page that the sentence cites', 'cited gold pages'],
  'gold answer': ['the gold answer', 'the gold answer'],
  'gold claims of the cited pages': ['the gold claims that the cited pages support', 'these gold claims'],
  answer: ['the answer', 'the answer'],
  'claims of the answer': ['each claim of the answer', 'claims of the answer'],
  'citing sentences': ['the sentences of the answer that cite a page with the claim', 'citing sentences'],
};
const CLAIM_KINDS = [...Object.keys(CLAIM_MARKS), MISSED];

const comparedWith = (by) => own(COMPARED, by)?.[0] ?? plain(by);
const isOfSources = (by) => !['gold answer', 'gold claims of the cited pages'].includes(by);
const markKey = (mark) => mark.replace(' ', '-');

/** The sign of what a claim is, with its name for screen readers; with `words`, the name is seen. */
function claimBadge(mark, words = false) {
  const [sign, kind] = CLAIM_MARKS[mark] ?? ['?', 'none'];
  return [
    h(`span.badge.${kind}`, { title: mark, 'aria-hidden': words ? 'true' : null }, h('span', { 'aria-hidden': 'true' }, sign)),
    words ? [' ', h('strong', {}, mark)] : h('span.unseen', {}, mark),
  ];
}

/** The judged claims of the chosen runs: what they are, and what judging took. */
function claimsSection() {
  const keys = chosen().filter((key) => report.runs[key].claims?.length);
  if (!keys.length) return null;
  const rows = keys.flatMap((key) =>
    report.runs[key].claims.map(({ of, by, marks }) => [
      named(key),
      `${of === 'answer' ? 'the answer' : 'the gold answer'}, compared with ${comparedWith(by)}`,
      count(sum(marks)),
      ...marks.map((n) => [count(n), h('span.range', {}, sum(marks) ? percent(n / sum(marks)) : '')]),
    ]),
  );
  const heads = Object.keys(CLAIM_MARKS).map((mark) => claimBadge(mark, true));
  return section(
    'claims',
    'Claims',
    h(
      'p.small',
      {},
      `What a judge said of single claims, summed over all answers; the shares are of claims, while the metrics
        above are means over questions. Against sources, contradicted claims are intrinsic hallucinations, and
        unsupported ones extrinsic: they add to the sources. `,
      h('a', { href: link({ view: 'questions', claims: 'contradicted' }) }, 'Questions with a contradicted claim'),
      ', ',
      h('a', { href: link({ view: 'questions', claims: 'unsupported' }) }, 'with an unsupported one'),
      ', ',
      h('a', { href: link({ view: 'questions', claims: MISSED }) }, 'with a missed gold claim'),
      '.',
    ),
    table('Claims by what the judge said', ['Run', 'Claims of', 'Claims', ...heads], rows, { seen: false }),
    hallucinationKinds(keys),
    judgingTable(keys),
  );
}

/** Intrinsic and extrinsic hallucination as figures with intervals, where a judge with three labels tells them. */
function hallucinationKinds(keys) {
  const cell = (found) =>
    known(found?.mean)
      ? [h('span.mean', {}, valueText(found)), h('span.range', {}, `${rangeText(found)} n ${count(found.n)}`)]
      : 'n/a';
  const rows = keys
    .map((key) => [key, ...HALLUCINATIONS.map((name) => own(report.runs[key].metrics, name)?.overall)])
    .filter(([, ...found]) => found.some((one) => known(one?.mean)))
    .map(([key, ...found]) => [named(key), ...found.map(cell)]);
  if (!rows.length) return null;
  const heads = ['Run', 'Intrinsic: contradicts the sources', 'Extrinsic: adds to the sources'];
  return table('Hallucination by kind, as the share of the claims of an answer', heads, rows);
}

const HALLUCINATIONS = ['intrinsic-hallucination', 'extrinsic-hallucination'];

/** What the verdicts and lists of claims that the figures rest on took, by run. */
function judgingTable(keys) {
  const rows = keys
    .filter((key) => report.runs[key].judging)
    .map((key) => {
      const { judge, checked, splitting: says, failed, kept } = report.runs[key].judging;
      const tokens = known(kept?.prompt_tokens) && known(kept?.completion_tokens);
      return [
        named(key),
        [said(judge ?? 'not known', 120), h('span.range', {}, said(checked, 120)), known(says) ? h('span.small', {}, said(says, 400)) : null],
        count(kept?.verdicts),
        count(kept?.lists),
        count(failed),
        tokens ? `${count(kept.prompt_tokens)} + ${count(kept.completion_tokens)}` : 'not known',
        kept?.cost ?? 'not known',
        kept?.seconds ?? 'not known',
      ];
    });
  if (!rows.length) return null;
  const heads = ['Run', 'Judge', 'Verdicts', 'Lists of claims', 'Failed', 'Tokens in + out', 'Cost', 'Time of the calls'];
  return table('What judging took', heads, rows);
}
