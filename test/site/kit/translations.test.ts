/** The plugin's French: every text has one, and the file that WordPress reads follows from it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unzipSync } from 'fflate';
import { compileTranslation, openKit } from '../../../src/site/kit/open-kit.ts';
import { translationsFor } from '../../../src/site/words.ts';
import { pluginTexts, readMo } from '../../support/docs/plugin-texts.ts';

const folder = 'portcullis-sign-in/';
const kit = unzipSync(openKit().bytes);
const plugin = unzipSync(kit['wordpress/portcullis-sign-in.zip']!);
const text = (name: string) => Buffer.from(plugin[folder + name]!).toString('utf8');
const originals = (po: string) =>
  [...po.matchAll(/^msgid "(.+)"$/gm)].map(([, quoted]) => JSON.parse(`"${quoted}"`) as string);

test('every text of the plugin has a French one, and no French one is left over', () => {
  const wanted = pluginTexts(
    (name) => text(name),
    Object.keys(plugin).map((name) => name.slice(folder.length)),
  );
  assert.ok(wanted.length > 50, `${wanted.length} texts`);
  // One spelling in English.
  assert.deepEqual(
    [...wanted, text('readme.txt')].filter((one) => /e-mail/i.test(one)),
    [],
  );
  assert.deepEqual(originals(text('languages/portcullis-sign-in.pot')).sort(), wanted);
  assert.deepEqual(originals(text('languages/portcullis-sign-in-fr_FR.po')).sort(), wanted);
  const french = readMo(plugin[`${folder}languages/portcullis-sign-in-fr_FR.mo`]!);
  assert.deepEqual([...french.keys()].filter((key) => key !== '').sort(), wanted);
  assert.match(french.get('')!, /^Content-Type: text\/plain; charset=UTF-8$/m);
  const same = wanted.filter((one) => french.get(one) === one);
  assert.deepEqual(same, ['CAPTCHA', 'Portcullis']);
  // After a plain space a colon could begin a line.
  assert.deepEqual(
    [...french].filter(([key, value]) => key !== '' && / [:;?!]/.test(value)),
    [],
  );
});

test('/connect names the page of settings as the menu of WordPress does', () => {
  const [, english] = /add_options_page\(\s*__\( '([^']+)'/.exec(
    text('includes/class-settings-page.php'),
  )!;
  const french = readMo(plugin[`${folder}languages/portcullis-sign-in-fr_FR.mo`]!).get(english!);
  for (const [language, path] of [
    ['en', `Settings › ${english}`],
    ['fr', `Réglages › ${french}`],
  ] as const) {
    const [, said] = translationsFor(language).connect.steps.fillIn;
    assert.match(said ?? '', new RegExp(`^${path}[.:\u00a0]`), said);
  }
});

test('the file follows from its source, byte for byte', () => {
  const name = 'languages/portcullis-sign-in-fr_FR.mo';
  const made = Buffer.from(compileTranslation(text('languages/portcullis-sign-in-fr_FR.po')));
  assert.deepEqual(Buffer.from(plugin[folder + name]!), made);
});

const header = 'msgid ""\nmsgstr "Language: fr\\n"\n';

test('the order of the source does not matter; escapes and joined lines are read', () => {
  const a = 'msgid "a \\"b\\" \\\\ c"\nmsgstr "x"\n';
  const b = '#: file\nmsgid ""\n"long "\n"text\\n"\nmsgstr "y\\t"\n"é"\n';
  const mo = compileTranslation(`${header}\n${a}\n${b}`);
  assert.deepEqual(Buffer.from(compileTranslation(`${b}${header}${a}`)), Buffer.from(mo));
  assert.deepEqual(
    [...readMo(mo)],
    [
      ['', 'Language: fr\n'],
      ['a "b" \\ c', 'x'],
      ['long text\n', 'y\té'],
    ],
  );
});

test('what is unfinished or not understood is an error', () => {
  for (const [po, error] of [
    ['msgid "a"\nmsgstr ""\n', /not translated: 'a'/],
    ['msgid "a"\nmsgstr "x"\nmsgid "a"\nmsgstr "y"\n', /translated twice: 'a'/],
    ['#, fuzzy\nmsgid "a"\nmsgstr "x"\n', /line 1 /],
    ['msgid "a"\nmsgid_plural "b"\nmsgstr[0] "x"\n', /line 2 /],
    ['msgctxt "c"\nmsgid "a"\nmsgstr "x"\n', /line 1 /],
    ['msgid "a\nmsgstr "x"\n', /line 1 /],
    ['msgid "a\\q"\nmsgstr "x"\n', /line 1 /],
    ['msgid "a"\nmsgid "b"\nmsgstr "x"\n', /out of step at 'a'/],
    ['msgid "a"\n', /out of step at 'a'/],
    ['"a"\n', /begins within/],
  ] as const) {
    assert.throws(() => compileTranslation(po), error, po);
  }
});
