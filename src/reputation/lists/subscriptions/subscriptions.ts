/**
 * Lists that the server fetches, as rows of the store. The command line writes what the operator wants, the server
 * the results, both into one row under a check: of two changes at once the second sees the first.
 */

import { type MasterKey, open, sealWithKey } from '../../../access/keys/master-key.ts';
import { capacities } from '../../../config.ts';
import { OperatorError } from '../../../core/errors.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import {
  addWithinBounds,
  commitOnce,
  retryOnConflict,
  withValue,
} from '../../../storage/change.ts';
import { sourceSecretKey, subscriptionKey, subscriptionPrefix } from '../../../storage/keys.ts';
import {
  flag,
  group,
  list,
  mapped,
  oneOf,
  record,
  text,
  time,
  varint,
} from '../../../storage/record.ts';
import { pagesUnder, type Store } from '../../../storage/store.ts';
import type { ListKind } from '../../state/events.ts';
import type { ListFormatName } from '../import/parse.ts';
import { type BadLine, type ServiceName, serviceNumber, serviceOf } from '../import/rows.ts';

/** The terms that the operator sets. */
export interface SubscriptionTerms {
  /** Name of the list. */
  readonly name: string;
  /** As it was given: its query may hold a key, so it is shown without. */
  readonly url: string;
  readonly list: Exclude<ListKind, 'allow'>;
  readonly format: ListFormatName;
  readonly confidence: number;
  readonly holdDays: number;
  readonly allowDocumentation: boolean;
  /** Service that the ranges of a known-good list belong to, where the format does not say. */
  readonly service: ServiceName | undefined;
  readonly everyMs: number;
}

/** The state that fetching leaves. Times are milliseconds since 1970, 0 for never. */
interface SubscriptionOutcome {
  /** Time of the next fetch. */
  readonly dueAt: number;
  readonly triedAt: number;
  /** The last time at which the rows were those of the source. */
  readonly freshAt: number;
  /** The last time at which rows were written, and the run that did. */
  readonly loadedAt: number;
  readonly run: string;
  /** SHA-256 of the rows, base64url. */
  readonly digest: string;
  readonly etag: string;
  readonly lastModified: string;
  readonly rows: number;
  readonly badLines: number;
  readonly samples: readonly BadLine[];
  /** Ranges of special use, and of rented machines. */
  readonly leftOut: number;
  /** Rows added and removed by the last load. */
  readonly added: number;
  readonly removed: number;
  readonly addedEver: number;
  readonly removedEver: number;
  readonly loads: number;
  readonly unchanged: number;
  /** Failures in a row. */
  readonly failures: number;
  readonly failuresEver: number;
  /** Empty: the last try was good. */
  readonly failure: string;
  /** Rows of a download that waits for the operator's word, and how many came again since. */
  readonly heldRows: number;
  readonly holds: number;
  /** So few rows the operator has accepted; 0: nothing. */
  readonly acceptedRows: number;
}

const subscriptionStates = ['active', 'paused', 'removing'] as const;

export interface Subscription extends SubscriptionTerms, SubscriptionOutcome {
  readonly addedAt: number;
  readonly state: (typeof subscriptionStates)[number];
}

const untried: SubscriptionOutcome = {
  dueAt: 0,
  triedAt: 0,
  freshAt: 0,
  loadedAt: 0,
  run: '',
  digest: '',
  etag: '',
  lastModified: '',
  rows: 0,
  badLines: 0,
  samples: [],
  leftOut: 0,
  added: 0,
  removed: 0,
  addedEver: 0,
  removedEver: 0,
  loads: 0,
  unchanged: 0,
  failures: 0,
  failuresEver: 0,
  failure: '',
  heldRows: 0,
  holds: 0,
  acceptedRows: 0,
};

const rows = record<Subscription>(1, {
  name: text,
  url: text,
  list: oneOf(['seed', 'anon', 'good']),
  format: mapped<ListFormatName, string>(text, String, (name) => name as ListFormatName),
  confidence: varint,
  holdDays: varint,
  allowDocumentation: flag,
  service: mapped<ServiceName | undefined, number>(varint, serviceNumber, serviceOf),
  everyMs: varint,
  addedAt: time,
  state: oneOf(subscriptionStates),
  dueAt: time,
  triedAt: time,
  freshAt: time,
  loadedAt: time,
  run: text,
  digest: text,
  etag: text,
  lastModified: text,
  rows: varint,
  badLines: varint,
  samples: list(group<BadLine>({ line: varint, reason: text, text })),
  leftOut: varint,
  added: varint,
  removed: varint,
  addedEver: varint,
  removedEver: varint,
  loads: varint,
  unchanged: varint,
  failures: varint,
  failuresEver: varint,
  failure: text,
  heldRows: varint,
  holds: varint,
  acceptedRows: varint,
});

export async function listSubscriptions(store: Store): Promise<Subscription[]> {
  const found: Subscription[] = [];
  for await (const page of pagesUnder(store, subscriptionPrefix())) {
    found.push(...page.flatMap(({ value }) => rows.decode(value) ?? []));
  }
  return found;
}

export async function findSubscription(store: Store, name: string) {
  const key = subscriptionKey(name);
  const found = await store.get(key);
  const row = found && rows.decode(found.value);
  return found && row && { row, check: { key, version: found.version } };
}

/**
 * Adds a source. Fails with `conflict` when the name is taken.
 * @param sealed the secret that the source asks for
 */
export async function addSubscription(
  store: Store,
  terms: SubscriptionTerms,
  now: number,
  sealed?: Uint8Array,
): Promise<Result<Subscription>> {
  const row: Subscription = { ...terms, ...untried, addedAt: now, state: 'active' };
  const key = subscriptionKey(terms.name);
  const secret = sealed === undefined ? [] : [{ key: sourceSecretKey(terms.name), value: sealed }];
  return addWithinBounds(store, [{ rows: 'sources' }], async (held) => {
    if ((await store.get(key)) !== undefined) {
      return fail('conflict', `there is a source '${terms.name}' already: give another --source`);
    }
    if ((await listSubscriptions(store)).length >= capacities.sources) {
      const most = capacities.sources;
      return fail('capacity_exceeded', `there are ${most} sources, which is the most`);
    }
    const done = await commitOnce(store, {
      check: [{ key, version: null }, ...held.check],
      set: [{ key, value: rows.encode(row) }, ...held.set, ...secret],
    });
    return withValue(done, row);
  });
}

/**
 * @param change what is new, or why it can't be
 * @returns `not_found` without such a subscription
 */
export function changeSubscription(
  store: Store,
  name: string,
  change: (row: Subscription) => Partial<Subscription> | string,
): Promise<Result<Subscription>> {
  return retryOnConflict(async () => {
    const found = await findSubscription(store, name);
    if (found === undefined) return fail('not_found', `there is no source '${name}'`);
    const changed = change(found.row);
    if (typeof changed === 'string') return fail('conflict', changed);
    const row = { ...found.row, ...changed };
    const { key } = found.check;
    const done = await commitOnce(store, {
      check: [found.check],
      set: [{ key, value: rows.encode(row) }],
    });
    return withValue(done, row);
  });
}

export async function forgetSubscription(store: Store, name: string): Promise<Result<void>> {
  const done = await store.commit({ del: [subscriptionKey(name), sourceSecretKey(name)] });
  return done.ok ? ok(undefined) : fail('store_unavailable');
}

// The operator's orders for a list that the server fetches: now, not any more, again, or "take it
// as it is".

const orders = {
  refresh: (row, now) =>
    row.state === 'active' ? { dueAt: now } : `${row.name} is paused: resume fetches it`,
  accept: (row, now) =>
    row.heldRows === 0
      ? `${row.name} has no download that is held`
      : { acceptedRows: row.heldRows, heldRows: 0, dueAt: now },
  pause: (row) => (row.state === 'removing' ? `${row.name} is being removed` : { state: 'paused' }),
  resume: (row, now) =>
    row.state === 'removing' ? `${row.name} is being removed` : { state: 'active', dueAt: now },
} satisfies Record<string, (row: Subscription, now: number) => Partial<Subscription> | string>;

export type SourceOrder = keyof typeof orders;

/** Carries out an order. Fails with `not_found`, or with `conflict`, which says why it can't be. */
export function orderSource(
  store: Store,
  name: string,
  order: SourceOrder,
  now: number,
): Promise<Result<Subscription>> {
  return changeSubscription(store, name, (row) => orders[order](row, now));
}

type SourceState = 'paused' | 'removing' | 'held' | 'failing' | 'new' | 'active';

/** Says in one word how the source does: a paused list stays paused whatever came of it last. */
export function sourceState({ state, heldRows, failures, triedAt }: Subscription): SourceState {
  if (state !== 'active') return state;
  if (heldRows > 0) return 'held';
  if (failures > 0) return 'failing';
  return triedAt === 0 ? 'new' : 'active';
}

// Stores the credentials of a source: a header of its own, or a user name and a password. They are sealed in a row
// next to the source's, bound to its name and the origin of its URL, and opened only for a download: nothing shows
// them again.

/** Headers by their names, in lower case. */
export type SourceHeaders = Readonly<Record<string, string>>;

export const headerCharsMax = 2_000;
export const userCharsMax = 500;

const headerShape =
  /^([!#$%&'*+.^_`|~\w-]{1,64}):[\t ]*([\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)[\t ]*$/;
/** The download says these itself. */
const ownHeaders =
  /^(?:host|connection|content-.*|transfer-.*|te|trailer|upgrade|expect|accept|accept-encoding|user-agent|range|if-.*|proxy-.*|keep-alive)$/;

/** @throws OperatorError, which repeats nothing of it */
export function readCredentials(given: {
  readonly header?: string | undefined;
  readonly user?: string | undefined;
}): SourceHeaders | undefined {
  const { header = '', user = '' } = given;
  const found: Record<string, string> = {};
  if (header !== '') {
    const [, name, value] = headerShape.exec(header) ?? [];
    if (name === undefined) throw new OperatorError("--header is written 'X-Key: value', in ASCII");
    if (ownHeaders.test(name.toLowerCase())) {
      throw new OperatorError(`--header ${name}: the download has a value of its own there`);
    }
    found[name.toLowerCase()] = value!;
  }
  if (user !== '') {
    if (!/^[^:\p{C}]+:\P{C}+$/u.test(user)) {
      throw new OperatorError('--user is written name:password');
    }
    if (found.authorization !== undefined) {
      throw new OperatorError('--user and an Authorization header say the same: give one of them');
    }
    found.authorization = `Basic ${Buffer.from(user).toString('base64')}`;
  }
  return header === '' && user === '' ? undefined : found;
}

interface Source {
  readonly name: string;
  readonly url: string;
}

function contextOf({ name, url }: Source): string {
  return `source/${name}/${new URL(url).origin}`;
}

export function sealCredentials(
  masterKey: MasterKey,
  random: Random,
  source: Source,
  credentials: SourceHeaders,
): Uint8Array {
  return sealWithKey(masterKey, random, contextOf(source), JSON.stringify(credentials));
}

/** Returns what the source asks for, undefined if nothing, or why it can't be opened. */
export async function openCredentials(
  store: Pick<Store, 'get'>,
  masterKey: MasterKey,
  source: Source,
): Promise<Result<SourceHeaders | undefined>> {
  const found = await store.get(sourceSecretKey(source.name));
  if (found === undefined) return ok(undefined);
  const opened = open(masterKey, contextOf(source), found.value);
  if (opened.ok) return ok(JSON.parse(opened.value) as SourceHeaders);
  return fail('internal', 'its header or password was sealed with another master key');
}
