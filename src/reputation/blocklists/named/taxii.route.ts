/**
 * TAXII 2.1 (OASIS Standard of 10 June 2021), to pull: the feeds are collections, their entries indicators of
 * STIX 2.1. A page is found by the entry before it, so a list that changes meanwhile loses none that stays.
 *
 * An entry's date is that of the feed's last change, and no older than the day: what a client holds expires
 * three days after it, since TAXII says nothing of what was removed.
 */

import type { Clock } from '../../../core/clock.ts';
import { statusOf } from '../../../core/errors.ts';
import { type Failure, fail, ok, type Result } from '../../../core/result.ts';
import { createScheduler, type SliceScheduler } from '../../../core/scheduling.ts';
import { dayMs } from '../../../core/time.ts';
import {
  firstHeader,
  type Header,
  type Reply,
  type Request,
} from '../../../http/request/message.ts';
import { type Params, parseQuery } from '../../../http/request/query.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { parsePrefix } from '../../../ip/prefix.ts';
import { endpoint } from '../../../web/guard/endpoint.ts';
import type { Guard, HandlerResult, KeyedCall } from '../../../web/guard/guard.ts';
import { noStore } from '../../../web/shape.ts';
import {
  compareFeedRows,
  FEED_ROW,
  familyOf,
  feedRowCount,
  lastReportedAtOfRow,
  packInfo,
  type Rows,
  reportsOfRow,
  rowFlags,
  scoreOf,
} from '../builder/rows.ts';
import type { NamedBuilds } from './builds.ts';
import type { FeedSelection } from './forms.ts';
import { formIdOf } from './forms.ts';
import type { NamedFeed } from './named-feeds.ts';
import { plainOf } from './vendors.ts';

const mediaType = 'application/taxii+json;version=2.1';
const stixType = 'application/stix+json;version=2.1';
const taxiiType: Header = ['Content-Type', mediaType];
const pageDefault = 1_000;
/** This many are serialised in a few milliseconds. */
const pageMax = 2_000;
const objectsPerRead = 1_000;
const expiryMs = 3 * dayMs;
const rowsPerSlice = 256;
const parameterMax = 4_000;
/** Bodies that clients may send: none are taken. */
const contentMax = 1_024;

const shared = {
  method: 'GET',
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'read', more: 'for each 1,000 objects, at least one' },
  headers: ['accept', 'authorization'],
  errors: ['not_found', 'invalid_parameter', 'overloaded'],
  robots: 'disallow',
  docs: 'text',
  timeoutMs: 15_000,
} as const;

export const taxiiEndpoints = {
  discovery: endpoint({ ...shared, path: '/taxii2/' }),
  root: endpoint({ ...shared, path: '/taxii2/*' }),
} as const;

interface TaxiiOptions {
  readonly guard: Guard;
  readonly clock: Pick<Clock, 'now'>;
  readonly builds: Pick<NamedBuilds, 'selected'>;
  /** Returns the feeds, the blocklist first. */
  readonly feeds: () => Promise<readonly NamedFeed[]>;
  readonly secureUrl: string;
}

export function taxiiRoutes(options: TaxiiOptions): PlainRoute[] {
  const { guard, clock, builds, secureUrl } = options;
  const rootUrl = `${secureUrl}/taxii2/feeds/`;
  /** Bounds all requests together: they hold the loop for one turn, however many there are. */
  const scheduler = createScheduler();
  const collectionId = ({ name }: NamedFeed) => formIdOf(`${secureUrl} collection ${name}`);

  function collection(feed: NamedFeed) {
    return {
      id: collectionId(feed),
      title: feed.name,
      alias: feed.name,
      can_read: true,
      can_write: false,
      media_types: [stixType],
    };
  }

  async function find(id: string): Promise<NamedFeed | undefined> {
    return (await options.feeds()).find((feed) => feed.name === id || collectionId(feed) === id);
  }

  async function answer(path: string, params: Params, call: KeyedCall): Promise<Result<Reply>> {
    if (path === '') {
      const title = `Feeds of ${new URL(secureUrl).host}`;
      return reply({ title, default: rootUrl, api_roots: [rootUrl] });
    }
    if (path === 'feeds/') {
      return reply({ title: 'Feeds', versions: [mediaType], max_content_length: contentMax });
    }
    if (path === 'feeds/collections/') {
      return reply({ collections: (await options.feeds()).map(collection) });
    }
    const [, id, rest] = /^feeds\/collections\/([\w-]{1,64})\/(.*)$/.exec(path) ?? [];
    const feed = id === undefined ? undefined : await find(id);
    if (feed === undefined) return fail('not_found', 'There is no such collection.');
    if (rest === '') return reply(collection(feed));
    const [, objectId, versions] =
      /^objects\/(?:([\w-]{1,100})\/(versions\/)?)?$/.exec(rest!) ?? [];
    const isManifest = rest === 'manifest/';
    if (rest !== 'objects/' && objectId === undefined && !isManifest) {
      return fail('not_found', 'There is no such resource.');
    }
    const asked = readAsked(params, objectId);
    if (!asked.ok) return asked;
    const made = await builds.selected(feed);
    if (!made.ok) return made;
    const stampMs = Math.max(made.value.changedAtMs, Math.floor(clock.now() / dayMs) * dayMs);
    const stix = stixOf(made.value, stampMs);
    const page = await pageOf(made.value.rows, stix, asked.value, scheduler);
    if (objectId !== undefined && page.objects.length === 0) {
      return fail('not_found', 'There is no such object.');
    }
    const unpaid = call.spend(Math.max(0, Math.ceil(page.objects.length / objectsPerRead) - 1));
    if (unpaid !== undefined) return unpaid;
    const stamp = new Date(stampMs).toISOString();
    const dates: Header[] =
      page.objects.length === 0
        ? []
        : [
            ['X-TAXII-Date-Added-First', stamp],
            ['X-TAXII-Date-Added-Last', stamp],
          ];
    const more = page.next === undefined ? {} : { more: true, next: page.next };
    if (versions !== undefined) {
      return reply({ ...more, versions: page.objects.map(({ modified }) => modified) }, dates);
    }
    if (page.objects.length === 0) return reply({}, dates);
    const objects = isManifest ? page.objects.map((one) => manifestOf(one, stamp)) : page.objects;
    return reply({ ...more, objects }, dates);
  }

  function handle(declared: (typeof taxiiEndpoints)[keyof typeof taxiiEndpoints]) {
    return guard.open(declared, async (request): Promise<HandlerResult> => {
      const admitted = guard.admit(declared, request, keyIn(request));
      if ('failure' in admitted) return refusal(admitted.failure, admitted.headers);
      const { call } = admitted;
      if (!takesTaxii(request)) return refusal(notAcceptable, call.headers, 406);
      const query = parseQuery(request.query);
      const path = request.path.slice('/taxii2/'.length);
      const answered = query.ok ? await answer(path, query.value, call) : query;
      if (!answered.ok) return refusal(answered, call.headers);
      const { value } = answered;
      return { ...value, headers: [...value.headers, ...call.headers] };
    });
  }

  return [handle(taxiiEndpoints.discovery), handle(taxiiEndpoints.root)];
}

const notAcceptable = fail('bad_request', `The Accept header must allow ${mediaType}.`);

function reply(body: object, headers: readonly Header[] = []): Result<Reply> {
  const all = [taxiiType, noStore, ...headers];
  return ok({ status: 200, headers: all, body: JSON.stringify(body) });
}

function refusal(failure: Failure, headers: readonly Header[], status?: number): Reply {
  const asked = status ?? statusOf(failure.error);
  const code = failure.error === 'invalid_parameter' ? 422 : asked;
  const wait = failure.retryAfterSeconds ?? (code === 503 ? 10 : undefined);
  const more: Header[] = [
    ...(code === 401
      ? [['WWW-Authenticate', 'Basic realm="TAXII", charset="UTF-8"'] as Header]
      : []),
    ...(wait === undefined ? [] : [['Retry-After', String(wait)] as Header]),
  ];
  const title = failure.detail ?? failure.error.replaceAll('_', ' ');
  return {
    status: code,
    headers: [taxiiType, noStore, ...headers, ...more],
    body: JSON.stringify({ title, http_status: String(code) }),
  };
}

/** Reads a key sent as bearer or token, or as the password of basic authentication, or as its name. */
function keyIn(request: Request): string | undefined {
  const sent = firstHeader(request, 'authorization');
  if (sent === undefined || sent.length > 512) return undefined;
  const [, scheme, value] = /^(bearer|basic|token) +(\S+)$/i.exec(sent) ?? [];
  if (scheme?.toLowerCase() !== 'basic') return value;
  const text = Buffer.from(value!, 'base64').toString('latin1');
  const at = text.indexOf(':');
  return at < 0 ? undefined : text.slice(at + 1) || text.slice(0, at);
}

function takesTaxii(request: Request): boolean {
  const sent = firstHeader(request, 'accept');
  if (sent === undefined || sent.length > 512) return sent === undefined;
  // A parameter may stand in quotes (RFC 9110, 5.6.6).
  const plain = sent.replaceAll('"', '');
  return plain.split(',').some((one) => {
    const [type, ...parameters] = one
      .toLowerCase()
      .split(';')
      .map((part) => part.trim());
    if (type === '*/*' || type === 'application/*') return true;
    if (type !== 'application/taxii+json') return false;
    const version = parameters.find((part) => part.startsWith('version='));
    return version === undefined || version === 'version=2.1';
  });
}

interface ObjectsQuery {
  readonly limit: number;
  /** The entry before the page; undefined: it begins at the beginning. */
  readonly after: Rows | undefined;
  readonly addedAfterMs: number;
  readonly ids: ReadonlySet<string> | undefined;
  readonly types: ReadonlySet<string> | undefined;
  /** Says whether this version is asked for, ms since 1970: each object has one. */
  readonly isVersion: (ms: number) => boolean;
  /** False: another version of the specification is asked for. */
  readonly isKnown: boolean;
}

const taken = [
  'limit',
  'next',
  'added_after',
  'match[id]',
  'match[type]',
  'match[version]',
  'match[spec_version]',
];

function readAsked(params: Params, objectId: string | undefined): Result<ObjectsQuery> {
  const unexpected = params.names.find((name) => !taken.includes(name));
  if (unexpected !== undefined) {
    return fail(
      'invalid_parameter',
      `There is no parameter ${unexpected.slice(0, 40)}.`,
      unexpected,
    );
  }
  const overlong = taken.find((name) => (params.get(name)?.length ?? 0) > parameterMax);
  if (overlong !== undefined) {
    const detail = `${overlong} may have ${parameterMax} characters.`;
    return fail('invalid_parameter', detail, overlong);
  }
  const limitText = params.get('limit') ?? String(pageDefault);
  if (!/^[1-9]\d{0,8}$/.test(limitText)) {
    return fail('invalid_parameter', 'The limit must be a whole number of at least 1.', 'limit');
  }
  const addedAfter = params.get('added_after');
  const addedAfterMs = addedAfter === undefined ? 0 : dateOf(addedAfter);
  if (addedAfterMs === undefined) {
    return fail('invalid_parameter', 'added_after must be a timestamp of RFC 3339.', 'added_after');
  }
  const next = params.get('next');
  const after = next === undefined ? undefined : rowOfCursor(next);
  if (next !== undefined && after === undefined) {
    return fail('invalid_parameter', 'next must be what an answer gave.', 'next');
  }
  const setOf = (name: string) => {
    const text = params.get(name);
    return text === undefined ? undefined : new Set(text.split(','));
  };
  const versions = setOf('match[version]');
  const specs = setOf('match[spec_version]');
  return ok({
    limit: Math.min(pageMax, Number(limitText)),
    after,
    addedAfterMs,
    ids: objectId === undefined ? setOf('match[id]') : new Set([objectId]),
    types: setOf('match[type]'),
    isVersion: (ms) =>
      versions === undefined ||
      [...versions].some((one) => ['first', 'last', 'all'].includes(one) || dateOf(one) === ms),
    isKnown: specs?.has('2.1') ?? true,
  });
}

function dateOf(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** `next` is an entry in base64url. */
function rowOfCursor(next: string): Rows | undefined {
  if (!/^[\w-]{1,100}$/.test(next)) return undefined;
  const prefix = parsePrefix(Buffer.from(next, 'base64url').toString('latin1'));
  if (!prefix.ok) return undefined;
  const { family, words, length } = prefix.value;
  const row = new Uint32Array(FEED_ROW);
  row.set(words);
  row[4] = packInfo(length, 0, family === 6 ? rowFlags.six : 0);
  return row;
}

function firstAfter(rows: Rows, cursor: Rows | undefined): number {
  if (cursor === undefined) return 0;
  let low = 0;
  let high = feedRowCount(rows);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareFeedRows(rows, middle * FEED_ROW, cursor, 0) <= 0) low = middle + 1;
    else high = middle;
  }
  return low * FEED_ROW;
}

interface StixObject {
  readonly type: string;
  readonly id: string;
  /** The version. */
  readonly modified: string;
}

const idKind = 'indicator--';
/** To look an entry up by its id must not cost the ids of all entries each time. */
const beginningsOf = new WeakMap<Rows, Promise<Uint32Array>>();

function beginningOf(id: string): number {
  return Number.parseInt(id.slice(idKind.length, idKind.length + 8), 16);
}

async function makeBeginnings(
  rows: Rows,
  idAt: Stix['idAt'],
  scheduler: SliceScheduler,
): Promise<Uint32Array> {
  const made = new Uint32Array(feedRowCount(rows));
  for (let row = 0; row < made.length; row++) {
    made[row] = beginningOf(idAt(rows, row * FEED_ROW));
    if (row % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
  }
  return made;
}

/** Writes entries as indicators of STIX 2.1 (4.7), by an identity that stands for this server. */
function stixOf({ operatorTexts, name }: FeedSelection, stampMs: number) {
  const base = operatorTexts.homeUrl.replace(/\/feeds$/, '');
  const stamp = new Date(stampMs).toISOString();
  const until = new Date(stampMs + expiryMs).toISOString();
  const spec_version = '2.1';
  // An object keeps its first date.
  const created = '2026-01-01T00:00:00.000Z';
  const identity = {
    type: 'identity',
    spec_version,
    id: `identity--${formIdOf(`${base} identity`)}`,
    created,
    modified: created,
    name: new URL(base).host,
    identity_class: 'system',
  };
  const idAt = (rows: Rows, at: number) =>
    `${idKind}${formIdOf(`${base} indicator ${name} ${plainOf(rows, at)}`)}`;
  return {
    stampMs,
    identity,
    idAt,
    /** Returns the number that the id of each entry begins with, made once for a state of a feed. */
    beginnings(rows: Rows, scheduler: SliceScheduler): Promise<Uint32Array> {
      const known = beginningsOf.get(rows) ?? makeBeginnings(rows, idAt, scheduler);
      beginningsOf.set(rows, known);
      return known;
    },
    indicatorAt(rows: Rows, at: number) {
      const value = plainOf(rows, at);
      const last = lastReportedAtOfRow(rows, at);
      const seen = last === 0 ? '' : `, last ${new Date(last * 1_000).toISOString().slice(0, 10)}`;
      return {
        type: 'indicator',
        spec_version,
        id: idAt(rows, at),
        created_by_ref: identity.id,
        created,
        modified: stamp,
        name: value,
        description: `Score ${scoreOf(rows, at)}, ${reportsOfRow(rows, at)} reports${seen}.`,
        indicator_types: ['malicious-activity'],
        pattern: `[ipv${familyOf(rows, at)}-addr:value = '${value}']`,
        pattern_type: 'stix',
        pattern_version: '2.1',
        valid_from: stamp,
        valid_until: until,
        confidence: scoreOf(rows, at),
        external_references: [{ source_name: identity.name, url: `${base}/ip/${value}` }],
      };
    },
  };
}

type Stix = ReturnType<typeof stixOf>;

async function pageOf(
  rows: Rows,
  stix: Stix,
  { limit, after, addedAfterMs, ids, types, isVersion, isKnown }: ObjectsQuery,
  scheduler: SliceScheduler,
): Promise<{ readonly objects: readonly StixObject[]; readonly next: string | undefined }> {
  const objects: StixObject[] = [];
  if (!isKnown || stix.stampMs <= addedAfterMs) return { objects, next: undefined };
  const isWanted = ({ type, id, modified }: StixObject) =>
    (types?.has(type) ?? true) && (ids?.has(id) ?? true) && isVersion(Date.parse(modified));
  if (after === undefined && isWanted(stix.identity)) objects.push(stix.identity);
  const hasIndicators = types?.has('indicator') !== false && isVersion(stix.stampMs);
  if (!hasIndicators) return { objects, next: undefined };
  const beginnings = ids && (await stix.beginnings(rows, scheduler));
  const wanted = new Set([...(ids ?? [])].map(beginningOf));
  const isAsked = (at: number) =>
    wanted.has(beginnings![at / FEED_ROW]!) && ids!.has(stix.idAt(rows, at));
  // The identity alone may fill the first page: all entries are behind the widest network.
  let last = '0.0.0.0/0';
  for (let at = firstAfter(rows, after), looked = 0; at < rows.length; at += FEED_ROW) {
    if (++looked % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
    if (ids !== undefined && !isAsked(at)) continue;
    // Only one that is there makes a further page: an empty one ends clients that trust in `more`.
    if (objects.length >= limit) return { objects, next: Buffer.from(last).toString('base64url') };
    objects.push(stix.indicatorAt(rows, at));
    last = plainOf(rows, at);
  }
  return { objects, next: undefined };
}

function manifestOf({ id, modified }: StixObject, stamp: string) {
  return { id, date_added: stamp, version: modified, media_type: stixType };
}
