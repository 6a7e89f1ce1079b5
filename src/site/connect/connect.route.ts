/**
 * GET /connect and /connect/:target. The pages know their reader: with a fresh proof of identity the
 * reader's own key stands in the commands. It says when a first request came: with that key, or with the
 * mark that stands in the commands of a screen without one.
 */

import type { RefusedKeys } from '../../access/keys/refused-keys.ts';
import type { SiteKeys } from '../../access/keys/site-keys.ts';
import type { Sighting, Sightings } from '../../access/marks.ts';
import type { Voucher } from '../../access/quota/points.ts';
import { once } from '../../core/preparation.ts';
import { fail, type Result } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { scoreTiers } from '../../reputation/blocklists/feed-definitions.ts';
import { bothFamilies } from '../../reputation/blocklists/recipes.ts';
import type { PageBuilder, RequestContext } from '../../signon/sessions/onward.route.ts';
import type { Session } from '../../signon/sessions/sessions.ts';
import { type Endpoint, sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { jsonReply, jsonReplyOf } from '../../web/shape.ts';
import { docPath } from '../docs/library.ts';
import { translationsFor } from '../words.ts';
import {
  type ConnectData,
  type ConnectNote,
  type ConnectWatch,
  connectIndexPage,
  connectPage,
  connectPath,
  isDoubtful,
  type KeyStanding,
  type NoteName,
  needsKey,
  targetPath,
} from './connect.page.tsx';
import {
  type ChoiceName,
  type ConnectTarget,
  type choiceNames,
  type Integration,
  openTargets,
  ownMachineOf,
  type SampleValues,
  type TargetFacts,
  usualBlock,
  usualChallenge,
} from './targets.ts';

const indexEndpoint = sessionPage(connectPath, 'anyone');
const seenEndpoint = sessionPage(`${connectPath}/seen`, 'verified', {
  errors: ['store_unavailable'],
});
/** A screen that waits for a mark or for a bouncer's key asks here whether a request arrived. */
const screenEndpoint = {
  ...sessionPage(`${connectPath}/seen/:target`, 'anyone', { errors: ['store_unavailable'] }),
  robots: 'disallow',
} as const;
/** For the requests that a page of the documentation sends. */
const keyEndpoint = sessionPage(`${connectPath}/key`, 'anyone', { errors: ['store_unavailable'] });
const targetEndpoint = sessionPage(targetPath(':target'), 'anyone', {
  errors: ['invalid_parameter', 'store_unavailable'],
});
/** Makes the keys that a screen asks for and that its reader has not. */
const makeEndpoint = sessionForm(targetPath(':target'), 'confirmed', {
  errors: ['too_many_attempts', 'conflict', 'unknown_account', 'capacity_exceeded', 'not_found'],
});

export const connectEndpoints: readonly Endpoint[] = [
  indexEndpoint,
  seenEndpoint,
  screenEndpoint,
  keyEndpoint,
  targetEndpoint,
  makeEndpoint,
];

/** Returns whether a mark identifies the requests, because they carry no key of an account. */
function hasMark(integration: Integration): boolean {
  return (
    integration === 'feed' ||
    integration === 'gate' ||
    integration === 'spoe' ||
    integration === 'dns'
  );
}

/** By how far a sign-in at a site came, the card shows so many checks as passed, or a note. */
const trySays = {
  asked: 2,
  issued: 3,
  exchanged: 4,
  bad_client: 'signInClient',
  bad_redirect: 'signInRedirect',
  bad_request: 'signInRequest',
  closed: 'signInClosed',
  declined: 'signInDeclined',
  not_exchanged: 'signInExchange',
} as const satisfies Readonly<Record<string, number | NoteName>>;

/** Requests of any tool show that the server is reached and the key accepted. */
const keyPassed = 2;

const docsOf: Readonly<Record<Integration, string>> = {
  feed: docPath('feeds'),
  gate: docPath('gate'),
  spoe: docPath('gate'),
  bouncer: docPath('bouncers'),
  policy: docPath('dovecot'),
  dns: docPath('dns-block-list'),
  api: docPath('ask-about-an-address'),
  plugin: docPath('sign-in-button'),
  signOn: docPath('sign-in-button'),
  captcha: docPath('captcha'),
};

const keyNotes: Readonly<Record<number, NoteName>> = {
  401: 'key',
  403: 'scope',
  422: 'parameter',
  429: 'quota',
};

/** The screen of what has a key of its own tells of that alone: no wrong parameter of another request. */
const ownKeyNotes = {
  bouncer: { 401: 'bouncerKey', 403: 'bouncerKey', 429: 'quota' },
  policy: { 401: 'mailKey', 403: 'mailKey' },
} as const satisfies Partial<Record<Integration, typeof keyNotes>>;

const noteNames = new Set<string>(Object.keys(translationsFor('en').connect.live.notes));

/** Returns what a sighting says for the page; one of another version may say what this one does not know. */
function noteOf(sighting: Sighting | undefined): ConnectNote | undefined {
  if (sighting === undefined || !noteNames.has(sighting.reason)) return undefined;
  return { name: sighting.reason as NoteName, about: sighting.about };
}

export interface ConnectOptions extends TargetFacts {
  /** Names of the developer's own machine may be sites. */
  readonly demo: boolean;
  readonly pageBuilder: PageBuilder;
  readonly keys: {
    list(accountId: string): Promise<readonly { readonly id: string; readonly name: string }[]>;
    /** The text of a key. */
    reveal(
      accountId: string,
      keyId: string,
    ): Promise<{ readonly ok: true; readonly value: string } | { readonly ok: false }>;
    /** Makes a key for the reader, as the page of keys does: with its mails, and within its limit. */
    create(context: RequestContext & { readonly session: Session }): Promise<Result<unknown>>;
  };
  readonly siteKeys: Pick<SiteKeys, 'ofAccount' | 'create'>;
  readonly refusedKeys: Pick<RefusedKeys, 'of'>;
  readonly vouchedOf: (accountId: string) => Promise<Voucher>;
  /** Requests with the keys of an account that were answered since the start; of use by differences. */
  readonly answeredOf: (accountId: string, kind: 'all' | 'reports' | 'checks') => number;
  /** Returns whether the account's newest key with this scope was used. */
  readonly isKeySeen: (accountId: string, scope: 'bouncer' | 'mail') => Promise<boolean>;
  /** Requests with a mark of a screen. */
  readonly sightings: Pick<Sightings, 'markOf' | 'seen' | 'refused'>;
  /** Returns what became of the last sign-in at a site that this browser began. */
  readonly siteTryOf: (
    owner: Pick<RequestContext, 'browserId' | 'session'>,
  ) => { readonly clientId: string; readonly step: keyof typeof trySays } | undefined;
}

export function connectRoutes(options: ConnectOptions): PlainRoute[] {
  const { pageBuilder, keys, siteKeys, answeredOf, isKeySeen, sightings, dnsZone, spoe } = options;
  const targets = once(() => openTargets(options));

  const isClosed = (integration: Integration) =>
    (integration === 'dns' && dnsZone === undefined) ||
    (integration === 'spoe' && spoe === undefined);

  /** `shown` with the key's text. */
  async function keyOf({
    session,
  }: RequestContext): Promise<{ standing: KeyStanding; text?: string }> {
    if (session === undefined || !session.verified || session.factorDue !== undefined) {
      return { standing: 'unknown-reader' };
    }
    const newest = (await keys.list(session.accountId)).findLast(({ name }) => name === '');
    if (newest === undefined) return { standing: 'none' };
    if (!session.fresh || session.reviewing) return { standing: 'hidden' };
    const text = await keys.reveal(session.accountId, newest.id);
    return text.ok ? { standing: 'shown', text: text.value } : { standing: 'none' };
  }

  const targetOf = ({ request }: RequestContext) =>
    targets().find(({ name }) => name === request.param);

  /**
   * Returns what was wrong with the last refused request that brought a key of the account, or of nobody here,
   * if none of the account's was answered since.
   */
  function keyNoteOf(
    { accountId }: { readonly accountId: string },
    { clientIp }: RequestContext['request'],
    names: typeof keyNotes = keyNotes,
  ): ConnectNote | undefined {
    const refusal = options.refusedKeys.of(accountId, clientIp);
    if (refusal === undefined) return undefined;
    if ('from' in refusal) {
      return { name: refusal.from === 'own' ? 'unknown' : 'unknownElsewhere', about: '' };
    }
    const name = names[refusal.status];
    return name && { name, about: refusal.parameter };
  }

  /** @param domain of the site that is connected; undefined: none was typed yet */
  function siteWatch(
    context: RequestContext,
    path: string,
    domain: string | undefined,
  ): ConnectWatch {
    const found = options.siteTryOf(context);
    const waits = { by: 'browser', path, requests: 0, passed: 0, hasArrived: false } as const;
    if (found === undefined) return { ...waits, note: undefined };
    const says = trySays[found.step];
    // A wrong name of a site is a fault to tell; what went well elsewhere says nothing of this site.
    if (typeof says === 'string') return { ...waits, note: { name: says, about: found.clientId } };
    const client = domain && (ownMachineOf(domain) ?? domain);
    const passed = client === undefined || client === found.clientId ? says : 0;
    return { ...waits, passed, hasArrived: passed === trySays.exchanged, note: undefined };
  }

  async function watchOf(
    context: RequestContext,
    { integration, group, name, reportsOnly }: ConnectTarget,
    domain?: string,
  ): Promise<ConnectWatch | undefined> {
    const { session, browserId, request } = context;
    const path = `${connectPath}/seen/${name}`;
    if (integration === 'signOn') return siteWatch(context, path, domain);
    if (hasMark(integration)) {
      const first = await sightings.seen(browserId, name);
      const hasArrived = first !== undefined;
      const note = hasArrived ? undefined : noteOf(await sightings.refused(browserId, name));
      return {
        by: 'mark',
        path,
        requests: 0,
        hasArrived,
        visitor: first?.about || undefined,
        note,
      };
    }
    if (!session?.verified || session.factorDue !== undefined) return undefined;
    if (integration === 'bouncer' || integration === 'policy') {
      const scope = integration === 'bouncer' ? 'bouncer' : 'mail';
      const hasArrived = await isKeySeen(session.accountId, scope);
      const note = hasArrived ? undefined : keyNoteOf(session, request, ownKeyNotes[integration]);
      return { by: 'ownKey', path, requests: 0, hasArrived, note };
    }
    // No report of another tool is taken for a request of what only checks.
    const kind = reportsOnly ? 'reports' : group === 'report' ? 'all' : 'checks';
    const requests = answeredOf(session.accountId, kind);
    const note = keyNoteOf(session, request);
    // A refusal that came later is told; one that may be somebody else's takes nothing back.
    const hasArrived = requests > 0 && (note === undefined || isDoubtful(note.name));
    const passed = hasArrived ? keyPassed : 0;
    return { by: 'key', path, requests, hasArrived, passed, note };
  }

  async function show(context: RequestContext, query: Params): Promise<Reply> {
    const target = targetOf(context);
    if (target === undefined) return pageBuilder.problem(context, fail('not_found'));
    const { chosen, wrong } = choiceOf(query, target, options.demo);
    const { browserId, session } = context;
    if (session?.factorDue !== undefined) {
      const refusal = await pageBuilder.refusalOf(context, 'verified');
      if (refusal !== undefined) return refusal;
    }
    const mark = hasMark(target.integration) ? sightings.markOf(browserId, target.name) : undefined;
    const { standing, text } = await keyOf(context);
    const isKnown = standing !== 'unknown-reader' && session !== undefined;
    const ownSiteKeys =
      isKnown && (target.integration === 'plugin' || target.integration === 'captcha')
        ? await siteKeys.ofAccount(session.accountId)
        : [];
    const siteKey = ownSiteKeys.at(-1)?.id;
    const data: ConnectData = {
      target,
      wrong,
      sampleValues: { ...chosen, mark, key: text, siteKey },
      key: standing,
      watch: await watchOf(context, target, chosen.domain),
      isOpen: !isClosed(target.integration),
      demo: options.demo,
      trustsLoopback: options.trustsLoopback,
      isOperator: isKnown && session.operator,
      vouched: isKnown ? await options.vouchedOf(session.accountId) : 'none',
      csrf: context.csrf,
      baseUrl: options.baseUrl,
      docs: docsOf[target.integration],
    };
    return pageBuilder.show(context, (frame) => connectPage(frame, data), {
      needs: { connect: true },
      failure: Object.keys(wrong).length > 0 ? fail('invalid_parameter') : undefined,
    });
  }

  /** Returns the screens whose first request came: their tiles say so. */
  async function connectedOf({ browserId }: RequestContext): Promise<ReadonlySet<string>> {
    const found = await Promise.all(
      targets().map(async ({ name, integration }) =>
        hasMark(integration) && (await sightings.seen(browserId, name)) !== undefined ? name : '',
      ),
    );
    return new Set(found);
  }

  return [
    pageBuilder.page(indexEndpoint, async (context) => {
      const connected = await connectedOf(context);
      return pageBuilder.show(context, (frame) => connectIndexPage(frame, targets(), connected));
    }),
    pageBuilder.page(seenEndpoint, async ({ session, request }) => {
      const note = keyNoteOf(session, request);
      return jsonReplyOf({ requests: answeredOf(session.accountId, 'all'), note });
    }),
    pageBuilder.page(screenEndpoint, async (context, query) => {
      const target = targetOf(context);
      const watch =
        target &&
        (await watchOf(context, target, choiceOf(query, target, options.demo).chosen.domain));
      if (watch === undefined) return pageBuilder.problem(context, fail('not_found'));
      const { note, visitor, by, hasArrived } = watch;
      const requests = by === 'key' ? watch.requests : hasArrived ? 1 : 0;
      // A key that worked before says nothing of how far this tool came.
      const passed = by === 'key' ? undefined : watch.passed;
      const body = JSON.stringify({ requests, note, passed, visitor });
      return jsonReply(body);
    }),
    pageBuilder.page(keyEndpoint, async (context) => {
      const { standing, text } = await keyOf(context);
      const body = JSON.stringify({ standing, key: text });
      return jsonReply(body);
    }),
    pageBuilder.page(targetEndpoint, show),
    pageBuilder.form(makeEndpoint, async (context) => {
      const target = targetOf(context);
      if (target === undefined || !needsKey(target)) {
        return pageBuilder.problem(context, fail('not_found'));
      }
      const { accountId } = context.session;
      const { standing } = await keyOf(context);
      const needsSiteKey =
        target.integration === 'plugin' && (await siteKeys.ofAccount(accountId)).length === 0;
      const made = [
        ...(standing === 'none' ? [await keys.create(context)] : []),
        ...(needsSiteKey ? [await siteKeys.create(accountId, [])] : []),
      ].find(({ ok }) => !ok);
      if (made !== undefined && !made.ok) return pageBuilder.problem(context, made);
      return pageBuilder.go(context, targetPath(target.name));
    }),
  ];
}

const domainShape =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const appShape = /^https?:\/\/(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?\/?$/i;

type ChosenValues = Pick<
  SampleValues,
  'domain' | 'app' | 'challenge' | 'block' | 'score' | 'family'
>;

/** Returns values that are no choice as they were typed; those that the screen does not ask for are not looked at. */
function choiceOf(
  query: Params,
  { choices, integration }: Pick<ConnectTarget, 'choices' | 'integration'>,
  demo: boolean,
): { readonly chosen: ChosenValues; readonly wrong: ConnectData['wrong'] } {
  const wrong: Partial<Record<ChoiceName, string>> = {};
  const refuse = (name: ChoiceName, usual = '') => {
    wrong[name] = query.get(name) ?? usual;
  };
  const asked = (name: (typeof choiceNames)[number]) => {
    const text = choices.includes(name) ? query.get(name)?.trim() : undefined;
    return text === '' && name !== 'score' ? undefined : text;
  };
  const domain = asked('domain')?.toLowerCase();
  const app = asked('app')?.replace(/\/$/, '');
  const score = scoreTiers.find((one) => String(one) === (asked('score') ?? String(scoreTiers[0])));
  const familyText = asked('family');
  const family = bothFamilies.find((one) => one === familyText);
  const challenge = scoreIn(asked('challenge') ?? String(usualChallenge));
  const block = scoreIn(asked('block') ?? String(usualBlock));
  const isApp = app === undefined || (appShape.test(app) && URL.canParse(app));
  const isOwnMachine = integration === 'signOn' && ownMachineOf(domain ?? '') !== undefined;
  const isDomain = domain === undefined || (isOwnMachine ? demo : domainShape.test(domain));
  const isInverted = challenge !== undefined && block !== undefined && challenge >= block;
  if (!isDomain) refuse('domain');
  if (!isApp) refuse('app');
  if (score === undefined) refuse('score');
  if (familyText !== undefined && family === undefined) refuse('family');
  if (challenge === undefined || isInverted) refuse('challenge', String(usualChallenge));
  if (block === undefined || isInverted) refuse('block', String(usualBlock));
  const chosen = {
    domain: isDomain ? domain : undefined,
    app: isApp ? app : undefined,
    score: score ?? scoreTiers[0],
    family,
    ...(isInverted ? { challenge: undefined, block: undefined } : { challenge, block }),
  };
  return { chosen, wrong };
}

function scoreIn(text: string): number | undefined {
  return /^(?:[1-9][0-9]?|100)$/.test(text) ? Number(text) : undefined;
}
