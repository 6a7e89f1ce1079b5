/** Apart from the pages: a front end serves it without them. */

import { openFile } from '../../web/guard/endpoint.ts';

export const staticEndpoint = openFile('/static/*', {
  thread: 'any',
  headers: ['accept-encoding', 'if-none-match', 'accept-language'],
});
