/** Apart from the endpoints, whose declarations load most of the code: front ends need these alone. */

import type { Areas } from '../web/shape.ts';

/** How errors look where no endpoint is: by the beginning of the path. */
export const areas: Areas = [
  ['/api/', 'api'],
  ['/v1/', 'bouncer'],
  ['/feeds/', 'text'],
  ['/captcha/img/', 'captcha'],
  ['/captcha/audio/', 'captcha'],
];
