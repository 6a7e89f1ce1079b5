/**
 * The newest files of the outbox, read back for the page that shows them. Reads what outbox.ts wrote
 * and nothing else: one part of plain text, as quoted-printable, base64 or as it is. At most 50 files
 * of 64 KiB; a file that can't be read, or went meanwhile, is left out.
 */

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface OutboxMessage {
  readonly kind: 'mail' | 'text';
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly to: string;
  /** Empty for a text message. */
  readonly subject: string;
  readonly text: string;
}

const shownMax = 50;
const fileBytesMax = 65_536;

/** Returns the newest messages first. */
export async function readOutbox(folder: string): Promise<readonly OutboxMessage[]> {
  const names = await readdir(folder).catch(() => [] as string[]);
  const whole = names.filter((name) => /^[0-9a-f]{16}-[^/]*\.(eml|txt)$/.test(name));
  const timeOf = (name: string) => name.slice(name.indexOf('-') + 1);
  whole.sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
  const read = await Promise.all(
    whole.slice(0, shownMax).map((name) => readMessage(folder, name).catch(() => undefined)),
  );
  return read.filter((message) => message !== undefined);
}

async function readMessage(folder: string, file: string): Promise<OutboxMessage | undefined> {
  const path = join(folder, file);
  const { mtimeMs, size } = await stat(path);
  if (size > fileBytesMax) return undefined;
  const content = await readFile(path, 'latin1');
  const { headers, body } = partsOf(content);
  const facts = { file, at: Math.round(mtimeMs), to: addressOf(headers.get('to') ?? '') };
  if (file.endsWith('.txt')) {
    return { kind: 'text', ...facts, subject: '', text: utf8(body).trim() };
  }
  const subject = decodeWords(headers.get('subject') ?? '');
  const text = decodeBody(body, headers.get('content-transfer-encoding') ?? '');
  return { kind: 'mail', ...facts, subject, text: text.replaceAll('\r\n', '\n').trim() };
}

/** Splits a message: header names in lower case, folded lines joined. */
function partsOf(content: string): { headers: Map<string, string>; body: string } {
  const [, head = '', body = ''] = /^(.*?)\r?\n\r?\n(.*)$/s.exec(content) ?? [];
  const lines = head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { headers: new Map(headers), body };
}

function addressOf(field: string): string {
  return /<([^>]*)>/.exec(field)?.[1] ?? field;
}

function decodeBody(body: string, encoding: string): string {
  switch (encoding.toLowerCase()) {
    case 'quoted-printable':
      return utf8(unquoted(body.replace(/=\r?\n/g, '')));
    case 'base64':
      return Buffer.from(body, 'base64').toString('utf8');
    default:
      return utf8(body);
  }
}

/** Decodes the words of RFC 2047, such as `=?UTF-8?Q?caf=C3=A9?=`; a character may be split between two words. */
function decodeWords(field: string): string {
  const joined = field.replace(/\?=\s+=\?utf-8\?q\?/gi, '');
  return joined
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_all, how: string, word: string) =>
      how.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('utf8')
        : utf8(unquoted(word.replaceAll('_', ' '))),
    );
}

/** Returns the bytes as latin1 characters. */
function unquoted(text: string): string {
  return text.replace(/=([0-9A-Fa-f]{2})/g, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
