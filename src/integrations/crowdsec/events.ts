/**
 * The journal events by which every node learns of agents' decisions: which were made, and which were taken back,
 * with what they were. They hold the id of the account and addresses, which are in the reports of the same
 * moment, too.
 */

import { defineEvent, type RewoundRows } from '../../storage/journal/define-event.ts';
import { agentBanKey } from '../../storage/keys.ts';
import { type FieldValue, f64, group, list, oneOf, record, text } from '../../storage/record.ts';
import {
  type Decision,
  type DecisionFacts,
  type DecisionType,
  decisionTypes,
  isCountryOrSystem,
} from './decisions.ts';

export type DecisionRow = FieldValue<typeof fields>;

interface DecisionsInMemory {
  add(made: DecisionRow): void;
  /** They end now, whatever their time. */
  unban(ended: DecisionRow): void;
}

/** A decision at rest, under its account and value. */
export const decisionRow = record<DecisionFacts>(3, {
  untilMs: f64,
  scenario: text,
  type: oneOf<DecisionType>(decisionTypes),
  origin: text,
  atMs: f64,
});

const fields = group({
  account: text,
  /** Milliseconds since 1970: when they were made, or taken back. */
  atMs: f64,
  decisions: list(
    group<Decision>({
      value: text,
      type: oneOf<DecisionType>(decisionTypes),
      atMs: f64,
      untilMs: f64,
      origin: text,
      scenario: text,
    }),
  ),
});

/** Version 4 has the bytes of version 3; programs that don't know it take each value for an address. */
function versionOf({ decisions }: DecisionRow): number {
  return decisions.some(({ value }) => isCountryOrSystem(value)) ? 4 : 3;
}

export const agentBanned = defineEvent({
  kind: 'agent.banned',
  since: { 3: 1, 4: 2 },
  versionOf,
  fields,
  apply: (decisions: DecisionsInMemory, made) => decisions.add(made),
  async undo(rows, { account, decisions }) {
    for (const { value } of decisions) {
      const key = agentBanKey(account, value);
      if (rows.isFirst(key)) await rows.remove(key);
    }
  },
});

export const agentUnbanned = defineEvent({
  kind: 'agent.unbanned',
  since: { 1: 1 },
  fields,
  apply: (decisions: DecisionsInMemory, ended) => decisions.unban(ended),
  async undo(rows: RewoundRows, { account, decisions }) {
    for (const decision of decisions) {
      const key = agentBanKey(account, decision.value);
      if (rows.isFirst(key)) await rows.put(key, decisionRow.encode(decision));
    }
  },
});

export const agentEvents = [agentBanned, agentUnbanned];
