/** Each cause for which a passkey can't be added has words of its own, in both languages and on the page. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { catalogueFor } from '../../src/signon/words/words.ts';

const script = readFileSync('data/static/account.js', 'utf8');
const page = readFileSync('src/signon/account/pages/security.page.ts', 'utf8');
const causeOf: (error: object) => string = runInNewContext(
  `(${/function causeOf[\s\S]*?\n}\n/.exec(script)![0]})`,
);

it('each error of a browser, and each refusal of ours, leads to a sentence of its own', () => {
  const causes = new Map<object, string>([
    [{ name: 'InvalidStateError' }, 'known'],
    [{ name: 'ConstraintError' }, 'unfit'],
    [{ name: 'NotSupportedError' }, 'unfit'],
    [{ name: 'NotAllowedError' }, 'denied'],
    [{ name: 'AbortError' }, 'denied'],
    [{ name: 'SecurityError' }, 'address'],
    [{ name: 'TypeError' }, 'unreachable'],
    [{ name: 'Error', status: 403 }, 'stale'],
    [{ name: 'Error', status: 429 }, 'many'],
  ]);
  for (const language of ['en', 'fr'] as const) {
    const { passkeyErrors, passkeyFailed } = catalogueFor(language).account.security;
    const words: Readonly<Record<string, string>> = passkeyErrors;
    for (const [error, cause] of causes) {
      assert.equal(causeOf(error), cause);
      assert.ok(words[cause]!.length > 20 && words[cause] !== passkeyFailed);
      assert.ok(page.includes(`data-${cause}=\${text.passkeyErrors.${cause}}`), cause);
    }
    assert.equal(new Set(Object.values(words)).size, Object.keys(words).length);
  }
  assert.equal(causeOf({ name: 'UnknownError' }), 'failed');
  assert.equal(causeOf({ name: 'toString' }), 'failed');
});
