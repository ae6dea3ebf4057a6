// Says where a table is wider than its box. Everything is shown without this, too.
'use strict';
const sideways = () => document.querySelectorAll('.scroll').forEach((box) => {
  const before = box.previousElementSibling, said = before && before.matches('.sideways') ? before : null;
  if (said) said.hidden = !(box.scrollWidth > box.clientWidth + 1);
  else if (box.scrollWidth > box.clientWidth + 1) {
    const hint = document.createElement('p');
    hint.className = 'sideways';
    hint.textContent = 'Wider than the page: scroll the table sideways.';
    box.before(hint);
  }
});
['load', 'resize', 'toggle'].forEach((event) => addEventListener(event, sideways, true));
