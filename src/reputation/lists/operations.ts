/** Operations on third-party lists: load them, and have the server fetch them. */

import * as v from 'valibot';
import type { MasterKey } from '../../access/keys/master-key.ts';
import {
  expect,
  type OperationCall,
  type OperationTools,
  operationsOn,
  refuse,
} from '../../contracts/operation.ts';
import {
  argument,
  choice,
  flag,
  listedName,
  shortText,
  textOf,
  wholeNumber,
} from '../../contracts/operation-parameters.ts';
import { type ScoreBand, scoreBand } from '../../contracts/reputation.ts';
import { dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { createScheduler, createSemaphore } from '../../core/scheduling.ts';
import { listNameOf, listNameShape } from '../../core/text.ts';
import { columnsOr, counted, grouped } from '../../core/text-table.ts';
import { dayMs, durationMs, durationRule, minuteMs } from '../../core/time.ts';
import { systemSource } from '../../geo/sources.ts';
import type { IpFamily } from '../../ip/address.ts';
import { contains, parsePrefix } from '../../ip/prefix.ts';
import { sourceSecretPrefix } from '../../storage/keys.ts';
import { pagesUnder } from '../../storage/store.ts';
import { hostsOfPeers } from '../federation/subscribe/peers.ts';
import { createAllowlist } from '../ranges/operator-ranges.ts';
import type { RowBatch } from '../state/events.ts';
import { openDestinations, sourceFault, urlLabel } from './import/download.ts';
import type { ListFormatName } from './import/parse.ts';
import {
  type CollectedRows,
  confidenceDefault,
  goodFormats,
  type ParseOptions,
  pathShape,
  seedFormats,
} from './import/parse.ts';
import type { BadLine } from './import/rows.ts';
import { type ImportStats, type ServiceName, serviceNames } from './import/rows.ts';
import { findList, loadList } from './load-list.ts';
import { offeredLists } from './offered-lists.ts';
import { type FetchJob, fetchBounds, fetchInThread } from './subscriptions/refresher.ts';
import {
  addSubscription,
  changeSubscription,
  forgetSubscription,
  headerCharsMax,
  listSubscriptions,
  orderSource,
  readCredentials,
  type SourceOrder,
  type Subscription,
  sealCredentials,
  sourceState,
  userCharsMax,
} from './subscriptions/subscriptions.ts';

/** A list as it was read: its rows, and what came of its lines. */
export interface ParsedList {
  readonly collected: CollectedRows;
  readonly stats: ImportStats;
  /** The format that it was read in. */
  readonly format: ListFormatName;
}

export interface ListTools extends OperationTools {
  readonly masterKey: MasterKey;
  /** Reads the list that the call brings along, in a thread of its own. */
  readonly readList: (how: ParseOptions, call: OperationCall) => Promise<ParsedList>;
}

const operation = operationsOn<ListTools>();

const listArgument = argument(
  shortText,
  'file|url',
  'a file, - for standard input, or an http(s) address; gzip and zip are detected',
);
const source = {
  schema: v.optional(
    v.pipe(
      v.string(),
      v.regex(listNameShape, 'It may hold letters, digits and . : @ + - _, at most 64.'),
    ),
  ),
  value: 'name',
  help: 'name of the list; loading the same name again replaces it (default: from the file name)',
  kept: true,
} as const;
const hold = {
  schema: v.optional(wholeNumber(1, 3_650), '30'),
  value: 'days',
  help: 'how long the list holds after its last load',
  kept: true,
} as const;
const documentation = {
  schema: flag,
  help: 'take documentation ranges too (RFC 5737, RFC 3849): for demos and tests',
  kept: true,
} as const;
const confidence = {
  schema: v.optional(wholeNumber(0, 100)),
  value: 'score',
  help: `score of rows that bring none (default: ${confidenceDefault})`,
  kept: true,
} as const;
const knownGood = {
  schema: flag,
  help: 'the list names services of which reports have no effect: crawlers, content networks, resolvers',
  kept: true,
} as const;
const service = {
  schema: v.optional(choice(serviceNames)),
  value: 'what',
  help: 'with --known-good: what its ranges belong to',
  kept: true,
} as const;
const listFormats = [...new Set([...seedFormats, ...goodFormats])] as const;

interface ListKind {
  readonly format: ListFormatName;
  readonly knownGood: boolean;
  readonly confidence?: number | undefined;
  readonly service?: ServiceName | undefined;
}

/** @throws OperatorError when what was said of a list does not go together */
function refuseMixed({
  format,
  knownGood: isGood,
  confidence: score,
  service: of,
}: ListKind): void {
  const formats: readonly string[] = isGood ? goodFormats : [...seedFormats, 'anon'];
  if (!formats.includes(format)) {
    const other = isGood ? `with --known-good it is ${formats.join(', ')}` : 'add --known-good';
    throw new OperatorError(`--format ${format} is of another kind of list: ${other}`);
  }
  if (of !== undefined && !isGood) throw new OperatorError('--service belongs to --known-good');
  if (score !== undefined && isGood) {
    throw new OperatorError('--confidence does not go with --known-good');
  }
}

interface ListInput {
  /** The name of the file or the host of the address, as messages show it. */
  readonly label: string;
  readonly source?: string | undefined;
  readonly hold: number;
  readonly documentation: boolean;
}

/** Loads the list whose bytes come along. It is read to its end before anything is written. */
async function load(
  tools: ListTools,
  list: 'seed' | 'anon' | 'good',
  input: ListInput,
  kind: Pick<ListKind, 'format'> & Partial<ListKind>,
  call: OperationCall,
) {
  const { label, source: name = listNameOf(label), hold: holdDays } = input;
  if (/^https?:\/\//i.test(label) && URL.canParse(label)) {
    const peerHosts = await hostsOfPeers(tools.store);
    await openDestinations({ allowPrivate: true, peerHosts }).admit(new URL(label));
  }
  const { clock } = tools;
  const startMs = clock.monotonicMs();
  const { format, confidence: score = 0, service: of } = kind;
  const rules = { format, confidence: score, service: of };
  const systems = systemSource(tools.config.geoAsnMmdb);
  const how = { ...rules, label, systems, allowDocumentation: input.documentation };
  const { collected, stats } = await tools.readList(how, call);
  const total = collected.rows;
  call.progress({ verb: 'written', done: 0, total });
  const seq = expect(
    await loadList({
      ...tools,
      list,
      source: name,
      holdDays,
      batches: collected.batches,
      onRows(done) {
        // Nothing was taken back yet: who loads it again finds the former list, and what came of this one.
        call.signal.throwIfAborted();
        call.progress({ verb: 'written', done, total });
      },
    }),
  );
  const seconds = (clock.monotonicMs() - startMs) / 1_000;
  return {
    source: name,
    rows: total,
    duplicates: collected.duplicates,
    badLines: stats.badLines,
    notPublic: stats.notPublic,
    rented: stats.rented,
    normalised: stats.normalised,
    seconds: Math.round(seconds * 100) / 100,
    seq: String(seq),
    samples: stats.samples,
  };
}

type LoadedList = Awaited<ReturnType<typeof load>>;

function loadedLines(loaded: LoadedList): string[] {
  const { rows, badLines, duplicates, notPublic, rented, normalised } = loaded;
  const asides = [
    [badLines, badLines === 1 ? 'line skipped' : 'lines skipped'],
    [duplicates, duplicates === 1 ? 'duplicate' : 'duplicates'],
    [notPublic, 'not public, left out'],
    [rented, 'of rented machines or of nobody named, left out'],
    [normalised, 'with host bits cleared'],
  ] as const;
  return [
    `${loaded.source}: ${counted(rows, 'row')} loaded in ${loaded.seconds.toFixed(1)} s`,
    ...asides.filter(([count]) => count > 0).map(([count, what]) => `  ${grouped(count)} ${what}`),
    ...loaded.samples.map(
      ({ line, reason, text }) => `    line ${grouped(line)}: ${reason}: ${text}`,
    ),
  ];
}

const path = {
  schema: v.optional(
    v.pipe(v.string(), v.regex(pathShape, 'It must be names with dots between, such as data.ip.')),
  ),
  value: 'path',
  help: 'with json and ndjson: where an element has its address, such as data.ip (default: by its name)',
  kept: true,
} as const;

/** @throws OperatorError when the format has no path */
function withPath(format: ListFormatName, at: string | undefined): ListFormatName {
  if (at === undefined) return format;
  if (format !== 'json' && format !== 'ndjson') {
    const fault = 'A path belongs to the formats json and ndjson alone.';
    return refuse(fail('invalid_parameter', fault, 'path'));
  }
  return `${format}:${at}`;
}

const listFormat = { value: 'format', help: 'how the list is written', kept: true } as const;

export const seedList = operation({
  name: 'seed',
  purpose: 'load a list of bad addresses; loading it again refreshes it',
  parameters: {
    label: listArgument,
    format: { ...listFormat, schema: choice(listFormats) },
    path,
    confidence,
    knownGood,
    service,
    source,
    hold,
    documentation,
  },
  audit: 'required',
  async run(tools, input, call) {
    refuseMixed(input);
    if (input.knownGood) return load(tools, 'good', input, { ...input, confidence: 0 }, call);
    const score = input.confidence ?? confidenceDefault;
    const format = withPath(input.format, input.path);
    return load(tools, 'seed', input, { ...input, format, confidence: score }, call);
  },
  lines: loadedLines,
});

export const loadAnonymous = operation({
  name: 'anon',
  purpose: 'load a list of anonymous exits: Tor bulk list or exit-addresses',
  parameters: { label: listArgument, source, hold, documentation },
  audit: 'required',
  run: (tools, input, call) => load(tools, 'anon', input, { format: 'anon' }, call),
  lines: loadedLines,
});

export const loadKnownGoodList = operation({
  name: 'known-good',
  purpose: 'the same as seed --known-good --format plain',
  parameters: { label: listArgument, source, hold, documentation },
  audit: 'required',
  run: (tools, input, call) => load(tools, 'good', input, { format: 'plain' }, call),
  lines: loadedLines,
});

/** No log keeps them. */
const header = {
  schema: v.optional(textOf(headerCharsMax)),
  value: "'name: value'",
  help: 'a header that the server of the list asks for; kept sealed, never shown again',
  control: { maxLength: headerCharsMax, mono: true, autocomplete: 'off' },
} as const;
const user = {
  schema: v.optional(textOf(userCharsMax)),
  value: 'name:password',
  help: 'a name and a password that it asks for; kept sealed, never shown again',
  control: { maxLength: userCharsMax, mono: true, autocomplete: 'off' },
} as const;

const urlCharsMax = 2_000;
const everyMsMax = 30 * dayMs;

/** Returns the time between two downloads; undefined for anything else. */
function everyIn(text: string): number | undefined {
  const ms = durationMs(text);
  return ms !== undefined && ms >= minuteMs && ms <= everyMsMax ? ms : undefined;
}

const addSourceUrl = argument(
  v.pipe(
    textOf(urlCharsMax),
    v.check((text) => URL.canParse(text), 'the address of the list is not valid'),
  ),
  'url',
  'an http(s) address; gzip and zip are detected',
);

interface SourceInput extends ListKind {
  readonly path?: string | undefined;
  readonly url: string;
  readonly every: string;
  readonly source?: string | undefined;
  readonly hold: number;
  readonly documentation: boolean;
  readonly header?: string | undefined;
  readonly user?: string | undefined;
}

/** @throws OperatorError where they would cross the Internet for all to read */
function credentialsFor(tools: ListTools, url: URL, given: Parameters<typeof readCredentials>[0]) {
  const credentials = readCredentials(given);
  if (credentials === undefined || url.protocol === 'https:' || tools.config.sourceAllowPrivate) {
    return credentials;
  }
  throw new OperatorError('a header or a password is sent over https alone');
}

/**
 * @throws OperatorError for an address that a list may not come from, such as a peer's: that is our own word
 * come back
 */
async function refuseFaulty({ store, config }: ListTools, url: URL): Promise<void> {
  const peerHosts = await hostsOfPeers(store);
  const destinations = openDestinations({ allowPrivate: config.sourceAllowPrivate, peerHosts });
  const fault = await sourceFault(url, destinations);
  if (fault !== undefined) throw new OperatorError(fault);
}

/** Has the running server fetch a list from now on. */
async function subscribe(tools: ListTools, input: SourceInput) {
  refuseMixed(input);
  const url = new URL(input.url);
  url.hash = '';
  const everyMs = everyIn(input.every)!;
  if (input.hold * dayMs < 2 * everyMs) {
    throw new OperatorError('--hold must be twice as long as --every, or longer');
  }
  await refuseFaulty(tools, url);
  const terms = {
    name: input.source ?? listNameOf(url.href),
    url: url.href,
    list: input.knownGood ? 'good' : input.format === 'anon' ? 'anon' : 'seed',
    format: withPath(input.format, input.path),
    confidence: input.confidence ?? confidenceDefault,
    holdDays: input.hold,
    allowDocumentation: input.documentation,
    service: input.service,
    everyMs,
  } as const;
  const at = tools.clock.now();
  const credentials = credentialsFor(tools, url, input);
  const sealed = credentials && sealCredentials(tools.masterKey, tools.random, terms, credentials);
  const row = expect(await addSubscription(tools.store, terms, at, sealed));
  return shownSource(row, at, sealed !== undefined);
}

export const addSource = operation({
  name: 'source add',
  purpose: 'fetch a list again and again; the running server begins within seconds',
  parameters: {
    url: addSourceUrl,
    format: { ...listFormat, schema: choice([...listFormats, 'anon']) },
    path,
    every: {
      schema: v.optional(
        v.pipe(
          v.string(),
          v.check((text) => everyIn(text) !== undefined, `It ${durationRule}, from 1m to 30d.`),
        ),
        '6h',
      ),
      value: 'duration',
      help: 'how often, such as 30m, 6h or 1d',
      kept: true,
    },
    source: { ...source, help: 'name of the list (default: from the address)' },
    confidence,
    hold: { ...hold, help: 'how long the rows hold while no download is good' },
    knownGood,
    service,
    documentation,
    header,
    user,
  },
  audit: 'required',
  run: subscribe,
  undo: ({ name }) => ({ operation: 'source remove', input: { name } }),
  outcome: ({ state }) => state,
  lines: ({ name, url }) => [`${name}: the running server fetches it, ${url}`],
});

export const listOffers = operation({
  name: 'source offers',
  purpose: 'lists that you may switch on, each with its terms',
  parameters: {},
  async run(tools) {
    const on = new Set((await listSubscriptions(tools.store)).map(({ name }) => name));
    return offeredLists.map((one) => ({ ...one, isOn: on.has(one.name) }));
  },
  lines: (offers) =>
    columnsOr(
      'there is no list',
      ['list', 'on', 'rows about', 'every', 'terms'],
      offers.map(({ name, isOn, rowsAbout = '-', every, terms }) => [
        name,
        isOn ? 'on' : '-',
        String(rowsAbout),
        every,
        terms,
      ]),
    ),
});

export const switchOn = operation({
  name: 'source on',
  purpose: 'fetch a list of those that source offers shows; read its terms first',
  parameters: {
    name: argument(
      choice(offeredLists.map(({ name }) => name)),
      'name',
      'as source offers shows it',
    ),
  },
  audit: 'required',
  async run(tools, { name }) {
    const {
      url,
      format,
      confidence: score,
      every,
    } = offeredLists.find((one) => one.name === name)!;
    const terms = { url, format, confidence: score, every, source: name, hold: 30 };
    return subscribe(tools, { ...terms, knownGood: false, documentation: false });
  },
  undo: ({ name }) => ({ operation: 'source remove', input: { name } }),
  outcome: ({ state }) => state,
  lines: ({ name, url }) => [`${name}: the running server fetches it, ${url}`],
});

export const previewSource = operation({
  name: 'source preview',
  purpose: 'read a list as it would be loaded, and say what it would do; nothing is kept',
  parameters: {
    url: addSourceUrl,
    format: {
      ...listFormat,
      schema: v.optional(choice([...listFormats, 'anon'])),
      help: 'how the list is written, where it is not recognised or not rightly',
    },
    path,
    confidence,
    header,
    user,
  },
  async run(
    tools,
    { url, format, path: at, confidence: score = confidenceDefault, ...given },
    call,
  ) {
    const allowPrivate = tools.config.sourceAllowPrivate;
    await refuseFaulty(tools, new URL(url));
    const allowed = (await createAllowlist(tools).list()).map(({ prefix }) => prefix);
    const how = {
      url: new URL(url).href,
      format: format === undefined && at === undefined ? 'auto' : withPath(format ?? 'json', at),
      confidence: score,
      systems: systemSource(tools.config.geoAsnMmdb),
      credentials: credentialsFor(tools, new URL(url), given),
      allowPrivate,
      peerHosts: await hostsOfPeers(tools.store),
      allowed,
    } as const;
    return expect(await previewList(how, call.signal));
  },
  lines: ({ format, rows, bands, badLines, samples, leftOut, clashes }) => [
    `${counted(rows, 'row')}, ${grouped(bands.malicious)} would be blocked; nothing is loaded`,
    `  read as ${format}`,
    ...(badLines > 0 ? [`  lines that are no rows: ${grouped(badLines)}`] : []),
    ...samples.map(({ line, reason, text }) => `    line ${grouped(line)}: ${reason}: ${text}`),
    ...(leftOut > 0 ? [`  not public, left out: ${grouped(leftOut)}`] : []),
    ...clashes.map((range) => `  on the allowlist: ${range}`),
  ],
});

export const listSources = operation({
  name: 'source list',
  purpose: 'sources with their age, rows, last changes and failures',
  parameters: {},
  async run(tools) {
    const now = tools.clock.now();
    const asking = new Set<string>();
    for await (const page of pagesUnder(tools.store, sourceSecretPrefix())) {
      for (const { key } of page) asking.add(Buffer.from(key.subarray(1, -1)).toString('utf8'));
    }
    return (await listSubscriptions(tools.store)).map((row) =>
      shownSource(row, now, asking.has(row.name)),
    );
  },
  lines(sources) {
    const heads = [
      'source',
      'state',
      'rows',
      'age',
      'last change',
      'bad lines',
      'failures',
      'from',
    ];
    const rows = sources.map((one) => [
      one.name,
      one.state,
      grouped(one.rows),
      ageText(one.ageSeconds),
      `+${grouped(one.added)} -${grouped(one.removed)}`,
      grouped(one.badLines),
      grouped(one.failures),
      one.isSecret ? `${one.url} (with a header or password)` : one.url,
    ]);
    const notes = sources.flatMap((one) => remarksOf(one).map((line) => `  ${one.name}: ${line}`));
    return [...columnsOr('there is no source yet', heads, rows), ...notes];
  },
});

type ShownSource = ReturnType<typeof shownSource>;

function remarksOf({ failure, heldRows, samples }: ShownSource): string[] {
  const held =
    heldRows !== null &&
    `held: ${grouped(heldRows)} rows are less than half of what was there; source accept takes them`;
  return [
    ...(failure === null ? [] : [failure]),
    ...(held ? [held] : []),
    ...samples.map(({ line, reason, text }) => `line ${grouped(line)}: ${reason}: ${text}`),
  ];
}

function ageText(seconds: number | null): string {
  if (seconds === null) return 'never';
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.floor(seconds / 3_600)} h`
    : `${Math.floor(seconds / 86_400)} d`;
}

async function stateOfSource(
  tools: OperationTools,
  { name }: { readonly name: string },
): Promise<string> {
  const row = (await listSubscriptions(tools.store)).find((one) => one.name === name);
  return row === undefined ? '' : sourceState(row);
}

function sourceOrder<const Order extends SourceOrder>(order: Order, purpose: string) {
  return operation({
    name: `source ${order}` as const,
    purpose,
    parameters: { name: listedName },
    audit: 'required',
    before: stateOfSource,
    async run(tools, { name }) {
      const at = tools.clock.now();
      return shownSource(expect(await orderSource(tools.store, name, order, at)), at);
    },
    undo: ({ name }) => {
      const back = order === 'pause' ? 'resume' : order === 'resume' ? 'pause' : undefined;
      return back && { operation: `source ${back}`, input: { name } };
    },
    outcome: ({ state }) => state,
    lines: ({ name, dueAt }) => [
      `${name}: ${dueAt === null ? 'it is fetched no more' : 'the running server fetches it within seconds'}`,
    ],
  });
}

export const refreshSource = sourceOrder('refresh', 'fetch it now, however long it still has');
export const acceptSource = sourceOrder(
  'accept',
  'take the download that was held because it shrank',
);
export const pauseSource = sourceOrder('pause', 'fetch it no more; its rows stay until they end');
export const resumeSource = sourceOrder('resume', 'fetch it again, from now on');

/**
 * The list's rows go by an empty run that holds for no day. Marked first, so that no download that
 * is under way brings them back, and so that a removal cut short can be asked for again.
 */
export const removeSource = operation({
  name: 'source remove',
  purpose: 'fetch it no more and take its rows back; with --loaded, those of a list loaded once',
  parameters: {
    name: listedName,
    loaded: {
      schema: v.optional(choice(['seed', 'anon', 'good'])),
      value: 'kind',
      help: 'the list was loaded by seed, by anon or by known-good, and is fetched by nothing',
      kept: true,
    },
  },
  audit: 'required',
  before: stateOfSource,
  async run(tools, { name, loaded }) {
    const { store } = tools;
    if (loaded !== undefined) {
      const fetched = (await listSubscriptions(store)).find((one) => one.name === name);
      if (fetched?.list === loaded) {
        throw new OperatorError(`${name} is fetched: source remove without --loaded removes it`);
      }
      if (await retractRows(tools, { name, list: loaded })) return { name };
      return refuse(fail('not_found', `there is no list '${name}' of this kind`));
    }
    const row = expect(await changeSubscription(store, name, () => ({ state: 'removing' })));
    await retractRows(tools, row);
    expect(await forgetSubscription(store, name));
    return shownSource(row, tools.clock.now());
  },
  outcome: () => 'removed',
  lines: ({ name }) => [`${name}: it is fetched no more, and its rows are taken back`],
});

/** @returns false where no such list is known */
async function retractRows(
  tools: OperationTools,
  { name, list }: Pick<Subscription, 'name' | 'list'>,
): Promise<boolean> {
  const ref = { list, source: name };
  if ((await findList(tools.store, ref)).row === undefined) return false;
  expect(await loadList({ ...tools, ...ref, holdDays: 0, batches: [], onRows: () => {} }));
  return true;
}

/** Never the query of its address, which may hold a key, nor what names its rows inside. */
function shownSource(row: Subscription, now: number, isSecret?: boolean) {
  const dateOf = (ms: number) => (ms === 0 ? null : dateText(ms));
  return {
    name: row.name,
    url: urlLabel(new URL(row.url)),
    isSecret,
    list: row.list,
    format: row.format,
    confidence: row.confidence,
    holdDays: row.holdDays,
    everySeconds: row.everyMs / 1_000,
    state: sourceState(row),
    rows: row.rows,
    added: row.added,
    removed: row.removed,
    badLines: row.badLines,
    samples: row.samples,
    leftOut: row.leftOut,
    ageSeconds: row.freshAt === 0 ? null : Math.max(0, Math.round((now - row.freshAt) / 1_000)),
    loads: row.loads,
    unchanged: row.unchanged,
    holds: row.holds,
    failures: row.failures,
    failuresEver: row.failuresEver,
    failure: row.failure || null,
    heldRows: row.heldRows || null,
    addedAt: dateText(row.addedAt),
    triedAt: dateOf(row.triedAt),
    freshAt: dateOf(row.freshAt),
    dueAt: row.state === 'active' ? dateOf(Math.max(row.dueAt, now)) : null,
  };
}

// Reads a list as it would be loaded, and counts what it would do. Nothing of it is kept.

/** One at a time: a list has its memory in full. */
const previews = createSemaphore({ runningMax: 1, waitingMax: 1 });
/** Rules beyond these are not compared with the list. */
const rulesMax = 500;
const clashesShown = 20;
const bounds = { ...fetchBounds, fetchMsMax: minuteMs, waitMsMax: 15_000 };

export interface ListPreview {
  readonly url: string;
  readonly format: ListFormatName;
  readonly rows: number;
  readonly bands: Readonly<Record<ScoreBand, number>>;
  readonly badLines: number;
  /** The first few of them, with the reason. */
  readonly samples: readonly BadLine[];
  /** Private and reserved addresses, which are never loaded. */
  readonly leftOut: number;
  /** Rules of the allowlist that a row lies in, or that lie in a row: they stay allowed. */
  readonly clashes: readonly string[];
}

/** @param allowed the ranges of the allowlist. @returns why it can't be read, in words */
export async function previewList(
  given: {
    readonly url: string;
    readonly format: ListFormatName | 'auto';
    readonly confidence: number;
    readonly allowPrivate: boolean;
    readonly peerHosts: readonly string[];
    readonly systems: FetchJob['systems'];
    readonly credentials: FetchJob['credentials'];
    readonly allowed: readonly string[];
  },
  signal: AbortSignal,
): Promise<Result<ListPreview>> {
  const { url, format, confidence, allowPrivate, peerHosts, systems, credentials } = given;
  const terms = { url, format, confidence, allowDocumentation: false, service: undefined };
  const read = await previews.run(async () => {
    const answer = await fetchInThread(
      { ...bounds, terms, allowPrivate, peerHosts, systems, credentials, known: undefined },
      signal,
    );
    const clashes =
      'fetched' in answer
        ? await clashesOf(answer.fetched.batches, given.allowed.slice(0, rulesMax))
        : [];
    return { answer, clashes };
  });
  if (!read.ok) return read;
  const { answer, clashes } = read.value;
  if ('failed' in answer) return fail('invalid_parameter', answer.failed);
  if ('unchanged' in answer) return fail('invalid_parameter', 'the server sent nothing');
  const { batches, rows, badLines, samples, leftOut } = answer.fetched;
  const bands: Record<ScoreBand, number> = { clean: 0, low: 0, suspect: 0, malicious: 0 };
  for (const { count, scores } of batches) {
    for (let i = 0; i < count; i++) bands[scoreBand(scores[i]!)]++;
  }
  const counts = { rows, bands, badLines, samples, leftOut, clashes };
  return ok({ url, format: answer.fetched.format, ...counts });
}

async function clashesOf(
  batches: readonly RowBatch[],
  allowed: readonly string[],
): Promise<string[]> {
  const rules = allowed.flatMap((text) => {
    const read = parsePrefix(text);
    return read.ok ? [{ text, ...read.value }] : [];
  });
  const found = new Set<string>();
  const scheduler = createScheduler();
  const words = new Uint32Array(4);
  for (const batch of rules.length === 0 ? [] : batches) {
    for (let i = 0; i < batch.count; i++) {
      words.set(batch.words.subarray(4 * i, 4 * i + 4));
      const row = { family: batch.families[i] as IpFamily, words, length: batch.lengths[i]! };
      for (const rule of rules) {
        const touches = contains(rule, row.family, words) || contains(row, rule.family, rule.words);
        if (touches && found.size < clashesShown) found.add(rule.text);
      }
      if (i % 64 === 0 && scheduler.shouldYield()) await scheduler.yield();
    }
  }
  return [...found];
}
