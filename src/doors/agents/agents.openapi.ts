/** What OpenAPI says of the endpoints for agents. */

import {
  answer,
  type Described,
  dateTime,
  list,
  media,
  object,
  string,
} from '../../web/openapi.ts';

const tag = 'Agents';
const Alert = {
  type: 'object',
  properties: {
    scenario: string,
    message: string,
    stop_at: string,
    simulated: { type: 'boolean' },
    remediation: { type: 'boolean' },
    source: {
      type: 'object',
      properties: { scope: string, value: string, ip: string },
      required: ['scope'],
    },
  },
  required: ['source'],
};
const LoginRefusal = object({ code: { const: 401 }, message: string });
const schemas = { Alert, LoginRefusal };
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
  summary: 'What an agent saw: each alert about an address is a report, and a ban for the account.',
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
