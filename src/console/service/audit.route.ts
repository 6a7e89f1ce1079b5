/** GET /admin/audit, and the same as CSV and JSON lines: what operators changed. Nothing changes it. */

import { auditCsvHead, auditCsvLine, auditJsonLine } from '../../access/audit-log.ts';
import { createTurns } from '../../core/scheduling.ts';
import { createBodyWriter } from '../../http/answer/body-writer.ts';
import type { Header, Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { noStore } from '../../web/shape.ts';
import {
  type ConsoleParts,
  consoleScreen,
  type OperatorRequest,
  viewOf,
} from '../operator-request.route.ts';
import { auditPage } from './audit.page.tsx';

export const auditScreenEndpoints = {
  show: consoleScreen('/admin/audit'),
  csv: consoleScreen('/admin/audit.csv'),
  json: consoleScreen('/admin/audit.jsonl'),
};

const entriesPerPage = 50;
/** An export has the newest entries, so many at most; the command line gives all. */
const exportedMax = 50_000;

export interface ConsoleNames {
  /** The mail address of an account; undefined when it is gone. */
  emailOf(accountId: string): Promise<string | undefined>;
}

export function auditScreens(parts: ConsoleParts, names: ConsoleNames): PlainRoute[] {
  const { pageBuilder, audit, clock } = parts;
  const at = auditScreenEndpoints;

  async function show(context: OperatorRequest, query: Params): Promise<Reply> {
    const asked = Number(query.get('before'));
    const isPast = Number.isSafeInteger(asked) && asked > 0 && asked <= clock.now();
    const before = isPast ? asked : undefined;
    const { entries, next } = await audit.page({ before, limit: entriesPerPage });
    const ids = entries.map(({ user }) => /^account (\S+)$/.exec(user)?.[1]);
    const accounts = new Map<string, string>();
    for (const id of new Set(ids)) {
      const email = id === undefined ? undefined : await names.emailOf(id);
      if (id !== undefined && email !== undefined) accounts.set(`account ${id}`, email);
    }
    const view = { ...viewOf(parts, context, query), entries, next, accounts };
    return pageBuilder.show(context, (frame) => auditPage(frame, view));
  }

  async function file(context: OperatorRequest, kind: 'csv' | 'jsonl'): Promise<Reply> {
    const entries = (await audit.list(0)).slice(-exportedMax);
    const type = kind === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl; charset=utf-8';
    const headers: Header[] = [
      ['Content-Type', type],
      ['Content-Disposition', `attachment; filename="portcullis-audit.${kind}"`],
      ['X-Content-Type-Options', 'nosniff'],
      ['X-Robots-Tag', 'noindex'],
      noStore,
      ...context.cookies,
    ];
    const isCsv = kind === 'csv';
    const out = createBodyWriter();
    const turns = createTurns();
    if (isCsv) out.add(auditCsvHead);
    for (const entry of entries) {
      out.add(isCsv ? auditCsvLine(entry) : auditJsonLine(entry));
      if (turns.isOver()) await turns.next();
    }
    return { status: 200, headers, body: await out.finish() };
  }

  return [
    pageBuilder.page(at.show, show),
    pageBuilder.page(at.csv, (context) => file(context, 'csv')),
    pageBuilder.page(at.json, (context) => file(context, 'jsonl')),
  ];
}
