/**
 * A line for each answer, in JSON, to a file or standard output. Invariants: no value of a query and no
 * part of a path stands there unless it is known to be no secret; nothing waits for the lines.
 */

import { open, openSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { createLogWriter, type LogWriter } from '../../core/log.ts';

/** The facts of a finished request, from which its line is made. */
interface AccessEntry {
  readonly clientIp: string;
  readonly method: string;
  /** The pattern of the route; `''` when none matched. */
  readonly pattern: string;
  /** The path as it was sent. */
  readonly path: string;
  readonly query: string;
  /** The status sent, or 0 when the client left first. */
  readonly status: number;
  readonly ms: number;
  /** The request's id; undefined for most of the hot routes. */
  readonly id: string | undefined;
  readonly trace: string | undefined;
}

export type AccessLog = (answered: AccessEntry) => void;

/** The parts of an address that the log may show as they were sent. */
export interface PublicParts {
  /** Patterns of routes whose parameter is no secret. */
  readonly patterns: ReadonlySet<string>;
  /** Names of parameters whose value is none. */
  readonly parameters: ReadonlySet<string>;
}

const toStandardOutput = 'stdout';
const standardOutput = 1;
const fileMode = 0o600;
const left = '…';
/** A part of a path that leads nowhere may be a token that was pasted. */
const strangePartMax = 20;
const strangePathMax = 200;
const queryMax = 1_000;
const methodMax = 16;

/** @throws OperatorError when the file can't be opened */
export function openAccessLog(where: string, shown: PublicParts, clock: Pick<Clock, 'now'>) {
  const writer = createLogWriter(openWhere(where));
  return {
    note: createAccessLog(writer, shown, clock),
    /**
     * The file of that name from now on, which is made if it is not there; until then the former one. Rejects
     * when it can't be opened.
     */
    async reopen(): Promise<void> {
      if (where === toStandardOutput) return;
      // Not at once: a disk that is away would hold up everybody.
      writer.turnTo(await promisify(open)(where, 'a', fileMode));
    },
  };
}

export function createAccessLog(
  writer: Pick<LogWriter, 'write'>,
  shown: PublicParts,
  clock: Pick<Clock, 'now'>,
): AccessLog {
  return ({ clientIp, method, pattern, path, query, status, ms, id, trace }) => {
    const line = JSON.stringify({
      time: new Date(clock.now()).toISOString(),
      client: clientIp,
      method: method.slice(0, methodMax),
      path: pathShown(pattern, path, shown.patterns),
      query: query === '' ? undefined : queryShown(query, shown.parameters),
      status,
      ms: Math.round(ms * 1_000) / 1_000,
      request: id,
      trace,
    });
    writer.write(`${line}\n`);
  };
}

function openWhere(where: string): number {
  if (where === toStandardOutput) return standardOutput;
  try {
    return openSync(where, 'a', fileMode);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`the file of ACCESS_LOG cannot be opened: ${reason}`);
  }
}

function pathShown(pattern: string, path: string, patterns: PublicParts['patterns']): string {
  const isKnown = pattern !== '' && pattern !== '/*';
  if (isKnown && (pattern === path || patterns.has(pattern))) return path;
  if (isKnown) return pattern;
  const parts = path.slice(0, strangePathMax).split('/');
  return parts.map((part) => (part.length > strangePartMax ? left : part)).join('/');
}

function queryShown(query: string, parameters: PublicParts['parameters']): string {
  const pairs = query.slice(0, queryMax).split('&');
  const kept = pairs.filter((pair) => parameters.has(pair.slice(0, pair.indexOf('='))));
  const isWhole = kept.length === pairs.length && query.length <= queryMax;
  return [...kept, ...(isWhole ? [] : [left])].join('&');
}
