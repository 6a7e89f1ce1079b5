/** Bans of agents as an alert without decisions of its own makes them. */

import {
  banMs,
  usualBan,
  type WantedDecision,
} from '../../../src/integrations/crowdsec/decisions.ts';
import type { DecisionRow } from '../../../src/integrations/crowdsec/events.ts';

/** What the table says of such a ban. */
export const usualSaid = { type: 'ban', origin: 'crowdsec', scenario: '' } as const;

export function wantedBans(addresses: readonly string[]): WantedDecision[] {
  return addresses.map((address) => usualBan(address, ''));
}

/** @param atMs from when on they last */
export function usualBans(
  account: string,
  atMs: number,
  addresses: readonly string[],
): DecisionRow {
  const untilMs = atMs + banMs;
  const decisions = addresses.map((value) => ({ ...usualSaid, value, atMs, untilMs }));
  return { account, atMs, decisions };
}
