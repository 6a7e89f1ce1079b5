/**
 * The visitors of a burst, in a process of their own so that their work isn't what is measured:
 * `captcha-burst-child <port> <challenges>` asks for that many at once, each from an address of its
 * own, with its picture, and prints `begun` and then how many got one and how long all took.
 */

import { request } from 'node:http';

const [port = '', challenges = ''] = process.argv.slice(2);

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

function get(path: string, client: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Forwarded-For': client };
    request({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode!, body: Buffer.concat(chunks) });
      });
    })
      .on('error', reject)
      .end();
  });
}

/** Of the picture. */
async function visit(i: number): Promise<number> {
  const client = `198.18.${(i >> 8) & 255}.${i & 255}`;
  const issued = await get('/captcha/new', client);
  if (issued.status !== 200) return issued.status;
  const { img } = JSON.parse(issued.body.toString()) as { img: string };
  return (await get(img, client)).status;
}

process.stdout.write('begun\n');
const startMs = performance.now();
const statuses = await Promise.all(Array.from({ length: Number(challenges) }, (_, i) => visit(i)));
const ms = performance.now() - startMs;
const given = statuses.filter((status) => status === 200).length;
const refused = statuses.filter((status) => status === 503).length;
process.stdout.write(`${JSON.stringify({ given, refused, ms })}\n`);
