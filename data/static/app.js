/** Copy buttons. Everything else on the pages works without a script. */
const doneForMs = 2000;

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
