/**
 * The journal event by which every node learns of an agent's bans. It holds the id of the account and
 * addresses, which are in the reports of the same moment, too. Version 2 says for each by which scenario.
 */

import { createWriter, decode } from '../../store/codec.ts';
import type { NewEvent } from '../../store/store.ts';

const kind = 'agent.banned';
const version = 2;

export interface Banned {
  /** Account id. */
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
  /** Canonical. */
  readonly addresses: readonly string[];
  /** Of each address, in the same order; none, or an empty one: not known. */
  readonly scenarios?: readonly string[] | undefined;
}

export function isBanEvent(name: string): boolean {
  return name === kind;
}

export function encodeBanned(
  id: string,
  { account, untilMs, addresses, scenarios = [] }: Banned,
): NewEvent {
  const out = createWriter().text(account).f64(untilMs).varint(addresses.length);
  const isNamed = scenarios.some((scenario) => scenario !== '');
  for (const [i, address] of addresses.entries()) {
    out.text(address);
    if (isNamed) out.text(scenarios[i] ?? '');
  }
  return { id, kind, version: isNamed ? version : 1, body: out.finish() };
}

/** Throws on a corrupt body and on a newer format: the follower must stop, not guess. */
export function decodeBanned({ version: given, body }: NewEvent): Banned {
  const read =
    given < 1 || given > version
      ? undefined
      : decode(body, (input): Banned => {
          const [account, untilMs, count] = [input.text(), input.f64(), input.varint()];
          if (count > body.length) input.reject();
          const addresses: string[] = [];
          const scenarios: string[] = [];
          for (let i = 0; i < count; i++) {
            addresses.push(input.text());
            if (given > 1) scenarios.push(input.text());
          }
          const made = { account, untilMs, addresses };
          return given > 1 ? { ...made, scenarios } : made;
        });
  if (read === undefined) throw new Error(`an event ${kind} can't be read`);
  return read;
}
