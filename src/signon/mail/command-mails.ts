/** Mails that a command sends itself: it waits for them, since nothing goes on after it. */

import type { OperationTools } from '../../contracts/operation.ts';
import type { Log } from '../../core/log.ts';
import { ok, type Result } from '../../core/result.ts';
import { createLinks, pageLinks } from '../people/links.ts';
import { createResetLinks, type ResetLinks } from '../people/recovery.ts';
import { isErased, openPeople } from '../people.ts';
import { createSecurityLog } from '../sessions/security-log.ts';
import { mailSender } from './letter.ts';
import { createMailer, type Delivery, type MailTransport } from './mailer.ts';
import { createNotices, type Notices } from './notices.ts';
import { openOutbox } from './outbox.ts';
import { checkSmtp, smtpTransport, tlsText } from './smtp.ts';

/** Pauses between tries of a mail that a command sends, milliseconds. */
export const retryDelaysMs = [2_000];

/**
 * Runs with the notices that inform an owner of a change. @returns also whether all mails were sent
 */
export async function withNotices<T>(
  workspace: OperationTools,
  run: (notices: Notices) => Promise<T>,
): Promise<{ value: T; sent: boolean }> {
  const { config, clock } = workspace;
  const ends: Delivery[] = [];
  const mailer = createMailer({
    transport: transportOf(workspace, workspace.log),
    sender: mailSender(config),
    clock,
    log: workspace.log,
    limit: () => 0,
    retryDelaysMs,
  });
  const pages = pageLinks(config.baseUrl);
  const notices = createNotices({ ...workspace, mailer, pages, onEnd: (how) => ends.push(how) });
  try {
    const value = await run(notices);
    await notices.idle();
    return { value, sent: ends.length > 0 && ends.every((end) => end === 'sent') };
  } finally {
    await Promise.all([mailer.close(), notices.close()]);
  }
}

/**
 * Sends a link for a new password. In the server its own limits count; without one the open links of the
 * account do. @returns also whether the mail is on its way
 */
export async function sendResetLink(
  workspace: OperationTools & { readonly sendReset?: ResetLinks['sendByOperator'] },
  accountId: string,
): Promise<Result<{ sent: boolean }>> {
  if (workspace.sendReset !== undefined) {
    const done = await workspace.sendReset(accountId);
    return done.ok ? ok({ sent: true }) : done;
  }
  const { config, clock, store, log } = workspace;
  const sender = mailSender(config);
  const transport = transportOf(workspace, log);
  const mailer = createMailer({ transport, sender, clock, log, limit: () => 0, retryDelaysMs });
  const ends: Promise<Delivery>[] = [];
  try {
    const links = createLinks(workspace);
    await links.restore();
    const done = await createResetLinks({
      store,
      links,
      pages: pageLinks(config.baseUrl),
      people: openPeople(store),
      securityLog: createSecurityLog(workspace),
      mailer: {
        post(to, language, name, values, account) {
          ends.push(mailer.deliver(to, language, name, values, account));
          return true;
        },
      },
    }).sendByOperator(accountId);
    if (!done.ok) return done;
    return ok({ sent: (await Promise.all(ends)).every((end) => end === 'sent') });
  } finally {
    await mailer.close();
  }
}

const pollMsMax = 5_000;

/** Words for how the mail server is spoken to; undefined: it does not answer. */
export async function lookAtTls(smtpUrl: string): Promise<string | undefined> {
  const check = await checkSmtp(smtpUrl, pollMsMax);
  return check.refused === undefined ? tlsText(check) : undefined;
}

export function transportOf(
  { config, store, clock, random }: OperationTools,
  log: Log,
): MailTransport {
  const { smtpUrl, mailFrom } = config;
  if (smtpUrl !== undefined) return smtpTransport(smtpUrl, mailFrom, mailSender(config));
  const folder = `${config.dataDir}/outbox`;
  const options = { folder, from: mailFrom, clock, random, log };
  return openOutbox({ ...options, isErased: (id) => isErased(store, id) }).mail;
}
