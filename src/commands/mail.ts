/** `portcullis mail test`: whether mails arrive, and how they look. */

import { Command, Option } from 'commander';
import { OperatorError } from '../core/errors.ts';
import { runOperation } from '../operations/client.ts';
import { languages, type StoredLanguage } from '../signon/visitor.ts';
import { createOutput } from './shell/output.ts';

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
      const done = await runOperation('mail test', { to, language: flags.language });
      output.line(
        done.by === 'outbox'
          ? `written to ${done.dataDir}/outbox: there is no SMTP_URL`
          : `${done.by} took the mail to ${to}, ${done.tls ?? 'TLS unknown'}`,
      );
      output.result({ to, language: done.language, by: done.by, tls: done.tls });
    });
  return mail;
}
