/** The texts of the WordPress plugin that are translated, and what a .mo file says of them. */

const call =
  /\b(?:__|_e|esc_html__|esc_html_e|esc_attr__|esc_attr_e)\(\s*'((?:[^'\\]|\\.)*)',\s*'portcullis-sign-in'/g;
const calls = /\b(?:__|_e|_n|_x|_ex|_nx|esc_(?:html|attr)_(?:_|e|x))\(/g;

/**
 * Sorted, each once: the calls in PHP and the description in the plugin's head, which WordPress
 * translates too. Throws on a call that it can't read, so that none goes without a translation.
 */
export function pluginTexts(read: (name: string) => string, names: readonly string[]): string[] {
  const texts = new Set<string>();
  for (const name of names.filter((one) => one.endsWith('.php') && !one.startsWith('lib/'))) {
    const code = read(name);
    const found = [...code.matchAll(call)];
    const called = [...code.matchAll(calls)].length;
    if (found.length !== called) throw new Error(`${name}: ${called} calls, ${found.length} read`);
    for (const [, text] of found) texts.add(text!.replaceAll(/\\(['\\])/g, '$1'));
    const description = /^ \* Description: +(.+)$/m.exec(code)?.[1];
    if (description !== undefined) texts.add(description);
  }
  return [...texts].sort();
}

/** Original to translation, in the order of the file. */
export function readMo(mo: Uint8Array): Map<string, string> {
  const bytes = Buffer.from(mo);
  if (bytes.readUInt32LE(0) !== 0x950412de) throw new Error('not a .mo file');
  const [count, originalsAt, translatedAt] = [8, 12, 16].map((at) => bytes.readUInt32LE(at));
  const at = (table: number, i: number): string => {
    const length = bytes.readUInt32LE(table + 8 * i);
    const start = bytes.readUInt32LE(table + 8 * i + 4);
    if (bytes[start + length] !== 0) throw new Error('a text without its end');
    return bytes.toString('utf8', start, start + length);
  };
  return new Map(
    Array.from({ length: count! }, (_, i) => [at(originalsAt!, i), at(translatedAt!, i)]),
  );
}
