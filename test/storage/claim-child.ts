/** `claim-child <directory>`: tries to claim it as a server. Prints `won` and stays, or `refused <why>`. */

import { OperatorError } from '../../src/core/errors.ts';
import { claimDataDir, serverUse } from '../../src/storage/lmdb/claim.ts';

try {
  const { release } = claimDataDir(process.argv[2]!, serverUse);
  process.stdout.write('won\n');
  process.stdin.once('data', () => {
    release();
    process.stdout.write('released\n');
    process.exit(0);
  });
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stdout.write(`refused ${error.message}\n`);
}
