/** Portcullis CAPTCHA in a form of any site (docs/CAPTCHA.md). Indents and comments are not served. */
(() => {
  const base = new URL('.', document.currentScript.src);
  const texts = {
    group: ['Confirm you’re human', 'Prouvez que vous êtes humain'],
    see: ['Show the picture', 'Voir l’image'],
    hear: ['Listen instead', 'Écouter plutôt'],
    fresh: ['New one', 'Une autre'],
    check: ['Check', 'Vérifier'],
    alt: ['Letters made of moving dots', 'Lettres en points mobiles'],
    clip: ['Spoken digits', 'Chiffres énoncés'],
    img: ['Type the moving letters', 'Tapez les lettres mobiles'],
    audio: ['Type the digits you hear', 'Tapez les chiffres (en anglais)'],
    choose: ['Choose a moving picture or a sound.', 'Choisissez une image animée ou un son.'],
    wrong: ['Not right. Here is a new one.', 'Ce n’est pas juste. En voici une autre.'],
    old: ['Expired. Here is a new one.', 'Délai dépassé. En voici une autre.'],
    stale: ['Expired. Choose again.', 'Délai dépassé. Choisissez à nouveau.'],
    busy: ['Too many requests. Try again later.', 'Trop de demandes. Réessayez plus tard.'],
    fail: ['No connection. Try again.', 'Pas de connexion. Réessayez.'],
    setup: ['This site is not set up for the check.', 'Ce site n’est pas configuré pour ceci.'],
    first: ['One more step: solve the check.', 'Encore une étape : la vérification.'],
    work: ['Checking your browser…', 'Vérification de votre navigateur…'],
    done: ['You’re verified.', 'C’est vérifié.'],
  };
  // In a layer: whatever the page's own style says of these parts comes before it.
  const css = [
    '@layer portcullis{',
    '.portcullis-captcha[role=group]{box-sizing:border-box;display:block;width:100%;max-width:476px;padding:12px;border:1px solid #7b8994;border-radius:8px;',
    'background:#fff;color:#13202d;color-scheme:light;font:14px/1.4 system-ui,sans-serif;text-align:start}',
    '.portcullis-captcha[data-size=flexible]{max-width:none}',
    '.portcullis-captcha[data-size=compact]{max-width:326px}',
    '.portcullis-captcha img{display:block;width:100%;max-width:450px;width:max(min(300px,100%),min(450px,round(down,100%,150px)));height:auto;aspect-ratio:3;border-radius:4px;image-rendering:pixelated}',
    '.portcullis-captcha audio{width:100%}',
    '.portcullis-captcha label span{display:block;margin:8px 0 4px}',
    '.portcullis-captcha input{box-sizing:border-box;width:100%;min-height:40px;padding:0 10px;border:1px solid #7b8994;border-radius:6px;background:Field;color:FieldText;font:inherit;font-family:ui-monospace,monospace;letter-spacing:.15em}',
    '.portcullis-captcha button{min-height:40px;margin:8px 6px 0 0;padding:0 12px;border:1px solid #7b8994;border-radius:6px;background:0 0;color:inherit;font:inherit;cursor:pointer}',
    '.portcullis-captcha button:first-child{border-color:#16416f;background:#16416f;color:#fff}',
    '.portcullis-captcha :focus-visible{outline:2px solid #1a63b8;outline-offset:2px}',
    '.portcullis-captcha [role=status]:not(:empty){margin-top:8px}',
    '.portcullis-captcha:is([data-state=work],[data-state=done]) [role=status]{margin:6px 0;font-weight:600}',
    '.portcullis-captcha[data-state=work] [role=status]::before{content:"";display:inline-block;width:.8em;height:.8em;margin-inline-end:.6em;border:2px solid #7b8994;border-top-color:transparent;border-radius:50%}',
    '@media (prefers-reduced-motion:no-preference){.portcullis-captcha[data-state=work] [role=status]::before{animation:portcullis 1s linear infinite}}',
    '@keyframes portcullis{to{rotate:1turn}}',
    '.portcullis-captcha[data-state=done] [role=status]::before{content:"✓ ";color:#17694c;font-weight:700}',
    '.portcullis-captcha[data-shade=dark]{background:#131d27;color:#e9eef1;color-scheme:dark;border-color:#62737f}',
    '.portcullis-captcha[data-shade=dark] img{filter:invert(1) hue-rotate(180deg) brightness(.92)}',
    '.portcullis-captcha[data-shade=dark] button:first-child{border-color:#93bfee;background:#93bfee;color:#0b1a2a}',
    '.portcullis-captcha[data-shade=dark] :focus-visible{outline-color:#8fc1ff}',
    '.portcullis-captcha[data-shade=dark][data-state=done] [role=status]::before{color:#74cfa5}',
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
  const pictureAfterMs = 10000;
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
    let token, image, clip, medium, timer, held;
    // What belongs to an earlier run is ignored.
    let run = 0;
    let renewals = 0;

    const add = (parent, tag, props) => {
      const el = Object.assign(document.createElement(tag), props);
      parent.append(el);
      return el;
    };
    const button = (name, onclick) =>
      add(row, 'button', { type: 'button', textContent: t(name), onclick });
    const show = (el, on) => {
      el.style.display = on ? '' : 'none';
    };

    Object.assign(root, { role: 'group', ariaLabel: t('group'), lang: fr ? 'fr' : 'en' });
    const top = add(root, 'div');
    const picture = add(top, 'img', { alt: t('alt') });
    const voice = add(top, 'audio', { controls: true, ariaLabel: t('clip') });
    const label = add(root, 'label');
    const prompt = add(label, 'span');
    const field = add(label, 'input', { autocomplete: 'off', autocapitalize: 'characters', spellcheck: false });
    const row = add(root, 'div');
    const check = button('check', verify);
    const see = button('see', () => choose('img'));
    const hear = button('hear', () => choose('audio'));
    const fresh = button('fresh', () => load(medium));
    const note = add(root, 'div', { role: 'status', tabIndex: -1 });
    const receipt = add(root, 'input', { type: 'hidden' });

    const isWorking = () => root.dataset.state === 'work';
    const focus = () => (receipt.value || isWorking() ? note : medium ? field : see).focus();
    // What had the focus may vanish here: it must not get lost.
    function update(next, text) {
      const inside = root.contains(document.activeElement);
      medium = next;
      root.dataset.state = text || (next ? 'open' : 'closed');
      const isOpen = !receipt.value && !isWorking();
      for (const el of [label, check, fresh]) show(el, next);
      show(see, isOpen && next !== 'img');
      show(hear, isOpen && next !== 'audio');
      show(picture, next === 'img');
      show(voice, next === 'audio');
      prompt.textContent = next && t(next);
      note.textContent = text && t(text);
      if (inside) focus();
      tell('state', root.dataset.state);
    }
    const tell = (name, detail) =>
      root.dispatchEvent(new CustomEvent(`portcullis-${name}`, { bubbles: true, detail }));
    function silence() {
      picture.removeAttribute('src');
      voice.removeAttribute('src');
      voice.load();
    }
    // Back to the choice, with a word on why.
    function stop(text) {
      run++;
      clearTimeout(timer);
      if (text) held = undefined;
      token = receipt.name = receipt.value = '';
      silence();
      update('', text);
    }
    async function ask(path, init, use) {
      const mine = run;
      let problem = 'fail';
      try {
        const reply = await fetch(new URL(path, base), { credentials: 'include', ...init });
        if (/429|503/.test(reply.status)) problem = 'busy';
        const value = reply.ok && (await reply.json());
        if (mine === run) value ? use(value) : stop(problem);
      } catch {
        if (mine === run) stop(problem);
      }
    }
    // Of the page, for each call.
    const own = () => ({ sitekey: root.dataset.sitekey ?? '', action: root.dataset.action ?? '' });
    // No medium: works in the background if the server lets it; `picture`: it can't.
    function load(next, text, picture = next) {
      stop('');
      update(next, text || (next ? '' : 'work'));
      field.value = '';
      const query = new URLSearchParams(picture ? { ...own(), picture: 1 } : own());
      ask(`start?${query}`, { cache: 'no-store' }, (given) => {
        // This site lets clean addresses pass: there is nothing to solve.
        if (given.receipt) return finish(given.receipt);
        if (given.work) return work(given.work);
        token = given.token;
        image = new URL(given.img, base);
        clip = new URL(given.audio, base);
        timer = setTimeout(expire, given.expires_in * 1000);
        if (medium) present();
        else if (calm.matches) update('', 'choose');
        else choose('img');
        if (held === undefined) return;
        held = undefined;
        note.textContent = t('first');
        focus();
      });
    }
    function work(task) {
      const mine = run;
      const giveUp = () => mine === run && load('', '', 1);
      timer = setTimeout(giveUp, pictureAfterMs);
      solve(task).then((payload) => {
        if (mine !== run) return;
        clearTimeout(timer);
        const body = new URLSearchParams({ ...own(), work: payload });
        ask('work', { method: 'POST', body }, (result) => {
          if (result.receipt) finish(result.receipt);
          else if (result.ok) stop('setup');
          else giveUp();
        });
      }, giveUp);
    }
    const expire = () => (root.isConnected && renewals++ < 3 ? load(medium, 'old') : stop('stale'));
    function present() {
      silence();
      if (medium === 'img') picture.src = image;
      else {
        voice.src = clip;
        voice.play().catch(() => {});
      }
    }
    function choose(next) {
      renewals = 0;
      if (!token) return load(next);
      update(next, '');
      present();
    }
    function verify() {
      if (!token || !field.value.trim()) return field.focus();
      clearTimeout(timer);
      const body = new URLSearchParams({ ...own(), token, answer: field.value });
      // A second press while this one is under way would use the challenge up.
      token = '';
      ask('verify', { method: 'POST', body }, (result) => {
        if (!result.ok) {
          held = undefined;
          load(medium, 'wrong');
        } else if (result.receipt) finish(result.receipt);
        else stop('setup');
      });
    }
    function finish(value) {
      stop('');
      receipt.name = root.dataset.responseField ?? 'portcullis-receipt';
      receipt.value = value;
      // A receipt lives 5 minutes.
      timer = setTimeout(stop, 290000, 'stale');
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
    field.oninput = () => {
      renewals = 0;
    };
    field.onkeydown = (event) => {
      if (event.key !== 'Enter') return;
      event.preventDefault();
      verify();
    };
    root.addEventListener('portcullis-reset', start);
    // Back from the next page: the receipt was sent, and timers stood still.
    addEventListener('pageshow', (event) => event.persisted && start());
    const form = root.closest('form');
    if (form) {
      form.addEventListener('reset', start);
      form.addEventListener('submit', (event) => {
        if (receipt.value) return;
        event.preventDefault();
        if (isWorking() || (token && field.value.trim())) {
          held = event.submitter;
          return isWorking() || verify();
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
