/**
 * The journal event by which every node learns of an agent's bans. It holds the id of the account and
 * addresses, which are in the reports of the same moment, too.
 */

import { createWriter, decode } from '../../store/codec.ts';
import type { NewEvent } from '../../store/store.ts';

const kind = 'agent.banned';
const version = 1;

export interface Banned {
  /** Account id. */
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
  /** Canonical. */
  readonly addresses: readonly string[];
}

export function isBanEvent(name: string): boolean {
  return name === kind;
}

export function encodeBanned(id: string, { account, untilMs, addresses }: Banned): NewEvent {
  const out = createWriter().text(account).f64(untilMs).varint(addresses.length);
  for (const address of addresses) out.text(address);
  return { id, kind, version, body: out.finish() };
}

/** Throws on a corrupt body and on a newer format: the follower must stop, not guess. */
export function decodeBanned({ version: given, body }: NewEvent): Banned {
  const read =
    given !== version
      ? undefined
      : decode(body, (input): Banned => {
          const [account, untilMs, count] = [input.text(), input.f64(), input.varint()];
          if (count > body.length) input.reject();
          return { account, untilMs, addresses: Array.from({ length: count }, () => input.text()) };
        });
  if (read === undefined) throw new Error(`an event ${kind} can't be read`);
  return read;
}
