/** Mail over SMTP (nodemailer). Addresses are passed as objects, so nothing in one is parsed. */

import { createTransport } from 'nodemailer';
import { envelopeOf } from './envelope.ts';
import { htmlOf, logoId, type MailSender } from './letter.ts';
import type { Mail, MailTransport } from './mailer.ts';

const timeoutMs = 20_000;

/** As text and as HTML: what a mail program shows is its reader's choice. */
export function smtpTransport(smtpUrl: string, from: string, sender: MailSender): MailTransport {
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
      const { logo } = sender;
      const attachments =
        logo === undefined
          ? []
          : [
              {
                filename: 'mark.png',
                content: Buffer.from(logo),
                cid: logoId,
                contentType: 'image/png',
              },
            ];
      await transport.sendMail({
        ...envelopeOf(mail, from, sender.name),
        html: htmlOf(mail, sender),
        attachments,
      });
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
