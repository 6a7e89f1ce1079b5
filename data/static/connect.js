/** Asks whether a first request came, while the page is looked at: for an hour. */
const everyMs = 3000;
const waitMs = 3_600_000;
const box = document.getElementById('seen');
const untilMs = Date.now() + waitMs;

function say(name) {
  for (const line of box.querySelectorAll('p[class]')) line.hidden = !line.matches(name);
}

async function look() {
  if (document.hidden) return false;
  if (Date.now() > untilMs) {
    say('.connect-late');
    return true;
  }
  const answer = await fetch(box.dataset.look, { headers: { Accept: 'application/json' } });
  if (!answer.ok || answer.redirected) return true;
  const { requests, refused } = await answer.json();
  if (requests <= Number(box.dataset.seen)) {
    // An hour of before is no longer counted.
    box.dataset.seen = String(requests);
    if (refused) say('.connect-refused');
    return false;
  }
  say('.connect-arrived');
  return true;
}

async function watch() {
  const isOver = await look().catch(() => false);
  if (!isOver) setTimeout(watch, everyMs);
}

if (box?.querySelector('.connect-arrived').hidden) setTimeout(watch, everyMs);
