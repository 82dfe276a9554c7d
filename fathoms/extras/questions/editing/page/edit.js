// Shows the questions of a set, and saves what a person decides. Texts become text nodes, never markup.

import { $, ask, fill, frame, h, isTyping, plain, said, tell } from './elements.js';

const FILTERS = {
  all: ['all questions', (entry) => entry.listed],
  undecided: ['undecided', (entry) => entry.listed && entry.own === null],
  doubtful: ['doubtful', (entry) => entry.doubted],
  dropped: ['dropped', (entry) => !entry.listed || entry.own === 'drop'],
  differ: ['disagreements', (entry) => entry.differ],
};
const MARKS = { accept: '✓', mend: '✎', drop: '✗' };
const SAID = { accept: 'accepted', mend: 'mended', drop: 'dropped', open: 'undecided' };
const LABELS = {
  question: 'Question',
  category: 'Category',
  answerable: 'Answerable',
  answers: 'Accepted answers',
  reference: 'Reference answer',
  short_answer: 'Short answer',
  long_answer: 'Long answer',
  evidence: 'Evidence',
};

let all = null; // what the server says of the whole set
let shown = null; // what it says of the question that is shown
let draft = null; // the fields that are being mended, null while nothing is
let selected = 0; // the piece of evidence whose box is drawn
let complaints = [];
let filter = 'all';
const pages = new Map(); // pictures by document and page

// ---- the list

const visible = () => all.entries.filter(FILTERS[filter][1]);

function drawAll() {
  document.title = `${plain(all.title)} – fathoms`;
  $('title').textContent = plain(all.title);
  $('person').textContent = `as ${plain(all.person)}`;
  $('progress').textContent = `${all.decided} of ${all.total} decided`;
  $('bar').max = Math.max(1, all.total);
  $('bar').value = all.decided;
  $('write').title = `${all.unwritten} changes are not in ${plain(all.target)} yet`;
  $('write').disabled = all.unwritten === 0;
  $('filter').replaceChildren(
    ...Object.entries(FILTERS).map(([key, [name, fits]]) =>
      h('option', { value: key, selected: key === filter }, `${name} (${all.entries.filter(fits).length})`),
    ),
  );
  fill($('people'), people());
  const rows = visible();
  $('list-count').textContent = `${rows.length} ${rows.length === 1 ? 'question' : 'questions'}`;
  $('list').replaceChildren(...rows.map(listed));
  $('list').querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
}

/** What is known of everybody's decisions, once two people have decided. */
function people() {
  const { by_person: counts, pairs } = all.summary;
  if (Object.keys(counts).length < 2) return null;
  return [
    ...Object.entries(counts).map(([name, count]) => h('li', {}, said(name), ` decided ${count} of ${all.total}`)),
    ...pairs.map((pair) =>
      h('li', {}, said(pair.reviewers.join(' and ')), `: the same on ${Math.round(100 * pair.same)} % of ${pair.n}, kappa ${pair.kappa === null ? 'n/a' : pair.kappa.toFixed(2)}`),
    ),
  ];
}

function listed(entry) {
  const word = entry.settled ?? entry.own;
  return h(
    'li',
    {},
    h(
      'button',
      {
        type: 'button',
        'aria-current': entry.number === shown?.number ? 'true' : null,
        onclick: () => show(entry.number),
      },
      h(`span.mark.${word ?? 'none'}`, { 'aria-hidden': 'true' }, MARKS[word] ?? '·'),
      h('span.words', {}, said(entry.text)),
      entry.doubted || entry.differ ? h('span.doubt', { 'aria-hidden': 'true' }, '!') : null,
      h('span.unseen', {}, ` ${SAID[word ?? 'open']}${entry.doubted ? ', doubtful' : ''}`),
    ),
  );
}

async function show(number) {
  if (draft && !leave()) return;
  const found = await ask(`question/${number}`);
  if (!found) return;
  shown = found;
  selected = 0;
  complaints = [];
  history.replaceState(null, '', `#${number}`);
  drawAll();
  drawQuestion();
  $('question').focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Whether what is being mended may be left; tells what to do if not. */
function leave() {
  if (JSON.stringify(draft) === JSON.stringify(shown.fields)) {
    draft = null;
    return true;
  }
  tell('Save what you changed with Ctrl + Enter, or give it up with Esc, first.');
  return false;
}

function step(by) {
  const rows = visible();
  const at = rows.findIndex((entry) => entry.number === shown?.number);
  const next = at < 0 ? rows[0] : rows[at + by];
  if (next) show(next.number);
  else tell(by > 0 ? 'This is the last one.' : 'This is the first one.');
}

// ---- decisions

async function decide(decision, more = {}) {
  if (!shown || (draft && decision !== 'mend' && !leave())) return;
  const rows = visible();
  const at = rows.findIndex((entry) => entry.number === shown.number);
  const next = rows[at + 1];
  const seen = { fields: shown.fields, own: shown.own };
  const reply = await ask('decide', { number: shown.number, decision, seen, ...more });
  if (!reply) return;
  if (reply.complaints) {
    complaints = reply.complaints;
    if (complaints.some((one) => one.code === 'changed')) changedElsewhere(reply);
    drawQuestion();
    $('question').querySelector('[aria-invalid], .complaint button')?.focus();
    tell(`Not saved: ${complaints.length === 1 ? 'one thing is' : `${complaints.length} things are`} to be mended.`);
    return;
  }
  all = reply.state;
  shown = reply.detail;
  draft = null;
  complaints = [];
  const word = shown.settled ?? shown.own ?? 'open';
  if (next && decision !== 'open' && decision !== 'mend') await show(next.number);
  else {
    drawAll();
    drawQuestion();
    $('question').focus({ preventScroll: true });
  }
  tell(`Saved: ${SAID[word]}. ${all.decided} of ${all.total} decided.`);
}

/** Another window has saved this question: what it changed is shown, except where it is being changed here. */
function changedElsewhere(reply) {
  const before = shown.fields;
  all = reply.state;
  shown = reply.detail;
  const isMine = (name) => JSON.stringify(draft[name]) !== JSON.stringify(before[name]);
  if (draft) {
    draft = Object.fromEntries(
      Object.entries(shown.fields).map(([name, value]) => [name, structuredClone(isMine(name) ? draft[name] : value)]),
    );
  }
  drawAll();
}

const save = (anyway = false) => decide('mend', { fields: draft, anyway });

function mend() {
  if (!shown || draft) return;
  draft = structuredClone(shown.fields);
  complaints = [];
  drawQuestion();
  $('field-question').focus();
}

function giveUp() {
  draft = null;
  complaints = [];
  drawQuestion();
  $('question').focus({ preventScroll: true });
  tell('Nothing was changed.');
}

async function write() {
  if (draft && !leave()) return;
  const reply = await ask('write', {});
  if (!reply) return;
  all = reply.state;
  drawAll();
  const backup = reply.wrote.backup ? ` The last version is ${plain(reply.wrote.backup)}.` : '';
  tell(`${plain(reply.wrote.file)} has ${reply.wrote.questions} question${reply.wrote.questions === 1 ? '' : 's'} now.${backup}`);
}

// ---- the question

function drawQuestion() {
  const active = document.activeElement?.id;
  const fields = draft ?? shown.fields;
  const isDoubted = shown.doubts.length > 0 || shown.checks.some((check) => !check.passed);
  fill(
    $('question'),
    h('h2', { id: 'heading' }, said(shown.id), ' ', h('span.soft', {}, standing())),
    actions(),
    disagreement(),
    complaints.filter((one) => !(one.field in fields)).map(complained),
    isDoubted ? verdicts() : null,
    textField('question', LABELS.question, fields, '.question'),
    answersField(fields),
    textField('reference', LABELS.reference, fields),
    textField('short_answer', LABELS.short_answer, fields),
    textField('long_answer', LABELS.long_answer, fields),
    textField('category', LABELS.category, fields),
    answerableField(fields),
    evidenceFields(fields),
    isDoubted ? null : verdicts(),
    facts(),
  );
  drawPages(fields);
  if (active && document.activeElement?.id !== active) $(active)?.focus();
}

function standing() {
  if (shown.settled) return `settled: ${SAID[shown.settled]}`;
  if (shown.own) return SAID[shown.own];
  return shown.listed ? 'undecided' : 'a draft that is not in the set';
}

function actions() {
  if (draft) {
    const light = complaints.length && complaints.every((one) => !one.stops);
    return h(
      'div.actions',
      {},
      h('button.chosen', { type: 'button', id: 'save', onclick: () => save() }, 'Save ', h('kbd', {}, 'Ctrl Enter')),
      light ? h('button', { type: 'button', id: 'anyway', onclick: () => save(true) }, 'Save anyway') : null,
      h('button', { type: 'button', id: 'cancel', onclick: giveUp }, 'Give up ', h('kbd', {}, 'Esc')),
    );
  }
  const word = shown.settled ?? shown.own;
  const button = (name, text, key, act) =>
    h(
      `button${word === name ? '.chosen' : ''}`,
      { type: 'button', id: name, 'aria-pressed': String(word === name), onclick: act },
      `${text} `,
      h('kbd', {}, key),
    );
  return h(
    'div.actions',
    {},
    button('accept', shown.listed ? 'Accept' : 'Take in', 'a', () => decide('accept')),
    button('mend', 'Mend', 'e', mend),
    button('drop', 'Drop', 'd', () => decide('drop')),
    word ? h('button', { type: 'button', id: 'open', onclick: () => decide('open') }, 'Take back ', h('kbd', {}, 'u')) : null,
  );
}

function disagreement() {
  if (!shown.others.length) return null;
  const rows = shown.others.map((one) =>
    h(
      'li',
      {},
      said(one.person),
      `: ${SAID[one.decision]} `,
      h(
        'button.quiet',
        { type: 'button', onclick: () => decide(one.decision, { take: one.person }) },
        'Take this decision',
      ),
      changes(one.changes),
    ),
  );
  const text = shown.settled
    ? 'You decided differently, and this was settled. A new decision replaces what settled it.'
    : 'You decided differently. What is decided now settles it; kappa stays as it is.';
  return h('div.note.differ', {}, h('p', {}, text), h('ul', {}, rows));
}

function changes(list) {
  if (!list.length) return null;
  return h(
    'dl',
    {},
    list.map((one) => [
      h('dt', {}, LABELS[one.field]),
      h('dd', {}, h('del', {}, said(asText(one.before))), ' ', h('ins', {}, said(asText(one.after)))),
    ]),
  );
}

function asText(value) {
  if (typeof value === 'string') return value || '(none)';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (!value.length) return '(none)';
  if (Array.isArray(value[0])) return value.map((variant) => variant.join(' & ')).join(' | ');
  return value
    .map((one) => [one.document, one.page && `page ${one.page}`, one.quote && `“${one.quote}”`, one.bbox && 'box'])
    .map((parts) => parts.filter(Boolean).join(', '))
    .join('; ');
}

const complained = (one) =>
  h('p.complaint', { id: `complaint-${complaints.indexOf(one)}` }, said(one.message), one.advice ? `. ${one.advice}` : '');

/** The complaints about a field, or about one item of it. */
const about = (field, index = null) =>
  complaints.filter((one) => one.field === field && (index === null || (one.index ?? 0) === index));

/** The attributes that tie complaints to the control of what they are about. */
const tied = (mine) =>
  mine.length
    ? { 'aria-invalid': 'true', 'aria-describedby': mine.map((one) => `complaint-${complaints.indexOf(one)}`).join(' ') }
    : {};

function wrong(field, index = null) {
  const mine = about(field, index);
  return { notes: mine.map(complained), attributes: tied(mine) };
}

function area(id, value, set, attributes = {}) {
  const element = h('textarea', {
    id,
    dir: 'auto',
    rows: Math.min(12, Math.max(1, Math.ceil(value.length / 70), value.split('\n').length)),
    readonly: !draft,
    spellcheck: draft ? 'true' : 'false',
    oninput: (event) => set(event.target.value),
    ...attributes,
  });
  element.value = value;
  return element;
}

function textField(name, label, fields, kind = '') {
  if (!draft && !fields[name]) return null;
  const { notes, attributes } = wrong(name);
  return h(
    `div.field${kind}`,
    {},
    h('label', { for: `field-${name}` }, label),
    area(`field-${name}`, fields[name], (value) => (draft[name] = value), attributes),
    notes,
  );
}

function answerableField(fields) {
  const { notes, attributes } = wrong('answerable');
  const box = h('input', {
    type: 'checkbox',
    id: 'field-answerable',
    disabled: !draft,
    onchange: (event) => (draft.answerable = event.target.checked),
    ...attributes,
  });
  box.checked = fields.answerable;
  return h('div.field', {}, h('label', { for: 'field-answerable' }, box, 'The documents answer it'), notes);
}

function answersField(fields) {
  if (!draft && !fields.answers.length) return null;
  const variants = fields.answers.map((variant, at) => {
    const { notes, attributes } = wrong('answers', at);
    const set = (value) => (draft.answers[at] = value.split('\n'));
    return h(
      'div.field',
      {},
      h('label', { for: `field-answers-${at}` }, `Accepted answer ${at + 1}`),
      area(`field-answers-${at}`, variant.join('\n'), set, attributes),
      notes,
      draft
        ? h('button.quiet', { type: 'button', id: `remove-answer-${at}`, onclick: () => change(() => draft.answers.splice(at, 1)) }, `Remove answer ${at + 1}`)
        : null,
    );
  });
  return h(
    'fieldset',
    {},
    h('legend', {}, 'Gold: any one of these answers is right; every line of it must be found'),
    variants,
    wrong('answers').notes.length && !variants.length ? wrong('answers').notes : null,
    draft ? h('button.quiet', { type: 'button', id: 'add-answer', onclick: () => change(() => draft.answers.push([''])) }, 'Add another accepted answer') : null,
  );
}

/** Change the fields that are being mended, beginning to mend if need be, and draw them. */
function change(act) {
  draft ??= structuredClone(shown.fields);
  act();
  drawQuestion();
}

/** Change the fields that are being mended, and draw the pages alone: the form keeps what is being typed. */
function adjust(act) {
  act();
  drawPages(draft);
}

// ---- evidence

function evidenceFields(fields) {
  const items = fields.evidence.map((one, at) => evidenceField(one, at));
  return [
    h('h3', {}, 'Evidence'),
    items.length ? items : h('p.soft', {}, 'No evidence is named.'),
    draft ? addition() : null,
  ];
}

function evidenceField(one, at) {
  const mine = about('evidence', at);
  const quoted = tied(mine.filter((one) => one.part === 'quote'));
  const placed = tied(mine.filter((one) => one.part !== 'quote'));
  const number = (name, value, set, more = {}) => {
    const input = h('input', {
      type: 'number',
      id: `evidence-${at}-${name}`,
      oninput: (event) => adjust(() => set(event.target.value === '' ? null : Number(event.target.value))),
      ...more,
    });
    input.value = value ?? '';
    return input;
  };
  const names = one.bbox ? ['left', 'top', 'right', 'bottom'] : [];
  const corners = names.map((name, corner) =>
    h(
      'div.field',
      {},
      h('label', { for: `evidence-${at}-${name}` }, name),
      number(name, one.bbox[corner], (value) => (draft.evidence[at].bbox[corner] = value ?? 0), { step: 'any' }),
    ),
  );
  const legend = [`Evidence ${at + 1}`, one.step && `step ${one.step}`, one.modality && plain(one.modality)];
  const content = draft
    ? [
        h(
          'div.row',
          {},
          h('div.field.grow', {}, h('label', { for: `evidence-${at}-document` }, 'Document'), documents(`evidence-${at}-document`, one.document, (value) => adjust(() => (draft.evidence[at].document = value)))),
          h('div.field', {}, h('label', { for: `evidence-${at}-page` }, 'Page'), number('page', one.page, (value) => (draft.evidence[at].page = value), { min: 1, ...placed })),
        ),
        h('div.field', {}, h('label', { for: `evidence-${at}-quote` }, 'Quoted words'), area(`evidence-${at}-quote`, one.quote ?? '', (value) => (draft.evidence[at].quote = value || null), quoted)),
        one.bbox ? h('div.row', {}, corners) : null,
        mine.map(complained),
        h('div.row', {}, boxButton(one, at), h('button.quiet', { type: 'button', id: `remove-evidence-${at}`, onclick: () => change(() => draft.evidence.splice(at, 1)) }, 'Remove evidence')),
      ]
    : [h('p', {}, said(one.document), one.page ? `, page ${one.page}` : ''), one.quote ? h('blockquote', { dir: 'auto' }, plain(one.quote)) : null];
  return h(
    `fieldset${at === selected ? '.selected' : ''}`,
    { 'data-at': at, onfocusin: () => select(at), onclick: () => select(at) },
    h('legend', {}, legend.filter(Boolean).join(', ')),
    content,
  );
}

function boxButton(one, at) {
  const set = (bbox) => () => change(() => (draft.evidence[at].bbox = bbox));
  return one.bbox
    ? h('button.quiet', { type: 'button', id: `remove-box-${at}`, onclick: set(null) }, 'Remove box')
    : h('button.quiet', { type: 'button', id: `add-box-${at}`, onclick: set([72, 72, 300, 144]) }, 'Add a box');
}

function select(at) {
  if (at === selected) return;
  selected = at;
  for (const element of document.querySelectorAll('fieldset[data-at], .frame[data-at]')) {
    element.classList.toggle('selected', element.dataset.at === String(at));
  }
}

function documents(id, value, set) {
  const known = all.documents.map((one) => one.name);
  const names = known.includes(value) || !value ? known : [value, ...known];
  if (!known.length) {
    const input = h('input', { id, oninput: (event) => set(event.target.value) });
    input.value = value;
    return input;
  }
  return h(
    'select',
    { id, onchange: (event) => set(event.target.value) },
    names.map((name) => h('option', { value: name, selected: name === value }, plain(name))),
  );
}

/** The controls that add a page to the evidence. */
function addition() {
  let document_ = draft.evidence.at(-1)?.document ?? shown.files[0] ?? all.documents[0]?.name ?? '';
  const page = h('input', { type: 'number', id: 'add-page', min: 1, step: 1 });
  page.value = 1;
  const add = () =>
    change(() => {
      draft.evidence.push({ document: document_, page: Number(page.value), quote: null, bbox: null, step: null, modality: null, relevance: null });
      selected = draft.evidence.length - 1;
    });
  return h(
    'fieldset',
    {},
    h('legend', {}, 'Add a page'),
    h(
      'div.row',
      {},
      h('div.field.grow', {}, h('label', { for: 'add-document' }, 'Document'), documents('add-document', document_, (value) => (document_ = value))),
      h('div.field', {}, h('label', { for: 'add-page' }, 'Page'), page),
      h('button', { type: 'button', id: 'add-evidence', onclick: add }, 'Add'),
    ),
  );
}

// ---- pages

async function drawPages(fields) {
  const places = new Map();
  fields.evidence.forEach((one, at) => {
    if (!one.page) return;
    const key = JSON.stringify([one.document, one.page]);
    places.set(key, [...(places.get(key) ?? []), at]);
  });
  if (!all.documents.length) {
    $('pages').replaceChildren(h('p.note', {}, 'Name the PDFs after the question file to see the pages of the evidence here.'));
    return;
  }
  const figures = [...places].map(([key, items]) => figure(JSON.parse(key), items, fields));
  $('pages').replaceChildren(...(figures.length ? figures : [h('p.soft', {}, 'The evidence names no page.')]));
}

function figure([name, number], items, fields) {
  const at = all.documents.findIndex((one) => one.name === name);
  const count = all.documents[at]?.pages;
  const place = h('div', {}, h('p.soft', {}, at < 0 ? 'This document is not among the PDFs.' : 'Rendering …'));
  const box = h('figure', {}, h('figcaption', {}, said(name), `, page ${number}${count ? ` of ${count}` : ''}`), place);
  if (at < 0) return box;
  const key = `page/${at}/${number}`;
  if (!pages.has(key)) pages.set(key, ask(key));
  pages.get(key).then((page) => {
    if (!page) pages.delete(key);
    else place.replaceChildren(sheet(page, name, number, items, fields), pageText(page));
  });
  return box;
}

function sheet(page, name, number, items, fields) {
  if (page.error) return h('p.note', {}, `No picture: ${plain(page.error)}`);
  const picture = h('img', { src: page.picture, alt: `Page ${number} of ${plain(name)}`, draggable: 'false', width: Math.round(page.width), height: Math.round(page.height) });
  const box = h('div.sheet', { 'data-page': number }, picture);
  for (const at of items) {
    if (fields.evidence[at].bbox) box.append(frameOf(fields.evidence[at].bbox, page, at));
  }
  box.addEventListener('pointerdown', (event) => draw(event, box, page, items));
  return box;
}

function frameOf(bbox, page, at) {
  const element = frame(bbox, page, at + 1);
  element.classList.toggle('selected', at === selected);
  element.dataset.at = at;
  return element;
}

/** Draw the box of a piece of evidence again, from where the mouse went down to where it goes up. */
function draw(event, box, page, items) {
  if (event.button !== 0 || event.pointerType === 'touch') return;
  event.preventDefault();
  const at = items.includes(selected) ? selected : (items.find((item) => !(draft ?? shown.fields).evidence[item].bbox) ?? items[0]);
  const area_ = box.getBoundingClientRect();
  const point = (moved) => [
    (Math.min(Math.max(moved.clientX - area_.left, 0), area_.width) / area_.width) * page.width,
    (Math.min(Math.max(moved.clientY - area_.top, 0), area_.height) / area_.height) * page.height,
  ];
  const [startX, startY] = point(event);
  let ghost = null;
  let bbox = null;
  const move = (moved) => {
    const [x, y] = point(moved);
    bbox = [Math.min(startX, x), Math.min(startY, y), Math.max(startX, x), Math.max(startY, y)].map((value) => Math.round(value * 10) / 10);
    ghost?.remove();
    ghost = frameOf(bbox, page, at);
    ghost.classList.add('selected');
    box.append(ghost);
  };
  const up = () => {
    removeEventListener('pointermove', move);
    ghost?.remove();
    if (!bbox || bbox[2] - bbox[0] < 3 || bbox[3] - bbox[1] < 3) return;
    selected = at;
    change(() => (draft.evidence[at].bbox = bbox));
  };
  addEventListener('pointermove', move);
  addEventListener('pointerup', up, { once: true });
}

function pageText(page) {
  if (!page.text) return null;
  const quote = () => {
    const words = String(getSelection()).trim();
    if (!words) tell('Select words of the text first.');
    else if ((draft ?? shown.fields).evidence[selected]) change(() => (draft.evidence[selected].quote = words));
  };
  return h(
    'details',
    {},
    h('summary', {}, 'Text of the page as parsed'),
    h('pre', { dir: 'auto', tabindex: 0 }, plain(page.text)),
    h('button.quiet', { type: 'button', onmousedown: (event) => event.preventDefault(), onclick: quote }, 'Use the selected words as the quote'),
  );
}

// ---- verdicts and facts

function verdicts() {
  const rows = [
    ...shown.checks.map((one) => [one.passed ? 'passed' : 'failed', one.name, one.reason]),
    ...shown.doubts.map((one) => ['doubtful', one.code, `${one.message}. ${one.advice}`]),
  ];
  if (!rows.length) return null;
  return [
    h('h3', {}, 'Verdicts and doubts'),
    h('ul.verdicts', {}, rows.map(([kind, name, why]) => h('li', {}, h(`span.tag.${kind}`, {}, kind), said(name), why.trim() ? [': ', said(why)] : null))),
  ];
}

function facts() {
  const rows = [
    ['Files', shown.files.join(', ')],
    ['Hops', shown.hops],
    ...shown.steps.map((one, at) => [`Step ${at + 1}`, [one.question, one.answer].filter(Boolean).join(' → ')]),
    ...shown.claims.map((text, at) => [`Claim ${at + 1}`, text]),
    ...shown.nuggets.map((text, at) => [`Nugget ${at + 1}`, text]),
    ...shown.facts.map((text, at) => [`Fact ${at + 1}`, text]),
    ...shown.metadata,
  ].filter(([, value]) => value);
  return [
    shown.changes.length ? [h('h3', {}, 'What was changed'), changes(shown.changes)] : null,
    rows.length ? [h('h3', {}, 'More about it'), h('dl', {}, rows.map(([name, value]) => [h('dt', {}, said(name)), h('dd', {}, said(value))]))] : null,
  ];
}

// ---- keys and start

const KEYS = {
  a: () => decide('accept'),
  d: () => decide('drop'),
  u: () => (shown?.own || shown?.settled) && decide('open'),
  e: mend,
  j: () => step(1),
  k: () => step(-1),
  w: write,
  '?': () => $('help').showModal(),
};

document.addEventListener('keydown', (event) => {
  if ($('help').open) return;
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && draft) {
    event.preventDefault();
    save();
    return;
  }
  if (event.key === 'Escape' && draft) {
    if (isTyping(event.target)) $('question').focus({ preventScroll: true });
    else giveUp();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
$('previous').addEventListener('click', () => step(-1));
$('next').addEventListener('click', () => step(1));
$('write').addEventListener('click', write);
$('help-button').addEventListener('click', KEYS['?']);
$('filter').addEventListener('change', (event) => {
  filter = event.target.value;
  drawAll();
  const rows = visible();
  if (rows.length && !rows.some((entry) => entry.number === shown?.number)) show(rows[0].number);
});
addEventListener('beforeunload', (event) => {
  if (draft && JSON.stringify(draft) !== JSON.stringify(shown.fields)) event.preventDefault();
});
addEventListener('focus', async () => {
  const found = draft ? null : await ask('state');
  if (!found) return;
  all = found;
  drawAll();
});

all = await ask('state');
if (all) {
  $('list-box').open = innerWidth > 760;
  const wanted = all.entries.find((entry) => String(entry.number) === location.hash.slice(1));
  const first = wanted ?? all.entries.find(FILTERS.undecided[1]) ?? all.entries[0];
  drawAll();
  if (first) await show(first.number);
}
