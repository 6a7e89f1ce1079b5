/** The declarations of the challenge's calls, as programs use them. */

import { endpoint } from '../../web/guard/endpoint.ts';
import { mediaDocs, newDocs, verifyDocs } from './captcha.openapi.ts';

const cors = { allowHeaders: ['content-type'] } as const;
/** A token and an answer are short; a multipart form around them is not. */
export const verifyBytesMax = 4_096;

const base = {
  method: 'GET',
  who: 'anyone',
  shape: 'captcha',
  thread: 'main',
  cors,
} as const;

export const newChallenge = endpoint({
  ...base,
  path: '/captcha/new',
  handlerLimits: ['captchaNew', 'captchaFree'],
  headers: ['cookie', 'origin'],
  errors: ['capacity_exceeded'],
  docs: newDocs,
});

export const challengePicture = endpoint({
  ...base,
  path: '/captcha/img/:file',
  handlerLimits: ['captchaImage', 'captchaFree'],
  headers: ['cookie', 'range'],
  errors: ['not_found'],
  docs: mediaDocs('challengePicture', 'image/gif', 'gif', 'The moving picture.'),
});

export const challengeSound = endpoint({
  ...base,
  path: '/captcha/audio/:file',
  handlerLimits: ['captchaAudio', 'captchaFree'],
  headers: ['cookie', 'range'],
  errors: ['not_found'],
  docs: mediaDocs('challengeSound', 'audio/wav', 'wav', 'Six spoken digits instead.'),
});

export const verifyChallenge = endpoint({
  ...base,
  method: 'POST',
  path: '/captcha/verify',
  handlerLimits: ['captchaVerify', 'captchaFree'],
  headers: ['content-type', 'cookie', 'origin'],
  body: { types: ['form', 'multipart', 'json'], bytesMax: verifyBytesMax },
  errors: [],
  docs: verifyDocs,
});
