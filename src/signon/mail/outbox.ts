/**
 * Mail (and text messages) without a mail server: files in `DATA_DIR/outbox`, and their links in
 * the log. For development and first steps; a service with other people's addresses sets SMTP_URL.
 *
 * File names begin with a hash of the address or account, and those of mails have one of the
 * account that they are sent for, so that what was written to a person can be removed with the
 * account, to former addresses too. What was under way while the account was deleted is removed by
 * whoever wrote it: the deletion may have looked for it before. Bounded: the oldest files go first. The page
 * that shows the newest reads back what was written here and nothing else.
 */

import { mkdir, readdir, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { sha256 } from '../../core/crypto.ts';
import type { Log } from '../../core/log.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { logoId, type Mail, type MailSender, messageOf } from './mail-format.ts';
import type { MailTransport } from './mailer.ts';

const filesMax = 1_000;
const nameless: MailSender = { name: '', contact: undefined, logo: undefined };

export function openOutbox(options: {
  /** `DATA_DIR/outbox`; made when the first file is written. */
  folder: string;
  from: string;
  sender?: MailSender;
  clock: Clock;
  random: Random;
  log: Log;
  /** Returns whether a deletion of the account has begun, also in another process. */
  isErased: (accountId: string) => Promise<boolean>;
  /** Called with each mail that was written: the demo shows them to its user. */
  onMail?: ((mail: Mail) => void) | undefined;
}) {
  const { folder, from, sender = nameless, clock, random, log, isErased } = options;
  let files = 0;

  /** Returns the file's name; undefined when its account is being deleted, and then no file is left. */
  async function write(
    owner: string,
    extension: string,
    content: string | Buffer,
    account?: string,
  ): Promise<string | undefined> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const time = new Date(clock.now()).toISOString().replace(/[:.]/g, '-');
    const second = account === undefined ? '' : `-${ownerTag(account)}`;
    const name = `${ownerTag(owner)}-${time}-${randomToken(random, 4)}${second}.${extension}`;
    // A program that watches the folder sees the file whole or not at all.
    const unfinished = join(folder, `.${name}`);
    await writeFile(unfinished, content, { mode: 0o600, flag: 'wx' });
    await rename(unfinished, join(folder, name));
    // Asked after the file is there: either the deletion sees the file, or this sees the deletion.
    if (account !== undefined && (await isErased(account))) {
      await remove(name);
      return undefined;
    }
    await removeOldest();
    return name;
  }

  async function removeOldest(): Promise<void> {
    const names = await readdir(folder);
    files = Math.min(names.length, filesMax);
    if (names.length <= filesMax) return;
    const timeOf = (name: string) => name.slice(name.indexOf('-') + 1);
    names.sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1));
    for (const name of names.slice(0, names.length - filesMax)) await remove(name);
  }

  /** Another process may have removed it meanwhile, which is no error. */
  async function remove(name: string): Promise<void> {
    await unlink(join(folder, name)).catch((error) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  return {
    /** The number of files when this process last looked. */
    table: { name: 'outbox_files', used: () => files, limit: filesMax },
    mail: {
      async send(mail) {
        // Loaded by the first mail: most starts need none.
        const { createTransport } = await import('nodemailer');
        const composer = createTransport({
          streamTransport: true,
          buffer: true,
          newline: 'windows',
        });
        const { message } = await composer.sendMail(messageOf(mail, from, sender));
        const file = await write(mail.to, 'eml', message as Buffer, mail.account);
        if (file === undefined) return;
        log.info({ link: mail.link }, `mail written to outbox/${file}`);
        options.onMail?.(mail);
      },
      async close() {},
    } satisfies MailTransport,
    /** Writes a text message as a `.txt` file, on behalf of an account. */
    async writeMessage(accountId: string, to: string, text: string): Promise<void> {
      const file = await write(accountId, 'txt', `To: ${to}\n\n${text}\n`, accountId);
      if (file !== undefined) log.info(`text message written to outbox/${file}`);
    },
    newest: (): Promise<readonly OutboxMessage[]> => readOutbox(folder),
    /** Removes all mails to an address, or for an account. Returns the number of files removed. */
    async forget(owner: string): Promise<number> {
      const names = await readdir(folder).catch((error) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      const tag = ownerTag(owner);
      const theirs = names.filter(
        (name) => name.replace(/^\./, '').startsWith(`${tag}-`) || name.includes(`-${tag}.`),
      );
      for (const name of theirs) await remove(name);
      return theirs.length;
    },
  };
}

export type Outbox = ReturnType<typeof openOutbox>;

/**
 * Returns the function that replaces the mail about a deletion: here it would be a file with the person's address,
 * the only thing left of them, that nobody delivers.
 */
export function noDeletionNotice(log: Log): () => void {
  return () => log.info('deletion: no notice is mailed without SMTP_URL');
}

/** Returns 16 hex digits. */
function ownerTag(owner: string): string {
  return Buffer.from(sha256(`outbox ${owner}`))
    .toString('hex')
    .slice(0, 16);
}

export interface OutboxMessage {
  readonly kind: 'mail' | 'text';
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly to: string;
  /** Empty for a text message. */
  readonly subject: string;
  readonly text: string;
  /** The document that a mail program shows, its logo inside; undefined for a text message. */
  readonly html?: string | undefined;
}

const shownMax = 50;
/** A logo has 64 KiB at most, and base64 makes it a third longer. */
const fileBytesMax = 131_072;

/**
 * Returns the newest messages first: at most 50 files of 128 KiB. A file that can't be read, or was removed
 * meanwhile, is left out.
 */
async function readOutbox(folder: string): Promise<readonly OutboxMessage[]> {
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
  const { headers, body } = splitMessage(content);
  const to = headers.get('to') ?? '';
  const shared = { file, at: Math.round(mtimeMs), to: /<([^>]*)>/.exec(to)?.[1] ?? to };
  if (file.endsWith('.txt')) {
    return { kind: 'text', ...shared, subject: '', text: utf8(body).trim() };
  }
  const subject = decodeWords(headers.get('subject') ?? '');
  const parts = leavesOf({ headers, body });
  const text = decodeBody(partOf(parts, 'text/plain') ?? { headers, body });
  const html = partOf(parts, 'text/html');
  const logo = partOf(parts, 'image/png')?.body.replace(/[^\w+/=]/g, '');
  return {
    ...shared,
    kind: 'mail',
    subject,
    text: text.replaceAll('\r\n', '\n').trim(),
    html: html && decodeBody(html).replace(`cid:${logoId}`, `data:image/png;base64,${logo}`),
  };
}

interface MessagePart {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Returns the parts that hold no parts themselves, in their order. */
function leavesOf(part: MessagePart): MessagePart[] {
  const type = part.headers.get('content-type') ?? '';
  const boundary = /^multipart\/.*boundary="?([^";]+)/i.exec(type)?.[1];
  if (boundary === undefined) return [part];
  const pieces = part.body.split(`--${boundary}`).slice(1, -1);
  return pieces.flatMap((piece) => leavesOf(splitMessage(piece.replace(/^\r?\n/, ''))));
}

function partOf(parts: readonly MessagePart[], type: string): MessagePart | undefined {
  return parts.find(({ headers }) => headers.get('content-type')?.startsWith(type));
}

/** Splits a message: header names in lower case, folded lines joined. */
function splitMessage(content: string): MessagePart {
  const [, head = '', body = ''] = /^(.*?)\r?\n\r?\n(.*)$/s.exec(content) ?? [];
  const lines = head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { headers: new Map(headers), body };
}

function decodeBody({ headers, body }: MessagePart): string {
  switch (headers.get('content-transfer-encoding')?.toLowerCase()) {
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
