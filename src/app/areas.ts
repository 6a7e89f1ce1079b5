/** Apart from the endpoints, whose declarations load most of the code: front ends need these alone. */

import type { Shown } from '../http/answer/access-log.ts';
import type { Areas } from '../web/shape.ts';

/** Chooses the shape of an error by the beginning of its path, where no endpoint declares one. */
export const areas: Areas = [
  ['/api/', 'api'],
  ['/v1/', 'bouncer'],
  ['/policy/', 'policy'],
  ['/gate/', 'api'],
  ['/feeds/', 'text'],
  ['/captcha/img/', 'captcha'],
  ['/captcha/audio/', 'captcha'],
];

/** Parameters that are no secret, of paths and of queries; all others stay out of the access log. */
export const shownInAccessLog: Shown = {
  patterns: new Set(['/ip/:address', '/feeds/*', '/static/*', '/docs/:page']),
  parameters: new Set([
    ...['ipAddress', 'network', 'maxAgeInDays', 'verbose', 'page', 'perPage', 'limit'],
    ...['confidenceMinimum', 'onlyCountries', 'exceptCountries', 'ipVersion', 'plaintext'],
  ]),
};
