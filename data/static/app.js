/**
 * Copy buttons, and forms that a second click does not send twice. Everything works without a
 * script, copying aside.
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

function letGo() {
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent;
}

// Back from where it led: the page may be the very same, and its form is sent anew.
window.addEventListener('pageshow', letGo);
// That key stops a page that is on its way.
window.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') letGo();
});
