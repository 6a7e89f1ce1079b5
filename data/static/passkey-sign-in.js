/**
 * Sign-in with a passkey, on the sign-in page: shows the button where the browser can do it, asks
 * the server for a challenge and the authenticator for its answer. Words come from the page.
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
  const refusal = new Error(`status ${response.status}`);
  // Why it is not allowed is worth telling; of a wrong passkey the page says enough.
  if (response.status === 403) refusal.shown = (await response.json()).errors?.[0]?.detail;
  throw refusal;
}

async function signIn() {
  const { challenge, timeout, rpId, userVerification } = await call('/signin/passkey/options', {});
  const publicKey = { challenge: toBytes(challenge), timeout, rpId, userVerification };
  const credential = await navigator.credentials.get({ publicKey });
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
  part.hidden = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    outcome.textContent = '';
    try {
      await signIn();
    } catch (error) {
      outcome.textContent = error.shown ?? part.dataset.failed;
      button.disabled = false;
    }
  });
}
