/**
 * POST /api/v2/bulk-report: a file of reports. The form is read to its end before the first row
 * is saved, so what is cut off or too long leaves nothing behind. Then each row stands for
 * itself: a bad one is named in the answer, the good ones are saved.
 * Order of refusals: 401, 429, 503 (too many at once), 415, 413, 422, 429 (rows), 503 (store).
 */

import { type Gate, quotaKind } from '../access/gate.ts';
import { fail, type Result } from '../core/result.ts';
import type { GeoReader } from '../geo/reader.ts';
import { readFormStream } from '../http/form-stream.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import { parseQuery } from '../http/query.ts';
import type { StreamRoute } from '../http/router.ts';
import { type BulkReader, type BulkRow, createBulkReader, type InvalidRow } from './bulk-rows.ts';
import { type BulkSaveOptions, saveBulk } from './bulk-save.ts';
import { clientCountry } from './client-country.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { quotaDetail, quotaHeaders } from './quota-headers.ts';

const csvBytesMax = 8 * 1024 * 1024;
/** Room for the form around the file. */
const bodyBytesMax = csvBytesMax + 64 * 1024;
/** For the upload and the saving. */
const timeoutMs = 25_000;
/** One write pays for so many rows. */
const rowsPerWrite = 100;
/** Files being taken in, each up to its limit in memory: in all, and of one account. */
const runningMax = 16;
const runningPerAccountMax = 2;

export interface BulkReportOptions extends BulkSaveOptions {
  readonly gate: Gate;
  readonly geo: GeoReader;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: (seq: bigint) => Promise<void>;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
}

/** Who sends the file, when the key was seen: let in, or refused. */
interface Sender {
  readonly slot: number;
  readonly account: string;
  readonly keyText: string | undefined;
  /** The rate limit: on refusals too. */
  readonly headers: readonly Header[];
  readonly refusal: Reply | undefined;
}

export function bulkReportRoute(options: BulkReportOptions): StreamRoute {
  const { gate } = options;
  const running = new Map<number, number>();
  let runningTotal = 0;

  function identify(keyText: string | undefined): Sender {
    const slot = gate.authenticate(keyText);
    const account = slot < 0 ? undefined : options.accountOf(slot);
    if (account === undefined) {
      const refusal = apiProblem(fail('unauthenticated'));
      return { slot, account: '', keyText, headers: [], refusal };
    }
    const isAdmitted = gate.spend(slot, quotaKind.write, 1);
    const headers = quotaHeaders(gate.quotas);
    let refusal: Reply | undefined;
    if (!isAdmitted) {
      refusal = apiProblem(fail('quota_exceeded', quotaDetail(gate.quotas, 'write')), headers);
    } else if (!enter(slot)) {
      refusal = apiProblem(fail('overloaded', 'Too many bulk reports at the same time.'), headers);
    }
    return { slot, account, keyText, headers, refusal };
  }

  function enter(slot: number): boolean {
    const own = running.get(slot) ?? 0;
    if (runningTotal >= runningMax || own >= runningPerAccountMax) return false;
    runningTotal++;
    running.set(slot, own + 1);
    return true;
  }

  function leave(slot: number): void {
    const own = running.get(slot)! - 1;
    runningTotal--;
    if (own === 0) running.delete(slot);
    else running.set(slot, own);
  }

  async function handle(request: Request, body: AsyncIterable<Uint8Array>): Promise<Reply> {
    const query = parseQuery(request.query);
    const inQuery = query.ok ? query.value.get('key') : undefined;
    const keyText = firstHeader(request, 'key') ?? inQuery;
    const found: { sender?: Sender; file?: BulkReader } = {};
    if (keyText !== undefined) found.sender = identify(keyText);
    try {
      if (found.sender?.refusal !== undefined) return found.sender.refusal;
      const read = await readForm(request, body, found);
      found.sender ??= identify(undefined);
      const { headers, refusal } = found.sender;
      if (refusal !== undefined) return refusal;
      if (!query.ok) return apiProblem(query, headers);
      if (!read.ok) return apiProblem(read, headers);
      const rows = found.file?.end() ?? missing;
      if (!rows.ok) return apiProblem(rows, headers);
      return await save(request.clientIp, found.sender, rows.value);
    } finally {
      const { sender } = found;
      if (sender !== undefined && sender.refusal === undefined) leave(sender.slot);
    }
  }

  /** Who has sent no key by the time the file begins is refused: nobody's file is kept. */
  function readForm(
    request: Request,
    body: AsyncIterable<Uint8Array>,
    found: { sender?: Sender; file?: BulkReader },
  ): Promise<Result<void>> {
    const { turns } = options;
    const contentType = firstHeader(request, 'content-type');
    const rules = { contentType, fileNames: ['csv'], fileBytesMax: csvBytesMax, turns };
    return readFormStream(body, rules, {
      field(name, value) {
        if (name === 'key') found.sender ??= identify(value);
        return found.sender?.refusal === undefined ? undefined : fail('unauthenticated');
      },
      file(name) {
        found.sender ??= identify(undefined);
        if (found.sender.refusal !== undefined) return fail('unauthenticated');
        if (name !== 'csv') return () => undefined;
        if (found.file !== undefined) return givenTwice;
        found.file = createBulkReader();
        return found.file.push;
      },
    });
  }

  async function save(
    clientIp: string,
    { slot, account, keyText }: Sender,
    rows: readonly (BulkRow | InvalidRow)[],
  ): Promise<Reply> {
    // It was judged before the file came: of an account that was deleted since nothing is kept.
    if (gate.authenticate(keyText) !== slot) return apiProblem(fail('unauthenticated'));
    const cost = Math.ceil(rows.length / rowsPerWrite);
    // The first was paid for when the key was seen.
    const isAdmitted = gate.spend(slot, quotaKind.write, cost - 1);
    const headers = quotaHeaders(gate.quotas);
    if (!isAdmitted) {
      const detail = `${quotaDetail(gate.quotas, 'write')} These ${rows.length} rows cost ${cost} writes; nothing was saved.`;
      return apiProblem(fail('quota_exceeded', detail), headers);
    }
    const reporter = { account, slot, country: clientCountry(options.geo, clientIp) };
    const ownAddresses = new Set([...options.serverAddresses, clientIp]);
    const outcome = await saveBulk(rows, reporter, ownAddresses, options);
    if (outcome.saved === 0 && outcome.isStoreDown) {
      return apiProblem(fail('store_unavailable'), headers);
    }
    await options.catchUpTo(outcome.seq);
    const data = { savedReports: outcome.saved, invalidReports: outcome.invalid };
    return {
      status: 200,
      headers: [jsonType, noStore, ...headers],
      body: JSON.stringify({ data }),
    };
  }

  return {
    kind: 'stream',
    method: 'POST',
    path: '/api/v2/bulk-report',
    headers: ['key', 'content-type'],
    bodyBytesMax,
    timeoutMs,
    handle,
  };
}

const missing = fail('invalid_parameter', 'The csv field is required.', 'csv');
const givenTwice = fail('invalid_parameter', 'The csv field is given more than once.', 'csv');
