/** The OpenAPI documentation of Dovecot's auth policy. */

import { answer, type Described, media, object, query, string } from '../../web/openapi.ts';

export const policyDocs: Described = {
  id: 'dovecotPolicy',
  tag: 'Mail servers',
  summary: "Dovecot's auth policy: whether somebody may log in, and what became of it.",
  description:
    'The key may also be the password of HTTP basic authentication. Nothing but a bad name refuses anybody: each error says status 0.',
  parameters: [query('command', { enum: ['allow', 'report'] }, 'What Dovecot asks.', true)],
  requestBody: {
    required: true,
    content: media({
      type: 'object',
      required: ['remote'],
      properties: {
        remote: { type: 'string', description: 'Address of the client.' },
        success: { type: 'boolean', description: 'In a report.' },
        policy_reject: { type: 'boolean', description: 'In a report: refused by this policy.' },
      },
    }),
  },
  answers: {
    200: answer(
      '-1: refuse; 0: let in; above: let in after so many seconds.',
      media(object({ status: { type: 'integer', minimum: -1 }, msg: string })),
    ),
  },
};
