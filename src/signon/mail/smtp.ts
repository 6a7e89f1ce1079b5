/**
 * Mail over SMTP (nodemailer, loaded by the first mail). Addresses are passed as objects, so nothing in one is
 * parsed.
 *
 * Invariant: neither a password nor a mail goes to another machine without TLS, unless the URL says `tls=optional`.
 * Somebody between could else take STARTTLS out of what the server offers.
 */

import { TLSSocket } from 'node:tls';
import type { Transporter } from 'nodemailer';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { isLoopback } from '../../ip/special.ts';
import { type Mail, type MailSender, messageOf } from './mail-format.ts';
import type { MailTransport } from './mailer.ts';

const timeoutMs = 20_000;

/** Also called once a server that sends mails listens: its files may be replaced before the first one. */
export const loadMailLibrary = () => import('nodemailer');

export function smtpTransport(smtpUrl: string, from: string, sender: MailSender): MailTransport {
  const options = {
    ...connectionOf(smtpUrl),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // A mail is text that was made here: it must never include a file or an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  let transporter: Transporter | undefined;
  return {
    async send(mail: Mail) {
      const { createTransport } = await loadMailLibrary();
      transporter ??= createTransport(options);
      await transporter.sendMail(messageOf(mail, from, sender));
    },
    async close() {
      transporter?.close();
    },
  };
}

/** Connects and signs in, sends nothing. */
export async function checkSmtp(smtpUrl: string, waitMs: number): Promise<SmtpCheck> {
  const { createTransport } = await loadMailLibrary();
  const { default: Connection } = await import('nodemailer/lib/smtp-connection');
  const times = { connectionTimeout: waitMs, greetingTimeout: waitMs, socketTimeout: waitMs };
  const transport = createTransport({ ...connectionOf(smtpUrl), ...times });
  // The options are those that the transport read from the URL, so that both connect in the same way.
  const { options } = transport.transporter as unknown as {
    options: SMTPConnection.Options & { readonly auth?: SMTPConnection.Credentials };
  };
  const connection = new Connection({ ...options, ...times });
  try {
    await new Promise<void>((resolve, reject) => {
      connection.once('error', reject);
      connection.once('end', () => reject(new Error('the connection was closed')));
      connection.connect((error) => {
        if (error) reject(error);
        else if (options.auth === undefined) resolve();
        else connection.login(options.auth, (refused) => (refused ? reject(refused) : resolve()));
      });
    });
    const socket = (connection as unknown as { readonly _socket: unknown })._socket;
    const version = socket instanceof TLSSocket ? socket.getProtocol() : null;
    const isTrusted = socket instanceof TLSSocket && socket.authorized;
    connection.quit();
    return { refused: undefined, tls: version ?? undefined, isTrusted };
  } catch (error) {
    return { refused: (error as Error).message, tls: undefined, isTrusted: false };
  } finally {
    connection.close();
    transport.close();
  }
}

interface SmtpCheck {
  /** The error; undefined: the server accepts mails. */
  readonly refused: string | undefined;
  /** The version that was spoken, such as TLSv1.3; undefined: none. */
  readonly tls: string | undefined;
  /** The certificate is the host's and a known authority signed it. */
  readonly isTrusted: boolean;
}

/** Describes in words what a check found. */
export function tlsText({ tls, isTrusted }: SmtpCheck): string {
  if (tls === undefined) return 'without TLS';
  return isTrusted ? `over ${tls}` : `over ${tls}, with a certificate that is not checked`;
}

/** Returns the options for nodemailer, without parameters in the URL that would override other options. */
function connectionOf(smtpUrl: string): { readonly url: string; readonly requireTLS: boolean } {
  const url = new URL(smtpUrl);
  const isOptional = url.searchParams.get('tls') === 'optional';
  for (const key of ['tls', 'requireTLS', 'ignoreTLS', 'opportunisticTLS', 'secure']) {
    url.searchParams.delete(key);
  }
  return { url: url.href, requireTLS: !isOptional && !isOnThisMachine(url) };
}

/**
 * Returns whether the mail server is on this machine: such a one often has no certificate, and
 * nobody is between. The DNS may be asked for a name below `localhost`, so that is another machine.
 */
export function isOnThisMachine({ hostname }: URL): boolean {
  return isLoopback(hostname) && !/.\.localhost\.?$/i.test(hostname);
}
