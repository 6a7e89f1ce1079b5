/** The CAPTCHA's calls: of a visitor's browser, and of a site's server. */

import { siteverifyErrors } from '../../captcha-receipt.ts';
import {
  type Area,
  answer,
  dateTime,
  families,
  formOrJson,
  list,
  media,
  object,
  operation,
  quotaHeaders,
  ref,
  string,
} from './parts.ts';

const tag = 'CAPTCHA';
const token = { type: 'string', pattern: '^[A-Za-z0-9_-]{22}$' };
const file = (suffix: string) => [
  {
    name: 'file',
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: `^[A-Za-z0-9_-]{22}\\.${suffix}$` },
    description: `The token, then .${suffix}.`,
  },
];

function picture(id: string, type: string, suffix: string, summary: string) {
  const content = { [type]: {} };
  const range = { 'Content-Range': { required: true, schema: string } };
  return operation({
    tag,
    id,
    family: families.captcha,
    summary,
    parameters: file(suffix),
    answers: {
      200: answer('The whole.', content),
      206: answer('The range that was asked for.', content, range),
      416: answer('The range lies outside.', content, range),
    },
    refusals: [404],
  });
}

const errorCodes = list({ enum: [...siteverifyErrors] });

export const captcha: Area = {
  schemas: {
    CaptchaRefusal: object({ ok: { const: false } }),
    SiteverifyRefusal: object({
      success: { const: false },
      'error-codes': { ...errorCodes, minItems: 1 },
    }),
    Challenge: object({
      token,
      img: { type: 'string', description: 'Path of the picture.' },
      expires_in: { type: 'integer', minimum: 1, description: 'Seconds.' },
    }),
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
    Redeemed: {
      anyOf: [
        object({
          ok: { const: true },
          hostname: string,
          origin: { type: 'string', format: 'uri' },
          sitekey: string,
          challenge_ts: dateTime,
        }),
        ref('CaptchaRefusal'),
      ],
    },
    Siteverified: {
      anyOf: [
        object({
          success: { const: true },
          challenge_ts: dateTime,
          hostname: string,
          'error-codes': { ...errorCodes, maxItems: 0 },
        }),
        ref('SiteverifyRefusal'),
      ],
    },
  },
  cors: ['/captcha/new', '/captcha/img/{file}', '/captcha/audio/{file}', '/captcha/verify'],
  paths: {
    '/captcha/new': {
      get: operation({
        tag,
        id: 'newChallenge',
        family: families.captcha,
        summary: 'A new challenge.',
        answers: { 200: answer('One attempt, for a short time.', media(ref('Challenge'))) },
      }),
    },
    '/captcha/img/{file}': {
      get: picture('challengePicture', 'image/gif', 'gif', 'The moving picture.'),
    },
    '/captcha/audio/{file}': {
      get: picture('challengeSound', 'audio/wav', 'wav', 'Six spoken digits instead.'),
    },
    '/captcha/verify': {
      post: operation({
        tag,
        id: 'verifyChallenge',
        family: families.captcha,
        summary: 'One attempt. Whatever is wrong, the answer is the same.',
        body: formOrJson({
          type: 'object',
          properties: { token, answer: string, sitekey: string },
          required: ['token', 'answer'],
        }),
        answers: { 200: answer('Right or not.', media(ref('Verified'))) },
      }),
    },
    '/captcha/receipt': {
      post: operation({
        tag,
        id: 'redeemReceipt',
        family: families.captcha,
        key: true,
        summary: 'Redeems a receipt, once. Costs one read.',
        body: formOrJson({
          type: 'object',
          properties: { receipt: string, secret: string, key: string },
          required: ['receipt'],
        }),
        answers: {
          200: answer('Good, or not: why is not told.', media(ref('Redeemed')), quotaHeaders),
        },
        refusals: [401, 415, 422],
      }),
    },
    '/captcha/siteverify': {
      post: operation({
        tag,
        id: 'siteverify',
        family: families.siteverify,
        summary: 'The same for libraries of reCAPTCHA, hCaptcha and Turnstile.',
        body: formOrJson({
          type: 'object',
          properties: { secret: string, response: string, sitekey: string, remoteip: string },
          required: ['secret', 'response'],
        }),
        answers: { 200: answer('Also for every refusal of its own.', media(ref('Siteverified'))) },
      }),
    },
  },
};
