/**
 * The visitors of a burst, in a process of their own so that their work isn't what is measured:
 * `captcha-burst-child <port> <challenges> [<file>]` asks for that many at once, each from an address of its
 * own, with its picture, and prints `begun` and then how many got one and how long all took. With a file of
 * solutions nine of ten visitors do work instead.
 */

import { readFileSync } from 'node:fs';
import { visit, visitSilently } from './captcha-visit.ts';

const [port = '', challenges = '', file] = process.argv.slice(2);
const works = file === undefined ? [] : (JSON.parse(readFileSync(file, 'utf8')) as string[]);

process.stdout.write('begun\n');
const startMs = performance.now();
const statuses = await Promise.all(
  Array.from({ length: Number(challenges) }, (_, i) =>
    works[i] === undefined || i % 10 === 9 ? visit(port, i) : visitSilently(port, i, works[i]),
  ),
);
const ms = performance.now() - startMs;
const given = statuses.filter((status) => status === 200).length;
const refused = statuses.filter((status) => status === 503).length;
process.stdout.write(`${JSON.stringify({ given, refused, ms })}\n`);
