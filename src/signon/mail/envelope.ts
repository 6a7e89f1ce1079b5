/** A mail as nodemailer takes it: addresses as objects, no line break in any header. */

import type { Mail } from './mailer.ts';

/** @param name of the sender, beside its address */
export function envelopeOf({ to, subject, text }: Mail, from: string, name = '') {
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
