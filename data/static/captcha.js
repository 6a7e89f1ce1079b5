/**
 * The challenge without leaving the page: ask for another, freeze a frame, send the answer. All
 * words come from the form's data attributes. Without this script the form does the same by itself.
 */
const form = document.querySelector('form.captcha');
if (form) {
  const find = (selector) => form.querySelector(selector);
  const words = form.dataset;
  const token = find('[name=token]');
  const answer = find('[name=answer]');
  const source = find('source');
  const image = find('.captcha-image');
  const canvas = find('.captcha-frozen');
  const audio = find('audio');
  const showLink = find('.captcha-choice a');
  const freezeButton = find('.captcha-freeze');
  const outcome = find('.captcha-outcome');
  /** A new one comes so long before the end; so many in a row while nobody types. */
  const earlyMs = 12_000;
  const renewalsMax = 5;
  let renewals = 0;
  let expiry;
  let busy = false;

  function say(text, tone = '') {
    outcome.dataset.tone = tone;
    outcome.textContent = text;
  }

  /** `waiting`: not loaded; `playing`; `frozen`: one frame in its place. */
  function setPicture(state) {
    if (state === 'frozen') drawFrame();
    form.dataset.picture = state;
    image.hidden = state === 'frozen';
    canvas.hidden = state !== 'frozen';
    freezeButton.hidden = state === 'waiting';
    freezeButton.querySelector('span').textContent =
      state === 'frozen' ? words.play : words.freeze;
  }

  function drawFrame() {
    canvas.width = image.width;
    canvas.height = image.height;
    const pen = canvas.getContext('2d');
    pen.imageSmoothingEnabled = false;
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  }

  function expireIn(seconds) {
    clearTimeout(expiry);
    expiry = setTimeout(
      () => {
        if (document.hidden || renewals++ >= renewalsMax) say(words.expired, 'wrong');
        else once(async () => ((await another()) ? say(words.renewed) : say(words.busy, 'wrong')));
      },
      seconds * 1000 - earlyMs,
    );
  }

  /** False when there is none to be had at the moment. */
  async function another() {
    const response = await fetch('/captcha/new', { cache: 'no-store' });
    if (!response.ok) return false;
    const challenge = await response.json();
    token.value = challenge.token;
    source.srcset = challenge.img;
    showLink.href = challenge.img;
    audio.src = challenge.img.replace('/img/', '/audio/').replace(/gif$/, 'wav');
    answer.value = '';
    setPicture(form.dataset.picture === 'waiting' ? 'waiting' : 'playing');
    expireIn(challenge.expires_in);
    return true;
  }

  async function verify() {
    const response = await fetch('/captcha/verify', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: token.value, answer: answer.value }),
    });
    if (!response.ok) return say(words.busy, 'wrong');
    const { ok } = await response.json();
    // Right or wrong, this one is used up.
    const next = await another();
    say(ok ? words.right : words.wrong, ok ? 'right' : 'wrong');
    if (!next) outcome.textContent += ` ${words.busy}`;
    answer.focus();
  }

  /** One request at a time; whatever fails is said. */
  function once(work) {
    if (busy) return;
    busy = true;
    work()
      .catch(() => say(words.busy, 'wrong'))
      .finally(() => {
        busy = false;
      });
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    once(verify);
  });
  find('.captcha-another').addEventListener('click', (event) => {
    event.preventDefault();
    once(async () => {
      if (await another()) say(words.fresh);
      else say(words.busy, 'wrong');
    });
  });
  answer.addEventListener('input', () => {
    renewals = 0;
  });
  showLink.addEventListener('click', (event) => {
    event.preventDefault();
    source.media = 'all';
    setPicture('playing');
    answer.focus();
  });
  freezeButton.addEventListener('click', () => {
    setPicture(form.dataset.picture === 'frozen' ? 'playing' : 'frozen');
  });
  for (const medium of [image, audio]) {
    medium.addEventListener('error', () => say(words.busy, 'wrong'));
  }
  const lessMotion = matchMedia('(prefers-reduced-motion: reduce)').matches;
  setPicture(lessMotion ? 'waiting' : 'playing');
  expireIn(Number(words.lifetime));
}

/** The widget as a site has it, from the press of the button on: it asks for a challenge of its own. */
const live = document.querySelector('.captcha-live');
if (live) {
  const button = live.querySelector('button');
  const widget = live.querySelector('[data-sitekey]');
  const said = live.querySelector('[role=status]');
  const command = document.getElementById('captcha-redeem');
  const script = document.createElement('script');
  live.hidden = false;
  button.addEventListener('click', () => {
    button.hidden = true;
    widget.hidden = false;
    widget.tabIndex = -1;
    widget.focus();
    widget.classList.add('portcullis-captcha');
    script.src = '/captcha/widget.js';
    document.head.append(script);
  });
  widget.addEventListener('portcullis-receipt', (event) => {
    command.textContent = command.textContent.replace(/^.*/, `RECEIPT=${event.detail}`);
    said.textContent = said.dataset.done;
  });
}
