/** The operation that shows who signed in, and who failed to. */

import { type OperationTools, operationsOn } from '../../contracts/operation.ts';
import { lastDays, sinceDays } from '../../contracts/operation-parameters.ts';
import { dateText } from '../../core/dates.ts';
import { columnsOr } from '../../core/text-table.ts';
import { readSignIns } from './sign-in-log.ts';

const operation = operationsOn<OperationTools>();

export const readSignInLog = operation({
  name: 'log sign-ins',
  purpose: 'sign-ins, failures, lock-outs and refusals with their addresses, 30 days',
  parameters: lastDays,
  async run(tools, { days }) {
    const entries = [];
    for await (const entry of readSignIns(tools.store, sinceDays(tools.clock.now(), days))) {
      entries.push({ ...entry, at: dateText(entry.at) });
    }
    return entries;
  },
  lines: (entries) =>
    columnsOr(
      'nobody has signed in yet',
      ['when', 'event', 'address', 'account', 'path', 'status'],
      entries.map(({ at, event, address, account, path, status }) => [
        at,
        event,
        address,
        account || '-',
        path,
        String(status),
      ]),
    ),
});
