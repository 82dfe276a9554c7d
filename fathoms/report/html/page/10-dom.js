// Creates elements and texts. Text from models and documents becomes text nodes, never markup.

const LONG = 20000;
// control characters and marks that change the direction of writing are shown as codes instead of taking effect
const CONTROLS =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;

/** Create an element: `properties` are attributes, or listeners if named `on…`; children are nodes, texts or lists. */
function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name || 'div');
  if (classes.length) element.className = classes.join(' ');
  setProperties(element, properties);
  element.append(...children.flat(Infinity).filter(present).map(asNode));
  return element;
}

function setProperties(element, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
}

const present = (child) => child !== null && child !== undefined && child !== false;
const asNode = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));

/** Show a short text of unknown origin, isolated in its writing direction, with control characters visible. */
function said(text, limit = 400) {
  const whole = String(text ?? '');
  const shown = whole.length > limit ? `${clip(whole, limit)}…` : whole;
  return h('bdi', shown === whole ? {} : { title: plain(clip(whole, 2000)) }, pieces(shown));
}

/** Convert a text to nodes in which control characters are visible. */
function pieces(text) {
  const nodes = [];
  let start = 0;
  for (const found of text.matchAll(CONTROLS)) {
    nodes.push(text.slice(start, found.index), h('span.control', {}, controlName(found[0])));
    start = found.index + 1;
  }
  return [...nodes, text.slice(start)];
}

const controlName = (character) =>
  `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}›`;

/** Join nodes with commas. */
const listed = (parts) => parts.map((part, at) => [at ? ', ' : '', part]);

/** Make control characters visible in text for attributes, which cannot hold elements. */
const plain = (text) => String(text ?? '').replace(CONTROLS, controlName);

/** The first `limit` UTF-16 units, without splitting a surrogate pair. */
function clip(text, limit) {
  const half = /[\ud800-\udbff]/.test(text.charAt(limit - 1));
  return text.slice(0, half ? limit - 1 : limit);
}

/** Whether a text may be taller than its box, also on a narrow screen. */
const isHigh = (text) => text.length > 600 || text.split('\n', 14).length > 12;

/**
 * A long text with its marks `[start, end, phrase]`; a button shows what is beyond 20,000 characters. `within` may put
 * further nodes among those of the text. `aside` are `[start, end, kind]` of what is no part of what an answer says.
 */
function passage(text, marks = [], note = null, within = (nodes) => nodes, aside = []) {
  const first = clip(text, LONG);
  const nodes = within(marked(first, marks, aside)).map(asNode);
  // focusable if it may be taller than its box, so that it can be scrolled by keyboard
  const high = isHigh(text) || nodes.some((node) => node.nodeName === 'FIGURE');
  const box = h('div.passage', { dir: 'auto', tabindex: high ? 0 : null });
  box.append(...nodes);
  if (first.length < text.length) {
    const more = h(
      'button.more',
      {
        type: 'button',
        onclick: () => {
          more.remove();
          box.replaceChildren(...within(marked(text, marks, aside)).map(asNode));
        },
      },
      `Show all ${count(text.length)} characters`,
    );
    return [box, more, note];
  }
  return [box, note];
}

/** Nodes of a text with highlighted ranges and those set aside; if ranges overlap, only the first is highlighted. */
function marked(text, marks, aside = []) {
  const nodes = [];
  let start = 0;
  const plain = (from, to) => greyed(text, from, to, aside);
  for (const [from, to, phrase] of [...marks].sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (from < start || from >= text.length || to <= from) continue;
    nodes.push(...plain(start, from));
    nodes.push(h('mark', { title: `gold phrase ${phrase + 1}` }, plain(from, to)));
    start = Math.min(to, text.length);
  }
  return [...nodes, ...plain(start, text.length)];
}

/** Nodes of a part of a text; ranges that were set aside, in order, are grey and say as what. */
function greyed(text, from, to, aside) {
  const nodes = [];
  let start = from;
  for (const [first, last, kind] of aside) {
    if (last <= start || first >= to) continue;
    nodes.push(...pieces(text.slice(start, Math.max(start, first))));
    start = Math.max(start, first);
    nodes.push(h('span.aside', { title: `set aside: ${kind}` }, pieces(text.slice(start, Math.min(last, to)))));
    start = Math.min(last, to);
  }
  return [...nodes, ...pieces(text.slice(start, to))];
}

/** Convert a name or an id to a valid id of an element. */
const slug = (text) => encodeURIComponent(text).replace(/[^A-Za-z0-9]/g, '_');

// ---- number formats

const known = (value) => value !== null && value !== undefined;

const count = (value) => (known(value) ? value.toLocaleString('en') : 'not known');
/** A figure and its interval as the data has them. */
const valueText = (found) => found?.text ?? 'n/a';
const rangeText = (found) => found?.range ?? '';
const figureText = (found) => `${valueText(found)} ${rangeText(found)}`.trim();

/** A time to the minute, as recorded by the run. */
const moment = (iso) =>
  iso ? iso.slice(0, 16).replace('T', ' ') + (/(Z|\+00:00)$/.test(iso) ? ' UTC' : '') : 'not known';

const plural = (n, noun, many = `${noun}s`) => `${count(n)} ${n === 1 ? noun : many}`;
const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => (values.length ? sum(values) / values.length : null);

// ---- parts that several views share

/** A table with a caption, in its own scrolling box; `rows` are lists of cells. */
function table(caption, heads, rows, { kind = '', seen = true } = {}) {
  const name = h(seen ? 'caption' : 'caption.unseen', {}, caption);
  const head = h(
    'thead',
    {},
    h(
      'tr',
      {},
      heads.map((text) => h('th', { scope: 'col' }, text)),
    ),
  );
  const body = rows.map((cells) =>
    h(
      'tr',
      {},
      cells.map((cell, column) => (column ? h('td', {}, cell) : h('th', { scope: 'row' }, cell))),
    ),
  );
  return scroller(
    typeof caption === 'string' ? caption : 'table',
    h('table', { class: kind }, name, head, h('tbody', {}, body)),
  );
}

/** Wrap content that may be wider than the page in its own scrolling box, which the keyboard can scroll too. */
function scroller(label, ...content) {
  return h('div.scroll', { role: 'group', 'aria-label': plain(label), tabindex: 0 }, content);
}

function section(id, title, ...content) {
  return h(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    h('h3', { id: `${id}-title` }, title),
    content,
  );
}

/** A section that is folded until somebody opens it; `null` stays as it is. */
function folded(found) {
  if (!found) return found;
  const [title, ...content] = found.childNodes;
  found.classList.add('fold');
  found.replaceChildren(h('details', {}, h('summary', { id: `${found.id}-fold` }, title), content));
  return found;
}

/** A labelled select element; `options` are [value, text] pairs. */
function choice(id, label, options, value, onchange) {
  const list = options.map(([key, text]) =>
    h('option', { value: key, selected: key === value }, plain(text)),
  );
  return h(
    'label.field',
    { for: id },
    h('span', {}, label),
    h('select', { id, onchange: (event) => onchange(event.target.value) }, list),
  );
}

/** A group of buttons of which exactly one is pressed. */
function toggle(id, label, options, value, onclick) {
  return h(
    'div.toggle',
    { role: 'group', 'aria-label': label },
    options.map(([key, text]) =>
      h(
        'button',
        {
          id: `${id}-${key}`,
          type: 'button',
          'aria-pressed': String(key === value),
          onclick: () => onclick(key),
        },
        text,
      ),
    ),
  );
}

/** The values of a chart as a table, for readers who cannot see it or want exact numbers. */
function behind(id, caption, heads, rows) {
  return h(
    'details.behind',
    {},
    h('summary', { id: `${id}-figures` }, 'Figures as a table'),
    table(caption, heads, rows, { seen: false }),
  );
}

/** Announce a change to screen readers. */
function announce(text) {
  const live = document.getElementById('live');
  if (live.textContent !== text) live.textContent = text;
}
