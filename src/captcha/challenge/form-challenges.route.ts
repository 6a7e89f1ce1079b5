/** The challenge for the forms of other modules. */

import { ok, type Result } from '../../core/result.ts';
import type { Request } from '../../http/request/message.ts';
import type { ChallengeView } from '../../web/components/challenge.tsx';
import type { FormChallenges } from '../../web/guard/form-challenges.ts';
import { shownSize } from '../picture/profiles.ts';
import { newChallenge } from './challenge.endpoints.ts';
import {
  audioPath,
  type ChallengeRouteOptions,
  imagePath,
  issueChallenge,
  judge,
} from './challenge.route.ts';

export function createFormChallenges(captcha: ChallengeRouteOptions): FormChallenges {
  function issue(request: Request): Result<ChallengeView> {
    const issued = issueChallenge(captcha, request);
    if (!issued.ok) return issued;
    const { token } = issued.value;
    const paths = { imageHref: imagePath(token), audioHref: audioPath(token) };
    const lifetimeSeconds = Math.floor(captcha.lifetimeMs / 1_000);
    return ok({ token, ...paths, ...shownSize, lifetimeSeconds, newHref: newChallenge.path });
  }

  return {
    issue,
    make(request) {
      const issued = issue(request);
      return issued.ok ? issued.value : undefined;
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
