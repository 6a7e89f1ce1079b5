/**
 * The attacker of the slow-bodies bench, in a process of its own: `slow-bodies-child <port> <count>
 * <kind>` holds that many slow POSTs open and begins each one that ends anew, at once. Prints
 * `begun` when all were open; when its input ends, how many ended with which status.
 */

import { attackSlowly } from '../test/support/server/slow-attack.ts';
import { type AttackKind, attackers } from './slow-bodies-attackers.ts';

const [port = '', count = '', kind = ''] = process.argv.slice(2);
const attack = attackSlowly(Number(port), {
  count: Number(count),
  ...attackers[kind as AttackKind],
  paths: ['/signin', '/register', '/recover', '/captcha/verify', '/api.php'],
  retryMs: 0,
});
const over = new Promise((resolve) => process.stdin.on('end', resolve));
process.stdin.resume();
await attack.begun;
process.stdout.write('begun\n');
await over;
process.stdout.write(`${JSON.stringify([...attack.ends])}\n`);
process.exit(0);
