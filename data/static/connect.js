/** The tiles are filtered, values are written into the texts, and a first request is looked for, for an hour. */
const everyMs = 3000;
const waitMs = 3_600_000;

// The first screen: chips and the filter show some of the tiles. Without a script chips lead to their groups.

const filter = document.getElementById('filter');

function openFilter() {
  const input = filter.querySelector('input');
  const chips = [...document.querySelectorAll('.chip')];
  const groups = [...document.querySelectorAll('[data-of]')];
  const none = document.getElementById('nothing-fits');
  let chosen = '';

  function showTiles() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const group of groups) {
      const fits = (tile) => words.every((word) => tile.dataset.find.includes(word));
      const tiles = [...group.querySelectorAll('[data-find]')];
      for (const tile of tiles) tile.hidden = !fits(tile);
      const left = tiles.filter((tile) => !tile.hidden).length;
      group.hidden = left === 0 || (chosen !== '' && group.dataset.of !== chosen);
      if (!group.hidden) shown += left;
    }
    none.hidden = shown > 0;
  }

  filter.hidden = false;
  input.addEventListener('input', showTiles);
  for (const chip of chips) {
    chip.addEventListener('click', (event) => {
      event.preventDefault();
      chosen = chip.dataset.group;
      for (const one of chips) one.toggleAttribute('aria-current', one === chip);
      chip.setAttribute('aria-current', 'true');
      showTiles();
    });
  }
}

/** Paths of the screens whose first request came while this browser waited for it. */
const connectedKey = 'connected';

function connectedPaths() {
  try {
    return JSON.parse(localStorage.getItem(connectedKey) ?? '[]');
  } catch {
    return []; // a browser that keeps nothing
  }
}

function rememberConnected() {
  try {
    const paths = new Set([...connectedPaths(), location.pathname]);
    localStorage.setItem(connectedKey, JSON.stringify([...paths]));
  } catch {}
}

// The server knows of those with a mark alone: of the others it counts a key's requests, whoever sends them.
function showConnected() {
  const paths = connectedPaths();
  for (const tile of document.querySelectorAll('a.target')) {
    const line = tile.querySelector('.target-short');
    if (line === null || !paths.includes(tile.pathname)) continue;
    line.className = 'target-live';
    line.textContent = tile.closest('[data-connected]').dataset.connected;
  }
}

if (filter !== null) {
  openFilter();
  showConnected();
}

// A screen: what is typed stands in the texts at once.

const values = document.querySelector('.connect-values');

/** A site on the developer's own machine: a server with demo data takes it, by plain http. */
const ownMachine = /^(localhost|127\.0\.0\.1)(?::([1-9]\d{0,4}))?$/;
const usualPort = '3000';
const { sites } = values?.dataset ?? {};

/** A value that the server would refuse is not written: it says what is wrong. */
function isWrong({ name, value }) {
  const text = value.trim();
  if (name !== 'domain' || text === '') return false;
  if (sites !== undefined && ownMachine.test(text)) return sites === 'public';
  return !/^[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(text);
}

/** @param form what the text has in its place: an address, the port of a program, or a host alone */
function textIn(form, name, text) {
  const host = text.replace(/^https?:\/\//, '');
  if (name !== 'domain') return form === 'address' ? text : host;
  const [, own, port = usualPort] = ownMachine.exec(text) ?? [];
  if (form === 'port') return port;
  return form === 'address' ? `${own === undefined ? 'https' : 'http'}://${text}` : (own ?? text);
}

function formOf({ textContent: text }) {
  if (text.includes('://')) return 'address';
  return /^\d+$/.test(text) ? 'port' : 'host';
}

function writeValue(input) {
  const { name, value, placeholder, validity } = input;
  const marks = [...document.querySelectorAll(`mark[data-value="${name}"]`)];
  const text = value.trim() || placeholder || '';
  if (!validity.valid || text === '' || isWrong(input)) return;
  for (const mark of marks) {
    mark.dataset.form ??= formOf(mark);
    mark.textContent = textIn(mark.dataset.form, name, text);
  }
  if (name !== 'domain') return;
  for (const link of document.querySelectorAll('[data-open]')) {
    const label = link.querySelector('[data-label]');
    link.href = `http://${text}/`;
    label.textContent = label.dataset.label.replace('{}', text);
    link.closest('.connect-open').hidden = value.trim() === '';
  }
}

// A choice that makes other lines comes from the server, as all do without a script.
const fromServer = values?.querySelector('select') ?? null;
if (values !== null) {
  values.querySelector('.connect-fill').hidden = true;
  values.addEventListener('input', ({ target }) => {
    if (target.tagName === 'INPUT') writeValue(target);
  });
  values.addEventListener('change', ({ target }) => {
    if (target.tagName === 'SELECT' || isWrong(target)) values.requestSubmit();
  });
  values.addEventListener('submit', (event) => {
    if (fromServer !== null || [...values.elements].some(isWrong)) return;
    event.preventDefault();
  });
  // A browser that comes back fills in what was typed.
  for (const input of values.querySelectorAll('input')) writeValue(input);
}

// Long texts are folded. All of them is copied.

const linesMax = 26;
const steps = document.getElementById('steps');
for (const pre of steps?.querySelectorAll('.code pre') ?? []) {
  const lines = pre.textContent.trimEnd().split('\n').length;
  if (lines <= linesMax) continue;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button button-secondary code-all';
  button.textContent = steps.dataset.all.replace('{}', lines);
  button.addEventListener('click', () => {
    pre.classList.remove('is-folded');
    button.remove();
    pre.focus();
  });
  pre.classList.add('is-folded');
  pre.closest('.code').after(button);
}

// The card: asks whether a request arrived, or what was wrong with it.

const box = document.getElementById('seen');
const untilMs = Date.now() + waitMs;
/** A key that other tools use already works here too. */
const isKnown = box?.classList.contains('is-known') ?? false;
const passedBefore = isKnown ? box.querySelectorAll('[data-check].is-ok').length : 0;

function showWhen(state) {
  for (const part of box.querySelectorAll('[data-when]')) part.hidden = part.dataset.when !== state;
}

/** @param note of a request that may be somebody else's, or that fails a check */
function showNote(note) {
  const shown = box.querySelector(`[data-note="${note.name}"]`);
  if (shown === null) return;
  if (shown.dataset.fails !== undefined) showState('failing', note);
  else showState(isKnown ? 'known' : 'waiting', note, passedBefore);
}

/** @param passed how many checks went well, where no note says which one failed */
function showState(state, note, passed = 0) {
  box.className = `card live-card is-${state}`;
  showWhen(state);
  let failing = -1;
  const checks = [...box.querySelectorAll('[data-check]')];
  for (const one of box.querySelectorAll('[data-note]')) {
    one.hidden = one.dataset.note !== note?.name;
    if (one.hidden) continue;
    const title = one.querySelector('[data-about]');
    title.textContent = title.dataset.about.replace('{}', note.about);
    const mend = one.querySelector('code');
    if (mend !== null) mend.textContent = mend.textContent.replace(/=\S*/, `=${note.about}`);
    failing = checks.findIndex((check) => check.dataset.check === one.dataset.fails);
  }
  for (const [i, check] of checks.entries()) {
    check.classList.toggle('is-ok', state === 'working' || i < (failing < 0 ? passed : failing));
    check.classList.toggle('is-bad', i === failing);
  }
  for (const step of document.querySelectorAll('#steps > li')) {
    const isBad = note?.name === 'untrusted' && step.dataset.step === 'trust';
    step.classList.toggle('is-bad', isBad);
    if (state === 'working') step.classList.add('is-ok');
    else if (isBad) step.classList.remove('is-ok');
  }
}

async function look() {
  if (document.hidden) return false;
  if (Date.now() > untilMs) {
    box.querySelector('[data-when=looking]').hidden = true;
    box.querySelector('[data-when=late]').hidden = false;
    return true;
  }
  const domain = values?.querySelector('[name="domain"]')?.value.trim();
  const about = domain ? `?${new URLSearchParams({ domain })}` : '';
  const answer = await fetch(box.dataset.look + about, { headers: { Accept: 'application/json' } });
  if (!answer.ok || answer.redirected) return true;
  const { requests, note, passed, visitor } = await answer.json();
  const isMore = requests > Number(box.dataset.seen);
  // What asks by itself, now and then, is not told from the other tools with that key.
  if (isMore && isKnown && box.dataset.shared !== undefined) {
    const line = box.querySelector('[data-count]');
    line.textContent = line.dataset.count.replace('{}', requests);
  } else if (isMore) {
    // Another client of the reader may go on failing: one answer is enough.
    showState('working');
    rememberConnected();
    const line = box.querySelector('[data-visitor]');
    if (line !== null && visitor) line.textContent = line.dataset.visitor.replace('{}', visitor);
    return true;
  }
  // A server that was started again counts from zero.
  box.dataset.seen = String(requests);
  if (note !== undefined) showNote(note);
  else if (passed !== undefined) showState('waiting', undefined, passed);
  box.querySelector('[data-when=looking]').hidden = false;
  return false;
}

async function watch() {
  const isOver = await look().catch(() => false);
  if (!isOver) setTimeout(watch, everyMs);
}

if (isKnown && connectedPaths().includes(location.pathname)) showState('working');
if (box !== null && !box.classList.contains('is-working')) {
  box.querySelector('[data-when=looking]').hidden = false;
  setTimeout(watch, everyMs);
}
