/**
 * A translation as WordPress reads it: the .mo file of a .po file (GNU gettext, "The Format of GNU
 * MO Files"). Its bytes follow from the texts alone. Made with the kit, so it is never older than
 * its source. Plural forms, contexts and unfinished texts are errors: the plugin has none.
 */

const magic = 0x950412de;
const headerBytes = 28;
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', '\\': '\\' };

interface Entry {
  readonly original: Buffer;
  readonly translated: Buffer;
}

/** @throws when the text is not a whole translation */
export function moOf(po: string): Uint8Array {
  // The format wants them in order: WordPress 6.2 to 6.4 looks originals up in it.
  const entries = readPo(po).sort((a, b) => Buffer.compare(a.original, b.original));
  const count = entries.length;
  const originalsAt = headerBytes;
  const translatedAt = originalsAt + 8 * count;
  const textAt = translatedAt + 8 * count;
  const tables = Buffer.alloc(textAt);
  const header = [magic, 0, count, originalsAt, translatedAt, 0, textAt];
  for (const [i, word] of header.entries()) tables.writeUInt32LE(word, 4 * i);
  const texts: Buffer[] = [];
  let end = textAt;
  function put(text: Buffer, at: number): void {
    tables.writeUInt32LE(text.length, at);
    tables.writeUInt32LE(end, at + 4);
    texts.push(text, Buffer.alloc(1));
    end += text.length + 1;
  }
  for (const [i, { original }] of entries.entries()) put(original, originalsAt + 8 * i);
  for (const [i, { translated }] of entries.entries()) put(translated, translatedAt + 8 * i);
  return Buffer.concat([tables, ...texts]);
}

function readPo(po: string): Entry[] {
  const texts: { keyword: string; text: string }[] = [];
  for (const [i, line] of po.split('\n').entries()) {
    if (line === '' || (line.startsWith('#') && !line.startsWith('#,'))) continue;
    const [, keyword, quoted] = /^(?:(msgid|msgstr) )?"((?:[^"\\]|\\[nt"\\])*)"$/.exec(line) ?? [];
    if (quoted === undefined) throw new Error(`line ${i + 1} of a translation: ${line}`);
    const text = quoted.replaceAll(/\\(.)/g, (_, sign: string) => escapes[sign]!);
    if (keyword !== undefined) texts.push({ keyword, text });
    else if (texts.length > 0) texts.at(-1)!.text += text;
    else throw new Error('a translation begins within a text');
  }
  const entries: Entry[] = [];
  const seen = new Set<string>();
  for (let i = 0; i < texts.length; i += 2) {
    const [original, translated] = [texts[i]!, texts[i + 1]];
    if (original.keyword !== 'msgid' || translated?.keyword !== 'msgstr') {
      throw new Error(`a translation out of step at '${original.text}'`);
    }
    if (translated.text === '') throw new Error(`not translated: '${original.text}'`);
    if (seen.has(original.text)) throw new Error(`translated twice: '${original.text}'`);
    seen.add(original.text);
    entries.push({
      original: Buffer.from(original.text),
      translated: Buffer.from(translated.text),
    });
  }
  return entries;
}
