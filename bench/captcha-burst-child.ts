/**
 * The visitors of a burst, in a process of their own so that their work isn't what is measured:
 * `captcha-burst-child <port> <challenges>` asks for that many at once, each from an address of its
 * own, with its picture, and prints `begun` and then how many got one and how long all took.
 */

import { visit } from './captcha-visit.ts';

const [port = '', challenges = ''] = process.argv.slice(2);

process.stdout.write('begun\n');
const startMs = performance.now();
const statuses = await Promise.all(
  Array.from({ length: Number(challenges) }, (_, i) => visit(port, i)),
);
const ms = performance.now() - startMs;
const given = statuses.filter((status) => status === 200).length;
const refused = statuses.filter((status) => status === 503).length;
process.stdout.write(`${JSON.stringify({ given, refused, ms })}\n`);
