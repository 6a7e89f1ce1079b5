/** The operation that tries the way of mails. */

import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import type { Config } from '../../config.ts';
import { type OperationTools, operationsOn, refuse } from '../../contracts/operation.ts';
import { choice, textOf } from '../../contracts/operation-parameters.ts';
import { OperatorError } from '../../core/errors.ts';
import { type Language, languages } from '../../core/language.ts';
import { fail } from '../../core/result.ts';
import { inspectMailTls, transportOf } from './command-mails.ts';
import { mailSender, signature } from './mail-format.ts';
import type { Mailer } from './mailer.ts';
import { mailText } from './texts.ts';

interface MailTools extends OperationTools {
  /** The running server's, which tries a mail again. */
  readonly mailer?: Mailer;
}

const operation = operationsOn<MailTools>();

const byOf = ({ smtpUrl }: Pick<Config, 'smtpUrl'>): string =>
  smtpUrl === undefined ? 'outbox' : new URL(smtpUrl).host;

/** A mail server has this long to answer; the queue tries longer. */
const mailWaitMs = 3_000;
const mailNotTaken =
  'The mail server has not taken it yet. It is tried again for six minutes; the log has the reason.';
const mailsFull = 'The queue of mails is full: the log says since when.';
const mailsEnough =
  'It was not sent: the mail server refused it each time, or the address had all its mails of this hour.';

/** Sends the test mail by the server's queue, as all others, and waits for a moment only: a page waits for it. */
async function sendByServer(
  { config }: Pick<OperationTools, 'config'>,
  mailer: Mailer,
  to: string,
  language: Language,
): Promise<void> {
  const ended = mailer.deliver(to, language, 'test', { link: `${config.baseUrl}/` });
  const late = new AbortController();
  const { signal } = late;
  const wait = sleep(mailWaitMs, 'late' as const, { signal, ref: false }).catch(() => undefined);
  const how = await Promise.race([ended, wait]).finally(() => late.abort());
  if (how === 'sent') return;
  if (how === 'late') refuse(fail('conflict', mailNotTaken));
  refuse(fail('conflict', how === 'not_now' ? mailsFull : mailsEnough));
}

export const testMail = operation({
  name: 'mail test',
  purpose: 'send one mail now and say how it went; without SMTP_URL into the outbox',
  parameters: {
    to: {
      schema: v.pipe(
        textOf(320),
        v.regex(
          /^[^\s<>"@]{1,64}@[^\s<>"@]{1,253}$/,
          ({ input }) => `'${input.slice(0, 80)}' is not a mail address`,
        ),
      ),
      value: 'address',
      help: 'to whom',
      isArgument: true,
      kept: 'account',
    },
    language: {
      schema: v.optional(choice(languages), 'en'),
      value: 'code',
      help: 'of the text',
    },
  },
  audit: 'required',
  async run(tools, { to, language }, call) {
    const { config } = tools;
    if (call.isOnConsole && tools.mailer !== undefined) {
      await sendByServer(tools, tools.mailer, to, language);
      return { to, language, by: byOf(config), tls: undefined, dataDir: config.dataDir };
    }
    // This opens a connection of its own, with the same TLS rules as the transport.
    const tls = config.smtpUrl === undefined ? undefined : await inspectMailTls(config.smtpUrl);
    const link = `${config.baseUrl}/`;
    const text = mailText(
      language,
      'test',
      { link },
      signature(mailSender(config)),
      tools.clock.now(),
    );
    const transport = transportOf(tools);
    try {
      await transport.send({ to, language, link, ...text });
    } catch (error) {
      throw new OperatorError(`the mail was not taken: ${(error as Error).message}`);
    } finally {
      await transport.close();
    }
    return { to, language, by: byOf(config), tls, dataDir: config.dataDir };
  },
  outcome: ({ by }) => (by === 'outbox' ? by : 'sent'),
  lines: ({ to, by, tls, dataDir }) => [
    by === 'outbox'
      ? `written to ${dataDir}/outbox: there is no SMTP_URL`
      : `${by} took the mail to ${to}, ${tls ?? 'TLS unknown'}`,
  ],
  json: ({ dataDir: _, ...done }) => done,
});
