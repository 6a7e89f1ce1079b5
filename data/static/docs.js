/**
 * The documentation: the search, whose sections are all fetched at its first use, the languages of samples as
 * tabs, requests that a reader tries, and the place of the reader in the list of headings.
 */
const openers = [...document.querySelectorAll('.docs-search')];
const box = document.querySelector('.docs-dialog');
const input = box.querySelector('input');
const list = box.querySelector('ol');
const found = box.querySelector('[role=status]');
const icons = [...box.querySelector('template').content.querySelectorAll('svg')];
const shownMax = 8;
const saidMin = 4;
const excerptCharsMax = 230;
let sections;
let loading;

function load() {
  loading ??= fetch(box.dataset.index)
    .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.status))))
    .then((index) => {
      const screens = index.screens.map((one) => ({
        ...one,
        page: box.dataset.connect,
        more: '',
        isScreen: true,
      }));
      const places = index.places.map((one) => ({ ...one, page: '', isPlace: true }));
      sections = [...screens, ...index.sections, ...places].map((section) => ({
        ...section,
        lowTitle: folded(section.title),
        lowText: folded(section.text),
        titleWords: tellingWords(folded(section.title).split(/\s+/)).join(' '),
        lowMore: section.isPlace ? folded(section.more) : '',
        low: folded(`${section.page} ${section.title} ${section.text} ${section.more}`),
      }));
    })
    .catch(() => {
      loading = undefined;
    });
  return loading;
}

/** Small letters without accents: who types "cle" finds "clé". */
function folded(text) {
  return text.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase();
}

/** Words that say nothing of what is searched for. */
const idleWords = new Set(
  'a an the my your of for to in on is it i do how le la les l un une des du de d mon ma mes votre vos en et est je'.split(' '),
);

/** Returns the words that count, without an idle one and without what a plural adds. */
function tellingWords(words) {
  const telling = words.flatMap((word) => word.split(/['’]/)).filter((word) => !idleWords.has(word));
  return (telling.length > 0 ? telling : words).map((word) =>
    word.length > 4 ? word.replace(/s$/, '') : word,
  );
}

/** How often a word stands in a text. A short one must begin a word: "tor" is not in "visitor". */
function timesIn(text, word) {
  if (word.length > 3) return text.split(word).length - 1;
  return text.split(/[^\p{L}\p{N}]+/u).filter((one) => one.startsWith(word)).length;
}

/** How much a section is about a word: its title, how often its sentences say it, or its code alone. */
function weight({ lowTitle, lowText, lowMore }, word) {
  if (lowTitle === word || lowTitle === `${word}s`) return 6;
  if (lowTitle.split(/[^\p{L}\p{N}]+/u).some((one) => one.startsWith(word))) return 4;
  const said = Math.min(3, timesIn(lowText, word)) / 2;
  if (timesIn(lowMore, word) > 0) return 3 + said;
  if (word.length > 3 && lowTitle.includes(word)) return 3;
  return said;
}

/** Sections with every word; where no section has them all, those with the most of them. */
function search(words) {
  const held = (section) => words.filter((word) => timesIn(section.low, word) > 0).length;
  const most = Math.max(0, ...sections.map(held));
  return most === 0 ? [] : ranked(words, (section) => held(section) === most);
}

/** Texts in the reader's language come first; of these pages to connect something, then titles, then whole pages. */
function ranked(words, isHit) {
  const hits = [];
  for (const [order, section] of sections.entries()) {
    if (!isHit(section)) continue;
    const about = words.reduce((sum, word) => sum + weight(section, word), 0);
    const isScreen = section.isScreen && words.some((word) => section.lowTitle.includes(word));
    // The first page names all the others.
    const first = isScreen ? 6 : /^\/docs(#|$)/.test(section.href) ? -1 : 0;
    const isNamed = section.isPlace && words.length > 1 && section.titleWords === words.join(' ');
    const whole = isNamed ? 8 : section.isPlace ? 2 : section.href.includes('#') ? 0 : 0.3;
    const shelf = Number(isInAnotherLanguage(section));
    hits.push({ section, order, about, shelf, rank: about + first + whole });
  }
  hits.sort((a, b) => a.shelf - b.shelf || b.rank - a.rank || a.order - b.order);
  // One place has one line, its best.
  const best = new Map();
  // A section that has it in code or a table alone counts where few sentences say it.
  const isSaid = hits.filter(({ about }) => about > 0).length >= saidMin;
  for (const { section, about } of hits) {
    if (!best.has(section.href) && (about > 0 || !isSaid)) best.set(section.href, section);
  }
  return [...best.values()].slice(0, shownMax);
}

function isInAnotherLanguage({ language }) {
  return language !== undefined && language !== document.documentElement.lang;
}

/** A line of the index is a paragraph or an item of a list. */
function sentencesOf(text) {
  return text.split('\n').flatMap((line) => line.split(/(?<=[.!?])\s+/));
}

/** Returns the sentence that holds the most of the words; where none does, the row of a table, and at last the first sentence. */
function excerpt({ text, more, isPlace }, words) {
  const sentences = sentencesOf(text);
  // Of a place these are only words that people search for.
  const rows = isPlace ? [] : more.split('\n').filter((line) => line.includes(' · '));
  const held = (one) => words.filter((word) => timesIn(folded(one), word) > 0).length;
  let best = sentences[0] ?? '';
  let most = held(best);
  for (const one of [...sentences.slice(1), ...rows]) {
    const now = held(one);
    if (now > most) [best, most] = [one, now];
  }
  return best.length <= excerptCharsMax ? best : shortened(best, words);
}

/** A long sentence begins with a clause before the first word that was searched for, and ends with a whole word. */
function shortened(sentence, words) {
  const low = folded(sentence);
  const first = Math.min(...words.map((word) => low.indexOf(word)).filter((place) => place >= 0));
  const clauses = [...sentence.matchAll(/[;:]\s+/g)].map(({ index, 0: end }) => index + end.length);
  const isFar = first > excerptCharsMax - 40 && first < low.length;
  const from = isFar ? (clauses.filter((clause) => clause <= first).at(-1) ?? wordBefore(sentence, first)) : 0;
  const start = from === 0 ? '' : '…\u00a0';
  if (sentence.length - from <= excerptCharsMax) return start + sentence.slice(from);
  const to = sentence.lastIndexOf(' ', from + excerptCharsMax);
  return `${start}${sentence.slice(from, to).replace(/[,;:]$/, '')}\u00a0…`;
}

function wordBefore(sentence, place) {
  return sentence.lastIndexOf(' ', place - 60) + 1;
}

/** Text with the words that were searched for marked. A letter and its accent are one letter here. */
function marked(text, words) {
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const whole = text.normalize('NFC');
  // Where a letter has no single accented form, the places would not fit: nothing is marked.
  const low = folded(whole);
  if (low.length !== whole.length) return [whole];
  const parts = [];
  let at = 0;
  for (const { index, 0: found } of low.matchAll(new RegExp(`(?:${escaped.join('|')})s?`, 'g'))) {
    const mark = document.createElement('mark');
    mark.textContent = whole.slice(index, index + found.length);
    parts.push(whole.slice(at, index), mark);
    at = index + found.length;
  }
  return [...parts, whole.slice(at)];
}

/** Where a result leads to: a page to connect something, a section of the documentation, or another place. */
function iconOf({ isScreen, isPlace }) {
  return icons[isScreen ? 0 : isPlace ? 2 : 1].cloneNode(true);
}

function row(section, words) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  // A page that was asked for in a language leads on in it.
  const asked = /[?&](language=[a-z]{2})/.exec(location.search)?.[1];
  link.href = asked ? section.href.replace(/^(\/docs[^#?]*)/, `$1?${asked}`) : section.href;
  const title = document.createElement('strong');
  title.append(...marked(section.title, words));
  const text = document.createElement('small');
  text.append(...marked(excerpt(section, words), words));
  const about = document.createElement('span');
  const isForeign = isInAnotherLanguage(section);
  about.textContent = [section.page === section.title ? '' : section.page, isForeign ? box.dataset.foreign : '']
    .filter((part) => part !== '')
    .join(' · ');
  if (isForeign) for (const part of [title, text]) part.lang = section.language;
  const enter = document.createElement('kbd');
  enter.textContent = '↵';
  enter.ariaHidden = 'true';
  const head = document.createElement('div');
  head.append(title, ' ', about, ' ');
  link.append(iconOf(section), head, text, enter);
  item.append(link);
  return item;
}

async function show() {
  const typed = input.value;
  const words = tellingWords(folded(typed).split(/\s+/).filter(Boolean));
  if (words.length > 0) await load();
  // Typed on meanwhile: the later call shows the later words.
  if (typed !== input.value) return;
  const hits = words.length > 0 && sections ? search(words) : [];
  list.replaceChildren(...hits.map((section) => row(section, words)));
  list.hidden = hits.length === 0;
  const { none, failed, one, many } = box.dataset;
  const count = hits.length === 1 ? one : many.replace('{n}', hits.length);
  const said = hits.length > 0 ? count : sections ? none : failed;
  found.textContent = words.length === 0 ? '' : said;
}

function openSearch() {
  if (box.open) return;
  box.showModal();
  input.select();
  load();
}

for (const opener of openers) {
  opener.hidden = false;
  opener.querySelector('button').addEventListener('click', openSearch);
}
document.addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    openSearch();
  }
});
input.addEventListener('input', show);
// A press beside the dialog closes it; a link inside it that stays on the page, too.
box.addEventListener('click', (event) => {
  if (event.target === box || event.target.closest('a') !== null) box.close();
});
box.addEventListener('keydown', (event) => {
  // A field of a search would only empty itself.
  if (event.key === 'Escape') {
    event.preventDefault();
    box.close();
  }
  const links = [...list.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (event.key === 'Enter' && at < 0 && links.length > 0 && event.target === input) {
    event.preventDefault();
    links[0].click();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || links.length === 0) return;
  event.preventDefault();
  const to = at + step;
  if (to < 0) input.focus();
  else links[Math.min(to, links.length - 1)].focus();
});

/** Samples in several languages: one tablist each; the choice holds for all of the page and is kept. */
const languageKey = 'docs-language';
const groups = [...document.querySelectorAll('.samples')];

function keptLanguage() {
  try {
    return localStorage.getItem(languageKey);
  } catch {
    return null;
  }
}

function choose(title) {
  for (const group of groups) {
    const tabs = [...group.querySelectorAll('[role=tab]')];
    if (!tabs.some((tab) => tab.textContent === title)) continue;
    for (const tab of tabs) {
      const isChosen = tab.textContent === title;
      tab.setAttribute('aria-selected', String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      document.getElementById(tab.getAttribute('aria-controls')).hidden = !isChosen;
    }
  }
}

/** What was clicked stays where it is, whatever became longer or shorter above it. */
function chooseAt(tab) {
  const before = tab.getBoundingClientRect().top;
  choose(tab.textContent);
  window.scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' });
  try {
    localStorage.setItem(languageKey, tab.textContent);
  } catch {
    // A browser that keeps nothing.
  }
}

function onKey(event) {
  const tabs = [...event.currentTarget.children];
  const now = tabs.indexOf(event.target);
  const steps = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: tabs.length - 1 };
  const to = steps[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = tabs[(to + tabs.length) % tabs.length];
  tab.focus();
  chooseAt(tab);
}

for (const [i, group] of groups.entries()) {
  const samples = [...group.querySelectorAll('.sample')];
  const list = document.createElement('div');
  list.className = 'sample-tabs';
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', group.dataset.label);
  list.append(
    ...samples.map((sample, n) => {
      const tab = document.createElement('button');
      tab.type = 'button';
      tab.setAttribute('role', 'tab');
      tab.id = `tab-${i}-${n}`;
      tab.textContent = sample.dataset.title;
      sample.id = `sample-${i}-${n}`;
      sample.setAttribute('role', 'tabpanel');
      sample.setAttribute('aria-labelledby', tab.id);
      tab.setAttribute('aria-controls', sample.id);
      tab.addEventListener('click', () => chooseAt(tab));
      return tab;
    }),
  );
  list.addEventListener('keydown', onKey);
  group.prepend(list);
  group.classList.add('is-tabbed');
  choose(samples[0].dataset.title);
}
const kept = keptLanguage();
if (kept !== null) choose(kept);

/** Requests to this very server. The key is asked for once, when a first box is opened. */
const boxes = [...document.querySelectorAll('.try')];
const answerCharsMax = 20_000;
let isKeyAsked = false;

async function ownKey() {
  if (isKeyAsked) return;
  isKeyAsked = true;
  const answer = await fetch('/connect/key', { headers: { Accept: 'application/json' } });
  if (!answer.ok || answer.redirected) return;
  const { standing, key } = await answer.json();
  for (const one of boxes) {
    const note = one.querySelector(`[data-standing="${standing}"]`);
    if (note === null) continue;
    note.hidden = false;
    const typed = one.querySelector('input[name=key]');
    if (typed.value === '') typed.value = key ?? '';
  }
}

function fieldsOf(form) {
  const filled = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
  return filled.filter(([name, value]) => name !== 'key' && value !== '');
}

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** As the server wrote it (site/docs/tries.ts). */
function commandOf({ method, path, origin }, hasKey, fields) {
  const get = method === 'GET' && fields.length > 0 ? ' -G' : '';
  return [
    `curl -s${get}${hasKey ? ' -H "Key: $KEY"' : ''} ${quoted(origin + path)}`,
    ...fields.map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`),
  ].join(' \\\n  ');
}

function prettyText(body) {
  let shown = body;
  try {
    shown = JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // No JSON: shown as it came.
  }
  return shown.length > answerCharsMax ? `${shown.slice(0, answerCharsMax)} …` : shown;
}

async function send({ method, path }, key, fields) {
  const params = new URLSearchParams(fields);
  const answer = await fetch(method === 'GET' && fields.length > 0 ? `${path}?${params}` : path, {
    method,
    headers: { Accept: 'application/json', ...(key === undefined ? {} : { Key: key }) },
    body: method === 'GET' ? undefined : params,
    // As any program sends it.
    credentials: 'omit',
  });
  const left = answer.headers.get('X-RateLimit-Remaining');
  const status = `${answer.status}${left === null ? '' : `, X-RateLimit-Remaining: ${left}`}`;
  return { status, body: prettyText(await answer.text()) };
}

for (const one of boxes) {
  const form = one.querySelector('form');
  const typedKey = form.querySelector('input[name=key]');
  const shown = form.querySelector('.try-answer');
  const command = one.querySelector('.code code');
  form.hidden = false;
  one.addEventListener('toggle', () => one.open && ownKey().catch(() => {}));
  form.addEventListener('input', () => {
    command.textContent = commandOf(one.dataset, typedKey !== null, fieldsOf(form));
  });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const failed = () => ({ status: one.dataset.failed, body: '' });
    const sent = send(one.dataset, typedKey?.value.trim(), fieldsOf(form)).catch(failed);
    const { status, body } = await sent;
    form.querySelector('[role=status]').textContent = status;
    shown.querySelector('code').textContent = body;
    shown.hidden = body === '';
  });
}

/** The list of headings tells where the reader is: the last heading that went by the upper quarter of the window. */
const places = [...document.querySelectorAll('.docs-contents a')].map((link) => ({
  link,
  heading: document.getElementById(decodeURIComponent(link.hash.slice(1))),
}));
let isFollowing = false;

function follow() {
  isFollowing = false;
  const line = innerHeight / 4;
  const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  const gone = places.filter(({ heading }) => heading.getBoundingClientRect().top < line);
  const now = isAtEnd && scrollY > 0 ? places.at(-1) : gone.at(-1);
  for (const { link } of places) {
    if (link === now?.link) link.setAttribute('aria-current', 'location');
    else link.removeAttribute('aria-current');
  }
}

if (places.length > 0) {
  addEventListener(
    'scroll',
    () => {
      if (!isFollowing) requestAnimationFrame(follow);
      isFollowing = true;
    },
    { passive: true },
  );
  follow();
}
