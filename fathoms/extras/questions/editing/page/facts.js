// Shows the rows of a table of facts, and saves what a person mends. Texts become text nodes, never markup.

import { $, ask, fill, frame, h, isTyping, plain, said, tell } from './elements.js';

const FILTERS = {
  all: ['all facts', () => true],
  open: ['to be looked at', (row) => row.check || row.wrong],
  checked: ['checked by a person', (row) => row.by],
};
const DONE = { mend: 'mended', check: 'marked as checked', delete: 'deleted' };

let all = null; // what the server says of the whole table
let shown = null; // what it says of the row that is shown
let filter = 'all';
const pages = new Map(); // pictures by document and page

const visible = () => all.rows.filter(FILTERS[filter][1]);
const written = (row) => [row.value, row.unit].filter(Boolean).join(' ');

// ---- the list

function drawAll() {
  document.title = `${plain(all.title)} – fathoms`;
  $('title').textContent = plain(all.title);
  $('person').textContent = `as ${plain(all.person)}`;
  $('progress').textContent = `${all.open} of ${all.rows.length} to be looked at`;
  $('undo').disabled = !all.can_undo;
  $('filter').replaceChildren(
    ...Object.entries(FILTERS).map(([key, [name, fits]]) =>
      h('option', { value: key, selected: key === filter }, `${name} (${all.rows.filter(fits).length})`),
    ),
  );
  const rows = visible();
  $('list-count').textContent = `${rows.length} ${rows.length === 1 ? 'fact' : 'facts'}`;
  $('list').replaceChildren(...rows.map(listed));
  $('list').querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
}

function listed(row) {
  const isOpen = row.check || row.wrong;
  return h(
    'li',
    {},
    h(
      'button',
      { type: 'button', 'aria-current': row.number === shown?.number ? 'true' : null, onclick: () => show(row.number) },
      h(`span.mark.${row.by ? 'accept' : 'none'}`, { 'aria-hidden': 'true' }, row.by ? '✓' : '·'),
      h('span.words', {}, said(`${row.document}, ${row.field}: ${written(row)}`)),
      isOpen ? h('span.doubt', { 'aria-hidden': 'true' }, '!') : null,
      h('span.unseen', {}, isOpen ? ' to be looked at' : row.by ? ' checked' : ''),
    ),
  );
}

async function show(number) {
  if (!leave()) return;
  const found = await ask(`fact/${number}`);
  if (!found) return;
  shown = found;
  history.replaceState(null, '', `#${number}`);
  drawAll();
  drawFact();
  $('fact').focus({ preventScroll: true });
  scrollTo(0, 0);
}

const isTyped = () => shown && $('value') && (['value', 'unit', 'page'].some((name) => $(name).value !== String(shown[name])));

/** Whether what was typed may be left; tells what to do if not. */
function leave() {
  if (!isTyped()) return true;
  tell('Save what you typed with Ctrl + Enter, or give it up with Esc, first.');
  return false;
}

function step(by) {
  const rows = visible();
  const at = rows.findIndex((row) => row.number === shown?.number);
  const next = at < 0 ? rows[0] : rows[at + by];
  if (next) show(next.number);
  else tell(by > 0 ? 'This is the last one.' : 'This is the first one.');
}

// ---- changes

async function change(act) {
  if (!shown || (act !== 'mend' && !leave())) return;
  const place = visible().findIndex((row) => row.number === shown.number);
  const { document: name, page, field, value, unit, check } = shown;
  const typed = act === 'mend' ? { value: $('value').value, unit: $('unit').value, page: Number($('page').value) } : {};
  const reply = await ask('change', { number: shown.number, act, seen: { document: name, page, field, value, unit, check }, ...typed });
  if (!reply) return;
  all = reply.state;
  shown = null;
  // the next that is to be looked at; a row that is settled moves down in the list
  const rows = visible();
  const next = all.rows.find(FILTERS.open[1]) ?? rows[Math.min(Math.max(place, 0), rows.length - 1)] ?? all.rows[0];
  await show(next.number);
  tell(`Saved: ${DONE[act]}. ${all.open} of ${all.rows.length} to be looked at.`);
  drawQuestions();
}

async function undo() {
  if (!leave()) return;
  const reply = await ask('undo', {});
  if (!reply) return;
  all = reply.state;
  await show(reply.number);
  tell('The last change was undone.');
  drawQuestions();
}

function giveUp() {
  drawFact();
  $('fact').focus({ preventScroll: true });
}

// ---- one row

function field(name, label, attributes = {}) {
  const input = h('input', { id: name, dir: 'auto', ...attributes });
  input.value = shown[name];
  return h(`div.field${name === 'value' ? '.grow' : ''}`, {}, h('label', { for: name }, label), input);
}

function drawFact() {
  const count = all.documents.find((one) => one.name === shown.document)?.pages;
  const button = (id, text, key, act, kind = '') =>
    h(`button${kind}`, { type: 'button', id, onclick: act }, `${text} `, h('kbd', {}, key));
  fill(
    $('fact'),
    h('h2', { id: 'heading' }, said(shown.field), ' ', h('span.soft', {}, said(shown.document))),
    h(
      'div.actions',
      {},
      button('save', 'Save', 'Ctrl Enter', () => change('mend'), '.chosen'),
      button('check', 'Right as it is', 'a', () => change('check')),
      button('delete', 'Delete', 'd', () => change('delete')),
    ),
    shown.check ? h('p.complaint', {}, said(shown.check)) : null,
    shown.wrong ? h('p.complaint', {}, said(shown.wrong)) : null,
    h(
      'div.row',
      {},
      field('value', 'Value'),
      field('unit', 'Unit'),
      field('page', count ? `Page (1 to ${count})` : 'Page', { type: 'number', min: 1, step: 1 }),
    ),
    h('h3', {}, 'What the page says'),
    source(),
    shown.by ? h('p.facts', {}, 'checked by ', said(shown.by), shown.at ? `, ${plain(shown.at)}` : '') : null,
    shown.more.length ? h('dl', {}, shown.more.map(([name, text]) => [h('dt', {}, said(name)), h('dd', {}, said(text))])) : null,
    h('div', { id: 'questions' }),
  );
  drawPage();
}

function source() {
  if (shown.source) {
    const [before, words, after] = shown.source;
    return h('blockquote', { id: 'source', dir: 'auto' }, plain(before), h('mark', {}, plain(words)), plain(after));
  }
  const why = shown.is_parsed
    ? 'The value does not stand on this page as written.'
    : 'Name the PDFs after the table to see the pages here; this page was not read.';
  return h('p.note', { id: 'source' }, why);
}

async function drawQuestions() {
  if (!all.questions) return;
  const found = await ask('questions');
  if (!found || !$('questions')) return;
  const rows = (found.changed ?? []).map((one) =>
    h('li', {}, said(one.id), ': ', h('del', {}, said(one.before)), ' ', one.now === null ? 'does not follow from the table any more' : h('ins', {}, said(one.now))),
  );
  fill(
    $('questions'),
    h('h3', {}, 'Questions computed from the table'),
    found.error
      ? h('p.note', {}, 'No question can be computed now: ', said(found.error))
      : h('p', { id: 'changed' }, `${rows.length} of ${found.computed} in `, said(found.file), ' have another answer or evidence now'),
    rows.length ? h('ul.verdicts', {}, rows) : null,
  );
}

// ---- its page

function drawPage() {
  const { document: name, page: number, box } = shown;
  const at = all.documents.findIndex((one) => one.name === name);
  const place = h('div', {}, h('p.soft', {}, at < 0 ? 'This document is not among the PDFs.' : 'Rendering …'));
  $('pages').replaceChildren(h('figure', {}, h('figcaption', {}, said(name), `, page ${number}`), place));
  if (at < 0) return;
  const key = `page/${at}/${number}`;
  if (!pages.has(key)) pages.set(key, ask(key));
  pages.get(key).then((page) => {
    if (!page) pages.delete(key);
    else fill(place, sheet(page, number, name, box), text(page));
  });
}

function sheet(page, number, name, box) {
  if (page.error) return h('p.note', {}, `No picture: ${plain(page.error)}`);
  const picture = h('img', { src: page.picture, alt: `Page ${number} of ${plain(name)}`, width: Math.round(page.width), height: Math.round(page.height) });
  return h('div.sheet.still', {}, picture, box ? frame(box, page) : null);
}

function text(page) {
  if (!page.text) return null;
  return h('details', {}, h('summary', {}, 'Text of the page as parsed'), h('pre', { dir: 'auto', tabindex: 0 }, plain(page.text)));
}

// ---- keys and start

const KEYS = {
  a: () => change('check'),
  d: () => change('delete'),
  u: undo,
  e: () => $('value')?.select(),
  j: () => step(1),
  k: () => step(-1),
  '?': () => $('help').showModal(),
};

document.addEventListener('keydown', (event) => {
  if ($('help').open || !shown) return;
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    change('mend');
    return;
  }
  if (event.key === 'Escape') {
    giveUp();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});
$('previous').addEventListener('click', () => step(-1));
$('next').addEventListener('click', () => step(1));
$('undo').addEventListener('click', undo);
$('help-button').addEventListener('click', KEYS['?']);
$('filter').addEventListener('change', (event) => {
  filter = event.target.value;
  drawAll();
});
addEventListener('beforeunload', (event) => {
  if (isTyped()) event.preventDefault();
});

all = await ask('state');
if (all) {
  $('list-box').open = innerWidth > 760;
  const wanted = all.rows.find((row) => String(row.number) === location.hash.slice(1));
  drawAll();
  await show((wanted ?? all.rows[0]).number);
  drawQuestions();
}
