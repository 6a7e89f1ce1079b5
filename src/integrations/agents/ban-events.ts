/**
 * The journal events by which every node learns of agents' decisions. They hold the id of the account and
 * addresses, which are in the reports of the same moment, too. Of `agent.banned`, versions 1 and 2 hold bans of
 * the usual length alone, the second one each with its scenario; version 3 holds decisions of any kind.
 * `agent.unbanned` says which were taken back, and what they were.
 */

import { createWriter, decode, type Reader, type Writer } from '../../storage/codec.ts';
import type { NewEvent } from '../../storage/store.ts';
import { banMs, type Decision, decisionTypes, usualOrigin } from './decision.ts';

const kinds = { banned: 'agent.banned', unbanned: 'agent.unbanned' } as const;
const bannedVersion = 3;
const unbannedVersion = 1;

export interface Banned {
  /** Account id. */
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly decisions: readonly Decision[];
  /** They end now, whatever their time. */
  readonly isTakenBack: boolean;
}

export function isBanEvent(name: string): boolean {
  return name === kinds.banned || name === kinds.unbanned;
}

/**
 * Returns whether the decision has the only form that older programs read: CrowdSec's ban of an
 * address for `banMs`.
 */
export function isUsual({ value, type, atMs, untilMs, origin }: Decision): boolean {
  const isForUsualTime = untilMs === atMs + banMs && origin === usualOrigin;
  return type === 'ban' && isForUsualTime && !value.includes('/');
}

/** @param banned all usual, or any: the former is what older programs read */
export function encodeBanned(id: string, banned: Banned): NewEvent {
  const { account, atMs, decisions, isTakenBack } = banned;
  if (isTakenBack || !decisions.every(isUsual)) {
    const kind = isTakenBack ? kinds.unbanned : kinds.banned;
    const version = isTakenBack ? unbannedVersion : bannedVersion;
    return { id, kind, version, body: writeDecisions(banned).finish() };
  }
  const out = createWriter()
    .text(account)
    .f64(atMs + banMs)
    .varint(decisions.length);
  const isNamed = decisions.some(({ scenario }) => scenario !== '');
  for (const { value, scenario } of decisions) {
    out.text(value);
    if (isNamed) out.text(scenario);
  }
  return { id, kind: kinds.banned, version: isNamed ? 2 : 1, body: out.finish() };
}

function writeDecisions({ account, atMs, decisions }: Banned): Writer {
  const out = createWriter().text(account).f64(atMs).varint(decisions.length);
  for (const { value, type, atMs: madeAtMs, untilMs, origin, scenario } of decisions) {
    out.text(value).u8(decisionTypes.indexOf(type)).f64(madeAtMs).f64(untilMs);
    out.text(origin).text(scenario);
  }
  return out;
}

/** Throws on a corrupt body and on a newer format: the follower must stop, not guess. */
export function decodeBanned({ kind, version, body }: NewEvent): Banned {
  const isTakenBack = kind === kinds.unbanned;
  const newest = isTakenBack ? unbannedVersion : bannedVersion;
  const read =
    version < 1 || version > newest
      ? undefined
      : decode(body, (input): Banned => {
          const [account, timeMs, count] = [input.text(), input.f64(), input.varint()];
          if (count > body.length) input.reject();
          const isPlain = !isTakenBack && version < 3;
          const decisions: Decision[] = [];
          for (let i = 0; i < count; i++) {
            decisions.push(isPlain ? readUsual(input, timeMs, version > 1) : readDecision(input));
          }
          return { account, atMs: isPlain ? timeMs - banMs : timeMs, decisions, isTakenBack };
        });
  if (read === undefined) throw new Error(`an event ${kind} can't be read`);
  return read;
}

function readUsual(input: Reader, untilMs: number, isNamed: boolean): Decision {
  return {
    value: input.text(),
    type: 'ban',
    atMs: untilMs - banMs,
    untilMs,
    origin: usualOrigin,
    scenario: isNamed ? input.text() : '',
  };
}

function readDecision(input: Reader): Decision {
  const value = input.text();
  const type = decisionTypes[input.u8()];
  if (type === undefined) input.reject();
  const [atMs, untilMs] = [input.f64(), input.f64()];
  return {
    value,
    type: type ?? 'ban',
    atMs,
    untilMs,
    origin: input.text(),
    scenario: input.text(),
  };
}
