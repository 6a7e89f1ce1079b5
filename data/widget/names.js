/** The names of reCAPTCHA, hCaptcha and Turnstile for the widget (docs/CAPTCHA.md). */
(() => {
  const query = new URL(document.currentScript.src).searchParams;
  const explicit = query.get('render') === 'explicit';
  // The class of the element, the fields that it fills, how an id of a widget begins.
  const kinds = {
    grecaptcha: { mark: 'g-recaptcha', fields: ['g-recaptcha-response'] },
    hcaptcha: { mark: 'h-captcha', fields: ['h-captcha-response', 'g-recaptcha-response'] },
    turnstile: { mark: 'cf-turnstile', fields: ['cf-turnstile-response'] },
  };
  const errors = { fail: 'network-error', busy: 'rate-limited', setup: 'invalid-sitekey' };
  const widgets = [];
  let made = 0;
  // One dialog at a time.
  let turn = Promise.resolve();

  const make = (tag, props) => Object.assign(document.createElement(tag), props);
  // From the call, else from the element: `expired-callback` is `data-expired-callback` there.
  const setting = (w, name) =>
    w.params[name] ?? w.container.dataset[name.replace(/-(.)/g, (_, c) => c.toUpperCase())];
  function call(to, ...args) {
    const named = typeof to === 'string' ? to.split('.').reduce((o, key) => o?.[key], window) : to;
    if (typeof named === 'function') named(...args);
    return typeof named === 'function';
  }
  const tell = (w, name, ...args) => call(setting(w, name), ...args);

  function put(w, value) {
    w.value = value;
    w.gone = false;
    for (const field of w.fields) field.value = value;
  }
  function addFields(w) {
    const names = kinds[w.kind].fields;
    const own = setting(w, 'response-field-name') || setting(w, 'response-field');
    if (String(own) === 'false' || setting(w, 'response-field') === false) return;
    const chosen = typeof own === 'string' && own !== 'true' ? [own] : names;
    for (const name of chosen) {
      const id = document.getElementById(name) ? `${name}-${w.nr}` : name;
      const field = make('textarea', { name, id, hidden: true });
      w.fields.push(field);
      w.isButton ? w.container.after(field) : w.container.append(field);
    }
    w.fields[0]?.form?.addEventListener('reset', () => put(w, ''));
  }
  // A challenge for this widget, in the page or in a dialog.
  function open(w, parent) {
    const box = make('div', { className: 'portcullis-captcha' });
    const lang = setting(w, 'hl') || setting(w, 'language') || query.get('hl');
    const action = setting(w, 'action');
    Object.assign(box.dataset, { sitekey: setting(w, 'sitekey'), responseField: '' });
    if (lang && lang !== 'auto') box.dataset.lang = lang;
    if (action) box.dataset.action = action;
    for (const name of ['theme', 'size']) {
      const chosen = setting(w, name);
      if (chosen) box.dataset[name] = chosen;
    }
    parent.append(box);
    w.box = box;
    box.addEventListener('portcullis-receipt', (event) => {
      put(w, event.detail);
      w.waiting.splice(0).forEach((done) => done(event.detail));
      tell(w, 'callback', event.detail);
    });
    box.addEventListener('portcullis-state', ({ detail }) => {
      if (errors[detail]) tell(w, 'error-callback', errors[detail]);
      if (detail !== 'stale') return;
      if (!w.value) {
        tell(w, 'timeout-callback');
        return tell(w, 'chalexpired-callback');
      }
      put(w, '');
      w.gone = true;
      tell(w, 'expired-callback');
    });
    window.portcullisCaptcha(box);
    const tab = setting(w, 'tabindex');
    if (tab) for (const part of box.querySelectorAll('input,button')) part.tabIndex = tab;
    return box;
  }

  function create(kind, container, params, auto) {
    const old = widgets.find((w) => w.container === container);
    if (old) {
      if (kind === 'grecaptcha' && !old.auto && !auto) {
        throw new Error('reCAPTCHA has already been rendered in this element');
      }
      Object.assign(old, { params: { ...old.params, ...params }, auto: old.auto && auto });
      return old;
    }
    const nr = made++;
    const isButton = container.matches('button,input');
    const w = { kind, container, params, auto, nr, isButton, value: '', fields: [], waiting: [] };
    w.id = kind === 'grecaptcha' ? nr : `${kind}-${nr}`;
    if (!setting(w, 'sitekey')) throw new Error('Missing required parameters: sitekey');
    w.hidden = isButton || setting(w, 'size') === 'invisible' || setting(w, 'execution') === 'execute';
    widgets.push(w);
    addFields(w);
    if (!w.hidden) open(w, container);
    if (isButton) container.addEventListener('click', (event) => press(w, event));
    return w;
  }
  function press(w, event) {
    if (!widgets.includes(w)) return;
    event.preventDefault();
    run(w).then(
      () => setting(w, 'callback') || HTMLFormElement.prototype.submit.call(w.container.form),
      () => {},
    );
  }
  // The receipt of a widget that shows nothing by itself.
  function ask(w) {
    return new Promise((resolve, reject) => {
      const fr = /^fr\b/i.test(setting(w, 'hl') || query.get('hl') || document.documentElement.lang);
      const dialog = make('dialog', { ariaLabel: fr ? 'Contrôle anti-robot' : 'Robot check' });
      const close = make('button', { type: 'button', textContent: fr ? 'Annuler' : 'Cancel' });
      close.style.minHeight = '2.5em';
      close.onclick = () => dialog.close();
      w.waiting.push((value) => {
        resolve(value);
        dialog.open ? dialog.close() : dialog.remove();
      });
      // While it works in the background there is nothing to see.
      dialog.addEventListener('portcullis-state', ({ detail }) => {
        if (dialog.open || /^(work|done)$/.test(detail)) return;
        dialog.showModal();
        tell(w, 'open-callback');
      });
      dialog.onclose = () => {
        dialog.remove();
        if (w.value) return;
        w.waiting.length = 0;
        tell(w, 'close-callback');
        reject(new Error('challenge-closed'));
      };
      put(w, '');
      document.body.append(dialog);
      open(w, dialog);
      dialog.append(close);
    });
  }
  function run(w) {
    if (w.hidden) {
      const asked = turn.then(() => ask(w));
      turn = asked.catch(() => {});
      return asked;
    }
    if (w.value) return Promise.resolve(w.value);
    w.box.querySelector('input')?.focus();
    return new Promise((resolve) => w.waiting.push(resolve));
  }

  const elementOf = (which) => {
    if (typeof which !== 'string') return which instanceof Element ? which : null;
    try {
      return document.getElementById(which) || document.querySelector(which);
    } catch {
      return null;
    }
  };
  function find(kind, which) {
    if (which === undefined || which === null) return widgets.find((w) => w.kind === kind) || widgets[0];
    const found = widgets.find((w) => String(w.id) === String(which));
    return found || widgets.find((w) => w.container === elementOf(which));
  }
  function need(kind, which) {
    const w = find(kind, which);
    if (!w) throw new Error(`${kind}: there is no such widget`);
    return w;
  }

  function namesOf(kind) {
    return {
      ready: (then) => whenReady(() => call(then)),
      render(which, params = {}) {
        const container = elementOf(which);
        if (!container) throw new Error(`${kind}: the container must be an element or its id`);
        return create(kind, container, params, false).id;
      },
      getResponse: (which) => need(kind, which).value,
      isExpired: (which) => !!need(kind, which).gone,
      getRespKey: () => '',
      setData() {},
      close() {
        for (const dialog of document.querySelectorAll('dialog')) {
          if (dialog.querySelector('.portcullis-captcha')) dialog.close();
        }
      },
      reset(which) {
        const w = need(kind, which);
        put(w, '');
        if (!w.hidden) w.box.dispatchEvent(new Event('portcullis-reset'));
      },
      remove(which) {
        const w = find(kind, which);
        if (!w) return;
        for (const node of [...w.fields, w.box]) node?.remove();
        widgets.splice(widgets.indexOf(w), 1);
      },
      execute(which, params = {}) {
        let w = find(kind, which);
        const element = w ? undefined : elementOf(which);
        if (!w && element) w = create(kind, element, { ...params, execution: 'execute' }, false);
        // Version 3: the site key itself, and no element at all.
        const sitekey = typeof which === 'string' ? which : query.get('render');
        if (!w && sitekey) {
          const container = make('div');
          w = { kind, container, params: { sitekey }, fields: [], waiting: [], hidden: true };
        }
        if (!w) throw new Error(`${kind}: there is nothing to execute`);
        w.params = { ...w.params, ...params };
        const asked = run(w);
        const given =
          kind === 'hcaptcha' ? asked.then((response) => ({ response, key: '' })) : asked;
        // Who does not look at the promise is told by the callbacks.
        given.catch(() => {});
        return given;
      },
    };
  }

  function whenReady(then) {
    if (document.readyState !== 'loading') then();
    else addEventListener('DOMContentLoaded', then, { once: true });
  }
  const marks = Object.values(kinds).map(({ mark }) => `.${mark}`);
  function scan() {
    for (const element of document.querySelectorAll(marks.join())) {
      const kind = Object.keys(kinds).find((name) => element.classList.contains(kinds[name].mark));
      // Without a site key it is for a script to render.
      if (element.dataset.sitekey) create(kind, element, {}, true);
    }
  }

  for (const kind of Object.keys(kinds)) {
    window[kind] = Object.assign(window[kind] || {}, namesOf(kind));
  }
  window.grecaptcha.enterprise = window.grecaptcha;
  whenReady(() => {
    if (!explicit) {
      scan();
      new MutationObserver(scan).observe(document.documentElement, { childList: true, subtree: true });
    }
    addEventListener('pageshow', (event) => event.persisted && widgets.forEach((w) => put(w, '')));
    // Calls that were put into the queue of reCAPTCHA before this script came.
    (window.___grecaptcha_cfg?.fns || []).forEach((then) => call(then));
    if (query.get('onload')) call(query.get('onload'));
  });
})();
