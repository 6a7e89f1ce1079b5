/** Opens the store whose path it is given, and keeps it. */

import { openTables } from '../../src/storage/lmdb/environment.ts';

openTables(process.argv[2]!);
process.stdout.write('open\n');
setInterval(() => {}, 60_000);
