/** Apart from the pages: a front end serves it without them. */

import { conditionHeaders } from '../../http/answer/negotiate.ts';
import { openFile } from '../../web/guard/endpoint.ts';

export const staticEndpoint = openFile('/static/*', {
  thread: 'any',
  headers: ['accept-encoding', ...conditionHeaders, 'accept-language'],
});
