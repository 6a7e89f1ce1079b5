/**
 * The control of the burst bench, in a process of its own: the library as it is, answering the
 * same requests with constants of the same size. Nothing is kept, judged or rendered, so what a
 * check waits for here is the machine's, the visitors' and the connections'. It has the priority of its process, where
 * our front ends go before all others if the system lets them: beside other work the ratio flatters ours. Prints its port.
 */

import type { HttpResponse } from 'uWebSockets.js';
import { loadNative } from '../src/http/native.ts';

const [imageBytes = ''] = process.argv.slice(2);
const image = new Uint8Array(Number(imageBytes));
const img = '/captcha/img/AAAAAAAAAAAAAAAAAAAAAA.gif';
const issued = JSON.stringify({ token: 'AAAAAAAAAAAAAAAAAAAAAA', img, expires_in: 120 });
const begun = JSON.stringify({ level: 'silent', work: {}, expires_in: 120 });
const checked = JSON.stringify({ data: { ipAddress: '198.51.100.7', abuseConfidenceScore: 0 } });

/** Answers as soon as the body is there. */
function afterBody(body: string) {
  return (res: HttpResponse): void => {
    res.onAborted(() => undefined);
    res.onData((_chunk, isLast) => {
      if (isLast) res.end(body);
    });
  };
}

function always(type: string, body: string | Uint8Array) {
  return (res: HttpResponse): void => {
    res.writeHeader('Content-Type', type);
    res.end(body);
  };
}

const uws = loadNative().library;
uws
  .App()
  .get('/captcha/new', always('application/json', issued))
  .get('/captcha/start', always('application/json', begun))
  .post('/captcha/work', afterBody('{"ok":true}'))
  .get('/captcha/img/*', always('image/gif', image))
  .get('/api/v2/check', always('application/json', checked))
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('no port can be had');
    process.stdout.write(`${uws.us_socket_local_port(socket as never)}\n`);
  });
