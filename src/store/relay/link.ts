/**
 * An edge's way to its cores: one at a time, in the order in which they were given, the next one when it does
 * not answer. Every question bears a seal over its head, which names its core, its moment and the hash of
 * its body, so that nothing long is read of anybody else; every answer is sealed for its question.
 */

import { createHash, randomBytes } from 'node:crypto';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Log } from '../../core/log/log.ts';
import { ForkedJournalError } from '../postgres/reads.ts';
import { StoreUnavailableError } from '../store.ts';
import { encode, type Hello, type RelayQuestion, readTold, relayVersion } from './messages.ts';
import { isMac, macHeader, macOf, relayHeader, writeEnvelope } from './signed.ts';

/** Longer than a core waits for the database. */
const answerMsMax = 10_000;
const helloMsMax = 2_000;
/** So long nobody is asked again when no core answered. */
const restMs = 250;
/** Nobody knows who answers before all of it is there: a core has much to say of its database alone. */
const answerBytesMax = { hello: 4_096, ask: 64 << 20, other: 16 << 20 } as const;
const underWayMax = 2_048;
const socketsMax = 16;

export interface CoreLink {
  /**
   * @param isRepeatable it may reach two cores: the next one is asked when the answer is not there
   * @throws StoreUnavailableError without an answer; else what the core told of
   */
  ask<T>(asked: RelayQuestion, isRepeatable: boolean): Promise<T>;
  close(): void;
}

interface Answer {
  readonly mac: unknown;
  readonly bytes: Buffer;
  readonly status: number | undefined;
}

/** The core did nothing. */
class NotTakenError extends Error {}

interface Core {
  readonly url: string;
  readonly node: number;
  /** What its clock is ahead of this process's. */
  readonly aheadMs: number;
}

/** @param urls of cores, at least one */
export function openLink({
  urls,
  key,
  log,
}: {
  readonly urls: readonly string[];
  readonly key: Uint8Array;
  readonly log: Log;
}): CoreLink {
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  let next = 0;
  let epoch: string | undefined;
  let core: Core | undefined;
  let connecting: Promise<Core> | undefined;
  let restUntilMs = 0;
  let reason = 'no core was asked yet';
  let underWay = 0;
  let isClosed = false;

  const unavailable = () => new StoreUnavailableError(`no core answers: ${reason}`);

  /** @throws NotTakenError when it did nothing; else it may have, or not */
  async function post(
    to: Omit<Core, 'aheadMs'>,
    at: number,
    body: Uint8Array,
    { msMax, bytesMax }: { readonly msMax: number; readonly bytesMax: number },
  ) {
    const nonce = randomBytes(16).toString('hex');
    const hash = createHash('sha256').update(body).digest('hex');
    const head = writeEnvelope({ to: to.node, at, nonce, bytes: body.length, hash });
    const headers = {
      [relayHeader]: head,
      [macHeader]: macOf(key, 'relay', Buffer.from(head)),
      'Content-Length': body.length,
    };
    const signal = AbortSignal.timeout(msMax);
    let isSentAgain = false;
    function send(over: Agent | false): Promise<Answer> {
      return new Promise((resolve, reject) => {
        const options = { method: 'POST', agent: over, headers, signal };
        const sent = request(to.url, options, (response) => {
          const { statusCode: status } = response;
          const mac = response.headers[macHeader];
          readAll(response, bytesMax).then((bytes) => resolve({ mac, bytes, status }), reject);
        });
        sent.once('error', (error) => {
          // The core closed a connection that was idle. What it has read it takes no second time.
          isSentAgain = sent.reusedSocket && !signal.aborted;
          if (isSentAgain) resolve(send(false));
          else reject(error);
        });
        sent.end(body);
      });
    }
    const { mac, bytes, status } = await send(agent);
    if (!isMac(mac, macOf(key, `answer ${nonce}`, bytes))) throw new Error(`it answers ${status}`);
    // The seal is not over the status: who alters that must not make a commit come twice.
    if (bytes.length > 0) return bytes;
    const nothing = 'it takes no question of this moment';
    // The first time it may have: a core that began anew since does not know.
    throw isSentAgain ? new Error(nothing) : new NotTakenError(nothing);
  }

  async function greet(url: string): Promise<Core> {
    const sentMs = Date.now();
    const hello = readTold(
      await post({ url, node: 0 }, sentMs, encode({ what: 'hello' }), {
        ...{ msMax: helloMsMax, bytesMax: answerBytesMax.hello },
      }),
    );
    const { relay, node, now, epoch: found } = hello as Hello;
    if (relay !== relayVersion) throw new Error(`it speaks version ${relay}, not ${relayVersion}`);
    epoch ??= found;
    if (found !== epoch) {
      throw new ForkedJournalError(`the journal of ${url} is not the one that was followed`);
    }
    return { url, node, aheadMs: now - (sentMs + Date.now()) / 2 };
  }

  /** @throws ForkedJournalError when those that answer have another journal */
  async function connect(): Promise<Core> {
    let forked: ForkedJournalError | undefined;
    for (let tries = 0; tries < urls.length; tries++) {
      const url = urls[next % urls.length]!;
      try {
        core = await greet(url);
        log.info({ core: url, node: core.node }, 'edge: a core answers');
        return core;
      } catch (error) {
        reason = `${url}: ${(error as Error).message}`;
        if (error instanceof ForkedJournalError) forked = error;
        next += 1;
      }
    }
    if (forked !== undefined) throw forked;
    log.warn({ reason }, 'edge: no core answers');
    restUntilMs = performance.now() + restMs;
    throw unavailable();
  }

  async function present(): Promise<Core> {
    if (isClosed) throw new StoreUnavailableError('the store is closed');
    if (core !== undefined) return core;
    if (connecting === undefined && performance.now() < restUntilMs) throw unavailable();
    connecting ??= connect().finally(() => {
      connecting = undefined;
    });
    return connecting;
  }

  function lose(lost: Core, error: unknown): void {
    reason = `${lost.url}: ${(error as Error).message}`;
    if (core !== lost) return;
    core = undefined;
    next += 1;
    if (!isClosed) log.warn({ reason }, 'edge: a core does not answer');
  }

  return {
    async ask<T>(asked: RelayQuestion, isRepeatable: boolean): Promise<T> {
      // The caller may use its buffers again at once.
      const body = encode(asked);
      const bytesMax = asked.what === 'ask' ? answerBytesMax.ask : answerBytesMax.other;
      if (underWay >= underWayMax) throw new StoreUnavailableError('too many questions wait');
      underWay += 1;
      try {
        for (let tries = 1; ; tries++) {
          const one = await present();
          let bytes: Buffer;
          try {
            bytes = await post(one, Date.now() + one.aheadMs, body, {
              ...{ msMax: answerMsMax, bytesMax },
            });
          } catch (error) {
            lose(one, error);
            const mayRepeat = isRepeatable || error instanceof NotTakenError;
            if (!mayRepeat || tries > urls.length) throw unavailable();
            continue;
          }
          return readTold(bytes) as T;
        }
      } finally {
        underWay -= 1;
      }
    },
    close() {
      isClosed = true;
      core = undefined;
      agent.destroy();
    },
  };
}

async function readAll(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new Error('its answer is too long');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
