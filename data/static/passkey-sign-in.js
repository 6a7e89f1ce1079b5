/**
 * Sign-in with a passkey, on the sign-in page: shows the button where the browser can do it, asks
 * the server for a challenge and the authenticator for its answer. Words come from the page. In the
 * field of the mail address the browser offers its passkeys beside the addresses that it knows.
 */
const part = document.getElementById('passkey');

const toBytes = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');

async function call(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ csrf: part.dataset.csrf, ...body }),
  });
  if (response.ok) return response.json();
  const { status } = response;
  const refusal = Object.assign(new Error(`status ${status}`), { status });
  // Why it is not allowed is worth telling; of a wrong passkey the page says enough.
  if (status === 403) refusal.shown = (await response.json()).errors?.[0]?.detail;
  throw refusal;
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

async function askForOne(more) {
  const { challenge, timeout, rpId, userVerification } = await call('/signin/passkey/options', {});
  const publicKey = { challenge: toBytes(challenge), timeout, rpId, userVerification };
  return navigator.credentials.get({ publicKey, ...more(timeout) });
}

async function signIn(credential) {
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  const { next } = await call('/signin/passkey', {
    request: part.dataset.request,
    continue: part.dataset.continue,
    return: part.dataset.return,
    response: {
      id: credential.id,
      rawId: toText(credential.rawId),
      type: credential.type,
      response: {
        clientDataJSON: toText(clientDataJSON),
        authenticatorData: toText(authenticatorData),
        signature: toText(signature),
        userHandle: userHandle ? toText(userHandle) : undefined,
      },
    },
  });
  location.assign(next);
}

if (part && globalThis.PublicKeyCredential && navigator.credentials) {
  const button = part.querySelector('button');
  const outcome = part.querySelector('[role=alert]');
  const email = document.getElementById('email');
  part.hidden = false;
  const tell = (error) => {
    outcome.textContent =
      error.shown ?? outcome.dataset[causeOf(error)] ?? outcome.dataset.failed;
  };

  /** The one offer of the page at a time, which waits until somebody takes it. */
  let offer;
  const offerInField = async () => {
    if (offer !== undefined || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) {
      return;
    }
    if (offer !== undefined) return;
    const own = new AbortController();
    offer = own;
    let isOver = false;
    const wait = (timeout) => {
      // The server takes no answer to an older challenge.
      setTimeout(() => {
        isOver = true;
        own.abort();
      }, timeout);
      return { mediation: 'conditional', signal: own.signal };
    };
    // Whoever takes none types a password or presses the button: nothing to tell.
    const credential = await askForOne(wait).catch(() => undefined);
    if (credential !== undefined) await signIn(credential).catch(tell);
    if (offer === own) offer = undefined;
    if (isOver && document.activeElement === email) offerInField();
  };
  email?.addEventListener('focus', offerInField);

  button.addEventListener('click', async () => {
    button.disabled = true;
    outcome.textContent = '';
    // A browser asks for one thing at a time.
    offer?.abort();
    try {
      await signIn(await askForOne(() => ({})));
    } catch (error) {
      tell(error);
      button.disabled = false;
    }
  });
}
