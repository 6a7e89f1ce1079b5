/**
 * Who calls: agents by a token that stands in for their key, and when the keys of agents and bouncers
 * were used.
 */

import { type KeyUseChange, noteKeyUse } from '../../access/keys/api-keys.ts';
import { keyIdOf, scopeBitsFor } from '../../access/keys/key-format.ts';
import {
  type MasterKey,
  masterKeyFromBytes,
  open,
  sealWithKey,
} from '../../access/keys/master-key.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { type Failure, fail } from '../../core/result.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { firstHeader, type Request } from '../../http/request/message.ts';
import type { Store } from '../../storage/store.ts';
import type { Callers } from '../../web/guard/callers.ts';

/** Whoever composes the service derives the sealing key for this purpose. */
export const agentTokenKeyPurpose = 'agent token 1';
export const agentTokenLifeMs = hourMs;

const endBytes = 6;
const shape = /^[\w-]{20,400}$/;

export type AgentTokens = ReturnType<typeof createAgentTokens>;

/**
 * The token that an agent gets for its password, which is a key: sealed, and nothing is stored for it,
 * so every node can read it.
 *
 *   base64url of: end u48 (ms) · the key's text, sealed
 *
 * The key is inside, so that a token ends with its key. What is forged, altered or over is none.
 */
export function createAgentTokens(options: {
  /** 32 bytes, the same on all nodes. */
  readonly key: Uint8Array;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
}) {
  const { clock, random } = options;
  const sealingKey: MasterKey = masterKeyFromBytes(options.key);
  const contextOf = (endMs: number) => `agent token ${endMs}`;
  return {
    issue(keyText: string) {
      const endMs = Math.floor(clock.now()) + agentTokenLifeMs;
      const head = Buffer.alloc(endBytes);
      head.writeUIntBE(endMs, 0, endBytes);
      const sealed = sealWithKey(sealingKey, random, contextOf(endMs), keyText);
      return { token: Buffer.concat([head, sealed]).toString('base64url'), endMs };
    },
    /** Returns the text of the key that it was given for; whether that lives is for the caller to ask. */
    read(token: string): string | undefined {
      if (!shape.test(token)) return undefined;
      const bytes = Buffer.from(token, 'base64url');
      const endMs = bytes.readUIntBE(0, endBytes);
      if (endMs <= clock.now()) return undefined;
      const opened = open(sealingKey, contextOf(endMs), bytes.subarray(endBytes));
      return opened.ok ? opened.value : undefined;
    },
  };
}

interface CallerActivity {
  readonly agent: string;
  readonly address: string;
  readonly processed?: number;
  readonly dropped?: number;
}

export type BouncerUses = ReturnType<typeof startBouncerUses>;

const writeMs = minuteMs;
const agentCharsMax = 120;

/**
 * Records who uses the keys, for `portcullis bouncer list`: kept in memory and written once a minute,
 * and when the server ends. A kill loses the last minute of counts, nothing else. Bounded by the number
 * of keys: only living ones come here.
 */
export function startBouncerUses(options: { store: Store; clock: Clock; log: Log }) {
  const { store, clock, log } = options;
  let open = new Map<string, KeyUseChange>();
  let writing = Promise.resolve();

  function note(
    keyId: string,
    { agent, address, processed = 0, dropped = 0 }: CallerActivity,
  ): void {
    const before = open.get(keyId);
    open.set(keyId, {
      lastUsedAt: clock.now(),
      agent: agent.slice(0, agentCharsMax).replace(/[^\x20-\x7e]/g, '?'),
      address,
      processed: (before?.processed ?? 0) + processed,
      dropped: (before?.dropped ?? 0) + dropped,
    });
  }

  async function write(): Promise<void> {
    if (open.size === 0 || !store.writeState().available) return;
    const changes = open;
    open = new Map();
    try {
      await noteKeyUse(store, changes);
    } catch (error) {
      log.warn({ err: error }, 'bouncers: last use not saved');
    }
  }

  function flush(): Promise<void> {
    writing = writing.then(write);
    return writing;
  }

  const loop = every(writeMs, flush);
  return {
    note,
    flush,
    async close() {
      await loop.stop();
      await flush();
    },
  };
}

export const wrongToken = fail('unauthenticated', 'the token is missing, over or revoked');

export type AgentCallers = ReturnType<typeof createAgentCallers>;

/** Admits agents by the key behind their token, counts each call and notes the use of the key. */
export function createAgentCallers(options: {
  readonly quotaGuard: QuotaGuard;
  readonly callers: Pick<Callers, 'takeOrWaitFor' | 'clientOf'>;
  readonly tokens: AgentTokens;
  readonly uses: Pick<BouncerUses, 'note'>;
}) {
  const { quotaGuard, callers, tokens, uses } = options;

  /** Returns the text of the key behind a token that is good, or of one that needs no token. */
  function keyOf(request: Request): string | undefined {
    const bare = firstHeader(request, 'x-api-key');
    if (isManager(bare)) return bare;
    const [, token] = /^bearer +(\S+)$/i.exec(firstHeader(request, 'authorization') ?? '') ?? [];
    const keyText = token === undefined ? undefined : tokens.read(token);
    return quotaGuard.authenticate(keyText, scopeBitsFor('agent')) < 0 ? undefined : keyText;
  }

  /** Returns whether it may change manual entries. */
  function isManager(keyText: string | undefined): boolean {
    return quotaGuard.authenticate(keyText, scopeBitsFor('manage')) >= 0;
  }

  function note(keyText: string, request: Request): void {
    const agent = firstHeader(request, 'user-agent') ?? '';
    uses.note(keyIdOf(keyText), { agent, address: request.clientIp });
  }

  /** Counts one call. Returns the failure when there were too many. */
  function limited(keyText: string, request: Request): Failure | undefined {
    const name = `${keyIdOf(keyText)} ${callers.clientOf(request)}`;
    const waitSeconds = callers.takeOrWaitFor('agentCalls', name);
    if (waitSeconds === 0) return undefined;
    return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
  }

  return {
    keyOf,
    note,
    limited,
    isManager,
    /** Returns the slot of the account that calls, its call counted and noted, or why it may not call. */
    admit(request: Request): { readonly slot: number; readonly isManager: boolean } | Failure {
      const keyText = keyOf(request);
      if (keyText === undefined) return wrongToken;
      const over = limited(keyText, request);
      if (over !== undefined) return over;
      note(keyText, request);
      const slot = quotaGuard.authenticate(keyText, scopeBitsFor('agent'));
      return { slot, isManager: isManager(keyText) };
    },
  };
}
