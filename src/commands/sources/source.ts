/** `portcullis source …`: lists that the server fetches by itself. */

import { Command, InvalidArgumentError, Option } from 'commander';
import { durationMs, durationRule } from '../../config/durations.ts';
import { OperatorError } from '../../core/errors.ts';
import { dayMs, daySeconds, hourMs, hourSeconds, minuteMs } from '../../core/time.ts';
import type { OutputOf } from '../../operations/catalog.ts';
import { runOperation } from '../../operations/client.ts';
import {
  confidenceDefault,
  goodFormats,
  type ListFormatName,
  seedFormats,
} from '../../reputation/lists/import/parse.ts';
import { type ServiceName, serviceNames } from '../../reputation/lists/known-services.ts';
import type { SourceOrder } from '../../reputation/lists/subscriptions/orders.ts';
import { sourceName } from '../lists.ts';
import { columns, createOutput, grouped } from '../shell/output.ts';

interface Flags {
  readonly json?: boolean;
}

interface AddFlags extends Flags {
  readonly format: ListFormatName;
  readonly every: number;
  readonly source?: string;
  readonly confidence: number;
  readonly hold: number;
  readonly knownGood?: boolean;
  readonly service?: ServiceName;
  readonly documentation?: boolean;
}

const everyMsMax = 30 * dayMs;
const holdDaysDefault = 30;
const urlCharsMax = 2_000;

function every(text: string): number {
  const ms = durationMs(text);
  if (ms !== undefined && ms >= minuteMs && ms <= everyMsMax) return ms;
  throw new InvalidArgumentError(`It ${durationRule}, from 1m to 30d.`);
}

export function sourceCommands(
  wholeNumber: (min: number, max: number) => (text: string) => number,
): Command {
  const source = new Command('source').description('lists that the running server fetches itself');
  source
    .command('add')
    .description('fetch a list again and again; the running server begins within seconds')
    .argument('<url>', 'an http(s) address; gzip is detected')
    .addOption(
      new Option('--format <format>', 'how the list is written')
        .choices([...new Set([...seedFormats, ...goodFormats]), 'anon'])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--every <duration>', 'how often, such as 30m, 6h or 1d')
        .argParser(every)
        .default(6 * hourMs, '6h'),
    )
    .option('--source <name>', 'name of the list (default: from the address)')
    .addOption(
      new Option('--confidence <score>', 'score of rows that bring none')
        .argParser(wholeNumber(0, 100))
        .default(confidenceDefault),
    )
    .addOption(
      new Option('--hold <days>', 'how long the rows hold while no download is good')
        .argParser(wholeNumber(1, 3_650))
        .default(holdDaysDefault),
    )
    .option('--known-good', 'the list names services of which reports have no effect')
    .addOption(
      new Option('--service <what>', 'with --known-good: what its ranges belong to').choices(
        serviceNames,
      ),
    )
    .option('--documentation', 'take documentation ranges too (RFC 5737, RFC 3849): for tests')
    .option('--json', 'print the source as JSON')
    .action(add);
  source
    .command('list')
    .description('sources with their age, rows, last changes and failures')
    .option('--json', 'print the sources as JSON')
    .action(list);
  command(source, 'refresh', 'fetch it now, however long it still has');
  command(source, 'accept', 'take the download that was held because it shrank');
  command(source, 'pause', 'fetch it no more; its rows stay until they end');
  command(source, 'resume', 'fetch it again, from now on');
  source
    .command('remove')
    .description('fetch it no more and take its rows back')
    .argument('<name>', 'as list shows it')
    .option('--json', 'print the source as JSON')
    .action(remove);
  return source;
}

/** A command that changes the row and says so. */
function command(source: Command, name: SourceOrder, description: string): void {
  source
    .command(name)
    .description(description)
    .argument('<name>', 'as list shows it')
    .option('--json', 'print the source as JSON')
    .action(async (of: string, flags: Flags) => {
      const output = createOutput(flags.json === true);
      const row = await runOperation(`source ${name}`, { source: of });
      const due = row.dueAt === null ? '' : 'the running server fetches it within seconds';
      output.line(`${of}: ${due || 'it is fetched no more'}`);
      output.result(row);
    });
}

async function add(given: string, flags: AddFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  if (!URL.canParse(given) || given.length > urlCharsMax) {
    throw new OperatorError('the address of the list is not valid');
  }
  if (flags.hold * dayMs < 2 * flags.every) {
    throw new OperatorError('--hold must be twice as long as --every, or longer');
  }
  checkFormat(flags);
  const url = new URL(given);
  url.hash = '';
  const row = await runOperation('source add', {
    url: url.href,
    source: sourceName(flags.source, url.href),
    format: flags.format,
    confidence: flags.confidence,
    hold: flags.hold,
    everyMs: flags.every,
    knownGood: flags.knownGood,
    service: flags.service,
    documentation: flags.documentation,
  });
  output.line(`${row.name}: the running server fetches it, ${row.url}`);
  output.result(row);
}

function checkFormat({ format, knownGood = false, service }: AddFlags): void {
  const formats: readonly string[] = knownGood ? goodFormats : [...seedFormats, 'anon'];
  if (!formats.includes(format)) {
    throw new OperatorError(
      knownGood
        ? `--known-good reads ${goodFormats.join(', ')}`
        : `--format ${format} goes with --known-good`,
    );
  }
  if (service !== undefined && !knownGood) {
    throw new OperatorError('--service goes with --known-good');
  }
}

async function list(flags: Flags): Promise<void> {
  const output = createOutput(flags.json === true);
  const sources = await runOperation('source list', {});
  const header = ['source', 'state', 'rows', 'age', 'last change', 'bad lines', 'failures', 'from'];
  const lines = sources.map((one) => [
    one.name,
    one.state,
    grouped(one.rows),
    ageText(one.ageSeconds),
    `+${grouped(one.added)} -${grouped(one.removed)}`,
    grouped(one.badLines),
    grouped(one.failures),
    one.url,
  ]);
  if (lines.length > 0) for (const line of columns([header, ...lines])) output.line(line);
  for (const one of sources) for (const line of remarks(one)) output.line(`  ${one.name}: ${line}`);
  if (sources.length === 0) output.line('there is no source yet');
  output.result(sources);
}

function remarks(one: OutputOf<'source add'>): string[] {
  const lines: string[] = [];
  if (one.failure !== null) lines.push(one.failure);
  if (one.heldRows !== null) {
    lines.push(
      `held: ${grouped(one.heldRows)} rows are less than half of what was there; source accept takes them`,
    );
  }
  for (const { line, reason, text } of one.samples) {
    lines.push(`line ${grouped(line)}: ${reason}: ${text}`);
  }
  return lines;
}

async function remove(name: string, flags: Flags): Promise<void> {
  const output = createOutput(flags.json === true);
  const row = await runOperation('source remove', { source: name });
  output.line(`${name}: it is fetched no more, and its rows are taken back`);
  output.result(row);
}

function ageText(seconds: number | null): string {
  if (seconds === null) return 'never';
  if (seconds < hourSeconds) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.floor(seconds / hourSeconds)} h`
    : `${Math.floor(seconds / daySeconds)} d`;
}
