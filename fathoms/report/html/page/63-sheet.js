// The page of a document, drawn large: the gold phrases, the retrieved texts by rank, and what the parser left out.

// the sizes of the pages in points, where on them something stands, and the pictures that a server has sent
let sheetData = { sizes: {}, places: {}, pictures: {} };
const MOST_SHEETS = 40; // that are asked for at once
let drawing = 0; // requests for pages that are not answered yet

/** Unpack where things stand on the pages; a report without pictures has nothing of it. A server draws them when a
 * question is looked at: what is known is shown meanwhile. */
async function readSheets(details) {
  if (!SERVED) {
    if (hasChunk('pages')) sheetData = { ...(await chunk('pages')), pictures: {} };
    return;
  }
  const found = details.filter(Boolean).flatMap(picturesNamed);
  const keys = [...new Set(found)].filter((key) => !(key in sheetData.pictures)).slice(0, MOST_SHEETS);
  if (!keys.length) return;
  for (const key of keys) sheetData.pictures[key] = null; // so that nobody asks again
  const { id } = state;
  drawing += 1;
  ask('pages', { keys: keys.join() })
    .then((drawn) => Object.keys(sheetData).forEach((part) => Object.assign(sheetData[part], drawn[part])))
    .catch((error) => announce(error.message))
    .then(() => {
      drawing -= 1;
      if (state.view === 'question' && state.id === id) draw();
    });
}

/** The keys of the pictures that a question shows: of the gold pages, then of what was retrieved. */
const picturesNamed = ({ sheets = {}, repeats }) => [
  ...Object.keys(sheets),
  ...repeats.flatMap(({ hits }) => (hits ?? []).flatMap((hit) => [hit.thumbnail, hit.picture])).filter(Boolean),
];

/** The picture of a page or a figure as an address; null where there is none. */
function pictureOf(name) {
  const sent = name ? own(sheetData.pictures, name) : null;
  const data = sent ?? (name ? document.getElementById(`chunk-picture-${name}`)?.textContent.trim() : null);
  return data ? `data:image/jpeg;base64,${data}` : null;
}

/** Boxes as they are, or those that stand under a number. */
const placesOf = (found) => (Array.isArray(found) ? found : (own(sheetData.places, found) ?? []));

/** The boxes of a retrieved text on a page; the whole page if it is a picture as such. */
function boxesOf(hit, key) {
  const found = own(hit.places, key);
  const size = own(sheetData.sizes, key);
  return found === null && size ? [[0, 0, ...size]] : found === undefined ? [] : placesOf(found);
}

/** The pages with a picture that a question has in these runs, the gold ones first, by their keys. */
function sheetsOf(details) {
  const all = details.filter(Boolean).flatMap((detail) => Object.entries(detail.sheets ?? {}));
  const drawn = all.filter(([key]) => pictureOf(key) && own(sheetData.sizes, key));
  return new Map(drawn.sort((a, b) => Number(b[1].gold) - Number(a[1].gold)));
}

const hitsOn = (repeat, key) => (repeat?.hits ?? []).filter((hit) => own(hit.places, key) !== undefined);

/** Frames on a page: each `[boxes, kind, label]`; the label stands at the first box. */
function overlays(key, all) {
  const size = own(sheetData.sizes, key);
  return all.flatMap(([boxes, kind, label]) =>
    framed(boxes, size).map((frame, at) => {
      frame.className = `frame ${kind}`;
      if (!at && label) frame.append(h('b', {}, label));
      return frame;
    }),
  );
}

/** What is drawn on a page for one run: `[boxes, kind, label, words]`. */
function drawnOn(key, sheet, detail, repeat) {
  const phrases = own(sheetData.places, sheet.phrases) ?? {};
  const lost = new Set((repeat?.funnel ?? []).flatMap((stage) => (stage.stage === 'documents' ? stage.missed : [])));
  const gold = Object.entries(phrases).map(([number, boxes]) => {
    const phrase = detail.phrases[number];
    const words = ['gold phrase “', said(phrase, 80), lost.has(phrase) ? '”, which the parser lost' : '”'];
    return [boxes, lost.has(phrase) ? 'phrase lost' : 'phrase', null, words];
  });
  const evidence = (detail.evidence ?? [])
    .filter((one) => one.thumbnail === key && one.boxes)
    .map((one) => [one.boxes, 'evidence', null, ['place of the gold answer']]);
  const hits = hitsOn(repeat, key).map((hit) => {
    const boxes = boxesOf(hit, key);
    const words = [`${hit.rank}. retrieved`, boxes.length ? null : ', not found in the text of this page'];
    return [boxes, `rank${(hit.rank - 1) % MOST_RUNS}`, String(hit.rank), words];
  });
  const unread = own(sheet, 'unread') === undefined ? [] : placesOf(sheet.unread);
  const left = unread.length ? [[unread, 'unread', null, ['not in the parser’s text']]] : [];
  const missing = [...lost].some((phrase) => !Object.keys(phrases).some((number) => detail.phrases[number] === phrase));
  const drawn = missing && own(sheet, 'drawn') !== undefined ? placesOf(sheet.drawn) : [];
  const pictures = drawn.length ? [[drawn, 'unread', null, ['picture: the file has no text for what is drawn in it']]] : [];
  return [...hits, ...left, ...pictures, ...evidence, ...gold];
}

/** The picture with its frames, at any size. */
function sheetPicture(key, sheet, all) {
  const name = `Page ${sheet.page} of ${plain(sheet.document)}`;
  return h('span.sheet', {}, h('img', { src: pictureOf(key), alt: name }), overlays(key, all));
}

/** Show a page at full size in front of everything, until it is closed. */
function showFull(key, sheet, all) {
  const close = h('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
  const head = h('p.small', {}, said(sheet.document, 120), `, page ${sheet.page} `, close);
  const dialog = h('dialog.full', { 'aria-label': `Page ${sheet.page} of ${plain(sheet.document)}` }, head, sheetPicture(key, sheet, all));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** A page of the documents with what was found on it, and the other pages to choose from; null without any. */
function sheetBox(keys, details, repeats) {
  const sheets = sheetsOf(details);
  if (!sheets.size) return drawing ? h('p.small.paper', {}, 'The page is being drawn.') : null;
  const key = sheets.has(state.sheet) ? state.sheet : [...sheets.keys()][0];
  const found = keys.map((_, nth) => nth).filter((nth) => details[nth]);
  const shown = found.find((nth) => String(keys[nth]) === state.of) ?? found.find((nth) => hitsOn(repeats[nth], key).length) ?? found[0];
  const sheet = own(details[shown].sheets, key) ?? sheets.get(key);
  const all = drawnOn(key, sheet, details[shown], repeats[shown]);
  const legends = all.map(([, kind, label, words]) => h('li', {}, h(`span.key.frame.${kind.replace(' ', '.')}`, {}, label ? h('b', {}, label) : null), h('span', {}, words)));
  return h(
    'figure.paper',
    {},
    h('figcaption', {}, said(sheet.document, 80), `, page ${sheet.page}`, sheet.gold ? h('span.tag', {}, 'gold page') : null),
    found.length > 1
      ? toggle('of', 'Whose retrieved texts are drawn', found.map((nth) => [String(keys[nth]), said(runLabel(report.runs[keys[nth]]), 40)]), String(keys[shown]), (of) => go({ of }, { replace: true }))
      : null,
    legends.length ? h('ul.legend', { 'aria-label': 'On this page' }, legends) : null,
    h('button.enlarge', { id: 'enlarge', type: 'button', 'aria-label': `Page ${sheet.page} of ${plain(sheet.document)} at full size`, onclick: () => showFull(key, sheet, all) }, sheetPicture(key, sheet, all)),
    sheets.size > 1 ? h('div.strip', { role: 'group', 'aria-label': 'Other pages' }, [...sheets].map((one) => sheetTab(one, key, repeats[shown]))) : null,
  );
}

/** A small page to choose, with its number, and whether it is gold or at which ranks it was retrieved. */
function sheetTab([key, sheet], current, repeat) {
  const ranks = hitsOn(repeat, key).map((hit) => hit.rank);
  const words = [sheet.gold ? 'gold' : '', ranks.length ? `rank ${ranks.join(', ')}` : ''].filter(Boolean).join(', ');
  return h(
    'button',
    { id: `sheet-${key}`, type: 'button', 'aria-pressed': String(key === current), onclick: () => go({ sheet: key }, { replace: true }) },
    h('img', { src: pictureOf(key), alt: '', width: 54 }),
    h('span.small', {}, h('span.unseen', {}, said(sheet.document, 80), ', '), `page ${sheet.page}`, words ? h('br') : null, words),
  );
}
