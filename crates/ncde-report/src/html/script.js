// Sorts a table by the column whose title is pressed, picks rows of a leaderboard by data and model, and says what is wider
// than its box. Everything is shown without this, too.
'use strict';
const all = (selector, among = document) => [...among.querySelectorAll(selector)];
const added = (place, tag, text) => place.appendChild(Object.assign(document.createElement(tag), { textContent: text }));

const SECONDS = { 'µs': 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
// A number, or a time in seconds; none of a text.
const value = (text) => {
  const parts = [...text.replace(/[,±]/g, '').matchAll(/(-?[0-9.]+(?:e-?[0-9]+)?) ?(µs|ms|min|s|h)?(?![a-z])/g)];
  return /^[-±]? ?[0-9]/.test(text) && parts.length ? (parts[0][2] ? parts.reduce((sum, [, n, unit]) => sum + n * SECONDS[unit], 0) : Number(parts[0][1])) : null;
};
const sort = (table, at, down) => {
  const key = (row) => (row.cells[at] ? row.cells[at].textContent : '');
  const isGone = (text) => text === '' || text === 'n/a';
  const order = (a, b) => {
    const [x, y] = [value(a), value(b)];
    return x === null || y === null ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
  };
  const rows = [...table.tBodies[0].rows].sort((a, b) => isGone(key(a)) - isGone(key(b)) || (down ? -1 : 1) * order(key(a), key(b)));
  table.tBodies[0].append(...rows);
};
for (const table of all('.scroll table:not(.matrix)').filter((table) => table.tHead && table.tBodies[0].rows.length > 2)) {
  const titles = [...table.tHead.rows[0].cells];
  titles.forEach((title, at) => {
    const button = added(title, 'button', title.textContent || '#');
    title.replaceChildren(button);
    button.addEventListener('click', () => {
      const down = title.ariaSort === 'ascending';
      sort(table, at, down);
      titles.forEach((other) => other.removeAttribute('aria-sort'));
      title.ariaSort = down ? 'descending' : 'ascending';
    });
  });
}

for (const board of all('.board')) {
  const rows = [...board.querySelector('tbody').rows], picked = new Map();
  const place = document.createElement('p');
  all('thead th', board).forEach((title, at) => {
    const name = title.textContent, of = (row) => row.cells[at].textContent.split(': ')[0];
    const choices = [...new Set(rows.map(of))].sort();
    if (!['data', 'model'].includes(name) || 2 > choices.length) return;
    const select = added(added(place, 'label', name + ' '), 'select', '');
    added(select, 'option', 'all').value = '';
    choices.forEach((choice) => added(select, 'option', choice));
    select.addEventListener('change', () => {
      picked.set(of, select.value);
      rows.forEach((row) => (row.hidden = [...picked].some(([of, choice]) => choice && of(row) !== choice)));
      sideways();
    });
  });
  if (place.firstChild) board.querySelector('.scroll').before(place);
}

const sideways = () => all('.scroll').forEach((box) => {
  const before = box.previousElementSibling, isWider = box.scrollWidth > box.clientWidth + 1;
  if (before && before.matches('.sideways')) before.hidden = !isWider;
  else if (isWider) {
    const hint = added(box.parentElement, 'p', 'Wider than the page: scroll sideways.');
    hint.className = 'sideways';
    box.before(hint);
  }
});
['load', 'resize', 'toggle'].forEach((event) => addEventListener(event, sideways, true));
