/** Asks until there is one more request with the reader's keys, while the page is looked at. */
const everyMs = 3000;
const box = document.getElementById('seen');

async function look() {
  if (document.hidden) return false;
  const answer = await fetch('/connect/seen', { headers: { Accept: 'application/json' } });
  if (!answer.ok || answer.redirected) return true;
  const { requests } = await answer.json();
  if (requests <= Number(box.dataset.seen)) {
    // An hour of before is no longer counted.
    box.dataset.seen = String(requests);
    return false;
  }
  box.querySelector('.connect-waiting').hidden = true;
  box.querySelector('.connect-arrived').hidden = false;
  return true;
}

async function watch() {
  const isOver = await look().catch(() => false);
  if (!isOver) setTimeout(watch, everyMs);
}

if (box !== null) setTimeout(watch, everyMs);
