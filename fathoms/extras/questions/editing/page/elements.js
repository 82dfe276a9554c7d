// What the pages of edits share: elements, texts and requests. Texts become text nodes, never markup.

export const $ = (id) => document.getElementById(id);

// control characters and marks of writing direction are shown as codes
const CONTROLS =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;

export function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name || 'div');
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  return fill(element, children);
}

/** Put children in place of those of an element: nodes, texts and lists of them; what is empty is left out. */
export function fill(element, ...children) {
  const present = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.replaceChildren(...present.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

export const plain = (text) =>
  String(text ?? '').replace(
    CONTROLS,
    (found) => `‹U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}›`,
  );
export const said = (text) => h('bdi', {}, plain(text));

export function tell(text) {
  $('live').textContent = text;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => ($('live').textContent = ''), 6000);
}

/** Ask the server; returns its answer, or null after telling why there is none. */
export async function ask(path, body) {
  const options =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  try {
    const reply = await fetch(path, options);
    const value = await reply.json();
    if (reply.ok || value.complaints) return value;
    tell(value.error);
  } catch {
    tell('The command that serves this page has ended: start it again. All decisions are saved.');
  }
  return null;
}

/** Whether an element takes what is typed. */
export function isTyping(element) {
  return (element.matches('input, textarea') && !element.readOnly && element.type !== 'checkbox') || element.matches('select');
}

/** The box of some words on the picture of their page, with a label if there is one. */
export function frame([x0, y0, x1, y1], page, label = null) {
  const element = h('div.frame', {}, label === null ? null : h('span', {}, label));
  Object.assign(element.style, {
    left: `${(100 * x0) / page.width}%`,
    top: `${(100 * y0) / page.height}%`,
    width: `${(100 * (x1 - x0)) / page.width}%`,
    height: `${(100 * (y1 - y0)) / page.height}%`,
  });
  return element;
}
