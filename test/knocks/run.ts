/**
 * `npm run knocks [-- NAME… ] [--seed N] [--save]`: all knocks one after the other, or those named; about
 * 20 minutes. Each prints its seed, so that a run that fails can be had again. `--save` writes the
 * results into docs/RELIABILITY.md.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { commandKnocks } from './commands.ts';
import { connectionKnocks } from './connections.ts';
import { fileKnocks } from './files.ts';
import type { Knock } from './knock.ts';
import { soak } from './soak.ts';

const page = 'docs/RELIABILITY.md';
const begin = '<!-- results -->';
const end = '<!-- end of results -->';
const knocks: readonly Knock[] = [...connectionKnocks, ...fileKnocks, ...commandKnocks, soak];

interface Row {
  readonly knock: Knock;
  readonly ok: boolean;
  readonly seconds: number;
  readonly said: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, save: { type: 'boolean', default: false } },
});
const strangers = positionals.filter((name) => !knocks.some((knock) => knock.name === name));
if (strangers.length > 0) {
  const names = knocks.map(({ name }) => name).join(' ');
  process.stderr.write(`no knock is named ${strangers.join(', ')}: there are ${names}\n`);
  process.exit(1);
}
const chosen = knocks.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed);

const rows: Row[] = [];
for (const knock of chosen) {
  process.stdout.write(`${knock.name}, seed ${seed} … `);
  const row = await run(knock);
  rows.push(row);
  process.stdout.write(`${row.ok ? 'ok' : 'FAILED'}, ${row.seconds.toFixed(0)} s: ${row.said}\n`);
}
if (values.save) save(rows);
process.exit(rows.every(({ ok }) => ok) ? 0 : 1);

async function run(knock: Knock): Promise<Row> {
  const startMs = performance.now();
  const done = await knock.run({ seed }).then(
    (said) => ({ ok: true, said }),
    (error: Error) => ({ ok: false, said: error.message }),
  );
  return { knock, ...done, seconds: (performance.now() - startMs) / 1_000 };
}

/** Rows of knocks that did not run stay. */
function save(fresh: readonly Row[]): void {
  const text = readFileSync(page, 'utf8');
  const [before, rest = ''] = text.split(begin);
  const [table = '', after] = rest.split(end);
  const kept = new Map(
    [...table.matchAll(/^\| `([\w-]+)`.*$/gm)].map(([line, name]) => [name!, line]),
  );
  for (const { knock, ok, seconds, said } of fresh) {
    const result = `${ok ? 'kept' : 'BROKEN'}: ${said.replaceAll('|', '/').replaceAll('\n', ' ')}`;
    const date = new Date().toISOString().slice(0, 10);
    kept.set(
      knock.name,
      `| \`${knock.name}\` | ${knock.promise} | ${result} | ${seconds.toFixed(0)} s, ${date} |`,
    );
  }
  const lines = knocks.flatMap(({ name }) => kept.get(name) ?? []);
  const head = '| Knock | Promise | Last result | Took |\n| --- | --- | --- | --- |';
  const machine = `On ${cpus().length} cores of ${cpus()[0]!.model}, Node ${process.version}.`;
  const results = `\n\n${machine}\n\n${[head, ...lines].join('\n')}\n\n`;
  writeFileSync(page, before + begin + results + end + after);
}
