/**
 * The token that an agent gets for its password, which is a key: sealed, and nothing is stored for it, so
 * every node can read it.
 *
 *   base64url of: end u48 (ms) · the key's text, sealed
 *
 * The key is inside, so that a token ends with its key. What is forged, altered or over is none.
 */

import { type MasterKey, masterKeyFromBytes, open, seal } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { hourMs } from '../../core/time.ts';

/** Whoever composes the service derives the sealing key for this purpose. */
export const agentTokenKeyPurpose = 'agent token 1';
export const agentTokenLifeMs = hourMs;

const endBytes = 6;
const shape = /^[\w-]{20,400}$/;

export interface AgentTokens {
  issue(keyText: string): { readonly token: string; readonly endMs: number };
  /** Text of the key that it was given for; whether that lives is for the caller to ask. */
  read(token: string): string | undefined;
}

export function createAgentTokens(options: {
  /** 32 bytes, the same on all nodes. */
  readonly key: Uint8Array;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
}): AgentTokens {
  const { clock, random } = options;
  const sealingKey: MasterKey = masterKeyFromBytes(options.key);
  const contextOf = (endMs: number) => `agent token ${endMs}`;
  return {
    issue(keyText) {
      const endMs = Math.floor(clock.now()) + agentTokenLifeMs;
      const head = Buffer.alloc(endBytes);
      head.writeUIntBE(endMs, 0, endBytes);
      const sealed = seal(sealingKey, random, contextOf(endMs), keyText);
      return { token: Buffer.concat([head, sealed]).toString('base64url'), endMs };
    },
    read(token) {
      if (!shape.test(token)) return undefined;
      const bytes = Buffer.from(token, 'base64url');
      const endMs = bytes.readUIntBE(0, endBytes);
      if (endMs <= clock.now()) return undefined;
      const opened = open(sealingKey, contextOf(endMs), bytes.subarray(endBytes));
      return opened.ok ? opened.value : undefined;
    },
  };
}
