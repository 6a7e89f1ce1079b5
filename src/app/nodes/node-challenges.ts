/**
 * Challenges of all nodes behind one handle. A token names its node; picture, sound and answer of another
 * node's token are asked of that one, where the word is, so that a token still has one attempt.
 *
 * A node that is away takes its open challenges with it: their pictures are `not_found`, answers wrong.
 */

import { randomBytes } from 'node:crypto';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { CaptchaVisitor, Challenges } from '../../captcha/challenge/challenge.ts';
import { isLong, nodeOf } from '../../captcha/challenge/ticket.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { fail, type Result } from '../../core/result.ts';
import {
  isMac,
  macHeader,
  macOf,
  type NodeQuestion,
  questionBytes,
  readAnswer,
} from './signed-messages.ts';

/** Longer than any challenge is rendered, shorter than any front end waits. */
const answerMsMax = 8_000;
/** A picture has some 100 KB. */
const answerBytesMax = 4 << 20;
const underWayMax = 256;
const socketsMax = 32;
/** More characters than a person may type; the other node cuts the answer to its own bound. */
const answerCharsMax = 200;

type Question = Omit<NodeQuestion, 'to' | 'at' | 'nonce'>;

interface NodeChallenges extends Challenges {
  close(): void;
}

export function nodeChallenges(options: {
  readonly own: Challenges;
  readonly node: number;
  readonly key: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the URL of a node's internal port; undefined if no node with this number is up. */
  readonly urlOf: (node: number) => Promise<string | undefined>;
}): NodeChallenges {
  const { own, node, key, clock, log, urlOf } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  let underWay = 0;

  /** Returns undefined for a token of this node, or of none. */
  function otherOf(token: string): number | undefined {
    const made = nodeOf(token);
    return made === node ? undefined : made;
  }

  async function ask(to: number, question: Question) {
    const url = await urlOf(to);
    if (url === undefined) return fail('not_found');
    if (underWay >= underWayMax) return fail('overloaded');
    underWay += 1;
    try {
      const nonce = randomBytes(16).toString('hex');
      const body = questionBytes({ ...question, to, at: clock.now(), nonce });
      const { mac, bytes } = await post(url, body);
      if (!isMac(mac, macOf(key, `answer ${nonce}`, bytes))) throw new Error('it is not signed');
      return readAnswer(bytes) ?? fail('overloaded');
    } catch (error) {
      log.warn({ err: error, node: to }, 'internal: a node does not answer');
      return fail('overloaded');
    } finally {
      underWay -= 1;
    }
  }

  function post(url: string, body: Buffer): Promise<{ mac: unknown; bytes: Buffer }> {
    const signal = AbortSignal.timeout(answerMsMax);
    const headers = { [macHeader]: macOf(key, 'ask', body), 'Content-Length': body.length };
    function send(over: Agent | false): Promise<{ mac: unknown; bytes: Buffer }> {
      return new Promise((resolve, reject) => {
        const sent = request(url, { method: 'POST', agent: over, headers, signal }, (response) => {
          readAll(response).then(
            (bytes) => resolve({ mac: response.headers[macHeader], bytes }),
            reject,
          );
        });
        sent.once('error', (error) => {
          // The other end closed a connection that was idle. What it has read it takes no second time.
          if (sent.reusedSocket && !signal.aborted) resolve(send(false));
          else reject(error);
        });
        sent.end(body);
      });
    }
    return send(agent);
  }

  async function fetch(
    what: 'image' | 'clip',
    token: string,
    visitor: CaptchaVisitor,
  ): Promise<Result<Uint8Array>> {
    const other = otherOf(token);
    if (other === undefined) return own[what](token, visitor);
    const { network, longWord, language } = visitor;
    // An older node knows no language.
    const spoken = language === 'fr' ? { language } : {};
    const answer = await ask(other, { what, token, answer: '', network, longWord, ...spoken });
    return 'ok' in answer ? answer : fail('overloaded');
  }

  return {
    ...own,
    image: (token, visitor) => fetch('image', token, visitor),
    clip: (token, visitor) => fetch('clip', token, visitor),
    verify(token, given, network) {
      const other = otherOf(token);
      if (other === undefined) return own.verify(token, given, network);
      const answer = given.slice(0, answerCharsMax);
      const question: Question = { what: 'verify', token, answer, network, longWord: false };
      return ask(other, question).then((reply) => {
        if (!('right' in reply) || !reply.right) return undefined;
        return isLong(token) || reply.longWord ? 'long' : 'normal';
      });
    },
    close: () => agent.destroy(),
  };
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > answerBytesMax) throw new Error('its answer is too long');
    pieces.push(piece);
  }
  if (response.statusCode !== 200) throw new Error(`it answers ${response.statusCode}`);
  return Buffer.concat(pieces);
}
