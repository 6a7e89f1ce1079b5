/**
 * The HTML twin of a mail's text, for mail programs that show it: the same words, the link as a button and
 * as text, the operator's name and mark. Nothing is fetched: the mark comes with the mail. All of it is
 * escaped; styles stand on the elements, where every program reads them.
 */

import { readFileSync } from 'node:fs';
import { OperatorError } from '../../core/errors.ts';
import type { StoredLanguage } from '../visitor.ts';
import type { Mail } from './mailer.ts';

/** Who the mails come from, as people know them. */
export interface MailSender {
  readonly name: string;
  /** A mail address or a page, for questions. */
  readonly contact: string | undefined;
  /** A PNG. */
  readonly logo: Uint8Array | undefined;
}

export interface SenderSettings {
  readonly baseUrl: string;
  readonly siteName?: string | undefined;
  readonly siteContact?: string | undefined;
  /** A file. */
  readonly siteLogo?: string | undefined;
}

const logoBytesMax = 65_536;
const pngBegin = Buffer.from('89504e470d0a1a0a', 'hex');
/** The lines under the text of a mail. */
export function signature({ name, contact }: Pick<MailSender, 'name' | 'contact'>): string {
  return contact === undefined ? name : `${name}\n${contact}`;
}

/** Name of the mark inside of the mail. */
export const logoId = 'mark@portcullis';

/** @throws OperatorError for a mark that can't be used */
export function mailSender({
  baseUrl,
  siteName,
  siteContact,
  siteLogo,
}: SenderSettings): MailSender {
  return {
    name: siteName ?? new URL(baseUrl).hostname,
    contact: siteContact,
    logo: siteLogo === undefined ? undefined : readLogo(siteLogo),
  };
}

function readLogo(path: string): Uint8Array {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new OperatorError(`SITE_LOGO ${path} can't be read: ${(error as Error).message}`);
  }
  if (!bytes.subarray(0, pngBegin.length).equals(pngBegin)) {
    throw new OperatorError(`SITE_LOGO ${path} is not a PNG picture`);
  }
  if (bytes.length > logoBytesMax) {
    throw new OperatorError(`SITE_LOGO ${path} has more than ${logoBytesMax / 1_024} KiB`);
  }
  return bytes;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};
const escaped = (text: string) => text.replace(/[&<>"]/g, (found) => entities[found]!);

const buttonLabels: Readonly<Record<StoredLanguage, string>> = {
  en: 'Open the page',
  fr: 'Ouvrir la page',
};
const buttonStyle =
  'display:inline-block;padding:12px 20px;border-radius:6px;background:#16416f;color:#ffffff;font-weight:600;text-decoration:none';

/** Paragraphs of the text, without the signature: that is the foot. */
function blocksOf(text: string): readonly string[] {
  const [words = ''] = text.split('\n\n-- \n');
  return words.split(/\n{2,}/).filter((block) => block !== '');
}

function drawBlock(block: string, { language, link }: Mail): string {
  if (block === link) {
    const href = escaped(link);
    return `<p><a href="${href}" style="${buttonStyle}">${buttonLabels[language]}</a></p>
<p class="note" style="font-size:13px;word-break:break-all">${href}</p>`;
  }
  // Facts, a line each.
  if (block.startsWith('  ')) {
    return `<p style="margin-left:16px">${block
      .split('\n')
      .map((line) => escaped(line.trim()))
      .join('<br>')}</p>`;
  }
  return `<p>${escaped(block).replaceAll('\n', ' ')}</p>`;
}

function drawContact(contact: string): string {
  const href = contact.includes('://') ? contact : `mailto:${contact}`;
  return ` · <a href="${escaped(href)}" style="color:inherit">${escaped(contact)}</a>`;
}

export function htmlOf(mail: Mail, { name, contact, logo }: MailSender): string {
  const mark =
    logo === undefined
      ? ''
      : `<img src="cid:${logoId}" alt="" height="32" style="vertical-align:middle"> `;
  return `<!doctype html>
<html lang="${mail.language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<title>${escaped(mail.subject)}</title>
<style>@media (prefers-color-scheme:dark){body{background:#0c131a!important;color:#e9eef1!important}
.sheet{background:#131d27!important;border-color:#263441!important}.note,.foot{color:#a3b2be!important}}</style></head>
<body style="margin:0;padding:24px 12px;background:#f2f4f3;color:#13202d;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif">
<div class="sheet" style="max-width:560px;margin:0 auto;padding:24px;border:1px solid #d3dad9;border-radius:10px;background:#ffffff">
<p style="margin-top:0;font-weight:600">${mark}${escaped(name)}</p>
<h1 style="font-size:20px;line-height:1.3">${escaped(mail.subject)}</h1>
${blocksOf(mail.text)
  .map((block) => drawBlock(block, mail))
  .join('\n')}
</div>
<p class="foot" style="max-width:560px;margin:16px auto 0;font-size:13px;color:#4d5d6a">${escaped(name)}${contact === undefined ? '' : drawContact(contact)}</p>
</body>
</html>
`;
}
