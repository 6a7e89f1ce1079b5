/**
 * Checks every row of a store: checksums, the journal's numbers, and rows that name each other.
 * Tables without checksums (`event_ids`, `expiry`, `meta`) are compared with those that have one.
 */

import { createReader, decode } from '../codec.ts';
import { checkpointRowKey, checkpointSeqIn } from '../journal/projection.ts';
import { eventIdRowKey, expiryRowKey, journalRowKey, namespaces } from '../keys.ts';
import { DamagedRowError, decodeEvent, isExpired, readEntry } from '../rows.ts';
import { dataFormat, formatIn } from './format.ts';
import { encodeExpiryTarget, expiryKinds, readEventIdSeq } from './tables.ts';
import { batchesOf, type RawRow, type View } from './view.ts';

const perKindMax = 10;

/** Collects the findings of a verification: a line each up to a bound, the rest is counted. */
export function createFindings() {
  const lines: string[] = [];
  const notes: string[] = [];
  const counts = new Map<string, number>();
  return {
    /** Something that must not be. @param kind the same for all of its kind */
    add(kind: string, line: string): void {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      if (count <= perKindMax) lines.push(line);
      else if (count === perKindMax + 1) lines.push(`more of this kind: ${kind}`);
    },
    /** Worth to know, and no fault. */
    note: (line: string): void => void notes.push(line),
    lines,
    notes,
    /** All of them, those beyond the bound included. */
    count: (): number => [...counts.values()].reduce((sum, count) => sum + count, 0),
  };
}

export type Findings = ReturnType<typeof createFindings>;

const batchBytes = 1024 * 1024;
const known = new Set<number>(Object.values(namespaces));

export interface RowsSeen {
  readonly entries: number;
  readonly events: number;
}

/** @param storeId the name in the file next to the store, in hex; undefined: there is none */
export async function verifyRows(options: {
  view: View;
  findings: Findings;
  nowMs: number;
  storeId: string | undefined;
  onProgress?: (rows: number, rowsAbout: number) => void;
}): Promise<RowsSeen> {
  const { view, findings, nowMs, storeId, onProgress } = options;
  let rows = 0;
  async function each(
    table: 'entries' | 'journal' | 'eventIds' | 'expiry',
    visit: (row: RawRow) => void,
  ): Promise<void> {
    for (const batch of batchesOf(view, table, batchBytes)) {
      for (const row of batch) visit(row);
      rows += batch.length;
      onProgress?.(rows, view.rowsAbout);
      await new Promise(setImmediate);
    }
  }
  verifyMeta(view, findings, storeId);
  const seen = { entries: 0, events: 0 };
  await each('entries', (row) => {
    seen.entries += 1;
    verifyEntry(view, findings, nowMs, row);
  });
  let next = view.counters.prunedThrough + 1;
  await each('journal', (row) => {
    seen.events += 1;
    next = verifyEvent(view, findings, next, row);
  });
  if (next !== view.counters.lastSeq + 1) {
    findings.add(
      'journal end',
      `the journal ends at ${next - 1}, and not at ${view.counters.lastSeq}`,
    );
  }
  await each('eventIds', ({ key, value }) => verifyEventId(view, findings, key, value));
  await each('expiry', ({ key, value }) => {
    const kind = value[0];
    if (kind === expiryKinds.entry || kind === expiryKinds.eventId) return;
    findings.add('expiry', `the row ${hex(key)} of expiry is damaged`);
  });
  // The other tables are looked up on the way.
  onProgress?.(view.rowsAbout, view.rowsAbout);
  return seen;
}

function verifyMeta(view: View, findings: Findings, storeId: string | undefined): void {
  const format = formatIn({ get: (key) => view.get('meta', key) });
  if (format?.number !== dataFormat.number) {
    const found = format === undefined ? 'no data format' : `data format ${format.number}`;
    findings.add('meta', `the store has ${found}, and not ${dataFormat.number}`);
  }
  const identity = view.meta('identity')?.toString('hex');
  if (storeId !== undefined && storeId !== identity) {
    findings.add('meta', `store.id names ${storeId}, the store ${identity ?? 'has no name'}`);
  }
  const record = view.get('entries', checkpointRowKey);
  if (record === undefined) return;
  try {
    const seq = checkpointSeqIn(readEntry(checkpointRowKey, record).value);
    const { lastSeq, prunedThrough } = view.counters;
    if (seq >= BigInt(prunedThrough) && seq <= BigInt(lastSeq)) return;
    findings.add(
      'meta',
      `the checkpoint is of ${seq}, the journal has ${prunedThrough + 1} to ${lastSeq}`,
    );
  } catch (error) {
    findings.add('meta', (error as Error).message);
  }
}

function verifyEntry(view: View, findings: Findings, nowMs: number, { key, value }: RawRow): void {
  try {
    const entry = readEntry(key, value);
    if (!known.has(key[0]!))
      findings.add('key', `the row ${hex(key)} of entries is of no known kind`);
    if (entry.version > view.counters.lastVersion) {
      findings.add('version', `the row ${hex(key)} has a version that was not given yet`);
    }
    if (entry.expiresAt !== 0) {
      const due = view.get('expiry', expiryRowKey(entry.expiresAt, entry.version));
      if (due?.equals(encodeExpiryTarget(expiryKinds.entry, key)) !== true) {
        findings.add('expiry', `the row ${hex(key)} expires, and nothing will remove it`);
      }
    }
    if (isExpired(entry, nowMs)) return;
    const missing = keysRequiredBy(key, entry.value).find(
      (other) => view.get('entries', other) === undefined,
    );
    if (missing === undefined) return;
    findings.add('reference', `the row ${hex(key)} names ${hex(missing)}, which is not there`);
  } catch (error) {
    if (!(error instanceof DamagedRowError)) throw error;
    findings.add('checksum', error.message);
  }
}

/** Keys that must be there when this row is. Rows that expire by themselves are not among them. */
function keysRequiredBy(key: Uint8Array, value: Uint8Array): Uint8Array[] {
  const bytes = Buffer.from(key);
  const at = (space: number, ...parts: Uint8Array[]) => Buffer.concat([Buffer.of(space), ...parts]);
  const behindText = () => bytes.subarray(bytes.indexOf(0) + 1);
  switch (bytes[0]) {
    case namespaces.accountByEmail:
      return [at(namespaces.account, value, Buffer.of(0))];
    case namespaces.apiKey: {
      const input = createReader(value);
      input.u8();
      const account = Buffer.from(input.text());
      if (input.failed()) return [];
      return [at(namespaces.ownedApiKey, account, Buffer.of(0), bytes.subarray(1))];
    }
    case namespaces.apiKeyByAccount:
    case namespaces.ownedApiKey:
      return [at(namespaces.apiKey, behindText())];
    case namespaces.siteKeyByAccount:
      return [at(namespaces.siteKey, behindText())];
    case namespaces.passkeyByAccount:
      return [at(namespaces.passkey, behindText())];
    case namespaces.consentUse:
      return [at(namespaces.consent, bytes.subarray(1))];
    case namespaces.reportTailByAccount:
      return [at(namespaces.reportTail, bytes.subarray(-17), bytes.subarray(1, -17))];
    case namespaces.reportByAddress:
      return [at(namespaces.reportById, bytes.subarray(-16))];
    case namespaces.reportById: {
      const row = decode(value, (input) => ({ account: input.text(), address: input.raw(17) }));
      if (row === undefined) return [];
      // The time stands in the id, and descending before it in the other key.
      const time = bytes.subarray(1, 7).map((byte) => 0xff - byte);
      return [at(namespaces.reportByAddress, row.address, time, bytes.subarray(1))];
    }
    default:
      return [];
  }
}

/** An id leads to its event as long as that is in the journal. */
function verifyEventId(view: View, findings: Findings, key: Uint8Array, row: Buffer): void {
  const seq = readEventIdSeq(row);
  if (seq <= view.counters.prunedThrough) return;
  const id = Buffer.from(key).toString('utf8');
  const value = view.get('journal', journalRowKey(seq));
  try {
    if (value !== undefined && decodeEvent(BigInt(seq), value).id === id) return;
  } catch (error) {
    if (!(error instanceof DamagedRowError)) throw error;
    // It was reported with the journal's rows.
    return;
  }
  findings.add(
    'event of an id',
    `the event ${id} is not at ${seq} of the journal, where its id leads`,
  );
}

/** @returns the number that the next one must have */
function verifyEvent(view: View, findings: Findings, next: number, { key, value }: RawRow): number {
  const seq = Number(Buffer.from(key).readBigUInt64BE());
  if (seq !== next) findings.add('gap', `the journal has ${seq} where ${next} must be`);
  try {
    const event = decodeEvent(BigInt(seq), value);
    const id = view.get('eventIds', eventIdRowKey(event.id));
    if (id === undefined || readEventIdSeq(id) !== seq) {
      findings.add('event id', `the event ${seq} of the journal is not found by its id`);
    }
  } catch (error) {
    if (!(error instanceof DamagedRowError)) throw error;
    findings.add('checksum', error.message);
  }
  return seq + 1;
}

function hex(key: Uint8Array): string {
  return Buffer.from(key).toString('hex');
}
