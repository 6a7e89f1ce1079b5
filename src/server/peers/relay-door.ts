/**
 * Where edges ask a core. The seal of a question's head is looked at before anything of its body is read; what
 * then waits in memory is bounded for all edges together.
 */

import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { decodeAsked } from '../../store/relay/messages.ts';
import type { Relay } from '../../store/relay/relay.ts';
import {
  createReplays,
  isMac,
  macHeader,
  macOf,
  notTaken,
  readEnvelope,
  relayHeader,
} from '../../store/relay/signed.ts';
import { storeLimits } from '../../store/store.ts';
import { readBody, refuse, seal } from './sealed-http.ts';

/** A commit, and what says which bytes of it are what. */
const bodyBytesMax = storeLimits.commitBytesMax * 2;
/** Of all questions that are read or answered. */
const heldBytesMax = 128 << 20;
/** Commits of a minute that are remembered. */
const noncesMax = 500_000;
/** Any core: an edge learns its number by this question. */
const anyNode = 0;

export function createRelayDoor({
  relay,
  node,
  key,
  now,
}: {
  readonly relay: Relay;
  readonly node: number;
  readonly key: Uint8Array;
  readonly now: () => number;
}): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const replays = createReplays(node, now, noncesMax);
  let heldBytes = 0;
  /** What is read or answered, by nonce: who overheard a head must not hold room with it many times. */
  const underWay = new Set<string>();

  return async (request, response) => {
    const head = String(request.headers[relayHeader]);
    const isSealed = isMac(request.headers[macHeader], macOf(key, 'relay', Buffer.from(head)));
    const envelope = isSealed ? readEnvelope(head) : undefined;
    if (envelope === undefined || envelope.bytes > bodyBytesMax) return refuse(response);
    if (underWay.has(envelope.nonce)) return refuse(response);
    const isPresent = envelope.to === anyNode || replays.isPresent(envelope);
    if (!isPresent || heldBytes + envelope.bytes > heldBytesMax) {
      // Sealed, so that the edge knows that nothing was done, and may ask again.
      response.setHeader('Connection', 'close');
      seal(response, key, envelope.nonce, new Uint8Array(), notTaken);
      return;
    }
    heldBytes += envelope.bytes;
    underWay.add(envelope.nonce);
    try {
      const body = await readBody(request, envelope.bytes);
      if (body === undefined || !isOf(body, envelope.hash)) return refuse(response);
      const asked = decodeAsked(body);
      const { what } = asked;
      if ((envelope.to === anyNode) !== (what === 'hello')) return refuse(response);
      // To read twice changes nothing.
      const isOnce = what === 'commit' || what === 'ask' || what === 'claim';
      if (isOnce && !replays.admit(envelope)) return refuse(response);
      const bytes = await relay.answer(asked, node);
      seal(response, key, envelope.nonce, bytes);
    } finally {
      heldBytes -= envelope.bytes;
      underWay.delete(envelope.nonce);
    }
  };
}

function isOf(body: Uint8Array, hash: string): boolean {
  return createHash('sha256').update(body).digest('hex') === hash;
}
