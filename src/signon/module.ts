/**
 * Sign-on: accounts, sessions and mails (open-signon.ts), profiles, and the sign-on of other sites. It opens in
 * two steps: the service first, for the page builder needs its sessions; then the routes, which need the guard and
 * the CAPTCHA. Deletions that were cut short go on in the background.
 */

import { createAccounts } from '../access/accounts/accounts.ts';
import { createApiKeys } from '../access/keys/api-keys.ts';
import { erasedSealOf, type MasterKey } from '../access/keys/master-key.ts';
import { createSiteKeys } from '../access/keys/site-keys.ts';
import type { DistributedLimits } from '../access/quota/distributed-limits.ts';
import type { Config } from '../config.ts';
import type { PersonalData } from '../contracts/personal-data.ts';
import type { Clock } from '../core/clock.ts';
import { type Closers, createClosers } from '../core/closers.ts';
import type { Log } from '../core/log.ts';
import { createTotals, type Metrics } from '../core/metrics.ts';
import type { OutgoingRules } from '../core/outgoing.ts';
import type { Random } from '../core/random.ts';
import { type Params, parseQuery } from '../http/request/query.ts';
import type { PlainRoute } from '../http/router.ts';
import { openErasedList } from '../storage/backup/erased.ts';
import type { Maintenance } from '../storage/maintenance.ts';
import type { Store } from '../storage/store.ts';
import type { Guard } from '../web/guard/guard.ts';
import type { Mail } from './mail/mail-format.ts';
import { mailsWaitingMax } from './mail/mailer.ts';
import { outboxRoute } from './mail/outbox.route.ts';
import { loadMailLibrary } from './mail/smtp.ts';
import { openSignon } from './open-signon.ts';
import type { ChangeRequest } from './people/account-changes.ts';
import type { Pacing } from './people/pacing.ts';
import { createAvatarImages, createAvatars } from './people/profile/avatars.ts';
import { createReview } from './people/review.ts';
import type { RowCounterStats } from './people/row-counter.ts';
import { createSignInLog, type SignOnEvent, signInLogWaitingMax } from './sessions/sign-in-log.ts';
import { type SignonRoutesNeeds, signonRoutes } from './signon.route.ts';
import { type ConsentOutcome, createAuthorization } from './sites/authorization.ts';
import { requestQueryCharsMax } from './sites/carried-requests.ts';
import { createConsents } from './sites/consents.ts';
import { noticeKeysRoute, profileExchangeRoutes } from './sites/exchange.route.ts';
import { createNoticeSigner, type SiteNotifier, startSiteNotices } from './sites/notify-sites.ts';
import { createSiteNames } from './sites/site-names.ts';
import { createSiteTries } from './sites/tries.ts';

interface SignonNeeds {
  store: Store;
  maintenance: Maintenance;
  distributedLimits?: Pick<DistributedLimits, 'room' | 'replicatedOperations'>;
  clock: Clock;
  random: Random;
  log: Log;
  masterKey: MasterKey;
  config: Config;
  demo: boolean;
  /** Returns the personal data that other wings keep in the given store. */
  personalData: (over: Store) => readonly PersonalData[];
  /** The stored webhooks, which a review of an account may remove. */
  webhooks: Parameters<typeof createReview>[0]['webhooks'];
  onMail?: ((mail: Mail) => void) | undefined;
  /** The hosts that notices to sites may be sent to. */
  destinations: OutgoingRules;
}

/** Opens sign-on. If a step fails, what was opened before it is closed. */
export async function startSignon(options: SignonNeeds) {
  const closers = createClosers(options.log);
  try {
    return await start(options, closers);
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

async function start(options: SignonNeeds, closers: Closers) {
  const { store, maintenance, distributedLimits, clock, random, log, masterKey, config, demo } =
    options;
  const { personalData, onMail, destinations } = options;
  const siteKeys = createSiteKeys({ store, clock, random });
  const consents = createConsents({ store, clock, random });
  const events = createTotals<SignOnEvent>();
  const answers = createTotals<ConsentOutcome>();
  const signInLog = createSignInLog({ store, clock, random, log, onSignOn: events.count });
  closers.add(() => signInLog.close());
  const erased = openErasedList({
    store,
    clock,
    random,
    log,
    config,
    seal: erasedSealOf(masterKey),
  });
  const service = openSignon({
    store,
    maintenance,
    distributedLimits,
    clock,
    random,
    log,
    masterKey,
    config,
    personalData,
    onMail,
    signInLog,
    erased,
  });
  closers.add(() => service.close());
  const { profiles, changes, passkeys } = service;
  const authorization = createAuthorization({
    store,
    clock,
    random,
    log,
    masterKey,
    demo,
    clientSuffixes: config.clientSuffixes,
    profiles,
    standing: {
      sessionAlive: service.sessions.alive,
      isActiveAccount: service.people.isActiveAccount,
    },
    avatarUrl: (avatar) => `${config.baseUrl}/avatars/${avatar}`,
    parseQuery: parseRequestQuery,
    onConsent: answers.count,
  });
  await authorization.transactions.restore();
  await erased.sync();
  service.erasures.resume();
  service.notices.resume();
  await service.restore();
  const signer = createNoticeSigner(masterKey, config.baseUrl);
  const { blocked } = authorization;
  const siteNotices = startSiteNotices({
    maintenance,
    clock,
    random,
    log,
    destinations,
    signer,
    consents,
    blocked,
  });
  closers.add(siteNotices.close);
  const tries = createSiteTries({ clock });
  const siteNames = createSiteNames({ clock, destinations, isOn: config.consentSiteNames });
  closers.add(siteNames.close);
  const accounts = createAccounts({ store, clock, random, extraRows: profiles.created });
  const apiKeys = createApiKeys({ store, clock, random, masterKey, accounts });
  const images = createAvatarImages();
  const avatars = createAvatars({ store, random, profiles, images });
  const review = createReview({
    changes,
    passkeys,
    apiKeys,
    siteKeys,
    consents,
    webhooks: options.webhooks,
  });
  const unauthenticatedRows = () => [
    authorization.transactions.waiting(),
    ...service.unauthenticatedRows(),
  ];
  return {
    service,
    authorization,
    profiles,
    accounts,
    siteKeys,
    apiKeys,
    avatars,
    consents,
    review,
    siteNames,
    tries,
    signInLog,
    erased,
    /** Makes the routes, which need what is opened after sign-on. */
    openRoutes: (
      web: SignonRoutesNeeds & {
        readonly guard: Guard;
        /** The last part of the path of the page that shows a demo's mails; undefined: there is none. */
        readonly outboxName: string | undefined;
      },
    ): { readonly routes: PlainRoute[] } => ({
      routes: [
        outboxRoute({
          guard: web.guard,
          tools: web.tools,
          baseUrl: config.baseUrl,
          name: web.outboxName,
          read: service.outbox.newest,
        }),
        ...profileExchangeRoutes({ authorization, tries, guard: web.guard }),
        noticeKeysRoute(web.guard, signer),
        ...signonRoutes({
          tools: web.tools,
          callers: web.callers,
          formChallenges: web.formChallenges,
          pageBuilder: web.pageBuilder,
          noteKeyUses: web.noteKeyUses,
          accountAreaReports: web.accountAreaReports,
          webhooks: web.webhooks,
          usage: web.usage,
          quotaGuard: web.quotaGuard,
          standingOf: web.standingOf,
          catchUp: web.catchUp,
          signon: service,
          authorization,
          profiles,
          siteKeys,
          apiKeys,
          avatars,
          consents,
          review,
          siteNames,
          tries,
          config,
          clock,
        }),
      ],
    }),
    tables: [
      images.table,
      siteNotices.table,
      siteNames.table,
      ...tries.tables,
      { name: 'mails', used: () => service.mailer.waiting, limit: mailsWaitingMax },
      { name: 'sign_in_log', used: () => signInLog.waiting, limit: signInLogWaitingMax },
      ...service.tables,
      ...unauthenticatedRows().map(({ kind, max }) => ({
        name: kind,
        used: () => unauthenticatedRows().find((one) => one.kind === kind)?.rows ?? 0,
        limit: max,
      })),
    ],
    counts: { sign_on: events.read, consents: answers.read },
    metrics(metrics: Metrics): void {
      registerMetrics(metrics, unauthenticatedRows, service.pacing);
      registerNoticeMetrics(metrics, siteNotices.outcomes);
    },
    /** Makes a key of the API without a name, as the page of keys does. */
    async makeKey(
      request: Pick<ChangeRequest, 'session' | 'visitor'>,
      catchUp: () => Promise<void>,
    ) {
      const made = await changes.makeOwn(request, 'api_key_made', (also) =>
        apiKeys.create(request.session.accountId, {}, also),
      );
      if (made.ok) await catchUp();
      return made;
    },
    /** Work for when the server listens. */
    preparations: config.smtpUrl === undefined ? [] : [loadMailLibrary],
    close: closers.closeAll,
  };
}

export type SignonModule = Awaited<ReturnType<typeof start>>;

/** A request is read again by the rules of its route. */
export function parseRequestQuery(query: string): Params | undefined {
  const parsed = parseQuery(query, { charsMax: requestQueryCharsMax });
  return parsed.ok ? parsed.value : undefined;
}

function registerNoticeMetrics(metrics: Metrics, read: SiteNotifier['outcomes']): void {
  metrics.counterBy(
    'portcullis_site_notices_total',
    'Notices to sites and failed tries, since the start, by outcome.',
    ['outcome'],
    () => [...read()].map(([outcome, count]) => [{ outcome }, count]),
  );
}

/** @param read the kinds of rows that anybody can cause */
function registerMetrics(
  metrics: Metrics,
  read: () => readonly RowCounterStats[],
  pacing: Pick<Pacing, 'stats'>,
): void {
  metrics.gaugeBy(
    'portcullis_signon_rows',
    'Rows that somebody without a session can cause, by kind.',
    'kind',
    () => read().map(({ kind, rows }): [string, number] => [kind, rows]),
  );
  metrics.gaugeBy('portcullis_signon_rows_max', 'Bound of these rows, by kind.', 'kind', () =>
    read().map(({ kind, max }): [string, number] => [kind, max]),
  );
  metrics.counterBy(
    'portcullis_signon_rows_refused_total',
    'Rows that were not written because of a bound or a share of it, by kind.',
    ['kind'],
    () => read().map(({ kind, refused }): [{ kind: string }, number] => [{ kind }, refused]),
  );
  metrics.counterBy(
    'portcullis_registrations_paced_total',
    'Registrations of networks that register much, since the start: link later, password by mail.',
    ['asked'],
    () => {
      const { delayed, byMailOnly } = pacing.stats();
      return [
        [{ asked: 'later' }, delayed],
        [{ asked: 'by_mail' }, byMailOnly],
      ];
    },
  );
  metrics.gauge(
    'portcullis_registration_networks',
    'Networks whose registrations of the day are counted; the one quiet longest gives way.',
    () => pacing.stats().networks,
  );
}
