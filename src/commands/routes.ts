/** `portcullis routes`: every path that the server answers, from the declarations; nothing is opened. */

import { columns, markdownTable } from '../core/text-table.ts';
import { costText, type Endpoint, limitsOf } from '../web/guard/endpoint.ts';
import type { Output } from './shell/output.ts';

/** A path as it is shown: one row of the table, or one object of `--json`. */
interface RouteFacts {
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
  const facts = routeFacts(endpoints);
  if (asMarkdown) output.line(routesDocument(facts).trimEnd());
  else for (const line of columns([[...heads], ...facts.map(cellsOf)])) output.line(line.trimEnd());
  output.result(facts);
}

/** Returns the facts of each endpoint by path, then by method. */
export function routeFacts(endpoints: readonly Endpoint[]): RouteFacts[] {
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

export function routesDocument(facts: readonly RouteFacts[]): string {
  const cells = facts.map(({ path, ...rest }) => cellsOf({ ...rest, path: `\`${path}\`` }));
  return `${documentHead}${markdownTable(heads, cells)}\n`;
}

function cellsOf({ path, method, who, limits, cost }: RouteFacts): string[] {
  return [path, method, who, [...limits, ...(cost === undefined ? [] : [cost])].join(', ')];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
