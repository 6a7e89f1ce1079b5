/**
 * `portcullis reference`: the pages docs/CLI.md and docs/SETTINGS.md, made of the tree of commands and of the
 * schema of the settings.
 */

import type { Command } from 'commander';
import * as v from 'valibot';
import { type SettingGroup, settingGroups } from '../config.ts';
import { markdownTable } from '../core/text-table.ts';
import type { Output } from './shell/output.ts';

export const pages = ['commands', 'settings'] as const;
export type ReferencePage = (typeof pages)[number];

export function reference(page: ReferencePage, output: Output, root: Command): void {
  const text = page === 'commands' ? commandsDocument(root) : settingsDocument();
  output.line(text.trimEnd());
  output.result({ page, text });
}

// Settings.

const settingsHead = `# Settings

Made from the program (\`portcullis reference settings\`). Settings come from the environment, or from a file named by
\`portcullis --settings <file> …\`; what the environment has goes first. They are checked at the start: a bad one stops it
with one line that names it. An empty value counts as absent.

A \`HOST\` that other machines reach wants https in \`BASE_URL\` and \`SECURE_URL\`, and \`SMTP_URL\`; \`serve --insecure\` starts
without. \`portcullis init\` writes a file to begin with.
`;

export function settingsDocument(): string {
  const groups = Object.entries<SettingGroup>(settingGroups).map(([title, group]) => {
    const rows = Object.entries(group).map(([name, { rule, text, unset }]) => [
      `\`${name}\``,
      unset ?? `\`${v.getDefault(rule)}\``,
      text,
    ]);
    return `## ${title}\n\n${markdownTable(['Setting', 'Default', 'What it does'], rows)}\n`;
  });
  return `${settingsHead}\n${groups.join('\n')}`;
}

// Commands.

const commandsHead = `# Commands

Made from the program (\`portcullis reference commands\`); each has \`--help\`.

A command asks the running server, which honours the change when the command returns, or works without one; \`restore\`,
\`compact\` and \`master-key replace\` want the server stopped. A command ends with 0, or with 1 and one line on standard
error. All but \`serve\` have \`--json\`. Lists may be gzipped. Bad lines are counted and skipped, and the first few are shown;
a list without one good row changes nothing. Settings: [SETTINGS.md](SETTINGS.md).
`;

/** Each command at the end of a branch, with the words that lead to it. */
function leaves(command: Command, path = command.name()): { path: string; command: Command }[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`));
}

/** Text of a cell: a bar would end it. */
const cell = (text: string) => text.replaceAll('|', '\\|');

function usageOf({ path, command }: { path: string; command: Command }): string {
  const args = command.registeredArguments.map((one) =>
    one.required ? ` <${one.name()}>` : ` [${one.name()}]`,
  );
  return `${path}${args.join('')}`;
}

function optionRows(command: Command): string[][] {
  const shown = command.options.filter(({ long }) => long !== '--json');
  return [
    ...command.registeredArguments.map((one) => [
      `\`<${cell(one.name())}>\``,
      cell(one.description),
    ]),
    ...shown.map((option) => {
      const { flags, description, argChoices, defaultValue, mandatory } = option;
      const notes = [
        ...(mandatory ? ['required'] : []),
        ...(argChoices === undefined ? [] : [argChoices.map((one) => `\`${one}\``).join(', ')]),
        ...(typeof defaultValue === 'string' ? [`default \`${defaultValue}\``] : []),
      ];
      const more = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
      return [`\`${cell(flags)}\``, cell(`${description}${more}`)];
    }),
  ];
}

export function commandsDocument(root: Command): string {
  const heads = [...new Set(root.commands.map((child) => child.helpGroup()))];
  const groups = heads.map((head) => {
    const members = root.commands.filter((child) => child.helpGroup() === head);
    const parts = members
      .flatMap((child) => leaves(child))
      .map((leaf) => {
        const rows = optionRows(leaf.command);
        const options =
          rows.length === 0 ? '' : `\n${markdownTable(['Option', 'What it does'], rows)}\n`;
        return `### ${leaf.path}\n\n\`portcullis ${cell(usageOf(leaf))}\`: ${leaf.command.description()}.\n${options}`;
      });
    return `## ${head.replace(/:$/, '')}\n\n${parts.join('\n')}`;
  });
  return `${commandsHead}\n${groups.join('\n')}`;
}
