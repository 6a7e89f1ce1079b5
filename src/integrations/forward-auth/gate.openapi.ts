/** The OpenAPI documentation of the gate: the check of a visitor, and another challenge. */

import {
  answer,
  type Described,
  type JsonMembers,
  media,
  object,
  query,
  score,
  string,
} from '../../web/openapi.ts';
import { passSeconds, policyDefaults } from './policy.ts';

const always: JsonMembers = {
  'X-Portcullis-Verdict': { required: true, schema: { enum: ['allow', 'challenge', 'block'] } },
  'X-Portcullis-Score': { required: true, schema: score },
};
const toChallenge: JsonMembers = { ...always, Location: { required: true, schema: string } };
const { challenge, block, anon, pass, mode } = policyDefaults;

export const gateDocs: Described = {
  id: 'gateCheck',
  tag: 'Gate',
  summary: 'Whether a proxy lets a visitor in, by the policy in the query.',
  parameters: [
    query('challenge', string, `Score from which there is a challenge, or off; ${challenge}.`),
    query('block', string, `Score from which nobody gets in, or off; ${block}.`),
    query('anon', { enum: ['allow', 'challenge', 'block'] }, `Anonymous exits; ${anon}.`),
    query(
      'pass',
      { type: 'integer', minimum: passSeconds.min, maximum: passSeconds.max },
      `Seconds for which a solved challenge counts; ${pass}.`,
    ),
    query('mode', { enum: ['redirect', 'nginx'] }, `How a challenge is told; ${mode}.`),
    query(
      'mark',
      string,
      'Of a screen of /connect, which it tells of this question; changes no verdict.',
    ),
  ],
  answers: {
    200: { description: 'Let in.', headers: always },
    302: { description: 'A visitor who goes to the challenge.', headers: toChallenge },
    401: { description: 'The same for nginx.', headers: toChallenge },
    403: answer(
      'Blocked, or a request that no challenge can be shown to.',
      {
        ...media({
          anyOf: [
            object({ error: { const: 'blocked' } }),
            object({ error: { const: 'challenge_required' }, url: string }),
          ],
        }),
        'text/html; charset=utf-8': {},
      },
      always,
    ),
  },
};

export const anotherDocs: Described = {
  id: 'gateChallenge',
  tag: 'Gate',
  summary: 'Another picture for the challenge that the gate shows, under the host of the site.',
  answers: {
    200: answer(
      'One attempt, for a short time.',
      media(
        object({
          token: string,
          img: { type: 'string', description: 'Path of the picture, on the same host.' },
          expires_in: { type: 'integer', minimum: 1, description: 'Seconds.' },
        }),
      ),
    ),
  },
};
