/** Mail over SMTP (nodemailer). Addresses are passed as objects, so nothing in one is parsed. */

import { createTransport } from 'nodemailer';
import { envelopeOf } from './envelope.ts';
import type { Mail, MailTransport } from './mailer.ts';

const timeoutMs = 20_000;

export function smtpTransport(smtpUrl: string, from: string): MailTransport {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // A mail is text that was made here: it must never pull in a file or an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send(mail: Mail) {
      await transport.sendMail(envelopeOf(mail, from));
    },
    async close() {
      transport.close();
    },
  };
}

/** Connects and signs in, sends nothing. @returns what is wrong, undefined: nothing */
export async function checkSmtp(smtpUrl: string, waitMs: number): Promise<string | undefined> {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: waitMs,
    greetingTimeout: waitMs,
    socketTimeout: waitMs,
  });
  try {
    await transport.verify();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    transport.close();
  }
}
