/** Portcullis CAPTCHA in a form of any site (docs/CAPTCHA.md). Indents and comments are not served. */
(() => {
  const base = new URL('.', document.currentScript.src);
  const texts = {
    group: ['Confirm you’re human', 'Prouvez que vous êtes humain'],
    work: ['Checking your browser', 'Vérification de votre navigateur'],
    second: ['Takes about a second.', 'Environ une seconde.'],
    slow: ['Still checking', 'Vérification en cours'],
    device: ['Is this device slow?', 'Cet appareil est lent ?'],
    done: ['You’re verified', 'C’est vérifié'],
    minutes: ['Valid for 5 minutes.', 'Valable 5 minutes.'],
    fail: ['No connection', 'Pas de connexion'],
    safe: ['What you typed is safe.', 'Votre saisie est conservée.'],
    busy: ['Too many requests', 'Trop de demandes'],
    wait: ['Wait a minute, then try again.', 'Patientez une minute, puis réessayez.'],
    stale: ['Checked a while ago', 'Vérifié il y a un moment'],
    goOn: ['It starts again when you go on.', 'Cela reprend dès que vous continuez.'],
    setup: ['This site is not set up for the check', 'Ce site n’est pas configuré pour ce contrôle'],
    owner: ['Tell its owner.', 'Prévenez son responsable.'],
    use: ['Use a picture', 'Passer par une image'],
    again: ['Try again', 'Réessayer'],
    choose: ['Listen, or show the moving picture.', 'Écoutez, ou affichez l’image animée.'],
    wrong: ['Not right. Here is a new one.', 'Ce n’est pas juste. En voici un autre.'],
    old: ['Expired. Here is a new one.', 'Délai dépassé. En voici un autre.'],
    first: ['One more step: solve the check.', 'Encore une étape : la vérification.'],
    alt: ['Letters made of moving dots', 'Lettres en points mobiles'],
    frozen: ['A single frame: noise', 'Une seule image : du bruit'],
    img: ['Type the letters you see moving', 'Tapez les lettres que vous voyez bouger'],
    imgHint: ['Digits count too. Checked as you type.', 'Chiffres compris. Vérifié pendant la saisie.'],
    audio: ['Type the six digits you hear', 'Tapez les six chiffres que vous entendez'],
    audioHint: ['In English. Checked as you type.', 'En français. Vérifié pendant la saisie.'],
    fresh: ['New picture', 'Nouvelle image'],
    freshAudio: ['New sound', 'Nouveau son'],
    hear: ['Listen', 'Écouter'],
    see: ['Show the picture', 'Afficher l’image'],
    pause: ['Pause', 'Pause'],
    move: ['Let it move', 'Relancer'],
    play: ['Play', 'Lire'],
    replay: ['Play again', 'Réécouter'],
    heard: ['Heard so far', 'Déjà entendu'],
    left: ['left', 'restantes'],
  };
  // States that are shown as a row, with the second line and the button of each.
  const rows = new Map([
    ['work', ['second']],
    ['slow', ['device', 'use']],
    ['done', ['minutes']],
    ['fail', ['safe', 'again']],
    ['busy', ['wait', 'again']],
    ['stale', ['goOn', 'again']],
    ['setup', ['owner']],
  ]);
  // In a layer: whatever the page's own style says of these parts comes before it.
  const css = [
    '@layer portcullis{',
    '.portcullis-captcha[role=group]{--ink:#13202d;--soft:#4d5d6a;--line:#7b8994;--thin:#d3dad9;--ground:#fff;--accent:#16416f;--on:#fff;--ring:#1a63b8;--good:#17694c;--well:#e0f0e8;--bad:#a72a2d;--told:#2a5d90;--tint:#e2ecf6;--stone:#cbd3d4;--joint:#aeb9bc;',
    'box-sizing:border-box;display:block;width:100%;max-width:452px;overflow:clip;border:1px solid var(--line);border-radius:10px;background:var(--ground);color:var(--ink);color-scheme:light;font:16px/1.4 system-ui,sans-serif;text-align:start}',
    '.portcullis-captcha[role=group][data-shade=dark]{--ink:#e9eef1;--soft:#a3b2be;--line:#62737f;--thin:#263441;--ground:#131d27;--accent:#93bfee;--on:#0b1a2a;--ring:#8fc1ff;--good:#74cfa5;--well:#12291f;--bad:#f4928a;--told:#8fbdea;--tint:#14283c;--stone:#2b3946;--joint:#3e4f5e;color-scheme:dark}',
    '.portcullis-captcha[data-size=flexible]{max-width:none}',
    '.portcullis-captcha[data-size=compact]{max-width:302px}',
    '.portcullis-captcha *{box-sizing:border-box}',
    '.portcullis-row{display:flex;align-items:center;gap:10px;min-height:64px;padding:8px 12px}',
    '.portcullis-row>div{flex:1}',
    '.portcullis-row [role=status]{font-weight:600;outline-offset:2px}',
    '.portcullis-row small{color:var(--soft);font-size:14px}',
    '.portcullis-mark{display:grid;place-items:center;flex:none;width:34px;height:34px;border:3px solid var(--thin);border-radius:50%;font-weight:700}',
    '[data-state=work]>*>.portcullis-mark,[data-state=slow]>*>.portcullis-mark{border-top-color:var(--accent)}',
    '@media (prefers-reduced-motion:no-preference){[data-state=work]>*>.portcullis-mark,[data-state=slow]>*>.portcullis-mark{animation:portcullis 1s linear infinite}}',
    '@keyframes portcullis{to{rotate:1turn}}',
    '[data-state=done]>.portcullis-row{background:var(--well)}',
    '[data-state=done]>*>.portcullis-mark{border-color:var(--good);background:var(--good);color:var(--ground)}',
    '[data-state=done]>*>.portcullis-mark::after{content:"✓"}',
    ':is([data-state=fail],[data-state=busy],[data-state=setup])>*>.portcullis-mark{border-color:var(--bad);color:var(--bad)}',
    ':is([data-state=fail],[data-state=busy],[data-state=setup])>*>.portcullis-mark::after{content:"!"}',
    // Above a picture the row is a line, or nothing.
    '[data-open]>.portcullis-row{display:block;min-height:0;padding:0}',
    '[data-open]>.portcullis-row [role=status]:not(:empty){padding:8px 16px;background:var(--tint);color:var(--told);font-size:14px}',
    '[data-state=wrong]>.portcullis-row [role=status]:not(:empty){background:0 0;color:var(--bad)}',
    '.portcullis-stage{background:repeating-linear-gradient(to bottom,var(--stone) 0 23.5px,var(--joint) 23.5px 25px)}',
    '.portcullis-stage :is(img,canvas){display:block;width:100%;max-width:450px;width:max(min(300px,100%),min(450px,round(down,100%,150px)));height:auto;margin:auto;aspect-ratio:3;image-rendering:pixelated}',
    '[data-shade=dark]>.portcullis-stage>:is(img,canvas){filter:invert(1) hue-rotate(180deg) brightness(.92)}',
    '.portcullis-player{display:flex;align-items:center;gap:12px;padding:16px;background:var(--ground)}',
    '.portcullis-player progress{flex:1;min-width:0;max-width:192px;accent-color:var(--accent)}',
    '.portcullis-body{padding:12px 16px 8px}',
    '.portcullis-body label span{display:block;margin-bottom:4px;font-weight:600}',
    '.portcullis-body input{width:100%;min-height:44px;padding:0 12px;border:1px solid var(--line);border-radius:6px;background:var(--ground);color:inherit;font:18px ui-monospace,monospace;letter-spacing:.18em}',
    '[data-state=wrong]>.portcullis-body input{border:2px solid var(--bad)}',
    '.portcullis-body small{display:block;margin-top:4px;color:var(--soft);font-size:14px}',
    '.portcullis-tools{display:flex;flex-wrap:wrap;align-items:center;margin:4px -8px 0}',
    '.portcullis-tools>span{margin-inline:auto 8px;color:var(--soft);font-size:14px;font-variant-numeric:tabular-nums}',
    '.portcullis-captcha button{min-height:40px;padding:0 8px;border:0;border-radius:6px;background:0 0;color:var(--accent);font:600 14px/1.2 system-ui,sans-serif;cursor:pointer}',
    '.portcullis-row button{flex:none;border:1px solid var(--line);color:var(--ink)}',
    '.portcullis-player button{min-height:44px;padding:0 14px;background:var(--accent);color:var(--on)}',
    '.portcullis-captcha button[data-icon]::before{content:"";display:inline-block;width:16px;height:16px;margin-inline-end:6px;vertical-align:-3px;background:currentColor}',
    '.portcullis-tools [data-icon=fresh]::before{clip-path:path("M8 3a6 6 0 1 0 6 6h-2a4 4 0 1 1-4-4v2.5L12 4 8 .5z")}',
    '.portcullis-tools [data-icon=hear]::before{clip-path:path("M1 6h3l4-4v12l-4-4H1zM10 4q5 4 0 8V10.500q3-2.500 0-5z")}',
    '.portcullis-tools [data-icon=see]::before{clip-path:path(evenodd,"M1 3h14v10H1zM3 11h10L10 6 7.500 9.500 6 8z")}',
    '.portcullis-captcha [data-icon=pause]::before{clip-path:path("M4 3h3v10H4zM9 3h3v10H9z")}',
    '.portcullis-captcha [data-icon=play]::before{clip-path:path("M4 2l10 6-10 6z")}',
    '@media (forced-colors:active){.portcullis-captcha button{border:1px solid}.portcullis-captcha button[data-icon]::before{forced-color-adjust:none;background:ButtonText}}',
    '.portcullis-captcha :focus-visible{outline:2px solid var(--ring);outline-offset:-2px}',
    '}',
  ].join('');
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  } catch {
    // An older browser shows the parts as the page does.
  }
  const night = matchMedia('(prefers-color-scheme:dark)');
  const calm = matchMedia('(prefers-reduced-motion)');
  const slowMs = 5000;
  const pictureAfterMs = 10000;
  // A new one comes so long before the end, for whoever is about to answer.
  const earlyMs = 12000;
  // In a row without a sign of life.
  const renewalsMax = 5;
  // Whoever sees a slip in a complete answer has so long to mend it.
  const typedMs = 1000;
  let worker;
  // A worker of another origin is not allowed; keys are derived beside this thread all the same.
  const solve = (task) =>
    (worker ??= new Promise((onload, onerror) => {
      const url = String(new URL('work.js', base));
      // A page that wants trusted types takes no plain address.
      const types = window.trustedTypes?.createPolicy('portcullis', { createScriptURL: () => url });
      const src = types ? types.createScriptURL('') : url;
      document.head.append(Object.assign(document.createElement('script'), { src, onload, onerror }));
    })).then(() => portcullisWork(task));

  function render(root) {
    if (root.role) return;
    const { lang } = root.closest('[lang]') || root;
    const fr = /^fr\b/i.test(root.dataset.lang || lang);
    const t = (name) => texts[name][+fr];
    // The medium that is shown, and the one that was asked for last.
    let medium, wish, token, image, clip, held, level, endsAt, typed;
    let timers = [];
    let asking = false;
    let isMoving = false;
    // What belongs to an earlier run is ignored.
    let run = 0;
    let renewals = 0;

    const add = (parent, tag, props) => {
      const el = Object.assign(document.createElement(tag), props);
      parent.append(el);
      return el;
    };
    const part = (parent, name, tag = 'div') => add(parent, tag, { className: `portcullis-${name}` });
    const show = (el, on) => {
      el.style.display = on ? '' : 'none';
    };
    const label = (button, name, icon = button.dataset.icon) => {
      button.textContent = t(name);
      button.dataset.icon = icon;
    };
    const tool = (parent, name, work) => {
      const button = add(parent, 'button', { type: 'button' });
      label(button, name, name);
      button.onclick = () => {
        renewals = 0;
        work();
      };
      return button;
    };

    Object.assign(root, { role: 'group', ariaLabel: t('group'), lang: fr ? 'fr' : 'en' });
    const row = part(root, 'row');
    const mark = part(row, 'mark', 'span');
    mark.ariaHidden = 'true';
    const said = add(row, 'div');
    const note = add(said, 'div', { role: 'status', tabIndex: -1 });
    const more = add(said, 'small');
    const other = add(row, 'button', { type: 'button' });
    const stage = part(root, 'stage');
    const picture = add(stage, 'img', { alt: t('alt') });
    const still = add(stage, 'canvas', { width: 150, height: 50, role: 'img', ariaLabel: t('frozen') });
    const voice = add(stage, 'audio');
    const player = part(stage, 'player');
    const play = tool(player, 'play', () => {
      if (!voice.hasAttribute('src')) voice.src = clip;
      voice.paused ? voice.play().catch(() => {}) : voice.pause();
    });
    const heard = add(player, 'progress', { value: 0, ariaLabel: t('heard') });
    const body = part(root, 'body');
    const box = add(body, 'label');
    const prompt = add(box, 'span');
    const field = add(box, 'input', { autocomplete: 'off', autocapitalize: 'characters', spellcheck: false, maxLength: 32 });
    const hint = add(body, 'small');
    const tools = part(body, 'tools');
    const fresh = tool(tools, 'fresh', () => load(medium));
    const hear = tool(tools, 'hear', () => choose('audio', 1));
    const see = tool(tools, 'see', () => choose('img'));
    const pause = tool(tools, 'pause', () => freeze(!still.style.display));
    const left = add(tools, 'span', { ariaHidden: 'true' });
    const receipt = add(root, 'input', { type: 'hidden' });

    const isRow = () => rows.has(root.dataset.state);
    const focus = () => (medium ? field : isRow() ? (other.style.display ? note : other) : hear).focus();
    const tell = (name, detail) =>
      root.dispatchEvent(new CustomEvent(`portcullis-${name}`, { bubbles: true, detail }));
    // What had the focus may vanish here: it must not get lost.
    function update(next, state) {
      const inside = root.contains(document.activeElement);
      const isSound = next === 'audio';
      medium = next;
      root.dataset.state = state || 'open';
      const [second, offer] = rows.get(state) || [];
      second ? delete root.dataset.open : (root.dataset.open = medium);
      note.textContent = state ? t(state) : '';
      more.textContent = second ? t(second) : '';
      other.textContent = offer ? t(offer) : '';
      show(other, offer);
      show(mark, second);
      show(more, second);
      show(body, !second);
      show(stage, medium);
      for (const el of [box, hint, fresh]) show(el, medium);
      show(player, isSound);
      show(hear, !isSound);
      show(see, medium !== 'img');
      show(pause, medium === 'img');
      if (medium) {
        prompt.textContent = t(medium);
        hint.textContent = field.ariaDescription = t(isSound ? 'audioHint' : 'imgHint');
        field.inputMode = isSound ? 'numeric' : 'text';
        label(fresh, isSound ? 'freshAudio' : 'fresh');
      }
      freeze(true);
      count();
      isMoving = true;
      if (inside) focus();
      isMoving = false;
      tell('state', root.dataset.state);
    }
    function freeze(moves) {
      if (!moves) still.getContext('2d').drawImage(picture, 0, 0, 150, 50);
      show(picture, medium === 'img' && moves);
      show(still, medium === 'img' && !moves);
      label(pause, moves ? 'pause' : 'move', moves ? 'pause' : 'play');
    }
    function silence() {
      voice.removeAttribute('src');
      voice.load();
      heard.value = 0;
      label(play, 'play', 'play');
    }
    function later(work, ms) {
      timers.push(setTimeout(work, ms));
    }
    function lasts(ms, early) {
      endsAt = Date.now() + ms;
      later(end, Math.max(ms - early, ms / 2));
    }
    function count() {
      const seconds = Math.max(0, Math.round((endsAt - Date.now()) / 1000));
      left.textContent =
        token && medium ? `${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, 0)} ${t('left')}` : '';
    }
    setInterval(count, 1000);
    function quiet() {
      for (const timer of [typed, ...timers]) clearTimeout(timer);
      timers = [];
    }
    // What was begun is over.
    function drop() {
      run++;
      quiet();
      asking = false;
      endsAt = Infinity;
      token = receipt.name = receipt.value = '';
      silence();
    }
    // A row with a word on why.
    function stop(state) {
      drop();
      held = undefined;
      picture.removeAttribute('src');
      update('', state);
    }
    async function ask(path, init, use) {
      const mine = run;
      let problem = 'fail';
      asking = true;
      try {
        const reply = await fetch(new URL(path, base), { credentials: 'include', ...init });
        if (/429|503/.test(reply.status)) problem = 'busy';
        const value = reply.ok && (await reply.json());
        if (mine !== run) return;
        asking = false;
        value ? use(value) : stop(problem);
      } catch {
        if (mine === run) stop(problem);
      }
    }
    // Of the page, for each call.
    const own = () => ({ sitekey: root.dataset.sitekey ?? '', action: root.dataset.action ?? '' });
    // No medium: works in the background if the server lets it; `noWork`: it can't, with 2: who waited is told so.
    function load(next, state, noWork = next) {
      drop();
      update(next, state || (next ? '' : 'work'));
      const query = new URLSearchParams(noWork ? { ...own(), picture: 1 } : own());
      ask(`start?${query}`, { cache: 'no-store' }, (given) => {
        // This site lets clean addresses pass: there is nothing to solve.
        if (given.receipt) return finish(given.receipt);
        if (given.work) return work(given.work);
        ({ token, level } = given);
        image = new URL(given.img, base);
        clip = new URL(fr ? given.audio.replace(/wav$/, 'fr.wav') : given.audio, base);
        field.value = '';
        lasts(given.expires_in * 1000, earlyMs);
        if (medium) present();
        else if (wish || !calm.matches) choose(wish || 'img');
        else update('', 'choose');
        if (held !== undefined) focus();
        else if (!(noWork > 1)) return;
        held = undefined;
        note.textContent = t('first');
      });
    }
    function work(task) {
      const mine = run;
      level = 'silent';
      const giveUp = () => mine === run && load('', '', 2);
      later(() => update('', 'slow'), slowMs);
      later(giveUp, pictureAfterMs);
      solve(task).then((payload) => {
        if (mine !== run) return;
        const body = new URLSearchParams({ ...own(), work: payload });
        ask('work', { method: 'POST', body }, (result) => {
          if (result.receipt) finish(result.receipt);
          else if (result.ok) stop('setup');
          else giveUp();
        });
      }, giveUp);
    }
    // Whoever is away gets no new one: it comes with the return.
    function end() {
      const wasSolved = !!receipt.value;
      const next = medium;
      // The choice between picture and sound stays; the press of a button brings another one.
      if (root.dataset.state === 'choose') return;
      if (wasSolved) stop('stale');
      const isAlone = wasSolved && level !== 'silent';
      if (root.isConnected && !document.hidden && !isAlone && renewals++ < renewalsMax) load(next, next && 'old');
      else if (!wasSolved) stop('stale');
    }
    // Somebody is there. Timers stand still while a device sleeps.
    function goOn() {
      if (isMoving || document.hidden) return;
      renewals = 0;
      if (asking) return;
      if (root.dataset.state === 'stale') load('');
      else if (Date.now() > endsAt) end();
    }
    function present() {
      if (medium === 'img') picture.src = image;
      count();
    }
    function choose(next, isPressed) {
      wish = next;
      if (!token || Date.now() > endsAt) return load(next);
      update(next, '');
      present();
      if (isPressed) play.onclick();
      else silence();
    }
    const typedLength = () => field.value.replace(/\s/g, '').length;
    function verify() {
      if (!token || !typedLength()) return field.focus();
      quiet();
      const body = new URLSearchParams({ ...own(), token, answer: field.value });
      // A second press while this one is under way would use the challenge up.
      token = '';
      ask('verify', { method: 'POST', body }, (result) => {
        if (!result.ok) {
          held = undefined;
          load(medium, result.level ? 'first' : 'wrong');
        } else if (result.receipt) finish(result.receipt);
        else stop('setup');
      });
    }
    function finish(value) {
      drop();
      picture.removeAttribute('src');
      receipt.name = root.dataset.responseField ?? 'portcullis-receipt';
      receipt.value = value;
      // A receipt lives 5 minutes.
      lasts(300000, 10000);
      update('', 'done');
      tell('receipt', value);
      if (held === undefined) return;
      const by = held;
      held = undefined;
      form.requestSubmit(by);
    }
    const start = () => load('');
    // `auto` follows the device, also while the page is open.
    const dress = () => {
      const { theme } = root.dataset;
      const dark = theme === 'dark' || (theme !== 'light' && night.matches);
      root.dataset.shade = dark ? 'dark' : 'light';
    };
    dress();
    night.addEventListener('change', dress);

    picture.onerror = voice.onerror = () => token && stop('fail');
    voice.onplay = () => label(play, 'pause', 'pause');
    voice.onpause = () => label(play, voice.ended ? 'replay' : 'play', 'play');
    voice.ontimeupdate = () => {
      heard.value = voice.currentTime / voice.duration || 0;
    };
    other.onclick = () => {
      renewals = 0;
      load('', '', root.dataset.state === 'slow');
    };
    field.oninput = () => {
      clearTimeout(typed);
      const whole = medium === 'audio' ? 6 : level === 'hard' ? 5 : 4;
      if (token && typedLength() >= whole) typed = setTimeout(verify, typedMs);
    };
    field.onkeydown = (event) => {
      if (event.key !== 'Enter') return;
      event.preventDefault();
      verify();
    };
    root.addEventListener('portcullis-reset', start);
    document.addEventListener('visibilitychange', goOn);
    // Back from the next page: the receipt was sent, and timers stood still.
    addEventListener('pageshow', (event) => event.persisted && start());
    const form = root.closest('form');
    for (const name of ['input', 'focusin']) (form || root).addEventListener(name, goOn);
    if (form) {
      form.addEventListener('reset', start);
      form.addEventListener('submit', (event) => {
        if (receipt.value) return;
        event.preventDefault();
        const isTyped = token && typedLength();
        if (asking || isTyped || (isRow() && root.dataset.state !== 'setup')) {
          held = event.submitter;
          if (isTyped) verify();
          else if (/^(stale|fail|busy)$/.test(root.dataset.state)) load('');
          return;
        }
        note.textContent = t('first');
        focus();
      });
    }
    start();
  }

  const all = () => document.querySelectorAll('.portcullis-captcha').forEach(render);
  window.portcullisCaptcha = render;
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', all);
  else all();
})();
