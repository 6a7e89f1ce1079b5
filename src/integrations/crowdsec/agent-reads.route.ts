/**
 * Answers what agents, their WAF and `cscli` ask of their local API: allowlists, and the alerts of
 * the account's own agents. The service's allowlist is not shown, for it is nobody's but the
 * operator's; whether an address is on it is answered, as everybody may know.
 */

import type { Clock } from '../../core/clock.ts';
import { type Failure, fail } from '../../core/result.ts';
import { parseJsonObject } from '../../http/request/body.ts';
import type { Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Answer, Guard } from '../../web/guard/guard.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import {
  allowlistCheckDocs,
  allowlistsCheckDocs,
  allowlistsDocs,
  ownAlertsDocs,
} from './agents.openapi.ts';
import { alertsText, readAlertFilter } from './alerts.ts';
import type { AgentCallers } from './callers.route.ts';
import type { OwnDecisions } from './own-bans.ts';

const targetsMax = 1_000;
const targetsBytesMax = 64 * 1_024;

const asked = {
  method: 'GET',
  who: 'agent',
  shape: 'bouncer',
  thread: 'main',
  robots: 'disallow',
  headers: ['authorization', 'user-agent'],
  handlerLimits: ['agentCalls'],
} as const;

export const allowlistsEndpoint = endpoint({
  ...asked,
  path: '/v1/allowlists',
  errors: [],
  docs: allowlistsDocs,
});

export const allowlistCheckEndpoint = endpoint({
  ...asked,
  path: '/v1/allowlists/check/:value',
  errors: [],
  docs: allowlistCheckDocs,
});

export const allowlistsCheckEndpoint = endpoint({
  ...asked,
  method: 'POST',
  path: '/v1/allowlists/check',
  body: { types: ['json'], bytesMax: targetsBytesMax, takesGzip: true },
  errors: [],
  docs: allowlistsCheckDocs,
});

export const ownAlertsEndpoint = endpoint({
  ...asked,
  path: '/v1/alerts',
  errors: [],
  docs: ownAlertsDocs,
});

export interface AgentReadOptions {
  readonly guard: Guard;
  readonly clock: Pick<Clock, 'now'>;
  readonly agents: Pick<AgentCallers, 'admit'>;
  /** Returns the decisions of an account's agents by its slot; undefined: it had none for a day. */
  readonly ownOf: (slot: number) => OwnDecisions | undefined;
  /**
   * Returns whether an address or a whole network is allowlisted or known to be good; undefined if
   * the text is neither.
   */
  readonly isAllowed: (text: string) => boolean | undefined;
}

const listName = 'portcullis';
const noAddress = fail('bad_request', 'the value must be an address or a network');

export function agentReadRoutes(options: AgentReadOptions): PlainRoute[] {
  const { guard, clock, agents, ownOf, isAllowed } = options;

  /** The failure of who may not call. */
  const refused = (request: Request): Failure | undefined => {
    const admitted = agents.admit(request);
    return 'ok' in admitted ? admitted : undefined;
  };

  return [
    guard.open(allowlistsEndpoint, (request): Answer => refused(request) ?? json('[]')),
    guard.open(allowlistCheckEndpoint, (request): Answer => {
      const failure = refused(request);
      if (failure !== undefined) return failure;
      const { param: value } = request;
      const allowlisted = isAllowed(value);
      if (allowlisted === undefined) return noAddress;
      // So clients tell both apart, which read no body then.
      if (request.method === 'HEAD' && !allowlisted) return { status: 204, headers: [noStore] };
      const reason = allowlisted ? { reason: `${value} from ${listName}` } : {};
      return json(JSON.stringify({ allowlisted, ...reason }));
    }),
    guard.open(allowlistsCheckEndpoint, (request): Answer | Promise<Answer> => {
      const failure = refused(request);
      if (failure !== undefined) return failure;
      return guard.unpacked(allowlistsCheckEndpoint, request, (whole): Answer => {
        if (!whole.ok) return whole;
        const body = parseJsonObject(whole.value.body);
        if (!body.ok) return body;
        const { targets } = body.value;
        if (!Array.isArray(targets) || targets.length === 0 || targets.length > targetsMax) {
          return fail('bad_request', `targets is an array of 1 to ${targetsMax} values`);
        }
        const found: object[] = [];
        for (const target of targets) {
          const allowed = typeof target === 'string' ? isAllowed(target) : undefined;
          if (allowed === undefined) return noAddress;
          if (allowed) found.push({ target, allowlists: [`${target} from ${listName}`] });
        }
        return json(JSON.stringify({ results: found }));
      });
    }),
    guard.open(ownAlertsEndpoint, (request): Answer => {
      const admitted = agents.admit(request);
      if ('ok' in admitted) return admitted;
      const query = parseQuery(request.query);
      if (!query.ok) return fail('bad_request');
      const nowMs = clock.now();
      const filter = readAlertFilter(query.value, nowMs);
      if (typeof filter === 'string') return fail('bad_request', filter);
      return json(alertsText(ownOf(admitted.slot), filter, nowMs));
    }),
  ];
}

function json(body: string): Answer {
  return { status: 200, headers: [jsonType, noStore], body };
}
