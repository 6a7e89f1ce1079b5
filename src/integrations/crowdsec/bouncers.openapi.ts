/** The OpenAPI documentation for bouncers: look-ups, the stream, usage metrics, health. */

import { answer, type Described, list, media, object, query, string } from '../../web/openapi.ts';

/** As clients know it. */
export const forbiddenDetail = 'access forbidden';

const tag = 'Bouncers';
const Decision = object({
  id: { type: 'integer' },
  origin: string,
  type: { enum: ['ban', 'captcha'] },
  scope: { enum: ['Ip', 'Range'] },
  value: string,
  duration: string,
  scenario: string,
});
const schemas = { Decision };
const decisions = list({ $ref: '#/components/schemas/Decision' });
const decisionsOrNull = { anyOf: [decisions, { type: 'null' }] };

const filters = [
  query('scopes', string, '`ip`, `range` or both, with a comma.'),
  query(
    'origins',
    string,
    '`lists`; `cscli` for what the operator says by hand; `crowdsec` and others for what agents of the account decided.',
  ),
  query('types', string, '`ban`, `captcha` or both; others have no decisions.'),
  query(
    'scenarios_containing',
    string,
    'Parts of a scenario: that of an alert, the name of a list, `portcullis` for reports; `portcullis-ipv4` or `-ipv6` names a family.',
  ),
  query('scenarios_not_containing', string, 'Parts that a scenario must not have.'),
];

export const streamDocs: Described = {
  id: 'decisionStream',
  tag,
  summary: 'The whole list as decisions, or what changed since the client asked last.',
  parameters: [query('startup', string, '`true`: the whole list.'), ...filters],
  answers: {
    200: answer(
      'The decisions.',
      media(object({ new: decisionsOrNull, deleted: decisionsOrNull })),
    ),
  },
  schemas,
};

export const liveDocs: Described = {
  id: 'decisions',
  tag,
  summary: 'The decisions on an address or a network, or null.',
  parameters: [
    query('ip', string, 'An address.'),
    query('range', string, 'A network.'),
    query('scope', string, '`ip` or `range`, with `value`.'),
    query('value', string, 'An address or a network, with `scope`.'),
    query('type', string, 'As `types`.'),
    ...filters,
  ],
  answers: {
    200: answer('The decisions.', media(decisionsOrNull)),
  },
};

export const usageDocs: Described = {
  id: 'usageMetrics',
  tag,
  summary: 'What a bouncer saw and stopped, or what an agent read.',
  description: 'An agent sends its token as bearer instead of the key of a bouncer.',
  requestBody: { required: true, content: media({ type: 'object' }) },
  answers: {
    201: { description: 'Noted.' },
    401: answer('A wrong token.', media(object({ code: { const: 401 }, message: string }))),
  },
};

export const upDocs: Described = {
  id: 'health',
  tag,
  summary: 'Whether the server answers.',
  answers: { 200: answer('It does.', media(object({ status: { const: 'up' } }))) },
};
