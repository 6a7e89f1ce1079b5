/** Operations on what this server lends to others: its key, and whether it publishes. */

import type { MasterKey } from '../../access/keys/master-key.ts';
import { expect, type OperationTools, operationsOn, refuse } from '../../contracts/operation.ts';
import { argument, choice, flag } from '../../contracts/operation-parameters.ts';
import { dateText } from '../../core/dates.ts';
import { fail } from '../../core/result.ts';
import { counted, grouped } from '../../core/text-table.ts';
import { dayMs } from '../../core/time.ts';
import { federationPublicationKey, type Key } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import { isSigningKeyName } from './document/key.ts';
import {
  nothingPublished,
  type Publication,
  publications,
  readKeys,
  readPublication,
  segmentsFrom,
  strayParts,
  writeKey,
} from './publish/stored.ts';

export interface FederationTools extends OperationTools {
  readonly masterKey: MasterKey;
}

const operation = operationsOn<FederationTools>();

/** The old key signs for so long together with the new one. */
const rotationMs = 30 * dayMs;
const rowsPerCommit = 100;

async function keysOf(tools: FederationTools) {
  const found = await readKeys(tools.store, tools.masterKey, tools.clock.now());
  return found && expect(found);
}

/** The name of this server among its peers: the host of its address. */
function nameOf({ config }: FederationTools): string {
  const { host } = new URL(config.secureUrl);
  if (isSigningKeyName(host)) return host;
  refuse(fail('invalid_parameter', `the host of SECURE_URL can't be the name of a key: ${host}`));
}

export const showKey = operation({
  name: 'federation key',
  purpose:
    'the key of this server for its peers, made at the first time: one line to hand to their operators',
  parameters: {},
  audit: 'required',
  async run(tools) {
    const name = nameOf(tools);
    const known = await keysOf(tools);
    const key = known?.key ?? expect(await writeKey(tools, name, tools.clock.now(), undefined));
    return {
      line: key.line,
      isNew: known === undefined,
      isOfThisHost: key.name === name,
      host: name,
    };
  },
  outcome: ({ isNew }) => (isNew ? 'made' : 'shown'),
  lines: ({ line, isOfThisHost, host }) => [
    line,
    ...(isOfThisHost
      ? []
      : [`This server is ${host} now: federation rotate --revoke makes a key of that name.`]),
  ],
});

export const rotateKey = operation({
  name: 'federation rotate',
  purpose: 'a new key: the old one signs beside it for 30 days, so that peers follow by themselves',
  parameters: {
    revoke: {
      schema: flag,
      help: 'the old key ends at once, since somebody else may have it: each peer must take the new one by hand',
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { revoke }) {
    const known = await keysOf(tools);
    if (known === undefined)
      return refuse(fail('not_found', 'there is no key yet: federation key'));
    const name = nameOf(tools);
    const now = tools.clock.now();
    if (!revoke && known.former !== undefined) {
      const until = dateText(known.formerUntil);
      const detail = `the key before signs until ${until}: peers could lose the way. --revoke ends both`;
      return refuse(fail('conflict', detail));
    }
    if (!revoke && known.key.name !== name) {
      return refuse(
        fail('conflict', `the key is of ${known.key.name}, this server is ${name}: --revoke`),
      );
    }
    const former = revoke ? undefined : { key: known.key, until: now + rotationMs };
    const key = expect(await writeKey(tools, name, now, former));
    return { line: key.line, isRevoked: revoke, bothUntil: former && dateText(former.until) };
  },
  outcome: ({ isRevoked }) => (isRevoked ? 'revoked' : 'rotated'),
  lines: ({ line, isRevoked, bothUntil }) => [
    line,
    isRevoked
      ? 'The old key signs nothing any more. Peers hold this server until they take the new one: peer rekey.'
      : `Both keys sign until ${bothUntil}; peers take the new one by themselves.`,
  ],
});

export const publish = operation({
  name: 'federation publish',
  purpose:
    'on: publish what the own reports say to peers, signed; off: end it and forget what was published',
  parameters: {
    state: argument(choice(['on', 'off']), 'on|off', 'on or off'),
  },
  audit: 'required',
  async run(tools, { state }) {
    const isOn = state === 'on';
    if (isOn && (await keysOf(tools)) === undefined) {
      refuse(fail('not_found', 'there is no key yet: federation key makes it'));
    }
    const { publication, version } = await readPublication(tools.store);
    if (publication.isOn !== isOn) {
      const { seq, chain, headAt } = publication;
      // The numbers go on, and a head is never older than one that somebody has.
      const next: Publication = { ...nothingPublished, isOn, seq, chain, headAt, oldest: seq + 1 };
      const key = federationPublicationKey();
      const done = await tools.store.commit({
        check: [{ key, version }],
        set: [{ key, value: publications.encode(next) }],
      });
      if (!done.ok) refuse(fail('conflict', 'it was being changed at the same time: try again'));
    }
    if (!isOn) await forgetAll(tools.store);
    const { federationLeast: least, federationAccess: access, feedLicence: licence } = tools.config;
    return { isOn, least, access, licence };
  },
  outcome: ({ isOn }) => (isOn ? 'on' : 'off'),
  lines: ({ isOn, least, access, licence }) =>
    isOn
      ? [...startNotes(least, access), `Licence: ${licence}`]
      : ['Nothing is published any more.'],
});

/** The operator reads it before anybody else reads the addresses. */
function startNotes(least: number, access: string): string[] {
  return [
    'What goes out: addresses whose own reports come to 75 with a vote of staff or a member among them; with',
    'each the hours of its first and last report, its categories, a power of 2 of its reports, and how many of',
    'your staff, members and accounts reported it (3 is three or more). Nothing else: no comments, ports, names,',
    'sensors, lists, manual rules or tips.',
    'Addresses are personal data. You publish them on the ground of your and your peers’ legitimate interest in',
    'secure networks (GDPR, recital 49), and each server is a controller of its own. A row ends 30 days after',
    'its last report, a segment after 14 days. A removal that you accept is published in five minutes, and is with',
    'your peers one poll later. Say so in your privacy notice.',
    least === 1
      ? 'FEDERATION_LEAST=1: one account is enough. A server of one sensor tells its peers in which hour it met whom.'
      : `Behind each row: ${counted(least, 'account')} or more, or one of your staff.`,
    access === 'open'
      ? 'FEDERATION_ACCESS=open: everybody may read it.'
      : 'Your peers may read it, nobody else (FEDERATION_ACCESS).',
  ];
}

async function forgetAll(store: Store): Promise<void> {
  let keys: Key[] = [];
  async function drop(): Promise<void> {
    if (keys.length > 0) await store.commit({ del: keys });
    keys = [];
  }
  for await (const { key } of segmentsFrom(store, 1)) {
    keys.push(key);
    if (keys.length === rowsPerCommit) await drop();
  }
  for await (const key of strayParts(store, [])) keys.push(key);
  await drop();
}

export const federationStatus = operation({
  name: 'federation status',
  purpose: 'the key of this server, and what it publishes',
  parameters: {},
  async run(tools) {
    const keys = await keysOf(tools);
    const { publication } = await readPublication(tools.store);
    return {
      key: keys?.key.line ?? null,
      formerKeyUntil: keys?.former === undefined ? null : dateText(keys.formerUntil),
      isOn: publication.isOn,
      seq: publication.seq,
      segments: publication.seq + 1 - publication.oldest,
      rowsOfSnapshot: publication.snapshotAt === 0 ? null : publication.snapshotRows,
      snapshotAt: publication.snapshotAt === 0 ? null : dateText(publication.snapshotAt),
      signedAt: publication.head.length === 0 ? null : dateText(publication.headAt),
      least: tools.config.federationLeast,
      access: tools.config.federationAccess,
    };
  },
  lines: (of) => [
    `key        ${of.key ?? 'none yet: federation key makes it'}`,
    ...(of.formerKeyUntil === null
      ? []
      : [`           the one before signs too until ${of.formerKeyUntil}`]),
    `publishing ${of.isOn ? `on, for ${of.access === 'open' ? 'everybody' : 'peers'}` : 'off'}`,
    ...(of.signedAt === null
      ? []
      : [
          `head       segment ${of.seq}, signed ${of.signedAt}`,
          `segments   ${grouped(of.segments)}`,
          `snapshot   ${counted(of.rowsOfSnapshot ?? 0, 'row')}, ${of.snapshotAt}`,
        ]),
  ],
});
