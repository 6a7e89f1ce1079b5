/**
 * Proof of work in the protocol of ALTCHA: searches for the counter whose PBKDF2 begins as the challenge
 * says. As a worker it gets the challenge as a message, and answers `{payload}` or `{error}`; as a
 * script of a page it offers `portcullisWork(challenge)`, a promise of the payload. The browser derives
 * keys beside the thread that asks, some at a time.
 */
(() => {
  const lanesMax = 4;
  const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (pair) => Number.parseInt(pair, 16));
  const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

  async function search(challenge) {
    if (!globalThis.crypto?.subtle) throw new Error('no WebCrypto');
    const { algorithm, cost, keyLength, keyPrefix, nonce, salt } = challenge.parameters;
    const [, hash] = /^PBKDF2\/(SHA-\d+)$/.exec(algorithm);
    const rule = { name: 'PBKDF2', hash, salt: bytesOf(salt), iterations: cost };
    const start = bytesOf(nonce);
    const startMs = performance.now();
    const { subtle } = crypto;
    let next = 0;
    let solution;

    async function lane() {
      const tried = new Uint8Array(start.length + 4);
      tried.set(start);
      while (!solution) {
        const counter = next++;
        new DataView(tried.buffer).setUint32(start.length, counter);
        const password = await subtle.importKey('raw', tried, 'PBKDF2', false, ['deriveBits']);
        const derivedKey = hexOf(new Uint8Array(await subtle.deriveBits(rule, password, keyLength * 8)));
        if (derivedKey.startsWith(keyPrefix)) {
          solution = { counter, derivedKey, time: Math.round(performance.now() - startMs) };
        }
      }
    }
    const lanes = Math.max(1, Math.min(lanesMax, (navigator.hardwareConcurrency || 2) - 1));
    await Promise.all(Array.from({ length: lanes }, lane));
    return btoa(JSON.stringify({ challenge, solution }));
  }

  if (typeof document === 'undefined') {
    onmessage = ({ data }) => {
      search(data).then(
        (payload) => postMessage({ payload }),
        (error) => postMessage({ error: String(error) }),
      );
    };
  } else {
    globalThis.portcullisWork = search;
  }
})();
