/**
 * Copy buttons, forms that a second click does not send twice, what was typed into all forms of a page
 * when the language or the theme is changed, times, and the header's keys. Everything works without a script, these aside.
 */
const doneForMs = 2000;
/** Longer than an answer takes. One that never comes must not keep the form for good. */
const sentForMs = 8000;

async function copy(button) {
  const label = button.querySelector('span');
  const rest = button.dataset.rest ?? label.textContent;
  button.dataset.rest = rest;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  label.textContent = button.dataset.done;
  setTimeout(() => {
    label.textContent = rest;
  }, doneForMs);
}

// Browsers offer the clipboard to https pages and localhost only.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll('button[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', () => {
      copy(button).catch(() => {
        button.hidden = true;
      });
    });
  }
}

// The second click would break off the answer to the first one, and a form takes one answer. A file
// leaves the page as it is, so nothing tells that it has arrived: such a form is sent at each click.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.method !== 'post' || event.defaultPrevented || form.dataset.answer === 'file') return;
  if (form.dataset.sent !== undefined) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = '';
  setTimeout(() => {
    delete form.dataset.sent;
  }, sentForMs);
});

// The page tells times in UTC; here the reader's own clock does, with UTC on hover.
const clock = new Intl.DateTimeFormat(document.documentElement.lang === 'fr' ? 'fr-FR' : 'en-GB', {
  dateStyle: 'medium',
  timeStyle: 'short',
});
for (const time of document.querySelectorAll('main time[datetime]')) {
  const text = time.textContent;
  const at = new Date(time.dateTime);
  if (!text.endsWith(' UTC') || at.getTimezoneOffset() === 0) continue;
  time.title = text;
  time.textContent = clock.format(at);
}

// What was done can be taken back for ten seconds.
for (const form of document.querySelectorAll('form.status-undo')) {
  const label = form.querySelector('button span');
  const { textContent } = label;
  let seconds = 10;
  const tick = () => {
    label.textContent = `${textContent} ${seconds} s`;
    if (seconds-- > 0) return;
    form.hidden = true;
    clearInterval(timer);
  };
  const timer = setInterval(tick, 1000);
  tick();
}

function letGo() {
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
}

// Back from where it led: the page may be the very same, and its form is sent anew.
window.addEventListener('pageshow', letGo);
// That key stops a page that is on its way.
window.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') letGo();
});

/** A page takes less to load anew. */
const typedForMs = 60_000;
const typedKey = 'typed';
const isKept = ({ name, type, autocomplete }) =>
  name !== '' &&
  !/^(?:hidden|password|file|submit|button|reset|fieldset|output)$/.test(type) &&
  autocomplete !== 'one-time-code' &&
  !name.startsWith('captcha_');
const hasCheck = ({ type }) => type === 'checkbox' || type === 'radio';
const unsentFieldsOf = (form) => [...form.elements].filter(isKept);

/** By address and number: a page may have the same form for each of several things. */
function formsByKey() {
  const counts = new Map();
  return [...document.querySelectorAll('form:not(.site-looks)')].map((form) => {
    const path = (form.getAttribute('action') ?? '').split('?')[0];
    const count = counts.get(path) ?? 0;
    counts.set(path, count + 1);
    return [`${path} ${count}`, form];
  });
}

/** The folds around a field that has another value than its page gave it stand open. */
function fill(field, value) {
  const was = hasCheck(field) ? field.checked : field.value;
  if (hasCheck(field)) field.checked = value;
  else if (field.options === undefined) field.value = value;
  else if ([...field.options].some((option) => option.value === value)) field.value = value;
  if (was === value) return;
  for (let fold = field.closest('details'); fold !== null; fold = fold.parentElement.closest('details')) {
    fold.open = true;
  }
}

function keepTyped() {
  const valuesOf = (form) =>
    unsentFieldsOf(form).map((field) => [field.name, hasCheck(field) ? field.checked : field.value]);
  const forms = formsByKey().map(([key, form]) => [key, valuesOf(form)]);
  sessionStorage.setItem(typedKey, JSON.stringify({ at: Date.now(), forms }));
}

function fillTyped() {
  const text = sessionStorage.getItem(typedKey);
  if (text === null) return;
  sessionStorage.removeItem(typedKey);
  const { at, forms } = JSON.parse(text);
  if (Date.now() - at > typedForMs) return;
  const kept = new Map(forms);
  for (const [key, form] of formsByKey()) {
    const values = kept.get(key) ?? [];
    for (const field of unsentFieldsOf(form)) {
      const found = values.findIndex(([name]) => name === field.name);
      if (found !== -1) fill(field, values.splice(found, 1)[0][1]);
    }
  }
}

// Without a script they are buttons of the page's own form, which the server fills in again.
for (const button of document.querySelectorAll('.site-looks button[form]')) {
  for (const name of button.getAttributeNames()) {
    if (name.startsWith('form')) button.removeAttribute(name);
  }
}

// Another language or theme loads the page anew. What was typed comes along within this tab; passwords, codes
// and files don't. A browser that keeps nothing for pages throws.
for (const form of document.querySelectorAll('form.site-looks')) {
  form.addEventListener('submit', () => {
    try {
      keepTyped();
    } catch {}
  });
}
try {
  fillTyped();
} catch {}

// "/" leads to the box for an address, wherever nothing is being typed.
const lookup = document.querySelector('main input[name="address"], #header-lookup');
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select, [contenteditable]') !== null;
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (lookup === null) return;
  event.preventDefault();
  lookup.focus();
});
// The link alone moves the focus too; only a focus by script brings up the keyboard of a phone.
document.querySelector('.site-find-open')?.addEventListener('click', (event) => {
  event.preventDefault();
  document.getElementById('header-lookup').focus();
});

// A whole log does not fit into an address: what is sent of it are its addresses.
const longText = 1000;
const addressLike = /(?:\d{1,3}\.){3}\d{1,3}(?:\/\d{1,2})?|(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?:\/\d{1,3})?/gi;
document.addEventListener('submit', ({ target }) => {
  const field = target.method === 'get' ? target.elements.address : undefined;
  if (field === undefined || field.value.length <= longText) return;
  const found = [...new Set(field.value.match(addressLike) ?? [])];
  if (found.length > 0) field.value = found.join(' ').slice(0, 10 * longText);
});

// The menu closes as menus do; the opener alone does it without a script.
const siteMenu = document.querySelector('.site-menu');
if (siteMenu !== null) {
  document.addEventListener('click', ({ target }) => {
    if (!siteMenu.contains(target)) siteMenu.open = false;
  });
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !siteMenu.open) return;
    siteMenu.open = false;
    siteMenu.querySelector('summary').focus();
  });
}

// The list of sections is a scroller on a narrow screen: the section of this page, and the one that has the focus, stand
// in sight. A browser leaves one where it is of which a part is seen.
const sectionList = document.querySelector('.account-nav ul');
function showSection(section) {
  const { left, width } = section.getBoundingClientRect();
  const list = sectionList.getBoundingClientRect();
  sectionList.scrollLeft += left - list.left - (list.width - width) / 2;
}
if (sectionList !== null) {
  const shown = sectionList.querySelector('[aria-current]');
  if (shown !== null) showSection(shown);
  sectionList.addEventListener('focusin', ({ target }) => {
    if (target.matches(':focus-visible')) showSection(target);
  });
}
