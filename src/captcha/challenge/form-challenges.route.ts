/** The challenge for the forms of other wings. */

import type { FormChallenges } from '../../web/guard/form-challenges.ts';
import { shownSize } from '../picture/profiles.ts';
import {
  audioPath,
  type CaptchaOptions,
  imagePath,
  issueChallenge,
  judge,
} from './challenge.route.ts';

export function createFormChallenges(captcha: CaptchaOptions): FormChallenges {
  return {
    make(request) {
      const issued = issueChallenge(captcha, request);
      if (!issued.ok) return undefined;
      const { token, longWord } = issued.value;
      const paths = { imageHref: imagePath(token), audioHref: audioPath(token) };
      return { token, ...paths, ...shownSize(longWord ? 'long' : 'default') };
    },
    headers: (request) => captcha.visitors.greeting(request),
    answerIn(request, form) {
      const token = form.get('captcha_token');
      if (token === undefined) return { judge: async () => 'none' };
      const payment = captcha.visitors.take('captchaVerify', request);
      if (payment.waitSeconds > 0) return { waitSeconds: payment.waitSeconds };
      const answer = form.get('captcha_answer') ?? '';
      return {
        async judge() {
          const isRight = await judge(captcha, request, payment, { token, answer });
          return isRight ? 'right' : 'wrong';
        },
      };
    },
  };
}
