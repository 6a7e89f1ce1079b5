/**
 * Passkeys of an account: the browser is asked for one, its answer goes to the server. The forms
 * are hidden until it is known that the browser can do it.
 */
const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

function textOf(buffer) {
  const text = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

async function call(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    throw Object.assign(new Error(`${path}: ${response.status}`), { status: response.status });
  }
  return response.json();
}

const known = (list) => (list ?? []).map((item) => ({ ...item, id: bytesOf(item.id) }));

async function register(csrf, form) {
  const options = await call('/account/security/passkeys/options', { csrf });
  const credential = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      user: { ...options.user, id: bytesOf(options.user.id) },
      excludeCredentials: known(options.excludeCredentials),
    },
  });
  const { response: made } = credential;
  const sent = {
    clientDataJSON: textOf(made.clientDataJSON),
    attestationObject: textOf(made.attestationObject),
    transports: made.getTransports?.() ?? [],
  };
  const name = new FormData(form).get('name');
  const response = describe(credential, sent);
  const body = { csrf, name, response, return: form.dataset.return };
  const { next } = await call('/account/security/passkeys', body);
  return next;
}

async function confirmAgain(csrf, form) {
  const options = await call('/account/confirm/passkey/options', { csrf });
  const credential = await navigator.credentials.get({
    publicKey: {
      ...options,
      challenge: bytesOf(options.challenge),
      allowCredentials: known(options.allowCredentials),
    },
  });
  const { response } = credential;
  const sent = {
    clientDataJSON: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.authenticatorData),
    signature: textOf(response.signature),
    userHandle: response.userHandle ? textOf(response.userHandle) : undefined,
  };
  await call('/account/confirm/passkey', { csrf, response: describe(credential, sent) });
  return form.dataset.next;
}

function describe({ id, type }, response) {
  return { id, rawId: id, type, clientExtensionResults: {}, response };
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

/** Where the id of a passkey stays while the page that removes it is on its way. */
const removedKey = 'removed-passkey';

/**
 * Tells the browser which passkeys the account has, and its name: it offers no others then. Of a passkey that was
 * just removed it hears by its id, since no other may be left that the browser knows the account by.
 */
async function signalPasskeys({ name, accepted }) {
  const rpId = location.hostname;
  const [owner, removed] = (sessionStorage.getItem(removedKey) ?? '').split(' ');
  sessionStorage.removeItem(removedKey);
  // It may have been another account's page that sent the form.
  if (owner === accepted[0].userId && !accepted.some(({ ids }) => ids.includes(removed))) {
    await PublicKeyCredential.signalUnknownCredential?.({ rpId, credentialId: removed });
  }
  for (const { userId, ids } of accepted) {
    await PublicKeyCredential.signalAllAcceptedCredentials?.({
      rpId,
      userId,
      allAcceptedCredentialIds: ids,
    });
    await PublicKeyCredential.signalCurrentUserDetails?.({
      rpId,
      userId,
      name,
      displayName: name,
    });
  }
}

/** Each gives the page that comes after it. */
const ceremonies = { register, confirm: confirmAgain };

if (globalThis.PublicKeyCredential) {
  const passkeys = document.querySelector('[data-passkeys-accepted]');
  // A browser that refuses goes on offering what it has.
  if (passkeys) signalPasskeys(JSON.parse(passkeys.dataset.passkeysAccepted)).catch(() => {});
  for (const form of document.querySelectorAll('form[action$="/passkeys/remove"]')) {
    form.addEventListener('submit', () => {
      const { accepted } = JSON.parse(passkeys.dataset.passkeysAccepted);
      sessionStorage.setItem(removedKey, `${accepted[0].userId} ${form.elements.id.value}`);
    });
  }
  for (const note of document.querySelectorAll('[data-passkey-none]')) note.hidden = true;
  for (const form of document.querySelectorAll('form[data-passkey]')) {
    const failed = form.querySelector('[data-failed]');
    form.hidden = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      failed.textContent = '';
      ceremonies[form.dataset.passkey](form.dataset.csrf, form).then(
        (next) => location.assign(next),
        (error) => {
          failed.textContent = failed.dataset[causeOf(error)] ?? failed.dataset.failed;
        },
      );
    });
  }
}
