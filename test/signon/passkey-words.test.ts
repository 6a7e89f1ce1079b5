/** Each cause for which there is no passkey has words of its own, in both languages and on each page that asks for one. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { languages } from '../../src/core/language.ts';
import { confirmPage } from '../../src/signon/account/confirm.page.tsx';
import { createPasskeyPage, passkeyOutcome } from '../../src/signon/people/register.page.tsx';
import { linkButtonPage } from '../../src/signon/people/verify.page.tsx';
import { signInPage } from '../../src/signon/sessions/sign-in.page.tsx';
import { translationsFor } from '../../src/signon/words.ts';
import { renderHtml } from '../../src/web/html.ts';

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

for (const name of ['account', 'passkey-register', 'passkey-sign-in']) {
  it(`${name}.js knows each error of a browser, and each refusal of ours`, () => {
    const script = readFileSync(`data/static/${name}.js`, 'utf8');
    const source = /function causeOf[\s\S]*?\n}\n/.exec(script)?.[0];
    assert.ok(source !== undefined);
    const causeOf: (error: object) => string = runInNewContext(`(${source})`);
    for (const [error, cause] of causes) assert.equal(causeOf(error), cause);
    assert.equal(causeOf({ name: 'UnknownError' }), 'failed');
    assert.equal(causeOf({ name: 'toString' }), 'failed');
  });
}

for (const language of languages) {
  it(`each cause has a sentence of its own on each page: ${language}`, () => {
    const { account, signon } = translationsFor(language);
    const frame = { language, assets: { url: (path: string) => `/${path}` }, links: {} };
    const common = { csrf: 'c', account: 'ada@mail.example', email: 'ada@mail.example' };
    const confirmed = { returnTo: '/account', hasPassword: true, wantsCode: false };
    const linked = { token: 't', action: '/verify', asks: 'passkey', worksFrom: 0 } as const;
    const { passkeyErrors: made, passkeyFailed } = account.security;
    const shown = signon.passkeyProofErrors;
    const pages: [string, Readonly<Record<string, string>>, string][] = [
      [createPasskeyPage(frame, { ...common, options: {} }), made, signon.createPasskey.failed],
      [
        confirmPage(frame, { ...common, ...confirmed, needsPasskey: true }),
        shown,
        account.confirm.wrong,
      ],
      [linkButtonPage(frame, { ...common, ...linked }), shown, signon.verify.proveFailed],
      [
        signInPage(frame, { ...common, registrationOpen: true }),
        shown,
        signon.signIn.passkeyFailed,
      ],
      [renderHtml(passkeyOutcome({ failed: passkeyFailed, causes: made })), made, passkeyFailed],
    ];
    for (const [page, words, failed] of pages) {
      for (const cause of new Set(causes.values())) {
        if (cause === 'known' && words === shown) continue;
        const sentence = words[cause]!;
        assert.ok(sentence.length > 20 && sentence !== failed, cause);
        assert.ok(page.includes(` data-${cause}="${sentence}"`), `${cause}: ${page.slice(0, 200)}`);
      }
      assert.equal(new Set(Object.values(words)).size, Object.keys(words).length);
    }
  });
}
