/** Operations on the service: sites, mails, logs, and the store as a whole. */

import { statSync } from 'node:fs';
import * as v from 'valibot';
import { createAuditLog } from '../../access/audit-log.ts';
import { activitiesOf, createActivityCounters } from '../../app/figures/activity-counters.ts';
import { loadActivityCounters } from '../../app/figures/sampling.ts';
import { signInsPage } from '../../app/memory/counting.ts';
import { readSignInCounts } from '../../app/memory/sign-in-counts.ts';
import { capacities } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import { dateText } from '../../core/names/date-text.ts';
import { dayMs } from '../../core/time.ts';
import { createTurns } from '../../core/work/turns.ts';
import type { ReportTrait } from '../../reputation/counts/bucket.ts';
import type { CountPeriod, ReportCounts } from '../../reputation/counts/report-counts.ts';
import { readFill } from '../../reputation/lists/room.ts';
import { categoryNames } from '../../reputation/reports/categories.ts';
import { mailSender, signature } from '../../signon/mail/letter.ts';
import { mailCatalogues } from '../../signon/mail/texts.ts';
import { readSignIns } from '../../signon/sessions/sign-in-log.ts';
import { type BlockedSites, createBlockedSites } from '../../signon/sites/clients/blocked-sites.ts';
import { createClientSuffixes } from '../../signon/sites/clients/client-suffixes.ts';
import { createSiteList } from '../../signon/sites/clients/site-list.ts';
import { languages } from '../../signon/visitor.ts';
import { listPrefix } from '../../storage/keys.ts';
import { readLedger } from '../../storage/ledger.ts';
import { readCheckpointSeq } from '../../storage/projection.ts';
import { lookAtTls, transportOf } from '../mailing.ts';
import { defineLook, defineOperation } from '../operation.ts';
import { noInput, shortText, textOf, wholeNumber } from '../schema.ts';
import { runTask } from '../tasks.ts';
import { expect, type Reading, type StoreTools } from '../workspace.ts';

const oneDomain = v.strictObject({ domain: shortText });

function blockedSites({ store, clock, config }: StoreTools): BlockedSites {
  // Names of this machine are sites of the demo alone.
  const rules = { demo: false, suffixes: createClientSuffixes(config.clientSuffixes) };
  return createBlockedSites({ store, clock, rules });
}

export const listSites = defineOperation({
  name: 'site list',
  input: v.strictObject({ part: v.optional(shortText, '') }),
  async run(w, { part }) {
    const signIns = async (nowMs: number) =>
      (await readSignInCounts(w.store, signInsPage))?.sums(nowMs);
    const list = createSiteList({
      ...w,
      blocked: blockedSites(w),
      signIns,
      pace: () => createTurns(),
    });
    const limit = Number.MAX_SAFE_INTEGER;
    const { sites, isCut } = await list.page({ part: part.trim().toLowerCase(), skip: 0, limit });
    return {
      isCut,
      sites: sites.map(({ signIns, lastUsedAt, blockedBy, ...site }) => ({
        ...site,
        signIns: signIns ?? null,
        lastUsedAt: lastUsedAt === undefined ? null : dateText(lastUsedAt),
        blockedBy: blockedBy ?? null,
      })),
    };
  },
});

export const blockSite = defineOperation({
  name: 'site block',
  input: oneDomain,
  audit: { args: ['domain'] },
  async run(w, { domain }) {
    const done = expect(await blockedSites(w).block(domain));
    return { domain: done.domain, blockedAt: dateText(done.blockedAt) };
  },
});

export const unblockSite = defineOperation({
  name: 'site unblock',
  input: oneDomain,
  audit: { args: ['domain'] },
  async run(w, { domain }) {
    const done = expect(await blockedSites(w).unblock(domain));
    return { domain: done.domain };
  },
});

export const testMail = defineOperation({
  name: 'mail test',
  input: v.strictObject({
    to: v.pipe(
      textOf(320),
      v.regex(/^[^\s<>"@]{1,64}@[^\s<>"@]{1,253}$/, 'It is not a mail address.'),
    ),
    language: v.picklist(languages),
  }),
  audit: { args: ['to'], person: 'to' },
  async run(w, { to, language }) {
    const { config, log } = w;
    // This opens a connection of its own, with the same TLS rules as the transport.
    const tls = config.smtpUrl === undefined ? undefined : await lookAtTls(config.smtpUrl);
    const [link, service] = [`${config.baseUrl}/`, signature(mailSender(config))];
    const text = mailCatalogues[language].test({ link, service });
    const transport = transportOf(w, log);
    try {
      await transport.send({ to, language, link, ...text });
    } catch (error) {
      throw new OperatorError(`the mail was not taken: ${(error as Error).message}`);
    } finally {
      await transport.close();
    }
    const by = config.smtpUrl === undefined ? 'outbox' : new URL(config.smtpUrl).host;
    return { to, language, by, tls, dataDir: config.dataDir };
  },
});

const lastDays = v.strictObject({ days: v.optional(wholeNumber(1, 36_500)) });
const since = (now: number, days: number | undefined): number =>
  days === undefined ? 0 : now - days * dayMs;

export const readAudit = defineOperation({
  name: 'audit',
  input: lastDays,
  run: async (w, { days }) =>
    (await createAuditLog(w).list(since(w.clock.now(), days))).map((entry) => ({
      ...entry,
      at: dateText(entry.at),
    })),
});

export const readSignInLog = defineOperation({
  name: 'log sign-ins',
  input: lastDays,
  async run(w, { days }) {
    const entries = [];
    for await (const entry of readSignIns(w.store, since(w.clock.now(), days))) {
      entries.push({ ...entry, at: dateText(entry.at) });
    }
    return entries;
  },
});

export const backupStore = defineLook({
  name: 'backup',
  input: v.strictObject({
    /** The path of the backup's file, for the audit log; the caller writes the file. */
    target: textOf(4_096),
    passphrase: v.optional(textOf(10_000)),
    recipients: v.optional(v.array(textOf(10_000))),
    /** Hex; goes into an encrypted backup. */
    masterKey: v.optional(shortText),
  }),
  audit: { args: ['target'], isOptional: true },
  run(reading, { passphrase, recipients, masterKey }, call) {
    const { databaseUrl } = reading.config;
    const place = databaseUrl === undefined ? embeddedOf(reading) : { databaseUrl };
    const sealing = { passphrase, recipients };
    return runTask('backup', { ...place, sealing, masterKey, file: undefined }, call);
  },
});

export const verifyStore = defineLook({
  name: 'verify',
  input: noInput,
  run: (reading, _, call) =>
    runTask('verify', { ...embeddedOf(reading), dataDir: reading.config.dataDir }, call),
});

function embeddedOf({ embedded }: Reading) {
  if (embedded !== undefined) return embedded;
  throw new OperatorError(
    'this command works on the embedded store, and DATABASE_URL is set: use the means of the database',
  );
}

export const readStats = defineLook({
  name: 'stats',
  input: noInput,
  async run(reading, _, call) {
    const { clock, store, embedded } = reading;
    const counted = embedded && (await runTask('count', embedded, call));
    const fill = await readFill(store);
    const tallies = createActivityCounters(clock.now());
    await loadActivityCounters(store, tallies);
    const used = async (table: Parameters<typeof readLedger>[1]) =>
      (await readLedger(store, table)).used;
    return {
      // A damaged projection must not keep the rows from being counted.
      reports: await reading
        .withMemory(({ counts }) => reportsOf(counts, clock.now()))
        .catch(() => null),
      // As of the last minute, of this machine's server alone.
      did: activitiesOf(tallies, clock.now()),
      // The size of a PostgreSQL database is read with PostgreSQL's own tools.
      file: embedded && { bytes: statSync(`${embedded.path}/data.mdb`).size },
      journal: {
        first: counted?.firstSeq,
        last: Number(await store.lastSeq()),
        checkpoint: Number(await readCheckpointSeq(store)),
      },
      tables: counted?.totals,
      kinds: counted?.kinds,
      // As the server left word of them; /metrics has these and more while it runs.
      bounds: [
        { name: 'accounts', used: await used('account_slots'), limit: capacities.accounts },
        { name: 'entries', used: fill?.entries ?? 0, limit: capacities.entries },
        {
          name: 'contributions',
          used: fill?.contributions ?? 0,
          limit: capacities.entries * capacities.contributionsPerEntry,
        },
        { name: 'lists', used: await used('lists'), limit: capacities.sources },
        { name: 'allow_rules', used: await used('allow_rules'), limit: capacities.allowRules },
        { name: 'own_entries', used: await used('own_entries'), limit: capacities.ownEntries },
      ],
    };
  },
});

function reportsOf(counts: ReportCounts, nowMs: number) {
  const { reports, startMs } = counts.inAll();
  const of = (period: CountPeriod) => {
    const sum = counts.sum(period, nowMs);
    const by = (trait: ReportTrait) =>
      sum.by(trait).map(({ name, count }) => ({ name, reports: count }));
    const categories = by('category').map((one) => ({
      ...one,
      name: categoryNames[Number(one.name) - 1] ?? one.name,
    }));
    return {
      reports: sum.reports,
      categories,
      countries: by('country'),
      networks: by('network'),
      lists: by('list'),
      bands: by('band'),
    };
  };
  return {
    total: reports,
    since: startMs === 0 ? null : dateText(startMs),
    last24Hours: of('quarter'),
    last7Days: of('hour'),
    last90Days: of('day'),
  };
}

/** Asked for by a command that wrote to a shared store itself. */
export const waitForJournal = defineLook({
  name: 'journal wait',
  input: v.strictObject({ seq: v.pipe(v.string(), v.regex(/^\d{1,19}$/)) }),
  async run(reading, { seq }) {
    const position = BigInt(seq);
    if (position > (await reading.store.lastSeq())) throw new OperatorError('not in the journal');
    await reading.catchUpTo(position);
    return {};
  },
});

/** Reads the end of the journal, the time of its last event, and whether a list is loaded. */
export const describeStore = defineLook({
  name: 'store state',
  input: noInput,
  async run({ store }) {
    const lastSeq = await store.lastSeq();
    const [last] = lastSeq === 0n ? [] : await store.read(lastSeq - 1n, 1).catch(() => []);
    const hasLists = (await store.scan(listPrefix(), { limit: 1 })).length > 0;
    return { lastSeq: Number(lastSeq), lastAt: last?.at ?? 0, hasLists };
  },
});
