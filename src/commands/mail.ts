/** `portcullis mail test`: whether mails arrive, and how they look. */

import { Command, Option } from 'commander';
import { OperatorError } from '../core/errors.ts';
import { mailSender, signature } from '../signon/mail/letter.ts';
import { mailCatalogues } from '../signon/mail/texts/catalogue.ts';
import { languages, type StoredLanguage } from '../signon/visitor.ts';
import { createOutput } from './shell/output.ts';
import { withWorkspace } from './shell/workspace.ts';

export function mailCommands(): Command {
  const mail = new Command('mail').description('the mails that the service sends');
  mail
    .command('test')
    .description('send one mail now and say how it went; without SMTP_URL into the outbox')
    .argument('<address>', 'to whom')
    .addOption(new Option('--language <code>', 'of the text').choices(languages).default('en'))
    .option('--json', 'print the result as JSON')
    .action(async (to: string, flags: { language: StoredLanguage; json?: boolean }) => {
      const output = createOutput(flags.json === true);
      if (!/^[^\s<>"@]{1,64}@[^\s<>"@]{1,253}$/.test(to)) {
        throw new OperatorError(`'${to.slice(0, 80)}' is not a mail address`);
      }
      await withWorkspace(async (workspace) => {
        const { config, log } = workspace;
        // Loaded here, because the other commands start faster without it.
        const { lookAtTls, transportOf } = await import('./shell/mailing.ts');
        const { language } = flags;
        const [link, service] = [`${config.baseUrl}/`, signature(mailSender(config))];
        const text = mailCatalogues[language].test({ link, service });
        // Of another connection, and by the same rules.
        const tls = config.smtpUrl === undefined ? undefined : await lookAtTls(config.smtpUrl);
        const transport = transportOf(workspace, log);
        try {
          await transport.send({ to, language, link, ...text });
        } catch (error) {
          throw new OperatorError(`the mail was not taken: ${(error as Error).message}`);
        } finally {
          await transport.close();
        }
        const where = config.smtpUrl === undefined ? 'outbox' : new URL(config.smtpUrl).host;
        output.line(
          where === 'outbox'
            ? `written to ${config.dataDir}/outbox: there is no SMTP_URL`
            : `${where} took the mail to ${to}, ${tls ?? 'TLS unknown'}`,
        );
        output.result({ to, language, by: where, tls });
      });
    });
  return mail;
}
