/** The words of all pages, in both languages: short sentences, and none of the phrases that no native writes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameText as captcha } from '../../src/captcha/words.ts';
import { frameText as console } from '../../src/console/words.ts';
import type { Language } from '../../src/core/language.ts';
import { frameText as reputation } from '../../src/reputation/words.ts';
import { consentEn, consentFr } from '../../src/signon/sites/words.ts';
import { frameText as signon } from '../../src/signon/words.ts';
import { frameText as site } from '../../src/site/words.ts';

/** Of a sentence; the pages of the console are read fast and often. */
const wordsMax = 20;
const consoleWordsMax = 14;

/** Phrases that were here once, and what is meant now (CONTRIBUTING.md). */
const banned: Record<Language, RegExp> = {
  en: /wants to know you|knows you again|password forgotten|look into your mailbox|as the device|show that you are a person|who cannot see motion|one more press|why the score ends here|the highest of these|by the rules of today|without a voice|almost nothing, speaks|who has an address asks|goes through every score|each for what it is for alone|this one time|works on no imitation|so answers a server|that did not work|all that is known of it|\bnot told\b|e-mail address|\bmail address|what you can do|keys with a name|\bown entr|stops reports, not lists|connect any|\bgo on$/i,
  fr: /entrées propres|\bindications\b|souhaite vous connaître|le compte marche|comme l’appareil|montrez que vous êtes une personne|\bsurnom\b|courriel|adresse électronique|exploitant|réputées? saines?|ce que vous pouvez faire|pas les listes|la réussite dépose|intégrer tout/iu,
};

function sentences(node: unknown, path: string): [string, string][] {
  if (typeof node === 'string') return [[path, node]];
  if (typeof node === 'function') {
    const call = node as (...values: unknown[]) => unknown;
    return [1, 5].flatMap((count) => textOf(() => call(count, `${count}`, 'x'), path));
  }
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, child]) => sentences(child, `${path}.${key}`));
}

/** A function of other values than a count has none for these. */
function textOf(call: () => unknown, path: string): [string, string][] {
  try {
    return sentences(call(), path);
  } catch {
    return [];
  }
}

function textsOf(language: Language): [string, string][] {
  const frame = { language };
  const catalogues = { captcha, console, reputation, signon, site };
  return [
    ...Object.entries(catalogues).flatMap(([name, of]) => sentences(of(frame), name)),
    ...sentences(language === 'en' ? consentEn : consentFr, 'consent'),
  ];
}

for (const language of ['en', 'fr'] as const) {
  test(`no sentence of a page has more than ${wordsMax} words, of the console ${consoleWordsMax}: ${language}`, () => {
    const long = textsOf(language).flatMap(([path, text]) =>
      text
        .split(/(?<=[.!?:;])\s+/)
        .filter(
          (part) =>
            part.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length >
            (path.startsWith('console.') ? consoleWordsMax : wordsMax),
        )
        .map((part) => `${path}: ${part}`),
    );
    assert.deepEqual([...new Set(long)], []);
  });

  test(`phrases that no native writes stay out: ${language}`, () => {
    const found = textsOf(language).filter(([, text]) => banned[language].test(text));
    assert.deepEqual(found, []);
  });
}
