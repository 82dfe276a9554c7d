// The search field and the links between the pages of a list. The page keeps its state in the address: `state`,
// `link` and `go` are its own, and `PAGE` is how many rows it lists at a time.

const search = { timer: 0, element: null };

/** The search field, which must stay the same element while someone types; `delay` are the milliseconds after the
 * last key until the list is searched. */
function searchField(placeholder, delay) {
  search.element ??= h('input', {
    id: 'q',
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder,
    oninput: (event) => {
      clearTimeout(search.timer);
      if (!event.isComposing)
        search.timer = setTimeout(() => go({ q: search.element.value }, { replace: true }), delay);
    },
  });
  if (document.activeElement !== search.element) search.element.value = state.q;
  return h('label.field.wide', { for: 'q' }, h('span', {}, 'Search'), search.element);
}

/** The number of the page that is shown, from 1, and the links to the one before and after; none if there is one page. */
function pager(total) {
  const last = Math.max(1, Math.ceil(total / PAGE));
  const page = Math.min(last, Math.max(1, Number.parseInt(state.page, 10) || 1));
  if (last === 1) return { page, element: null };
  const step = (id, text, to) =>
    to < 1 || to > last ? h('span.faint', {}, text) : h('a', { id, href: link({ page: String(to) }) }, text);
  return {
    page,
    element: h(
      'nav.pager',
      { 'aria-label': 'Pages' },
      step('page-before', '← Previous', page - 1),
      h('span', {}, `Page ${page} of ${last}`),
      step('page-after', 'Next →', page + 1),
    ),
  };
}
