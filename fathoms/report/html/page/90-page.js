// The frame of the page: draws the view named in the address, and redraws it when the address changes, or, if
// the view has charts, the width.

const VIEW = {
  overview: overviewView,
  compare: compareView,
  questions: questionsView,
  question: questionView,
};
const main = document.getElementById('main');
let turn = 0;
let drawn = { view: null, id: null };
const scrolled = new Map();

function drawHeader() {
  const tabs = Object.entries(VIEWS).map(([view, text]) =>
    h(
      'a',
      {
        id: `view-${view}`,
        href: link({ view, id: '', repeat: '0' }),
        'aria-current':
          state.view === view || (view === 'questions' && state.view === 'question') ? 'page' : null,
      },
      text,
    ),
  );
  const home = report.home ? [h('a', { id: 'home', href: report.home }, 'All runs')] : [];
  document.getElementById('views').replaceChildren(...home, ...tabs);
  document.getElementById('theme').replaceChildren(
    toggle(
      'theme',
      'Colours',
      [
        ['auto', 'Auto'],
        ['light', 'Light'],
        ['dark', 'Dark'],
      ],
      state.theme,
      (theme) => go({ theme }, { replace: true }),
    ),
  );
  document.documentElement.dataset.theme = ['light', 'dark'].includes(state.theme) ? state.theme : 'auto';
  drawRuns();
}

/** The choice of runs to show, at most 8 at a time. */
function drawRuns() {
  const keys = chosen();
  const place = document.getElementById('runs');
  const open = place.querySelector('details')?.open ?? false;
  const toggled = (key, on) =>
    go({
      runs: (on ? [...keys, key].sort((a, b) => a - b) : keys.filter((other) => other !== key)).join(','),
    });
  const boxes = report.runs.map((run, key) => {
    const on = keys.includes(key);
    const blocked = (!on && keys.length >= MOST_RUNS) || (on && keys.length === 1);
    return h(
      'label',
      {},
      h('input', {
        id: `run-${key}`,
        type: 'checkbox',
        checked: on,
        disabled: blocked,
        onchange: (event) => toggled(key, event.target.checked),
      }),
      named(key),
    );
  });
  const most =
    report.runs.length > MOST_RUNS
      ? h(
          'p.small',
          {},
          `At most ${MOST_RUNS} at a time: more could not be told apart. The leaderboard always shows all runs.`,
        )
      : null;
  place.replaceChildren(
    h(
      'details',
      { open },
      h('summary', { id: 'pick' }, `Runs shown: ${keys.length} of ${report.runs.length}`),
      h('fieldset', {}, h('legend.unseen', {}, 'Runs shown'), boxes),
      most,
    ),
  );
}

/** Draw what never changes: the title, with control characters visible, and the footer. */
function drawFrame() {
  document.getElementById('name').replaceChildren(said(report.title, 160));
  const reach = SERVED ? 'This page asks nobody but fathoms on this machine.' : 'This file makes no network requests.';
  document.getElementById('footer').replaceChildren(`Made by ${plain(report.version)}. ${reach}`);
}

/** Draw the view; if another one is requested meanwhile, this one is discarded. */
async function draw() {
  const mine = (turn += 1);
  const focus = document.activeElement?.id;
  state = parseHash();
  drawHeader();
  main.setAttribute('aria-busy', 'true');
  const room = main.clientWidth - 2 * Number.parseFloat(getComputedStyle(main).paddingLeft);
  let content;
  try {
    content = await VIEW[state.view](room);
  } catch (error) {
    content = [
      h('h2', { id: 'title' }, 'This part cannot be shown'),
      h('p.note.fail', { role: 'alert' }, said(error.message)),
    ];
  }
  if (mine === turn) show(content.flat(Infinity).filter(present).map(asNode), focus);
}

/** Show the view, keep the focus, and restore the scroll position, or scroll to the top of a new view. */
function show(nodes, focus) {
  const moved = drawn.view !== null && (drawn.view !== state.view || drawn.id !== state.id);
  const open = moved ? [] : [...main.querySelectorAll('details[open] > summary[id]')].map(({ id }) => id);
  main.replaceChildren(...nodes);
  main.removeAttribute('aria-busy');
  for (const id of open) document.getElementById(id)?.parentElement.setAttribute('open', '');
  document.title = plain(
    clip(`${state.view === 'question' ? state.id : VIEWS[state.view]} · ${report.title}`, 200),
  );
  drawn = { view: state.view, id: state.id };
  if (moved) window.scrollTo(0, scrolled.get(location.hash) ?? 0);
  const again = focus ? document.getElementById(focus) : null;
  if (again) again.focus({ preventScroll: true });
  else if (moved) main.focus({ preventScroll: true });
}

/** Change the theme without redrawing, so that open sections stay open; links keep the new theme. */
function recolour() {
  const focus = document.activeElement?.id;
  state = parseHash();
  drawHeader();
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  for (const anchor of main.querySelectorAll('a[href^="#"]')) {
    const address = new URLSearchParams(anchor.getAttribute('href').slice(1));
    if (state.theme === DEFAULTS.theme) address.delete('theme');
    else address.set('theme', state.theme);
    anchor.setAttribute('href', `#${address}`);
  }
}

/** Whether the address differs from the drawn view only in its theme. */
function onlyTheme() {
  const next = parseHash();
  return Object.keys(DEFAULTS).every((key) => (next[key] !== state[key]) === (key === 'theme'));
}

let width = window.innerWidth;
let resizing = 0;

history.scrollRestoration = 'manual';
window.addEventListener('hashchange', (event) => {
  scrolled.set(new URL(event.oldURL).hash, window.scrollY);
  if (onlyTheme()) recolour();
  else draw();
});
window.addEventListener('resize', () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    if (window.innerWidth !== width) {
      width = window.innerWidth;
      if (state.view === 'overview') draw(); // the other views adapt without redrawing
    }
  }, 120);
});
// the skip link must not change the address, because that names the view
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
drawFrame();
await draw();
performance.mark('overview');
// the index of a file is unpacked after the first paint, so that the other views open at once; if it cannot be
// read, the view that needs it says so
const prefetch = () =>
  readIndex().then(
    () => performance.mark('index'),
    () => {},
  );
if (SERVED) follow();
else requestAnimationFrame(() => setTimeout(prefetch, 0));
