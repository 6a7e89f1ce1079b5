/** One part of the bench of attacks on the CAPTCHA; prints its rows as JSON. */

import { rowsOf } from './captcha-attack.bench.ts';

const [name = '', size = ''] = process.argv.slice(2);
const rows = rowsOf(name, size === 'full' ? 'full' : 'tiny');
process.stdout.write(JSON.stringify(rows));
