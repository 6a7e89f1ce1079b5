/**
 * Passkeys before there is an account. On the page of registration: shows the choice. On the pages
 * that make one or prove it: the browser is asked at the press of the button, and its answer goes
 * into the form, which is sent as any other. A new password is judged as soon as it is typed. Words come from the page.
 */
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

function textOf(buffer) {
  const text = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

const listed = (list) => (list ?? []).map((item) => ({ ...item, id: bytesOf(item.id) }));

async function create(part) {
  const options = JSON.parse(part.dataset.options);
  const credential = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      user: { ...options.user, id: bytesOf(options.user.id) },
      excludeCredentials: listed(options.excludeCredentials),
    },
  });
  const { clientDataJSON, attestationObject, getTransports } = credential.response;
  return described(credential, {
    clientDataJSON: textOf(clientDataJSON),
    attestationObject: textOf(attestationObject),
    transports: getTransports?.call(credential.response) ?? [],
  });
}

async function prove(part) {
  const asked = await fetch('/verify/passkey/options', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ csrf: formOf(part).elements.csrf.value, token: part.dataset.token }),
  });
  if (!asked.ok) {
    throw Object.assign(new Error(`status ${asked.status}`), { status: asked.status });
  }
  const options = await asked.json();
  const credential = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      allowCredentials: listed(options.allowCredentials),
    },
  });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  return described(credential, {
    clientDataJSON: textOf(clientDataJSON),
    authenticatorData: textOf(authenticatorData),
    signature: textOf(signature),
    userHandle: userHandle ? textOf(userHandle) : undefined,
  });
}

function described({ id, type }, response) {
  return JSON.stringify({ id, rawId: id, type, clientExtensionResults: {}, response });
}

/** What went wrong, as the page has words for it: by the names of WebAuthn's errors, and by our own answer. */
function causeOf(error) {
  const causes = {
    InvalidStateError: 'known',
    ConstraintError: 'unfit',
    NotSupportedError: 'unfit',
    NotAllowedError: 'denied',
    AbortError: 'denied',
    SecurityError: 'address',
    TypeError: 'unreachable',
  };
  if (error.status === 403) return 'stale';
  if (error.status === 429) return 'many';
  return Object.hasOwn(causes, error.name) ? causes[error.name] : 'failed';
}

const formOf = (part) => part.closest('form');
const ceremonies = { create, prove };

function arm(part) {
  const button = part.querySelector('button');
  const outcome = part.querySelector('[role=alert]');
  part.hidden = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    outcome.textContent = '';
    try {
      formOf(part).elements.passkey.value = await ceremonies[part.dataset.passkeyPress](part);
      formOf(part).requestSubmit();
    } catch (error) {
      outcome.textContent = outcome.dataset[causeOf(error)] ?? outcome.dataset.failed;
    }
    button.disabled = false;
  });
}

/** The password may stay empty then; what else is missing the browser still says. */
function offer(part) {
  const password = formOf(part).elements.password;
  // Not where the form has it already.
  const isNeeded = password.required;
  part.hidden = false;
  for (const button of formOf(part).querySelectorAll('button')) {
    button.addEventListener('click', () => {
      password.required = isNeeded && !part.contains(button);
    });
  }
}

if (globalThis.PublicKeyCredential && navigator.credentials) {
  for (const note of document.querySelectorAll('[data-passkey-none]')) note.hidden = true;
  for (const part of document.querySelectorAll('[data-passkey-choice]')) offer(part);
  for (const part of document.querySelectorAll('[data-passkey-press]')) arm(part);
}

// What is wrong with a new password is told when its field is left: nobody solves a challenge in vain.
for (const field of document.querySelectorAll('[data-judged-by]')) {
  field.addEventListener('change', async () => {
    const { value, form } = field;
    const { csrf, email } = form.elements;
    const asked = await fetch(field.dataset.judgedBy, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ csrf: csrf.value, email: email.value, password: value }),
    }).catch(() => undefined);
    if (!asked?.ok || field.value !== value) return;
    tellFault(field, value === '' ? null : (await asked.json()).fault);
  });
}

/** Shows the sentence below the field, as the server does; none takes it away. */
function tellFault(field, sentence) {
  const box = field.closest('.field');
  const id = `${field.id}-error`;
  box.querySelector('.field-error')?.remove();
  box.classList.toggle('has-error', sentence !== null);
  if (sentence === null) {
    field.removeAttribute('aria-invalid');
    field.setAttribute('aria-describedby', `${field.id}-hint`);
    return;
  }
  const told = document.createElement('p');
  told.className = 'field-error';
  told.id = id;
  told.role = 'alert';
  told.textContent = sentence;
  box.append(told);
  field.setAttribute('aria-invalid', 'true');
  field.setAttribute('aria-describedby', `${field.id}-hint ${id}`);
}
