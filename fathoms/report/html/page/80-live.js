// Follows what the server reads, and a run in progress: figures, lists and questions fill as answers come.

const live = { source: null, version: null, read: -1, next: null, timer: 0, wait: 200, told: false };

/** Listen to the server as long as anything can change and the page is seen. */
function follow() {
  document.addEventListener('visibilitychange', listen);
  listen();
}

function listen() {
  if (document.hidden) {
    live.source?.close(); // a browser allows few connections to one server
    live.source = null;
  } else if (!live.source && !live.told) {
    live.source = new EventSource('events');
    live.source.onmessage = (event) => heard(JSON.parse(event.data));
  }
}

/** Show how far it is, and draw again what has changed; a list is not read more often than it is worth. */
function heard(now) {
  document.getElementById('runs').after(standing(now));
  if (!now.live && !now.following) {
    live.source.close();
    live.told = true; // everything is read, and no run is in progress
  }
  const same = now.read === live.read && now.version === live.version;
  [live.read, live.version] = [now.read, now.version];
  if (same || (now.version === report.state && !chunks.has('index'))) return;
  live.next = now;
  if (!live.timer) live.timer = setTimeout(refresh, live.wait);
}

/** Read again what has changed, and draw it. A question that is being read, and a menu that may be open, are
 * left as they are. */
async function refresh() {
  const began = performance.now();
  live.timer = 0;
  if (document.activeElement?.tagName === 'SELECT') {
    live.timer = setTimeout(refresh, live.wait);
    return;
  }
  const unscored = () => report.runs.some((run) => run.profile === 'not scored');
  const before = unscored();
  chunks.delete('index');
  try {
    if (live.next.version !== report.state) take(await ask('overview'));
  } catch {
    return; // the view says why when it is drawn the next time
  }
  if (before && !unscored()) announce('The run has been scored.');
  if (state.view !== 'question' || before !== unscored()) await draw();
  live.wait = Math.max(1000, 5 * (performance.now() - began));
}

/** How many answers there are, or how many questions have been read. */
function standing(now) {
  const old = document.getElementById('standing');
  const box = old ?? h('div', { id: 'standing', class: 'standing' });
  const n = now.following ? now.answers : now.read;
  const words = now.following
    ? [
        `${count(n)} of ${count(now.expected)} answers`,
        now.errors ? `, ${count(now.errors)} failed` : '',
        now.cost !== 'not known' && now.answers ? `, ${now.cost}` : '',
        now.live ? '' : '. Not scored yet.',
      ].join('')
    : `${count(n)} of ${count(now.expected)} questions read`;
  const bar = now.live
    ? h('progress', { max: Math.max(1, now.expected), value: Math.min(n, now.expected), 'aria-label': words })
    : null;
  box.replaceChildren(...[bar, now.live || now.following ? h('span', {}, words) : null].filter(present));
  if (now.flaw) box.append(h('p.note.fail', { role: 'alert' }, said(now.flaw, 600)));
  return box;
}
