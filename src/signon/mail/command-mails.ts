/** Mails that a command sends itself. It waits for them, since its process ends afterwards. */

import type { OperationTools } from '../../contracts/operation.ts';
import type { Language } from '../../core/language.ts';
import { ok, type Result } from '../../core/result.ts';
import { createInvitations, type Invitation, type Invitations } from '../people/invitations.ts';
import { createLinks, pageLinks } from '../people/links.ts';
import { createResetLinks, type ResetLinks } from '../people/recovery.ts';
import { isErased, openPeople } from '../people.ts';
import { createSecurityLog } from '../sessions/security-log.ts';
import { mailSender } from './mail-format.ts';
import { createMailer, type Delivery, type MailTransport } from './mailer.ts';
import { createNotices, type Notices } from './notices.ts';
import { type Outbox, openOutbox } from './outbox.ts';
import { checkSmtp, smtpTransport, tlsText } from './smtp.ts';

/** Pauses between tries of a mail that a command sends, milliseconds. */
const retryDelaysMs = [2_000];

export function commandMailer(tools: OperationTools) {
  const sender = mailSender(tools.config);
  const transport = transportOf(tools);
  return createMailer({ ...tools, transport, sender, limit: () => 0, retryDelaysMs });
}

/** Runs with notices that inform the owner of a change. @returns also whether all mails were sent */
export async function withNotices<T>(
  tools: OperationTools,
  run: (notices: Notices) => Promise<T>,
): Promise<{ value: T; sent: boolean }> {
  const ends: Delivery[] = [];
  const mailer = commandMailer(tools);
  const pages = pageLinks(tools.config.baseUrl);
  const notices = createNotices({ ...tools, mailer, pages, onEnd: (how) => ends.push(how) });
  try {
    const value = await run(notices);
    await notices.idle();
    return { value, sent: ends.length > 0 && ends.every((end) => end === 'sent') };
  } finally {
    await Promise.all([mailer.close(), notices.close()]);
  }
}

/**
 * Sends a link for a new password. In the server its limits apply; without one the account's open links are the
 * limit.
 * @returns also whether the mail is on its way
 */
export async function sendResetLink(
  tools: OperationTools & { readonly sendReset?: ResetLinks['sendByOperator'] },
  accountId: string,
): Promise<Result<{ sent: boolean }>> {
  if (tools.sendReset !== undefined) {
    const done = await tools.sendReset(accountId);
    return done.ok ? ok({ sent: true }) : done;
  }
  const done = await withOwnMailer(tools, (parts) =>
    createResetLinks(parts).sendByOperator(accountId),
  );
  return done.ok ? ok({ sent: done.value.sent }) : done;
}

/** Invites an address, by the server's mailer or, without one, by one of the command's own. */
export async function sendInvitation(
  tools: OperationTools & { readonly invite?: Invitations['invite'] },
  address: string,
  language: Language,
): Promise<Result<{ invitation: Invitation; sent: boolean }>> {
  if (tools.invite !== undefined) {
    const done = await tools.invite(address, language);
    return done.ok ? ok({ invitation: done.value, sent: true }) : done;
  }
  const done = await withOwnMailer(tools, (parts) =>
    createInvitations({ ...tools, ...parts }).invite(address, language),
  );
  return done.ok ? ok({ invitation: done.value.done, sent: done.value.sent }) : done;
}

type MailedLinkParts = Parameters<typeof createResetLinks>[0] &
  Pick<Parameters<typeof createInvitations>[0], 'people' | 'pages'>;

/** Runs `work`, which mails a link, with a mailer of its own. `sent`: the mail server took all mails. */
async function withOwnMailer<T>(
  tools: OperationTools,
  work: (parts: MailedLinkParts) => Promise<Result<T>>,
): Promise<Result<{ done: T; sent: boolean }>> {
  const mailer = commandMailer(tools);
  const ends: Promise<Delivery>[] = [];
  try {
    const links = createLinks(tools);
    await links.restore();
    const done = await work({
      store: tools.store,
      links,
      pages: pageLinks(tools.config.baseUrl),
      people: openPeople(tools.store),
      securityLog: createSecurityLog(tools),
      mailer: {
        post(...asked) {
          ends.push(mailer.deliver(...asked));
          return true;
        },
      },
    });
    if (!done.ok) return done;
    const sent = (await Promise.all(ends)).every((end) => end === 'sent');
    return ok({ done: done.value, sent });
  } finally {
    await mailer.close();
  }
}

const pollMsMax = 5_000;

/** Words for how the mail server is spoken to; undefined: it does not answer. */
export async function inspectMailTls(smtpUrl: string): Promise<string | undefined> {
  const check = await checkSmtp(smtpUrl, pollMsMax);
  return check.refused === undefined ? tlsText(check) : undefined;
}

export function transportOf(tools: OperationTools): MailTransport {
  const { smtpUrl, mailFrom } = tools.config;
  if (smtpUrl !== undefined) return smtpTransport(smtpUrl, mailFrom, mailSender(tools.config));
  return outboxOf(tools).mail;
}

export function outboxOf(tools: OperationTools): Outbox {
  const { config, store } = tools;
  return openOutbox({
    ...tools,
    sender: mailSender(config),
    folder: `${config.dataDir}/outbox`,
    from: config.mailFrom,
    isErased: (id) => isErased(store, id),
  });
}
