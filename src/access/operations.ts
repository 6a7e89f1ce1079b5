/** The operation that shows what operators changed. */

import { type OperationTools, operationsOn } from '../contracts/operation.ts';
import { lastDays, sinceDays } from '../contracts/operation-parameters.ts';
import { dateText } from '../core/dates.ts';
import { columnsOr } from '../core/text-table.ts';
import { createAuditLog } from './audit-log.ts';

const operation = operationsOn<OperationTools>();

export const readAudit = operation({
  name: 'audit',
  purpose: 'what operators changed by command and on the console: when, by whom, the result',
  parameters: lastDays,
  run: async (tools, { days }) =>
    (await createAuditLog(tools).list(sinceDays(tools.clock.now(), days))).map((entry) => ({
      ...entry,
      at: dateText(entry.at),
    })),
  lines: (entries) =>
    columnsOr(
      'nothing has been changed yet',
      ['when', 'result', 'who', 'what', 'change', 'from'],
      entries.map(({ at, result, user, command, before, after, address }) => [
        at,
        result,
        user,
        command,
        after === '' ? '-' : `${before || '-'} > ${after}`,
        address,
      ]),
    ),
});
