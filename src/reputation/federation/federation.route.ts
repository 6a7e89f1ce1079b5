/**
 * What this server publishes to its peers: `/.well-known/portcullis-federation` and `/federation/…`. Every node
 * serves what one of them has made. While nothing is published all of it is 404; else a peer shows its key by a
 * signed GET, unless FEDERATION_ACCESS=open.
 */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import * as v from 'valibot';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { type Failure, fail } from '../../core/result.ts';
import { createSemaphore } from '../../core/scheduling.ts';
import { digits, queryReader } from '../../core/schema.ts';
import {
  acceptedEncodings,
  type EncodedBody,
  negotiate,
  negotiatedHeaders,
} from '../../http/answer/negotiate.ts';
import { firstHeader, type Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { Store } from '../../storage/store.ts';
import { type Endpoint, endpoint } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult } from '../../web/guard/guard.ts';
import { type FederationKey, isSignedBy, readSignature, signatureHeaders } from './document/key.ts';
import {
  batchBytesMax,
  segmentBytesMax,
  segmentsPerAnswer,
  writeBatch,
} from './document/segment.ts';
import { type Publication, readPublication, readSegment, readSnapshot } from './publish/stored.ts';

const open = {
  method: 'GET',
  who: 'anyone',
  shape: 'text',
  thread: 'main',
  limits: ['federation'],
  headers: [...negotiatedHeaders, ...signatureHeaders],
  errors: ['not_found', 'forbidden', 'invalid_parameter', 'overloaded'],
  robots: 'disallow',
  docs: 'text',
} as const;
const [wellKnown, head, segments, snapshot] = [
  endpoint({ ...open, path: '/.well-known/portcullis-federation' }),
  endpoint({ ...open, path: '/federation/head' }),
  endpoint({ ...open, path: '/federation/segments/:seq' }),
  endpoint({ ...open, path: '/federation/snapshot/:seq' }),
];

export const federationEndpoints: readonly Endpoint[] = [wellKnown, head, segments, snapshot];

const seqDetail = 'The number of a segment is a whole number from 1 on.';
const readTo = queryReader({ to: v.optional(digits(/^[1-9]\d{0,12}$/, seqDetail, 0)) });
const unpack = promisify(gunzip);
/** A publication is known on every node so soon. */
const keptMs = 1_000;
/** Snapshots under way at once: each is some megabytes in memory until it is sent. */
const snapshots = { runningMax: 2, waitingMax: 16 };
const off = fail('not_found', 'This server publishes nothing to other servers.');
const gone = fail('not_found', 'There is no such segment or snapshot any more: read the head.');
const strange = fail(
  'forbidden',
  'Only peers may read this: sign the request with a key that the operator of this server has added.',
);

interface FederationRoutesOptions {
  readonly guard: Guard;
  readonly store: Pick<Store, 'get' | 'scan'>;
  readonly clock: Clock;
  readonly config: Pick<Config, 'secureUrl' | 'federationAccess'>;
  /** Returns the line of this server's key, read with the head. */
  readonly keyLine: () => Promise<string | undefined>;
  /** Returns the key of a peer by its name and id, as `keyIdOf` gives them. */
  readonly peerKey: (keyId: string) => Promise<FederationKey | undefined>;
}

export function federationRoutes(options: FederationRoutesOptions) {
  const { guard, store, clock, config, peerKey } = options;
  const authority = new URL(config.secureUrl).host;
  const queue = createSemaphore(snapshots);
  let known: { readonly publication: Publication; readonly untilMs: number } | undefined;

  async function publication(): Promise<Publication> {
    if (known === undefined || clock.monotonicMs() >= known.untilMs) {
      const read = await readPublication(store);
      known = { publication: read.publication, untilMs: clock.monotonicMs() + keptMs };
    }
    return known.publication;
  }

  async function mayRead({ method, path, query, ...request }: Request): Promise<boolean> {
    if (config.federationAccess === 'open') return true;
    const of = (name: string) => firstHeader({ method, path, query, ...request }, name);
    const claimed = readSignature(of('signature-input'), of('signature'));
    const key = claimed && (await peerKey(claimed.keyId));
    if (key === undefined) return false;
    return isSignedBy(key, claimed!, { method, authority, path, query }, clock.now());
  }

  /** A route that answers peers alone, and only while something is published. */
  function route(
    declared: Endpoint,
    reply: (request: Request, published: Publication) => HandlerResult | Promise<HandlerResult>,
  ): PlainRoute {
    return guard.open(declared, async (request) => {
      const published = await publication();
      if (published.head.length === 0) return off;
      return (await mayRead(request)) ? reply(request, published) : strange;
    });
  }

  function answer(
    request: Request,
    body: Uint8Array,
    type = 'text/plain; charset=utf-8',
  ): HandlerResult {
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    return negotiate(request, { type, cacheControl: 'no-cache', identity: { body, etag } });
  }

  /** Something that never changes under its number. */
  function immutableAnswer(
    request: Request,
    tag: string,
    identity: Uint8Array,
    gzip?: EncodedBody['body'],
  ): HandlerResult {
    return negotiate(request, {
      type: 'text/plain; charset=utf-8',
      cacheControl: 'private, max-age=86400, immutable',
      identity: { body: identity, etag: `"${tag}"` },
      gzip: gzip && { body: gzip, etag: `"${tag}z"` },
    });
  }

  async function segmentReply(request: Request, published: Publication): Promise<HandlerResult> {
    const first = seqIn(request);
    const query = parseQuery(request.query);
    if (!query.ok) return query;
    const asked = readTo(query.value);
    if (!asked.ok) return asked;
    const { to } = asked.value;
    if (first === undefined || first < published.oldest || first > published.seq) return gone;
    if (to !== undefined) return batchReply(request, first, Math.min(to, published.seq));
    const segment = await readSegment(store, first);
    if (segment === undefined) return gone;
    return immutableAnswer(request, tagOf(segment.gzip), await unpack(segment.gzip), segment.gzip);
  }

  async function batchReply(request: Request, first: number, to: number): Promise<HandlerResult> {
    const found: { seq: number; bytes: Uint8Array }[] = [];
    let bytes = 0;
    const last = Math.min(to, first + segmentsPerAnswer - 1);
    for (let seq = first; seq <= last; seq++) {
      const segment = await readSegment(store, seq);
      bytes += segment?.bytes ?? 0;
      if (segment === undefined || (found.length > 0 && bytes > segmentBytesMax)) break;
      found.push({ seq, bytes: await unpack(segment.gzip) });
    }
    const body = writeBatch(found);
    return found.length === 0 || body.length > batchBytesMax ? gone : answer(request, body);
  }

  async function snapshotReply(request: Request, published: Publication): Promise<HandlerResult> {
    const seq = seqIn(request);
    const isKnown = seq === published.snapshotSeq || seq === published.formerSnapshot;
    if (seq === undefined || !isKnown || published.snapshotAt === 0) return gone;
    const read = await queue.run(async (): Promise<HandlerResult> => {
      const parts = await readSnapshot(store, seq);
      if (parts === undefined) return gone;
      const tag = tagOf(...parts);
      const isPacked = acceptedEncodings(firstHeader(request, 'accept-encoding')).has('gzip');
      // Whoever takes gzip is not kept waiting for the other form.
      const identity = isPacked ? new Uint8Array() : await unpack(Buffer.concat(parts));
      return immutableAnswer(request, tag, identity, parts);
    });
    return read.ok ? read.value : busy;
  }

  async function describe(request: Request): Promise<HandlerResult> {
    const published = await publication();
    const key = published.head.length === 0 ? undefined : await options.keyLine();
    if (key === undefined) return off;
    const at = (path: string) => `${config.secureUrl}/federation/${path}`;
    const body = {
      origin: authority,
      key,
      access: config.federationAccess,
      head: at('head'),
      segments: at('segments/'),
      snapshot: at('snapshot/'),
    };
    return answer(
      request,
      Buffer.from(`${JSON.stringify(body, undefined, 2)}\n`),
      'application/json',
    );
  }

  return {
    routes: [
      guard.open(wellKnown, describe),
      route(head, (request, published) => answer(request, published.head)),
      route(segments, segmentReply),
      route(snapshot, snapshotReply),
    ],
    /** Segments that are served, as far as this node has looked. */
    segments: () =>
      known === undefined ? 0 : known.publication.seq + 1 - known.publication.oldest,
    table: queue.table('federation_snapshots'),
  };
}

const busy: Failure & { retryAfterSeconds: number } = {
  ...fail('overloaded', 'Too many snapshots are being sent; please come back soon.'),
  retryAfterSeconds: 30,
};

function seqIn({ path }: Request): number | undefined {
  const text = path.slice(path.lastIndexOf('/') + 1);
  return /^[1-9]\d{0,12}$/.test(text) ? Number(text) : undefined;
}

function tagOf(...parts: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('base64url').slice(0, 22);
}
