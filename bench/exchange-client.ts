/**
 * The client of the exchange bench: `exchange-client <port> <connections>`, codes on standard
 * input, one a line. Each connection sends its next code when the answer to the last one is there.
 * Prints how many answers were 200 and the milliseconds from the first byte to the last.
 */

import { connect } from 'node:net';

const [port = '', connections = ''] = process.argv.slice(2);

let input = '';
for await (const chunk of process.stdin) input += String(chunk);
const codes = input.split('\n').filter((code) => code !== '');
const redirectUri = encodeURIComponent('https://www.example.com/sign-on/callback');
const requests = codes.map(
  (code) =>
    `GET /api.php?code=${code}&client_id=example.com&redirect_uri=${redirectUri} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
);
let next = 0;
let ok = 0;

/** True when the text is a whole answer. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const length = /^content-length: (\d+)/im.exec(text)?.[1];
  return end >= 0 && length !== undefined && text.length >= end + 4 + Number(length);
}

function runConnection(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.setNoDelay(true);
    let received = '';
    function sendNext(): void {
      const request = requests[next++];
      if (request === undefined) socket.end();
      else socket.write(request);
    }
    socket.on('connect', sendNext);
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (!isWhole(received)) return;
      if (received.startsWith('HTTP/1.1 200 ')) ok++;
      received = '';
      sendNext();
    });
  });
}

const startMs = performance.now();
await Promise.all(Array.from({ length: Number(connections) }, runConnection));
process.stdout.write(JSON.stringify({ ok, ms: performance.now() - startMs }));
