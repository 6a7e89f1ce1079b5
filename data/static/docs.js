/** Search in the documentation: all sections are fetched at the first use, and searched here. */
const box = document.querySelector('.docs-search');
const input = box.querySelector('input');
const list = box.querySelector('ol');
const found = box.querySelector('[role=status]');
const shownMax = 12;
const around = 60;
let sections;
let loading;

function load() {
  loading ??= fetch(box.dataset.index)
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.status))))
    .then((index) => {
      sections = index.sections.map((section) => ({
        ...section,
        lowTitle: section.title.toLowerCase(),
        low: `${section.page} ${section.title} ${section.text}`.toLowerCase(),
      }));
    })
    .catch(() => {
      loading = undefined;
    });
  return loading;
}

/** Every word must be there; words in the title count more, early ones before late ones. */
function search(words) {
  const hits = [];
  for (const [order, section] of sections.entries()) {
    if (!words.every((word) => section.low.includes(word))) continue;
    const inTitle = words.filter((word) => section.lowTitle.includes(word)).length;
    hits.push({ section, order, inTitle });
  }
  hits.sort((a, b) => b.inTitle - a.inTitle || a.order - b.order);
  return hits.slice(0, shownMax).map(({ section }) => section);
}

function excerpt(text, words) {
  const low = text.toLowerCase();
  const at = Math.max(0, ...words.map((word) => low.indexOf(word)));
  const from = Math.max(0, at - around);
  const part = text.slice(from, at + 2 * around);
  return `${from > 0 ? '… ' : ''}${part}${at + 2 * around < text.length ? ' …' : ''}`;
}

function row(section, words) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = section.href;
  const title = document.createElement('strong');
  title.textContent = section.title;
  const page = document.createElement('span');
  page.textContent = section.page === section.title ? '' : section.page;
  const text = document.createElement('small');
  text.textContent = excerpt(section.text, words);
  link.append(title, ' ', page, ' ', text);
  item.append(link);
  return item;
}

async function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length > 0) await load();
  // Typed on meanwhile: the later call shows the later words.
  if (words.join() !== input.value.toLowerCase().split(/\s+/).filter(Boolean).join()) return;
  const hits = words.length > 0 && sections ? search(words) : [];
  list.replaceChildren(...hits.map((section) => row(section, words)));
  list.hidden = hits.length === 0;
  const none = sections ? box.dataset.none : box.dataset.failed;
  found.textContent = words.length === 0 ? '' : hits.length === 0 ? none : String(hits.length);
  found.classList.toggle('visually-hidden', words.length === 0 || hits.length > 0);
}

box.hidden = false;
input.addEventListener('focus', load, { once: true });
input.addEventListener('input', show);
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  input.value = '';
  show();
});
