/**
 * Somebody who floods a server with solutions, in a process of its own: `captcha-solutions-child <port> <count>
 * <rate> <client> <file>` posts the texts of the file in turn from one client address, so many a second, and prints
 * `begun` and then how many answers had each status and how long all took. Its requests are bytes that were made
 * before, so that two cores suffice for it, the server and who measures beside it. Each connection has one request
 * under way: the library of the server takes no second one before the answer to the first.
 */

import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const [port, count, rate] = process.argv.slice(2, 5).map(Number) as [number, number, number];
const [client = '', file = ''] = process.argv.slice(5);
const connections = 64;
const requests = (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((work) => {
  const body = JSON.stringify({ work, sitekey: '' });
  const head = [
    'POST /captcha/work HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `X-Forwarded-For: ${client}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
});

const statuses: Record<number, number> = {};
const idle: (() => void)[] = [];
let [sent, answered, startMs] = [0, 0, 0];

/** As many as are due by now; with all connections taken the rest follows late. */
function sendDue(): void {
  const due = Math.min(count, Math.ceil(((performance.now() - startMs) * rate) / 1_000));
  while (sent < due && idle.length > 0) idle.pop()!();
}

function finish(status: number): void {
  statuses[status] = (statuses[status] ?? 0) + 1;
  if (++answered < count) return;
  process.stdout.write(`${JSON.stringify({ statuses, ms: performance.now() - startMs })}\n`);
  process.exit(0);
}

function open(onOpen = () => {}): void {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => {
    idle.push(send);
    onOpen();
  });
  let isWaiting = false;
  let text = '';
  function send(): void {
    isWaiting = true;
    socket.write(requests[sent++ % requests.length]!);
  }
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    const head = text.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
    if (head < 0 || text.length < head + 4 + Number(length ?? 0)) return;
    isWaiting = false;
    finish(Number(text.slice(9, 12)));
    // A refusal before the body was read ends its connection.
    if (/\r\nconnection: close\r\n/i.test(text)) return socket.destroy();
    text = '';
    idle.push(send);
    sendDue();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    const place = idle.indexOf(send);
    if (place >= 0) idle.splice(place, 1);
    // What the server hangs up on counts as refused too.
    if (isWaiting) finish(0);
    open();
  });
}

await Promise.all(
  Array.from({ length: connections }, () => new Promise<void>((resolve) => open(resolve))),
);
process.stdout.write('begun\n');
startMs = performance.now();
setInterval(sendDue, 1);
