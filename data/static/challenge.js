/**
 * The challenge in a form. It works in the background and shows one row; a picture opens in its place when the server
 * asks for one, the browser can't work, or 10 s are over. Both renew themselves before their time is over, and what
 * was typed in the other fields stays. Whoever is away gets none: the next one comes with the return. A form that is
 * sent before the work is done waits for it. Words come from the page.
 */
const challengeBox = document.querySelector('fieldset.challenge');
if (challengeBox) {
  const find = (selector) => challengeBox.querySelector(selector);
  const parts = find('template')?.content;
  const source = (parts ?? challengeBox).querySelector('source');
  const firstImage = source?.getAttribute('srcset');
  // A picture costs the server work: none is loaded before it is needed.
  if (parts) source?.removeAttribute('srcset');
  find('template')?.replaceWith(parts);
  const words = JSON.parse(challengeBox.dataset.words);
  const spoken = document.documentElement.lang === 'fr' ? '.fr.wav' : '.wav';
  const { start, work, level, lifetime, alone } = challengeBox.dataset;
  const form = challengeBox.closest('form');
  const token = find('[name=captcha_token]');
  const solution = find('[name=captcha_work]');
  const said = find('.challenge-said');
  const row = find('.challenge-row');
  const instead = find('.challenge-instead');
  const panel = find('.challenge-panel');
  /** Then there is a picture; without one the form has a button for another way. */
  const hasPicture = panel !== null;
  const answer = find('[name=captcha_answer]');
  const prompt = find('.challenge-body label');
  const hint = find('.challenge-body .field-hint');
  const image = find('.captcha-image');
  const frozen = find('.captcha-frozen');
  const choice = find('.captcha-choice');
  const pauseButton = find('.challenge-pause');
  const player = find('.challenge-player');
  const playButton = find('.challenge-play');
  const progress = find('progress');
  const left = find('.challenge-left');
  const sound = new Audio();
  /** A new one comes so long before the end, for whoever is about to answer. */
  const earlyMs = 12_000;
  /** In a row while nothing is done. */
  const renewalsMax = 5;
  const slowMs = 5_000;
  const workMsMax = 10_000;
  // What belongs to an earlier run is ignored.
  let run = 0;
  let renewals = 0;
  let worker;
  let timers = [];
  let endsAt;
  let dueAt;
  let isOver = false;
  let isAsking = false;
  let isOpen = false;
  /** What the picture's place shows: `picture`, `still`, `choice`, `sound`. */
  let medium = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'choice' : 'picture';
  /** The press that waits for the work. */
  let held;

  function stop() {
    run++;
    worker?.terminate();
    worker = undefined;
    for (const timer of timers) clearTimeout(timer);
    timers = [];
  }
  function later(work, ms) {
    timers.push(setTimeout(work, ms));
  }
  function expectEnd(seconds) {
    const ms = Math.max(seconds * 1_000 - earlyMs, seconds * 500);
    endsAt = Date.now() + seconds * 1_000;
    dueAt = Date.now() + ms;
    isOver = false;
    later(end, ms);
  }

  /** Shows the row in a state: `working`, `slow`, `long`, `done`, `failed`, `busy`, `over`, `unable`. */
  function showRow(state) {
    if (!row) return;
    challengeBox.dataset.state = state;
    const [title, more] = words[state];
    find('.challenge-state strong').textContent = title;
    find('.challenge-state small').textContent = more;
    const offer = {
      slow: hasPicture ? words.picture : undefined,
      failed: words.again,
      busy: words.again,
    }[state];
    instead.hidden = offer === undefined;
    instead.textContent = offer ?? '';
  }

  /** Begins anew: with work if the browser can and `picture` isn't asked for. */
  async function begin({ picture = isOpen, reason, isQuiet = false } = {}) {
    stop();
    isAsking = true;
    const mine = run;
    const canWork = isSecureContext && 'Worker' in window && crypto.subtle !== undefined;
    if (!isOpen && !isQuiet) showRow('working');
    if (!canWork && !hasPicture) return fail('unable');
    try {
      const wanted = picture || !canWork ? `${start}?picture=1` : start;
      const response = await fetch(wanted, { cache: 'no-store' });
      if (mine !== run) return;
      isAsking = false;
      if (!response.ok) return fail(/429|503/.test(response.status) ? 'busy' : 'failed');
      const next = await response.json();
      if (mine !== run) return;
      expectEnd(next.expires_in);
      if (next.level === 'silent') solve(next.work);
      // Who waited for the row, and perhaps does not see it, is told of the step behind it.
      else open(next, reason ?? (picture ? undefined : 'needed'));
    } catch {
      if (mine === run) fail('failed');
    }
  }

  function fail(state) {
    stop();
    isAsking = false;
    held = undefined;
    solution.value = '';
    if (!isOpen) return showRow(state);
    said.textContent = words.noPicture;
    isOver = true;
  }

  function solve(challenge) {
    const mine = run;
    const giveUp = () =>
      mine === run &&
      (hasPicture ? begin({ picture: true, reason: 'needed' }) : fail('unable'));
    try {
      worker = new Worker(work);
    } catch {
      return giveUp();
    }
    worker.onerror = giveUp;
    worker.onmessage = ({ data }) => {
      if (mine !== run) return;
      if (data.payload === undefined) return giveUp();
      finish(data.payload);
    };
    worker.postMessage(challenge);
    later(() => worker && showRow('slow'), slowMs);
    // Without a picture the work goes on, and the row names the other way.
    later(() => worker && (hasPicture ? giveUp() : showRow('long')), workMsMax);
  }

  /** Whoever keeps no cookie comes back at once: then the form waits for a press. */
  function maySendAlone() {
    try {
      const lastMs = Number(sessionStorage.getItem('challenge-sent'));
      sessionStorage.setItem('challenge-sent', String(Date.now()));
      return Date.now() - lastMs > 60_000;
    } catch {
      return false;
    }
  }

  function finish(payload) {
    worker.terminate();
    worker = undefined;
    solution.value = payload;
    showRow('done');
    if (alone !== undefined && maySendAlone()) held ??= {};
    if (!held) return;
    const { by } = held;
    held = undefined;
    form.requestSubmit(by);
  }

  /** @param reason `fresh`, `renewed`, `needed`, or undefined */
  function open(next, reason) {
    const hadFocus = row?.contains(document.activeElement) || held;
    token.value = next.token;
    solution.value = '';
    source.srcset = medium === 'choice' || medium === 'sound' ? '' : next.img;
    challengeBox.dataset.img = next.img;
    challengeBox.dataset.audio = next.audio.replace(/(\.fr)?\.wav$/, spoken);
    sound.pause();
    sound.removeAttribute('src');
    // It belongs to the last one.
    answer.value = '';
    const isNeeded = held || reason === 'needed';
    said.textContent = isNeeded ? words.needed : (words[reason]?.[Number(medium === 'sound')] ?? '');
    held = undefined;
    isOpen = true;
    answer.disabled = false;
    panel.hidden = false;
    if (row) row.hidden = true;
    challengeBox.dataset.state = 'open';
    show(medium === 'still' ? 'picture' : medium);
    tell();
    if (hadFocus) answer.focus();
  }

  function show(next) {
    if (next === 'still') drawStill();
    if (next === 'picture') {
      source.srcset = challengeBox.dataset.img;
      source.media = 'all';
    }
    medium = next;
    const isSound = next === 'sound';
    challengeBox.dataset.medium = next;
    image.parentElement.hidden = next !== 'picture';
    frozen.hidden = next !== 'still';
    choice.hidden = next !== 'choice';
    player.hidden = !isSound;
    find('.challenge-listen').hidden = isSound || next === 'choice';
    find('.challenge-look').hidden = !isSound;
    pauseButton.hidden = next !== 'picture' && next !== 'still';
    label(pauseButton, next === 'still' ? words.move : words.pause, next === 'picture');
    find('.challenge-new span').textContent = words.another[Number(isSound)];
    prompt.textContent = isSound ? words.hear : words.see;
    hint.textContent = isSound ? words.hearHint : words.seeHint;
    answer.inputMode = isSound ? 'numeric' : 'text';
    if (!isSound) sound.pause();
  }
  function drawStill() {
    frozen.width = image.clientWidth;
    frozen.height = image.clientHeight;
    const pen = frozen.getContext('2d');
    pen.imageSmoothingEnabled = false;
    pen.drawImage(image, 0, 0, frozen.width, frozen.height);
  }

  /** Of its two icons a button shows that of a pause while something moves. */
  function label(button, text, moves) {
    button.querySelector('span').textContent = text;
    button.toggleAttribute('data-moves', moves);
  }
  function play() {
    if (!sound.src) sound.src = challengeBox.dataset.audio;
    sound.play().catch(() => {});
  }
  sound.addEventListener('play', () => label(playButton, words.pause, true));
  sound.addEventListener('pause', () => {
    label(playButton, sound.ended ? words.playAgain : words.play, false);
  });
  sound.addEventListener('emptied', () => {
    progress.value = 0;
    label(playButton, words.play, false);
  });
  sound.addEventListener('timeupdate', () => {
    progress.value = sound.duration > 0 ? sound.currentTime / sound.duration : 0;
  });
  sound.addEventListener('error', () => {
    if (sound.getAttribute('src')) said.textContent = words.noSound;
  });

  function end() {
    if (!document.hidden && renewals < renewalsMax) {
      renewals++;
      return begin({ reason: 'renewed', isQuiet: true });
    }
    isOver = true;
    if (isOpen) said.textContent = words.pictureOver;
    else showRow('over');
  }
  /** Somebody is there. Timers stand still while a device sleeps. */
  function goOn() {
    renewals = 0;
    if (!isOver && !(Date.now() > dueAt)) return;
    // One at a time.
    isOver = false;
    dueAt = undefined;
    solution.value = '';
    begin({ reason: 'renewed' });
  }
  function tell() {
    if (!isOpen) return;
    const seconds = Math.max(0, Math.round((endsAt - Date.now()) / 1_000));
    left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} ${words.left}`;
  }
  setInterval(tell, 1_000);

  function press(name, work) {
    find(`.challenge-${name}`)?.addEventListener('click', (event) => {
      event.preventDefault();
      renewals = 0;
      work();
    });
  }
  press('new', () => begin({ picture: true, reason: 'fresh' }));
  press('instead', () => begin({ picture: challengeBox.dataset.state === 'slow' }));
  for (const name of ['listen', 'hear']) {
    press(name, () => {
      show('sound');
      said.textContent = '';
      play();
      playButton.focus();
    });
  }
  press('play', () => (sound.paused ? play() : sound.pause()));
  press('look', () => {
    show('picture');
    said.textContent = '';
    answer.focus();
  });
  press('pause', () => show(medium === 'still' ? 'picture' : 'still'));
  choice?.querySelector('a').addEventListener('click', (event) => {
    event.preventDefault();
    show('picture');
    answer.focus();
  });

  // Before the script of every page, which counts a form as sent.
  form.addEventListener('submit', (event) => {
    const { state } = challengeBox.dataset;
    const isAside = event.submitter?.name === 'captcha_beside' || ['unable', 'long'].includes(state);
    // Who can't work may send it all the same: a wait may be over by now.
    if (isOpen || solution.value !== '' || isAside) return;
    event.preventDefault();
    held = { by: event.submitter };
    if (!worker && !isAsking) begin();
  });
  for (const name of ['input', 'focusin']) form.addEventListener(name, goOn);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) goOn();
  });
  window.addEventListener('pageshow', (event) => {
    // Back from where the form led: its challenge is used up.
    if (!event.persisted) return;
    solution.value = '';
    begin({ reason: 'fresh' });
  });

  // Some browsers bring a field back as it was before a reload; the picture is another one.
  if (token) token.value = token.defaultValue;
  solution.value = '';
  challengeBox.classList.add('is-live');
  if (level === 'silent' && row) {
    if (hasPicture) {
      panel.hidden = true;
      answer.disabled = true;
    }
    begin();
  } else {
    expectEnd(Number(lifetime));
    open({
      token: token.value,
      img: firstImage,
      audio: find('.challenge-download').getAttribute('href'),
    });
  }
}
