/**
 * Keeps the radar current: after a report, and once a minute without one, it asks for the page again and puts
 * the new parts in place of the old ones. Without this script the page has a link that does the same.
 */
(() => {
  const restMs = 10_000;
  const againMs = 60_000;
  /** Between two answers of the stream there is a second. */
  const silentMs = 5_000;
  const live = document.querySelector('[data-radar-events]');
  if (!live || !('EventSource' in window)) return;

  let due;
  let silent;
  let refreshedAt = 0;

  /** Tables that the reader has opened stay open. */
  function keepOpen(part, fresh) {
    const opened = [...part.querySelectorAll('details')].map(({ open }) => open);
    for (const [i, details] of fresh.querySelectorAll('details').entries()) details.open = opened[i] ?? false;
  }

  async function refresh() {
    due = undefined;
    refreshedAt = Date.now();
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' } });
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-live]')) {
      // Who is in it with the keyboard stays there.
      if (part.contains(document.activeElement)) continue;
      const fresh = next.querySelector(`[data-live="${part.dataset.live}"]`);
      if (!fresh) continue;
      keepOpen(part, fresh);
      part.replaceWith(document.adoptNode(fresh));
    }
  }

  function refreshSoon() {
    const wait = Math.max(0, refreshedAt + restMs - Date.now());
    due ??= setTimeout(() => refresh().catch(() => {}), wait);
  }

  function show(isLive) {
    clearTimeout(silent);
    silent = undefined;
    live.classList.toggle('is-live', isLive);
  }

  function begin() {
    const source = new EventSource(live.dataset.radarEvents);
    source.addEventListener('report', refreshSoon);
    source.addEventListener('open', () => show(true));
    source.addEventListener('error', () => {
      // It tries again by itself unless it was refused.
      if (source.readyState !== EventSource.CLOSED) {
        silent ??= setTimeout(() => show(false), silentMs);
        return;
      }
      show(false);
      setTimeout(begin, againMs);
    });
  }
  begin();
  setInterval(() => {
    if (!document.hidden) refreshSoon();
  }, againMs);
})();
