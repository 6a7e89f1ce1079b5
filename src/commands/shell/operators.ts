/** Commands may take the last operator away; then they say so, and how there is one again. */

import { activeOperators } from '../../access/accounts/operators.ts';
import type { Store } from '../../store/store.ts';

/** On standard error, so that --json stays as it is. */
export async function sayingWhoIsLeft<T>(
  { store }: { readonly store: Store },
  run: () => Promise<T>,
): Promise<T> {
  const before = await activeOperators(store);
  const done = await run();
  if (before.length > 0 && (await activeOperators(store)).length === 0) {
    process.stderr.write(
      'portcullis: done, but no operator is left who can sign in; ' +
        'portcullis account set-role <email> operator makes one\n',
    );
  }
  return done;
}
