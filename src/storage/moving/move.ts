/**
 * Carries a store from one side to the other: all of the source is looked at first, then it is written
 * batch by batch with the place reached, then both sides are counted and hashed and compared.
 *
 * Invariants: nothing is written while the source holds a row that can't be carried; an end at any moment
 * repeats nothing and skips nothing when it is begun again; a target counts only once both sides agree.
 */

import { createHash } from 'node:crypto';
import { OperatorError } from '../../core/errors.ts';
import {
  createTallies,
  type Facts,
  type MovedTally,
  type MoveTarget,
  parts,
  type Side,
} from './rows.ts';

export interface MoveOptions {
  readonly source: Side;
  readonly target: MoveTarget;
  readonly onProgress?: (verb: string, rows: number, rowsAbout: number) => void;
  /** For tests: smaller batches, an end behind any of them. */
  readonly batchRows?: number;
  readonly afterBatch?: () => Promise<void>;
}

export interface Moved {
  readonly seq: number;
  readonly rows: number;
  readonly tallies: readonly MovedTally[];
  /** An earlier move had carried so many rows already. */
  readonly resumedAt: number;
}

interface Look {
  readonly tallies: readonly MovedTally[];
  readonly rows: number;
  /** The time of the last event. */
  readonly lastAt: number;
}

const batchRowsDefault = 500;
/** Rows that a refusal names. */
const namedMax = 10;

/** @throws OperatorError when a row can't be carried, or the sides differ at the end */
export async function move(options: MoveOptions): Promise<Moved> {
  const { source, target } = options;
  const facts = await source.facts();
  if (facts.prunedThrough > (facts.checkpointSeq ?? 0)) {
    throw new OperatorError(
      `the journal begins behind ${facts.prunedThrough} and no checkpoint is as new: start a server on it once, stop it, and try again`,
    );
  }
  const found = await look(source, facts, 'checked', options);
  const fingerprint = createHash('sha256').update(JSON.stringify(found.tallies)).digest('hex');
  const resumedAt = await copy(options, facts, fingerprint, found.rows);
  await target.finish(facts, found.lastAt);
  const written = await look(target, { ...facts, rowsAbout: found.rows }, 'compared', options);
  const differing = differences(found.tallies, written.tallies);
  if (differing.length > 0) {
    throw new OperatorError(
      `the two sides differ in ${differing.join(', ')}: nothing was given over`,
    );
  }
  return { seq: facts.lastSeq, rows: found.rows, tallies: found.tallies, resumedAt };
}

/** Reads all of a side. @throws OperatorError that names what is bad */
async function look(
  side: Side,
  { prunedThrough, lastSeq, rowsAbout }: Facts,
  verb: string,
  { onProgress, batchRows = batchRowsDefault }: MoveOptions,
): Promise<Look> {
  const tallies = createTallies();
  const bad: string[] = [];
  let rows = 0;
  let lastAt = 0;
  let seq = prunedThrough;
  for (const part of parts) {
    for await (const batch of side.read(part, undefined, batchRows, (line) => bad.push(line))) {
      tallies.add(part, batch);
      rows += batch.length;
      onProgress?.(verb, rows, Math.max(rows, rowsAbout));
      if (part !== 'journal') continue;
      for (const { number, at } of batch) {
        // A row that is bad itself is named already.
        if (number !== seq + 1 && bad.length === 0) bad.push(`the journal has a gap at ${seq + 1}`);
        seq = number;
        lastAt = at;
      }
    }
  }
  if (seq !== lastSeq && bad.length === 0) {
    bad.push(`the journal ends with ${seq}, its last event is ${lastSeq}`);
  }
  if (bad.length > 0) {
    const more = bad.length > namedMax ? `, and ${bad.length - namedMax} more` : '';
    throw new OperatorError(
      `${bad.slice(0, namedMax).join('; ')}${more}: nothing was given over. Restore a backup`,
    );
  }
  return { tallies: tallies.finish(), rows, lastAt };
}

/** @returns rows that were there already */
async function copy(
  { source, target, onProgress, afterBatch, batchRows = batchRowsDefault }: MoveOptions,
  facts: Facts,
  fingerprint: string,
  total: number,
): Promise<number> {
  let place = await target.place();
  if (place?.fingerprint !== fingerprint) {
    await target.clear();
    place = undefined;
  }
  let rows = 0;
  function refuse(line: string): void {
    throw new OperatorError(`the source changed meanwhile: ${line}`);
  }
  for (const [index, part] of parts.entries()) {
    const done = place?.part ?? 0;
    if (index < done) continue;
    const key = index === done ? (place?.after ?? '') : '';
    const after = key === '' ? undefined : Buffer.from(key, 'hex');
    for await (const batch of source.read(part, after, batchRows, refuse)) {
      const last = batch.at(-1)!.key.toString('hex');
      await target.write(part, batch, { fingerprint, part: index, after: last }, facts);
      rows += batch.length;
      onProgress?.('written', rows, total);
      await afterBatch?.();
    }
  }
  return place === undefined ? 0 : total - rows;
}

/** Names of what differs. */
function differences(a: readonly MovedTally[], b: readonly MovedTally[]): string[] {
  const other = new Map(b.map((tally) => [tally.name, tally]));
  const differing = a.filter(({ name, rows, sha256 }) => {
    const found = other.get(name);
    other.delete(name);
    return found?.rows !== rows || found.sha256 !== sha256;
  });
  return [...differing.map(({ name }) => name), ...other.keys()];
}
