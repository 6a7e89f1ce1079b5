/**
 * `portcullis reference` and `portcullis routes`: the pages docs/CLI.md, docs/SETTINGS.md and docs/ROUTES.md, made of
 * the tree of commands, of the schema of the settings and of the declarations of endpoints. Nothing is opened.
 */

import type { Command } from 'commander';
import * as v from 'valibot';
import { type SettingGroup, settingGroups } from '../config.ts';
import { columns, markdownTable } from '../core/text-table.ts';
import { costText, type Endpoint, limitsOf } from '../web/guard/endpoint.ts';
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
with one line that names it. An empty value counts as absent. In a file, a value with \`#\` or quotes stands in quotes. Of a name that is one of these but for
a slip the log and \`portcullis doctor\` tell.

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

// Routes: every path that the server answers.

/** A path as it is shown: one row of the table, or one object of `--json`. */
interface RouteRow {
  readonly method: string;
  readonly path: string;
  readonly who: string;
  readonly limits: readonly string[];
  readonly cost: string | undefined;
}

const heads = ['Path', 'Method', 'Who may call', 'Limits'] as const;

const documentHead = `# Routes

Every path of the service, in the order of the alphabet, made from the declarations that the server works by
(\`portcullis routes --markdown\`). "Limits" names the limits of clients (the numbers stand in
[limits](site/limits.md)) and what a request costs of an API key's quota. \`:name\` stands for one part of a path, \`/*\` for
the rest of one. HEAD is answered wherever GET is, unless the page says otherwise.

`;

/** Prints the table for a screen, as JSON, or as the page docs/ROUTES.md. */
export async function routes(output: Output, asMarkdown: boolean): Promise<void> {
  const { endpoints } = await import('../app/modules.ts');
  const facts = routeRows(endpoints);
  if (asMarkdown) output.line(routesDocument(facts).trimEnd());
  else for (const line of columns([[...heads], ...facts.map(cellsOf)])) output.line(line.trimEnd());
  output.result(facts);
}

/** Returns the facts of each endpoint by path, then by method. */
export function routeRows(endpoints: readonly Endpoint[]): RouteRow[] {
  return endpoints
    .map((declared) => ({
      method: declared.method,
      path: declared.path,
      who: declared.who,
      limits: limitsOf(declared),
      cost: costText(declared),
    }))
    .sort((a, b) => compare(a.path, b.path) || compare(a.method, b.method));
}

export function routesDocument(facts: readonly RouteRow[]): string {
  const cells = facts.map(({ path, ...rest }) => cellsOf({ ...rest, path: `\`${path}\`` }));
  return `${documentHead}${markdownTable(heads, cells)}\n`;
}

function cellsOf({ path, method, who, limits, cost }: RouteRow): string[] {
  return [path, method, who, [...limits, ...(cost === undefined ? [] : [cost])].join(', ')];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
