/**
 * GET /connect and /connect/:target. The pages know their reader: with a fresh proof of identity the
 * reader's own key stands in the commands. It says when a first request came: with that key, or with the
 * mark that stands in the commands of a screen without one.
 */

import type { Sightings } from '../../access/marks.ts';
import { once } from '../../core/preparation.ts';
import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { FamilyChoice } from '../../reputation/blocklists/recipes.ts';
import type { PageBuilder, RequestContext } from '../../signon/sessions/onward.route.ts';
import { type Endpoint, sessionPage } from '../../web/guard/endpoint.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { docPath } from '../docs/library.ts';
import {
  type ConnectData,
  type ConnectWatch,
  connectIndexPage,
  connectPage,
  connectPath,
  type KeyStanding,
} from './connect.page.tsx';
import {
  type ConnectTarget,
  families,
  type Integration,
  openTargets,
  type Score,
  scores,
  type TargetFacts,
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
const targetEndpoint = sessionPage(`${connectPath}/:target`, 'anyone', {
  errors: ['invalid_parameter', 'store_unavailable'],
});

export const connectEndpoints: readonly Endpoint[] = [
  indexEndpoint,
  seenEndpoint,
  screenEndpoint,
  keyEndpoint,
  targetEndpoint,
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

const docsOf: Readonly<Record<Integration, string>> = {
  feed: docPath('feeds'),
  gate: docPath('gate'),
  spoe: docPath('gate'),
  bouncer: docPath('bouncers'),
  dns: docPath('dns-block-list'),
  api: docPath('ask-about-an-address'),
  plugin: docPath('sign-in-button'),
};

export interface ConnectOptions extends TargetFacts {
  readonly pageBuilder: PageBuilder;
  readonly keys: {
    list(accountId: string): Promise<readonly { readonly id: string; readonly name: string }[]>;
    /** The text of a key. */
    reveal(
      accountId: string,
      keyId: string,
    ): Promise<{ readonly ok: true; readonly value: string } | { readonly ok: false }>;
  };
  /** Requests with the keys of an account in the last 24 hours. */
  readonly seenOf: (accountId: string) => number;
  /** Returns whether the account's newest key that may fetch decisions has done so. */
  readonly isBouncerSeen: (accountId: string) => Promise<boolean>;
  /** Requests with a mark of a screen. */
  readonly sightings: Pick<Sightings, 'markOf' | 'isSeen' | 'isRefused'>;
}

export function connectRoutes(options: ConnectOptions): PlainRoute[] {
  const { pageBuilder, keys, seenOf, isBouncerSeen, sightings, dnsZone, spoe } = options;
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

  async function watchOf(
    context: RequestContext,
    target: ConnectTarget,
  ): Promise<ConnectWatch | undefined> {
    const { session, browserId } = context;
    const { integration, name } = target;
    const path = `${connectPath}/seen/${name}`;
    if (hasMark(integration)) {
      const hasArrived = await sightings.isSeen(browserId, name);
      const isRefused = !hasArrived && (await sightings.isRefused(browserId, name));
      return { by: 'mark', path, requests: 0, hasArrived, isRefused };
    }
    if (!session?.verified || session.factorDue !== undefined) return undefined;
    if (integration === 'bouncer') {
      const hasArrived = await isBouncerSeen(session.accountId);
      return { by: 'bouncerKey', path, requests: 0, hasArrived, isRefused: false };
    }
    const requests = seenOf(session.accountId);
    const unseen = { hasArrived: false, isRefused: false };
    return { by: 'key', path: seenEndpoint.path, requests, ...unseen };
  }

  async function show(context: RequestContext, query: Params): Promise<Reply> {
    const target = targetOf(context);
    if (target === undefined) return pageBuilder.problem(context, fail('not_found'));
    const chosen = choiceOf(query);
    if (chosen === undefined) return pageBuilder.problem(context, fail('invalid_parameter'));
    if (context.session?.factorDue !== undefined) {
      const refusal = await pageBuilder.refusalOf(context, 'verified');
      if (refusal !== undefined) return refusal;
    }
    const { browserId } = context;
    const mark = hasMark(target.integration) ? sightings.markOf(browserId, target.name) : undefined;
    const { standing, text } = await keyOf(context);
    const data: ConnectData = {
      target,
      filling: { ...chosen, mark, key: text },
      key: standing,
      watch: await watchOf(context, target),
      isOpen: !isClosed(target.integration),
      docs: docsOf[target.integration],
    };
    return pageBuilder.show(context, (frame) => connectPage(frame, data), {
      needs: { connect: true },
    });
  }

  return [
    pageBuilder.page(indexEndpoint, (context) =>
      pageBuilder.show(context, (frame) => connectIndexPage(frame, targets())),
    ),
    pageBuilder.page(seenEndpoint, ({ session }) => ({
      status: 200,
      headers: [jsonType, noStore],
      body: JSON.stringify({ requests: seenOf(session.accountId) }),
    })),
    pageBuilder.page(screenEndpoint, async (context) => {
      const target = targetOf(context);
      const watch = target && (await watchOf(context, target));
      if (watch === undefined || watch.by === 'key')
        return pageBuilder.problem(context, fail('not_found'));
      const requests = watch.hasArrived ? 1 : 0;
      const body = JSON.stringify({ requests, refused: watch.isRefused });
      return { status: 200, headers: [jsonType, noStore], body };
    }),
    pageBuilder.page(keyEndpoint, async (context) => {
      const { standing, text } = await keyOf(context);
      const body = JSON.stringify({ standing, key: text });
      return { status: 200, headers: [jsonType, noStore], body };
    }),
    pageBuilder.page(targetEndpoint, show),
  ];
}

/** Undefined for a value that is no choice. */
function choiceOf(query: Params): { family: FamilyChoice | undefined; score: Score } | undefined {
  const family = query.get('family') ?? '';
  const score = query.get('score') ?? String(scores[0]);
  const familyFound = families.find((one) => one === family);
  const scoreFound = scores.find((one) => String(one) === score);
  if ((family !== '' && familyFound === undefined) || scoreFound === undefined) return undefined;
  return { family: familyFound, score: scoreFound };
}
