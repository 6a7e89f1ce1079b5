/**
 * POST /api/v2/bulk-report: a file of reports. The form is read to its end before the first row
 * is saved, so what is cut off or too long leaves nothing behind. Then each row stands for
 * itself: a bad one is named in the answer, the good ones are saved.
 * Order of refusals: 401, 429, 503 (too many at once), 415, 413, 422, 429 (rows), 503 (store).
 */

import * as v from 'valibot';
import type { RecordRefusal } from '../../access/keys/refused-keys.ts';
import type { AccountOf, CatchUpTo } from '../../contracts/reputation.ts';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import { type Failure, fail, type Result } from '../../core/result.ts';
import { count, integer } from '../../core/schema.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import { type FormSink, readPartsInto } from '../../http/request/body.ts';
import { firstHeader, type Header, type Reply, type Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import { PackedBodyError, unpackedPieces } from '../../http/request/unpacking.ts';
import type { StreamRoute } from '../../http/router.ts';
import { endpoint, streamFacts } from '../../web/guard/endpoint.ts';
import { type Guard, type KeyedCall, unreadable } from '../../web/guard/guard.ts';
import { dataAnswer } from '../../web/openapi.ts';
import { jsonReplyOf } from '../../web/shape.ts';
import type { Check } from '../check/check.ts';
import {
  type BulkReader,
  type BulkRow,
  type BulkSaveOptions,
  bulkRowsMax,
  createBulkReader,
  type InvalidRow,
  saveBulk,
} from './bulk-reports.ts';
import { clientNetwork } from './report.ts';

const csvBytesMax = 8 * 1024 * 1024;
const partsMax = 16;
/** Room for the form around the file; no more is unpacked of a body whose key has not come yet. */
const formBytesMax = 64 * 1024;
const bodyBytesMax = csvBytesMax + formBytesMax;
/** For the upload and the saving. */
const timeoutMs = 25_000;
/** One write of the quota pays for this many rows. */
const rowsPerWrite = 100;
/** Files being taken in, each up to its limit in memory: in all, and of one account. */
const runningMax = 16;
const runningPerAccountMax = 2;

interface BulkReportOptions extends BulkSaveOptions {
  readonly guard: Guard;
  readonly geo: GeoReader;
  /** Slot of a key that lives, or -1. */
  readonly slotOf: (keyText: string | undefined) => number;
  readonly check: Pick<Check, 'judge'>;
  readonly accountOf: AccountOf;
  readonly catchUpTo: CatchUpTo;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
  readonly recordRefusal: RecordRefusal;
}

interface UploadParts {
  sender?: Sender;
  file?: BulkReader;
}

/** The sender of a file once the key was seen: let in, or refused. */
interface Sender {
  readonly keyText: string | undefined;
  readonly account: string;
  /** Undefined: refused. */
  readonly call: KeyedCall | undefined;
  readonly failure: Failure | undefined;
  /** The rate limit: on refusals too. */
  readonly headers: readonly Header[];
}

const InvalidReport = v.strictObject({
  error: v.string(),
  input: v.string(),
  rowNumber: integer(1),
});
const BulkReported = v.strictObject({
  savedReports: count,
  invalidReports: v.pipe(v.array(InvalidReport), v.maxLength(bulkRowsMax)),
});
const csv = v.pipe(v.string(), v.metadata({ contentMediaType: 'text/csv' }));

export const bulkReportEndpoint = endpoint({
  method: 'POST',
  path: '/api/v2/bulk-report',
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'write', more: 'for each 100 rows begun' },
  headers: ['key', 'content-type'],
  body: { types: ['multipart'], bytesMax: bodyBytesMax, takesGzip: true },
  timeoutMs,
  errors: ['unsupported_media_type', 'store_unavailable', 'overloaded'],
  robots: 'disallow',
  docs: {
    id: 'bulkReport',
    tag: 'IP API',
    summary: `Up to ${bulkRowsMax} reports as CSV. Costs one write for each 100 rows.`,
    requestBody: {
      required: true,
      content: {
        'multipart/form-data': { schema: v.object({ key: v.optional(v.string()), csv }) },
      },
    },
    answers: { 200: dataAnswer('Rows saved, and those that were not.', BulkReported) },
    schemas: { BulkReported },
  },
});

export function bulkReportRoute(options: BulkReportOptions): {
  route: StreamRoute;
  table: BoundedTable;
} {
  const { guard } = options;
  const running = new Map<number, number>();
  let runningTotal = 0;
  const refuse = (failure: Failure, headers: readonly Header[]) =>
    guard.failureReply(bulkReportEndpoint, failure, headers);

  function identify(request: Request, keyText: string | undefined): Sender {
    const admitted = guard.admit(bulkReportEndpoint, request, keyText);
    const nobody = { keyText, account: '', call: undefined };
    if ('failure' in admitted) return { ...nobody, ...admitted };
    const { call } = admitted;
    const account = options.accountOf(call.slot);
    if (account === undefined) return { ...nobody, failure: fail('unauthenticated'), headers: [] };
    if (!enter(call.slot)) {
      const failure = fail('overloaded', 'Too many bulk reports at the same time.');
      return { ...nobody, failure, headers: call.headers };
    }
    return { keyText, account, call, failure: undefined, headers: call.headers };
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
    const found: UploadParts = {};
    const reply = await answer(request, body, found);
    if (reply.status >= 400) {
      found.sender?.call?.markRefused();
      const { keyText } = found.sender ?? {};
      options.recordRefusal(keyText, request.clientIp, reply.status, reply.body);
    }
    return reply;
  }

  async function answer(
    request: Request,
    body: AsyncIterable<Uint8Array>,
    found: UploadParts,
  ): Promise<Reply> {
    const query = parseQuery(request.query);
    const inQuery = query.ok ? query.value.get('key') : undefined;
    const keyText = firstHeader(request, 'key') ?? inQuery;
    if (keyText !== undefined) found.sender = identify(request, keyText);
    try {
      if (found.sender?.failure !== undefined) {
        return refuse(found.sender.failure, found.sender.headers);
      }
      const pieces = unpackedPieces(request, body, () =>
        found.sender === undefined ? formBytesMax : bodyBytesMax,
      );
      const read = await readForm(request, pieces, found);
      found.sender ??= identify(request, undefined);
      const { headers, failure } = found.sender;
      if (failure !== undefined) return refuse(failure, headers);
      if (!query.ok) return refuse(query, headers);
      if (!read.ok) return refuse(read, headers);
      const rows = found.file?.end() ?? missing;
      if (!rows.ok) return refuse(rows, headers);
      return await save(request.clientIp, found.sender, rows.value);
    } catch (error) {
      if (!(error instanceof PackedBodyError)) throw error;
      const { sender } = found;
      if (sender === undefined) return refuse(fail('unauthenticated'), []);
      return refuse(unreadable(bulkReportEndpoint, error.failure), sender.headers);
    } finally {
      const call = found.sender?.call;
      if (call !== undefined) leave(call.slot);
    }
  }

  /** Refuses a request without a key before the file begins: nobody's file is kept. */
  function readForm(
    request: Request,
    body: AsyncIterable<Uint8Array>,
    found: UploadParts,
  ): Promise<Result<void>> {
    const contentType = firstHeader(request, 'content-type');
    const isFile = (name: string) => name === 'csv';
    const rules = { contentType, isFile, fileBytesMax: csvBytesMax, partsMax };
    const sink: FormSink = {
      field(name, value) {
        if (name === 'key') found.sender ??= identify(request, value);
        return found.sender?.failure;
      },
      file(name) {
        found.sender ??= identify(request, undefined);
        if (found.sender.failure !== undefined) return found.sender.failure;
        if (name !== 'csv') return () => undefined;
        if (found.file !== undefined) return givenTwice;
        found.file = createBulkReader();
        return found.file.push;
      },
    };
    return readPartsInto(body, rules, sink, options.scheduler);
  }

  async function save(
    clientIp: string,
    { account, keyText, call }: Sender,
    rows: readonly (BulkRow | InvalidRow)[],
  ): Promise<Reply> {
    const { slot } = call!;
    // It was judged before the file came: of an account that was deleted since nothing is kept.
    if (options.slotOf(keyText) !== slot) return refuse(fail('unauthenticated'), []);
    const cost = Math.ceil(rows.length / rowsPerWrite);
    // The first was paid for when the key was seen.
    const unpaid = call!.spend(
      cost - 1,
      (said) => `${said} These ${rows.length} rows cost ${cost} writes; nothing was saved.`,
    );
    const { headers } = call!;
    if (unpaid !== undefined) return refuse(unpaid, headers);
    const reporter = {
      account,
      slot,
      country: clientCountry(options.geo, clientIp),
      network: clientNetwork(options, clientIp),
    };
    const ownAddresses = new Set([...options.serverAddresses, clientIp]);
    const outcome = await saveBulk(rows, reporter, ownAddresses, options);
    if (outcome.saved === 0 && outcome.isStoreDown)
      return refuse(fail('store_unavailable'), headers);
    await options.catchUpTo(outcome.seq);
    const data = { savedReports: outcome.saved, invalidReports: outcome.invalid };
    return jsonReplyOf({ data }, headers);
  }

  return {
    route: { kind: 'stream', ...streamFacts(bulkReportEndpoint), handle },
    table: { name: 'bulk_reports', used: () => runningTotal, limit: runningMax },
  };
}

const missing = fail('invalid_parameter', 'The csv field is required.', 'csv');
const givenTwice = fail('invalid_parameter', 'The csv field is given more than once.', 'csv');
