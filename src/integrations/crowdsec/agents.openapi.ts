/**
 * The OpenAPI documentation of the endpoints for agents: login, alerts, decisions that are taken
 * back, allowlists.
 */

import {
  answer,
  boolean,
  type Described,
  dateTime,
  list,
  media,
  nullable,
  object,
  query,
  string,
} from '../../web/openapi.ts';

const tag = 'Agents';
const AlertDecision = {
  type: 'object',
  properties: {
    type: { enum: ['ban', 'captcha'] },
    scope: { enum: ['Ip', 'Range'] },
    value: string,
    duration: string,
    origin: string,
    scenario: string,
  },
  required: ['type', 'scope', 'value', 'duration'],
};
const Alert = {
  type: 'object',
  properties: {
    scenario: string,
    message: string,
    stop_at: string,
    simulated: { type: 'boolean' },
    remediation: { type: 'boolean' },
    decisions: nullable(list({ $ref: '#/components/schemas/AlertDecision' })),
    source: {
      type: 'object',
      properties: { scope: string, value: string, ip: string },
      required: ['scope'],
    },
  },
  required: ['source'],
};
const LoginRefusal = object({ code: { const: 401 }, message: string });
const schemas = { Alert, AlertDecision, LoginRefusal };
const refused = answer('Not let in.', media({ $ref: '#/components/schemas/LoginRefusal' }));

export const loginDocs: Described = {
  id: 'agentLogin',
  tag,
  summary: 'A token for an hour, for the key of an agent.',
  requestBody: {
    required: true,
    content: media({
      type: 'object',
      properties: { machine_id: string, password: string, scenarios: list(string) },
      required: ['password'],
    }),
  },
  answers: {
    200: answer(
      'Let in.',
      media(object({ code: { const: 200 }, expire: dateTime, token: string })),
    ),
    401: refused,
  },
  schemas,
};

export const heartbeatDocs: Described = {
  id: 'agentHeartbeat',
  tag,
  summary: 'Whether the token is good.',
  answers: { 200: { description: 'It is.' }, 401: refused },
};

export const alertsDocs: Described = {
  id: 'agentAlerts',
  tag,
  summary:
    'What an agent saw: each alert about an address is a report, and a decision for the account.',
  requestBody: {
    required: true,
    content: media(list({ $ref: '#/components/schemas/Alert' })),
  },
  answers: {
    201: answer(
      'For each alert the id of its report, or `0` when it made none.',
      media(list(string)),
    ),
    401: refused,
  },
};

export const allowlistsDocs: Described = {
  id: 'agentAllowlists',
  tag,
  summary: 'No lists: that of the service is asked by `check`, and not shown.',
  parameters: [query('with_content', string, '`true`: with what is on them.')],
  answers: {
    200: answer('An empty array.', media({ type: 'array', maxItems: 0 })),
    401: refused,
  },
};

export const allowlistCheckDocs: Described = {
  id: 'agentAllowlistCheck',
  tag,
  summary: 'Whether an address or a network is never blocked.',
  description: 'HEAD says it by its status: 200, or 204 when it is not allowed.',
  parameters: [
    {
      name: 'value',
      in: 'path',
      required: true,
      schema: string,
      description: 'An address, or a network with `%2F` in it.',
    },
  ],
  answers: {
    200: answer(
      'Whether it is.',
      media(object({ allowlisted: boolean, reason: string }, { optional: ['reason'] })),
    ),
    401: refused,
  },
  headAnswers: { 204: { description: 'It is not allowed.' } },
};

export const allowlistsCheckDocs: Described = {
  id: 'agentAllowlistsCheck',
  tag,
  summary: 'Which of these addresses and networks are never blocked.',
  requestBody: {
    required: true,
    content: media({
      type: 'object',
      properties: { targets: list(string) },
      required: ['targets'],
    }),
  },
  answers: {
    200: answer(
      'Those that are.',
      media(object({ results: list(object({ target: string, allowlists: list(string) })) })),
    ),
    401: refused,
  },
};

const takenBack = {
  200: answer('How many ended.', media(object({ nbDeleted: string }))),
  401: refused,
};

export const takeBackDocs: Described = {
  id: 'agentTakeBack',
  tag,
  summary: "Ends decisions of the account's agents: those that match, or all of them.",
  parameters: [
    query('ip', string, 'An address.'),
    query('range', string, 'A network.'),
    query('contains', string, '`false`: what lies in it, not what it lies in.'),
    query('value', string, 'Exactly this address or network.'),
    query('scope', string, '`ip` or `range`.'),
    query('type', string, '`ban` or `captcha`.'),
    query('scenario', string, 'The whole name of it.'),
    query('origin', string, '`crowdsec`, `cscli` or another.'),
  ],
  answers: takenBack,
};

export const takeBackOneDocs: Described = {
  id: 'agentTakeBackOne',
  tag,
  summary: "Ends one decision of the account's agents.",
  parameters: [
    { name: 'id', in: 'path', required: true, schema: string, description: 'As bouncers read it.' },
  ],
  answers: takenBack,
};

export const ownAlertsDocs: Described = {
  id: 'agentOwnAlerts',
  tag,
  summary: "Alerts of the account's agents whose decision lasts, the newest first.",
  parameters: [
    query('ip', string, 'An address.'),
    query('range', string, 'A network.'),
    query('scope', string, '`ip` or `range`; others have none.'),
    query('value', string, 'An address or a network.'),
    query('scenario', string, 'The whole name of it.'),
    query('origin', string, '`crowdsec`, `cscli` or another.'),
    query('decision_type', string, '`ban` or `captcha`; others have none.'),
    query('has_active_decision', string, '`false` has none.'),
    query('since', string, 'No older than this: `4h`.'),
    query('until', string, 'No younger than this.'),
    query('limit', string, 'At most so many: 100 unless told, 1,000 for 0.'),
  ],
  answers: {
    200: answer(
      'The alerts, or null.',
      media(
        nullable(
          list({
            type: 'object',
            required: ['id', 'scenario', 'start_at', 'stop_at', 'source', 'decisions'],
          }),
        ),
      ),
    ),
    401: refused,
  },
};
