// What the first screen says in words: how many answers are right, where most are lost, and the most telling failures.

const MOST_NAMED = 3; // runs of which a sentence tells

/** The address of the questions of one run, the failed ones first. */
const questionsOf = (key, changes = {}) => link({ view: 'questions', runs: String(key), id: '', ...changes });

/** What lost most questions of a run, in words with a link to them; null if that is not known. */
function worstLoss(key) {
  const { lost, right, answerable } = report.runs[key].standing;
  const most = Math.max(...Object.values(lost));
  const stages = Object.keys(STAGES).filter((stage) => lost[stage] === most);
  if (!stages.length) return null;
  const to = (stage, text) => h('a', { id: `lost-${key}-${stage}`, href: questionsOf(key, { lost: stage }) }, text);
  if (stages.length > 1)
    return [`; ${count(most)} each are lost by `, stages.map((stage, at) => [at ? ' and ' : '', to(stage, `the ${LOSERS[stage]}`)])];
  const share = most > (answerable - right) / 2 ? 'most' : `${count(most)}, more than anywhere else,`;
  return [`; ${share} are `, to(stages[0], lostBy(stages[0]))];
}

/** One sentence: how many of the answerable questions a run answers right, and what loses most of the others. */
function sentence(key) {
  const { standing, counts, questions } = report.runs[key];
  if (counts.errors && counts.errors >= questions)
    return [named(key), ` has no answer: all ${count(counts.errors)} calls failed.`];
  return [
    named(key),
    ` answers ${count(standing.right)} of ${count(standing.answerable)} right`,
    worstLoss(key),
    counts.errors ? `; ${plural(counts.errors, 'call')} failed` : '',
    '. ',
  ];
}

/** The sentences about the most correct of the chosen runs. */
function verdict() {
  const has = ({ standing, retrieval_only: only }) => !only && standing.answerable;
  const keys = mostCorrect().filter((key) => chosen().includes(key) && has(report.runs[key]));
  if (!keys.length) return null;
  const few = keys.length > MOST_NAMED ? keys.slice(0, 1) : keys;
  const rights = keys.slice(few.length).map((key) => report.runs[key].standing.right);
  const [low, high] = [Math.min(...rights), Math.max(...rights)];
  const others = rights.length
    ? `The other ${count(rights.length)} answer ${count(low)}${high > low ? ` to ${count(high)}` : ''} right.`
    : null;
  return h('div.verdict', {}, [...few.map(sentence), others].filter(present).map((words) => h('p', {}, words)));
}

/** What a run said to a question, or why there is no answer. */
function shortAnswer({ answer, outcome }, limit = 160) {
  const reason = { error: 'no answer: the call failed', 'only searched for': 'only searched for' }[outcome];
  if (reason) return h('span.faint', {}, reason);
  return answer?.trim() ? said(answer, limit) : h('span.faint', {}, 'no answer');
}

/** The failures that say most of the most correct of the chosen runs. */
function telling() {
  const key = mostCorrect().find((one) => chosen().includes(one) && report.runs[one].standing.telling.length);
  if (key === undefined) return null;
  const { failed, telling: found } = report.runs[key].standing;
  const item = (one) =>
    h(
      'li',
      {},
      h(
        'div.words',
        {},
        h('a', { id: `telling-${slug(one.id)}`, href: link({ view: 'question', id: one.id, runs: state.runs }) }, said(one.text, 240)),
        h('p.small', {}, one.gold ? ['gold: ', said(one.gold, 120), ' · '] : null, 'answer: ', shortAnswer(one)),
      ),
      h('span.tag.lost', {}, one.lost ? lostBy(one.lost) : one.outcome),
    );
  const title = ['Most telling failures', report.runs.length > 1 ? [' of ', named(key)] : null];
  return section(
    'telling',
    title,
    h('ol.questions', {}, found.map(item)),
    h('p.small', {}, h('a', { id: 'all-failed', href: questionsOf(key) }, `All ${count(failed)} that failed`)),
  );
}
