/** The OpenAPI descriptions of the CAPTCHA's calls, by a visitor's browser and by a site's server. */

import {
  answer,
  type Described,
  dateTime,
  formOrJson,
  list,
  media,
  object,
  query,
  ref,
  string,
} from '../../web/openapi.ts';
import { siteFaults } from '../receipt/receipts.ts';
import { ticketPattern } from './ticket.ts';

/** Names that the libraries know, and `sitekey-secret-mismatch` of hCaptcha. */
export const siteverifyErrors = [
  'missing-input-secret',
  'invalid-input-secret',
  'missing-input-response',
  'invalid-input-response',
  'sitekey-secret-mismatch',
  'timeout-or-duplicate',
  'bad-request',
  'internal-error',
] as const;
const errorCodes = list({ enum: [...siteverifyErrors] });

const tag = 'CAPTCHA';
const token = { type: 'string', pattern: `^${ticketPattern}$` };
const file = (suffix: string) => [
  {
    name: 'file',
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: `^${ticketPattern}\\.${suffix}$` },
    description: `The token, then .${suffix}.`,
  },
];

export function mediaDocs(id: string, type: string, suffix: string, summary: string): Described {
  const content = { [type]: {} };
  const range = { 'Content-Range': { required: true, schema: string } };
  return {
    id,
    tag,
    summary,
    parameters: file(suffix),
    answers: {
      200: answer('The whole.', content),
      206: answer('The range that was asked for.', content, range),
      416: answer('The range lies outside.', content, range),
    },
  };
}

export const newDocs: Described = {
  id: 'newChallenge',
  tag,
  summary: 'A new challenge.',
  parameters: [
    query('sitekey', string, 'Of the page; one that lets clean addresses pass may give a receipt.'),
    query('action', string, 'For that receipt: what it is for.'),
  ],
  answers: { 200: answer('One attempt, for a short time.', media(ref('Challenge'))) },
  schemas: {
    Challenge: {
      anyOf: [
        object({
          token,
          img: { type: 'string', description: 'Path of the picture.' },
          expires_in: { type: 'integer', minimum: 1, description: 'Seconds.' },
        }),
        object({
          receipt: { type: 'string', description: 'In place of a challenge: nothing is asked.' },
        }),
      ],
    },
  },
};

export const verifyDocs: Described = {
  id: 'verifyChallenge',
  tag,
  summary: 'One attempt. Whatever is wrong, the answer is the same.',
  requestBody: formOrJson({
    type: 'object',
    properties: { token, answer: string, sitekey: string, action: string },
    required: ['token', 'answer'],
  }),
  answers: { 200: answer('Right or not.', media(ref('Verified'))) },
  schemas: {
    Verified: object(
      {
        ok: { type: 'boolean' },
        receipt: {
          type: 'string',
          description:
            "With `sitekey`, from a page of the site key's hosts: for the site's server.",
        },
      },
      { optional: ['receipt'] },
    ),
  },
};

export const receiptDocs: Described = {
  id: 'redeemReceipt',
  tag,
  summary: 'Redeems a receipt, once. Costs one read.',
  requestBody: formOrJson({
    type: 'object',
    properties: { receipt: string, secret: string, key: string, sitekey: string, hostname: string },
    required: ['receipt'],
  }),
  answers: { 200: answer('Good, or not: why is not told.', media(ref('Redeemed'))) },
  schemas: {
    Redeemed: {
      anyOf: [
        object({
          ok: { const: true },
          hostname: string,
          origin: { type: 'string', format: 'uri' },
          sitekey: string,
          challenge_ts: dateTime,
          solved: {
            type: 'boolean',
            description: 'False: the site key lets clean addresses pass, and this one was.',
          },
        }),
        ref('CaptchaRefusal'),
        object({ ok: { const: false }, sitekey_error: { enum: siteFaults } }),
      ],
    },
  },
};

/** Status 200 for every refusal of its own, so without the statuses of a key's quota. */
export const siteverifyDocs: Described = {
  id: 'siteverify',
  tag,
  summary: 'The same for libraries of reCAPTCHA, hCaptcha and Turnstile.',
  requestBody: formOrJson({
    type: 'object',
    properties: { secret: string, response: string, sitekey: string, remoteip: string },
    required: ['secret', 'response'],
  }),
  answers: { 200: answer('Also for every refusal of its own.', media(ref('Siteverified'))) },
  schemas: {
    Siteverified: {
      anyOf: [
        object(
          {
            success: { const: true },
            challenge_ts: dateTime,
            hostname: string,
            score: {
              type: 'number',
              minimum: 0,
              maximum: 1,
              description: "1 less a hundredth of the abuse score of the visitor's address.",
            },
            action: {
              type: 'string',
              description: 'As the page sent it; absent when it sent none.',
            },
            'error-codes': { ...errorCodes, maxItems: 0 },
          },
          { optional: ['action'] },
        ),
        ref('SiteverifyRefusal'),
      ],
    },
  },
};

const siteverifyWords = {
  secret: 'An API key.',
  response: 'The receipt.',
  sitekey: 'Optional: the receipt must be of this site key.',
  remoteip: "Optional: the visitor's address, for the score.",
};

/** The same in the query. */
export const siteverifyByQueryDocs: Described = {
  id: 'siteverifyByQuery',
  tag,
  summary: 'The same with everything in the query; a POST keeps the key out of logs.',
  parameters: Object.entries(siteverifyWords).map(([name, words]) =>
    query(name, string, words, name === 'secret' || name === 'response'),
  ),
  answers: siteverifyDocs.answers,
};
