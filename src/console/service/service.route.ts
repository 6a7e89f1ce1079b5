/** GET /admin/system: what the service does at this moment. */

import {
  type AuditEntry,
  auditCsvHead,
  auditCsvLine,
  auditJsonLine,
} from '../../access/audit-log.ts';
import type { Language } from '../../core/language.ts';
import { readDomain } from '../../core/mail-address.ts';
import { fail, ok } from '../../core/result.ts';
import { createScheduler } from '../../core/scheduling.ts';
import { plainPasted } from '../../core/text.ts';
import { geoFreshMs } from '../../geo/sources.ts';
import { createBodyWriter } from '../../http/answer/body-writer.ts';
import type { Header, Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { noStore } from '../../web/shape.ts';
import {
  type ConsoleNames,
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  emailsOf,
  type OperatorRequest,
  viewOf,
} from '../operator-request.route.ts';
import { consolePaths } from '../parts.page.tsx';
import { auditPage } from './audit.page.tsx';
import { checklistActs, checklistPage, type StepsDone } from './checklist.page.tsx';
import { type EventNames, type ServiceFacts, systemPage } from './system.page.tsx';

export const systemEndpoint = consoleScreen(consolePaths.system);

export function systemScreen(
  parts: ConsoleParts,
  read: () => ServiceFacts,
  eventNames: (language: Language) => EventNames,
): PlainRoute {
  const { pageBuilder } = parts;
  return pageBuilder.page(systemEndpoint, async (context, query) => {
    const view = await viewOf(parts, context, query);
    const said = { service: read(), eventNames: eventNames(context.language) };
    return pageBuilder.show(context, (frame) => systemPage(frame, { ...view, ...said }));
  });
}

// GET /admin/checklist and its change: the first steps of a new service, and a mail that shows whether mails arrive.

export const checklistEndpoints = {
  show: consoleScreen('/admin/checklist'),
  change: consoleChange('checklist'),
};

export interface ConsoleChecklist {
  /** By the account of the operator who asks. */
  stepsOf(accountId: string): Promise<StepsDone>;
  /** The port on which this server listens. */
  readonly port: number;
  /** The name that visitors type, or an example where this server has none yet. */
  readonly host: string;
  /** True where that name is an example. */
  readonly asksHost: boolean;
  /** Milliseconds since 1970; 0: there is none; undefined: the server makes none. */
  newestBackupAt(): number | undefined;
  /** Milliseconds since 1970; 0: unknown. */
  readonly geoMadeAt: number;
  /** Undefined when the account is gone. */
  addressOf(accountId: string): Promise<string | undefined>;
}

export function checklistScreens(parts: ConsoleParts, reads: ConsoleChecklist): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = checklistEndpoints;

  async function show(context: OperatorRequest, query: Params): Promise<Reply> {
    const { accountId } = context.session;
    const typedHost = reads.asksHost ? plainPasted(query.get('host') ?? '') : undefined;
    const asked = typedHost ? 'publicUrl' : query.get('step');
    const view = {
      ...(await viewOf(parts, context, query)),
      steps: await reads.stepsOf(accountId),
      port: reads.port,
      host: readDomain(typedHost ?? '') ?? reads.host,
      typedHost,
      asked,
      newestBackupAt: reads.newestBackupAt(),
      geoMadeAt: reads.geoMadeAt,
      isGeoFresh: parts.clock.now() - reads.geoMadeAt <= geoFreshMs,
      address: (await reads.addressOf(accountId)) ?? '',
    };
    return pageBuilder.show(context, (frame) => checklistPage(frame, view));
  }

  return [
    pageBuilder.page(at.show, show),
    pageBuilder.form(
      at.change,
      changeForm(parts, checklistActs, show, async ({ session, language }) => {
        // To the operator alone: a form that mails any address could be used to flood a mailbox.
        const to = await reads.addressOf(session.accountId);
        return to === undefined ? fail('unknown_account') : ok({ fields: { to, language } });
      }),
    ),
  ];
}

// GET /admin/audit, and the same as CSV and JSON lines: what operators changed. Nothing changes it.

export const auditScreenEndpoints = {
  show: consoleScreen('/admin/audit'),
  csv: consoleScreen('/admin/audit.csv'),
  json: consoleScreen('/admin/audit.jsonl'),
};

const entriesPerPage = 15;
const foundMax = 50;
const searchedAtOnce = 500;
/** An export has the newest entries, so many at most; the command line gives all. */
const exportedMax = 50_000;

export function auditScreens(parts: ConsoleParts, names: ConsoleNames): PlainRoute[] {
  const { pageBuilder, audit, clock } = parts;
  const at = auditScreenEndpoints;

  async function show(context: OperatorRequest, query: Params): Promise<Reply> {
    const asked = Number(query.get('before'));
    const isPast = Number.isSafeInteger(asked) && asked > 0 && asked <= clock.now();
    const before = isPast ? asked : undefined;
    const part = (query.get('part') ?? '').trim();
    const { entries, next } =
      part === ''
        ? await audit.page({ before, limit: entriesPerPage })
        : { entries: await found(part), next: undefined };
    const words = entries.flatMap(({ user, command }) => `${user} ${command}`.split(' '));
    const accounts = await emailsOf(names, words);
    const view = { ...(await viewOf(parts, context, query)), part, entries, next, accounts };
    return pageBuilder.show(context, (frame) => auditPage(frame, view));
  }

  /** Returns the newest entries with this text in any of their facts; it reads no further back than for these. */
  async function found(part: string): Promise<AuditEntry[]> {
    const scheduler = createScheduler();
    const wanted = part.toLowerCase();
    const entries: AuditEntry[] = [];
    for (let before: number | undefined; ; ) {
      const page = await audit.page({ before, limit: searchedAtOnce });
      for (const entry of page.entries) {
        const { user, address, command, before: old, after, result } = entry;
        const facts = [user, address, command, old, after, result].join('\n');
        if (facts.toLowerCase().includes(wanted)) entries.push(entry);
        if (entries.length === foundMax) return entries;
        if (scheduler.shouldYield()) await scheduler.yield();
      }
      if (page.next === undefined) return entries;
      before = page.next;
    }
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
    const scheduler = createScheduler();
    if (isCsv) out.add(auditCsvHead);
    for (const entry of entries) {
      out.add(isCsv ? auditCsvLine(entry) : auditJsonLine(entry));
      if (scheduler.shouldYield()) await scheduler.yield();
    }
    return { status: 200, headers, body: await out.finish() };
  }

  return [
    pageBuilder.page(at.show, show),
    pageBuilder.page(at.csv, (context) => file(context, 'csv')),
    pageBuilder.page(at.json, (context) => file(context, 'jsonl')),
  ];
}
