/**
 * Keeps the radar current: after a report it asks for the page again and puts the new parts in place of the
 * old ones. Without this script the page has a link that does the same.
 */
(() => {
  const restMs = 10_000;
  const againMs = 60_000;
  const live = document.querySelector('[data-radar-events]');
  if (!live || !('EventSource' in window)) return;

  let due;
  let refreshedAt = 0;

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
      if (fresh) part.replaceWith(document.adoptNode(fresh));
    }
  }

  function begin() {
    const source = new EventSource(live.dataset.radarEvents);
    source.addEventListener('report', () => {
      due ??= setTimeout(() => refresh().catch(() => {}), Math.max(0, refreshedAt + restMs - Date.now()));
    });
    source.addEventListener('open', () => live.classList.add('is-live'));
    source.addEventListener('error', () => {
      // It tries again by itself unless it was refused.
      if (source.readyState !== EventSource.CLOSED) return;
      live.classList.remove('is-live');
      setTimeout(begin, againMs);
    });
  }
  begin();
})();
