/**
 * A mail, its envelope for nodemailer, and the HTML twin of its text for mail programs that show it: the same
 * words, the link as a button and as text, the operator's name and logo. Nothing is fetched: the logo comes with
 * the mail. All of it is escaped; styles stand on the elements, where every program reads them.
 */

import { readLogo } from '../../config/logo.ts';
import type { Accent } from '../../core/accent.ts';
import type { Language } from '../../core/language.ts';
import { isLoopback } from '../../ip/special.ts';

export interface Mail {
  readonly to: string;
  readonly language: Language;
  readonly subject: string;
  readonly text: string;
  /** The words on the link in the HTML twin. */
  readonly button?: string;
  /** The link in the text, for a developer without a mail server; no transport to real mailboxes may log it. */
  readonly link?: string | undefined;
  /** The id of the account that it is sent for: the address may be its former one, or never be its own. */
  readonly account?: string | undefined;
}

/** The sender of the mails, as people know it. */
export interface MailSender {
  readonly name: string;
  /** A mail address or a page, for questions. */
  readonly contact: string | undefined;
  /** The bytes of a PNG: few mail programs show an SVG. */
  readonly logo: Uint8Array | undefined;
  readonly accent?: Accent | undefined;
  /** The name that the operator chose, which subjects end with. */
  readonly subjectEnd?: string | undefined;
}

interface SenderSettings {
  readonly baseUrl: string;
  readonly siteName?: string | undefined;
  readonly siteContact?: string | undefined;
  /** A path. */
  readonly siteLogo?: string | undefined;
  readonly siteAccent?: Accent | undefined;
}

/** Returns the lines under the text of a mail. */
export function signature({ name, contact }: Pick<MailSender, 'name' | 'contact'>): string {
  return contact === undefined ? name : `${name}\n${contact}`;
}

/** The content id of the logo inside of the mail. */
export const logoId = 'mark@portcullis';

/** @throws OperatorError for a logo that can't be used */
export function mailSender({
  baseUrl,
  siteName,
  siteContact,
  siteLogo,
  siteAccent,
}: SenderSettings): MailSender {
  const logo = siteLogo === undefined ? undefined : readLogo(siteLogo);
  const { hostname } = new URL(baseUrl);
  return {
    // A name that every machine has says nothing of who writes.
    name: siteName ?? (isLoopback(hostname) ? 'Portcullis' : hostname),
    contact: siteContact,
    logo: logo?.type === 'image/png' ? logo.bytes : undefined,
    accent: siteAccent,
    subjectEnd: siteName,
  };
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};
const escaped = (text: string) => text.replace(/[&<>"]/g, (found) => entities[found]!);

const buttonLabels: Readonly<Record<Language, string>> = {
  en: 'Open the page',
  fr: 'Ouvrir la page',
};
function buttonStyle(own: Accent | undefined): string {
  const { accent, on } = own?.light ?? { accent: '#16416f', on: '#ffffff' };
  return `display:inline-block;padding:12px 20px;border-radius:6px;background:${accent};color:${on};font-weight:600;text-decoration:none`;
}

/** Returns the paragraphs of the text, without the signature: that is the foot. */
function blocksOf(text: string): readonly string[] {
  const [words = ''] = text.split('\n\n-- \n');
  return words.split(/\n{2,}/).filter((block) => block !== '');
}

function drawBlock(
  block: string,
  { language, link, button }: Mail,
  accent: Accent | undefined,
): string {
  if (block === link) {
    const href = escaped(link);
    return `<p><a href="${href}" style="${buttonStyle(accent)}">${escaped(button ?? buttonLabels[language])}</a></p>
<p class="note" style="font-size:13px;word-break:break-all">${href}</p>`;
  }
  // The block holds facts, a line each.
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

/**
 * Returns the mail as nodemailer takes it: addresses as objects, no line break in any header.
 * @param sender its name stands next to its address
 */
function envelopeOf(
  { to, subject: about, text }: Mail,
  from: string,
  { name, subjectEnd }: Pick<MailSender, 'name' | 'subjectEnd'>,
) {
  const subject = subjectEnd === undefined ? about : `${about} · ${subjectEnd}`;
  for (const value of [to, from, subject, name]) {
    if (/\p{Cc}/u.test(value)) throw new TypeError('a mail header holds a control character');
  }
  return {
    from: { name, address: from },
    to: { name: '', address: to },
    subject,
    text,
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** Returns the mail as nodemailer takes it, as text and as HTML: its reader chooses which one is shown. */
export function messageOf(mail: Mail, from: string, sender: MailSender) {
  const { logo } = sender;
  const attachment = { filename: 'mark.png', cid: logoId, contentType: 'image/png' };
  return {
    ...envelopeOf(mail, from, sender),
    html: htmlOf(mail, sender),
    attachments: logo === undefined ? [] : [{ ...attachment, content: Buffer.from(logo) }],
  };
}

function htmlOf(mail: Mail, { name, contact, logo, accent }: MailSender): string {
  const logoImage =
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
<p style="margin-top:0;font-weight:600">${logoImage}${escaped(name)}</p>
<h1 style="font-size:20px;line-height:1.3">${escaped(mail.subject)}</h1>
${blocksOf(mail.text)
  .map((block) => drawBlock(block, mail, accent))
  .join('\n')}
</div>
<p class="foot" style="max-width:560px;margin:16px auto 0;font-size:13px;color:#4d5d6a">${escaped(name)}${contact === undefined ? '' : drawContact(contact)}</p>
</body>
</html>
`;
}
