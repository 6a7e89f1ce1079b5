/**
 * Where edges ask a core. The seal of a question's head is looked at before anything of its body is read; what
 * then waits in memory is bounded for all edges together, questions and answers, until the edge has read them
 * or its time is over.
 */

import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import { decodeAsked } from '../../store/relay/messages.ts';
import type { Relay } from '../../store/relay/relay.ts';
import {
  createReplays,
  isMac,
  macHeader,
  macOf,
  notTaken,
  type RelayEnvelope,
  readEnvelope,
  relayHeader,
} from '../../store/relay/signed.ts';
import { storeLimits } from '../../store/store.ts';
import { readBody, refuse, seal, sent } from './sealed-http.ts';
import type { Strangers } from './strangers.ts';

/** A commit, and what says which bytes of it are what. */
const bodyBytesMax = storeLimits.commitBytesMax * 2;
/** Of all questions that are read, and of all answers until they are read. */
const heldBytesMaxDefault = 128 << 20;
/** Commits of a minute that are remembered. */
const noncesMax = 500_000;
/** Any core: an edge learns its number by this question. */
const anyNode = 0;
const helloBytesMax = 1_024;

export interface RelayDoor {
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  readonly table: BoundedTable;
}

export function createRelayDoor({
  relay,
  node,
  key,
  strangers,
  now,
  answerMsMax,
  heldBytesMax = heldBytesMaxDefault,
}: {
  readonly relay: Relay;
  readonly node: number;
  readonly key: Uint8Array;
  readonly strangers: Pick<Strangers, 'prove' | 'refuse'>;
  readonly now: () => number;
  /** An edge waits no longer for an answer. */
  readonly answerMsMax: number;
  readonly heldBytesMax?: number | undefined;
}): RelayDoor {
  const replays = createReplays(node, now, noncesMax);
  let heldBytes = 0;
  /** What is read or answered, by nonce: who overheard a head must not hold room with it many times. */
  const underWay = new Set<string>();

  /** Sealed, so that the edge knows that nothing was done, and may ask again. */
  function takeNothing(response: ServerResponse, nonce: string): void {
    response.setHeader('Connection', 'close');
    seal(response, key, nonce, new Uint8Array(), notTaken);
  }

  async function take(
    request: IncomingMessage,
    response: ServerResponse,
    envelope: RelayEnvelope,
  ): Promise<void> {
    const body = await readBody(request, envelope.bytes);
    if (body === undefined || !isOf(body, envelope.hash)) return refuse(response, strangers);
    const asked = decodeAsked(body);
    const { what } = asked;
    if ((envelope.to === anyNode) !== (what === 'hello')) return refuse(response, strangers);
    // To read twice changes nothing.
    const isOnce = what === 'commit' || what === 'ask' || what === 'claim';
    if (isOnce && !replays.hasRoom()) return takeNothing(response, envelope.nonce);
    if (isOnce && !replays.admit(envelope)) return refuse(response, strangers);
    const bytes = await relay.answer(asked, node);
    if (!isOnce && heldBytes + bytes.length > heldBytesMax) {
      return takeNothing(response, envelope.nonce);
    }
    heldBytes += bytes.length;
    try {
      seal(response, key, envelope.nonce, bytes);
      await sent(response, answerMsMax);
    } finally {
      heldBytes -= bytes.length;
    }
  }

  return {
    async answer(request, response) {
      const head = String(request.headers[relayHeader]);
      const isSealed = isMac(request.headers[macHeader], macOf(key, 'relay', Buffer.from(head)));
      const envelope = isSealed ? readEnvelope(head) : undefined;
      if (envelope === undefined || envelope.bytes > bodyBytesMax || underWay.has(envelope.nonce)) {
        return refuse(response, strangers);
      }
      const isPresent = replays.isPresent(envelope);
      // A greeting is for any core and of any time: who overheard one is no edge by it.
      if (isPresent) strangers.prove(request.socket);
      const isTaken = isPresent || (envelope.to === anyNode && envelope.bytes <= helloBytesMax);
      if (!isTaken || heldBytes + envelope.bytes > heldBytesMax) {
        return takeNothing(response, envelope.nonce);
      }
      heldBytes += envelope.bytes;
      underWay.add(envelope.nonce);
      try {
        await take(request, response, envelope);
      } finally {
        heldBytes -= envelope.bytes;
        underWay.delete(envelope.nonce);
      }
    },
    table: { name: 'relayed_bytes', used: () => heldBytes, limit: heldBytesMax },
  };
}

function isOf(body: Uint8Array, hash: string): boolean {
  return createHash('sha256').update(body).digest('hex') === hash;
}
