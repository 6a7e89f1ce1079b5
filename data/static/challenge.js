/**
 * The challenge in a form: another picture at the press of a button, and by itself before the time of
 * the last one is over. What was typed in the other fields stays. Whoever is away gets none: the next
 * one comes with the return. Words come from the page; without this script the button sends the form.
 */
const challengeBox = document.querySelector('fieldset.challenge');
if (challengeBox) {
  const find = (selector) => challengeBox.querySelector(selector);
  const words = challengeBox.dataset;
  const form = challengeBox.closest('form');
  const token = find('[name=captcha_token]');
  const answer = find('[name=captcha_answer]');
  const source = find('source');
  const showLink = find('.captcha-choice a');
  const audio = find('audio');
  const said = find('.challenge-said');
  /** A new one comes so long before the end, for whoever is about to answer. */
  const earlyMs = 12_000;
  /** In a row while nothing is done. */
  const renewalsMax = 5;
  let renewals = 0;
  let timer;
  let dueAt;
  let isOver = false;
  let isBusy = false;

  function expectEnd(seconds) {
    clearTimeout(timer);
    const ms = Math.max(seconds * 1_000 - earlyMs, seconds * 500);
    dueAt = Date.now() + ms;
    isOver = false;
    timer = setTimeout(end, ms);
  }

  async function renew(text) {
    if (isBusy) return;
    isBusy = true;
    try {
      const response = await fetch(words.new, { cache: 'no-store' });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const next = await response.json();
      token.value = next.token;
      source.srcset = next.img;
      showLink.href = next.img;
      audio.src = next.img.replace('/img/', '/audio/').replace(/gif$/, 'wav');
      // It belongs to the last one.
      answer.value = '';
      expectEnd(next.expires_in);
      said.textContent = text;
    } catch {
      said.textContent = words.busy;
    }
    isBusy = false;
  }

  function end() {
    if (!document.hidden && renewals < renewalsMax) {
      renewals++;
      return renew(words.renewed);
    }
    isOver = true;
    said.textContent = words.over;
  }

  /** Somebody is there. Timers stand still while a device sleeps. */
  function goOn() {
    renewals = 0;
    if (isOver || Date.now() > dueAt) renew(words.renewed);
  }

  find('.challenge-new').addEventListener('click', (event) => {
    event.preventDefault();
    renewals = 0;
    renew(words.fresh);
  });
  for (const name of ['input', 'focusin']) form.addEventListener(name, goOn);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) goOn();
  });
  window.addEventListener('pageshow', (event) => {
    // Back from where the form led: its challenge is used up.
    if (event.persisted) renew(words.fresh);
  });
  // Some browsers bring a field back as it was before a reload; the picture is another one.
  token.value = token.defaultValue;
  expectEnd(Number(words.lifetime));
}
