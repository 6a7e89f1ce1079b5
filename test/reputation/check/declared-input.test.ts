/**
 * What two hot paths read by hand is what their endpoints declare by schemas: the parameters of a check and the
 * body of a report, for random inputs.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as v from 'valibot';
import { queryReader } from '../../../src/core/schema.ts';
import { parseQuery } from '../../../src/http/request/query.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { checkEndpoint, readQuery } from '../../../src/reputation/check/check.route.ts';
import { categoryMax } from '../../../src/reputation/reports/categories.ts';
import { reportBody } from '../../../src/reputation/reports/report.route.ts';
import { readReport } from '../../../src/reputation/reports/report.ts';
import { apiErrorBody } from '../../../src/web/shape.ts';

const runs = { seed: 1, numRuns: 3_000 } as const;
const text = (...texts: string[]) =>
  fc.oneof(fc.constantFrom(undefined, '', ...texts), fc.string({ maxLength: 50 }));

test('the hot check reads the parameters that the endpoint declares', () => {
  const readDeclared = queryReader(checkEndpoint.docs.query);
  const words = new Uint32Array(4);
  let agreed = 0;
  fc.assert(
    fc.property(
      text('8.8.8.8', '2001:db8::1', '::ffff:1.2.3.4', '1.2.3', '0x8.8.8.8'),
      fc.oneof(text('1', '030', '0365', '1e1', ' 7', '7.0'), fc.integer().map(String)),
      text('1'),
      (ipAddress, maxAgeInDays, verbose) => {
        const given = Object.entries({ ipAddress, maxAgeInDays, verbose });
        const sent = given.filter((row): row is [string, string] => row[1] !== undefined);
        const query = new URLSearchParams(sent).toString();
        const params = parseQuery(query);
        if (!params.ok) return;
        agreed++;
        const hot = readQuery(query);
        const declared = readDeclared(params.value);
        if (declared.ok) {
          const { maxAgeInDays: days, verbose: isVerbose } = declared.value;
          assert.equal(hot.refusal, undefined);
          assert.equal(hot.needsStore === true, days !== undefined || isVerbose);
          return;
        }
        const { detail = '', parameter } = declared;
        if (hot.refusal !== undefined && parameter === 'maxAgeInDays') {
          assert.equal(hot.refusal, apiErrorBody(422, detail, parameter));
        } else if (hot.refusal === undefined) {
          // An address that is none is found where it is judged, or by the slower route.
          assert.equal(parameter, 'ipAddress');
          assert.equal(parseIp(ipAddress ?? '', words), 0);
        }
      },
    ),
    runs,
  );
  assert.ok(agreed > runs.numRuns / 2);
});

test('a report is read by hand as the endpoint declares its body', () => {
  const now = Date.UTC(2026, 10, 21, 9, 30);
  const rules = { now, allowDocumentation: false, ownAddresses: new Set<string>() };
  const number = fc.integer({ min: -1, max: categoryMax + 2 });
  const iso = fc
    .date({ min: new Date(now - 364 * 86_400_000), max: new Date(now), noInvalidDate: true })
    .chain((date) =>
      fc.constantFrom('Z', '+00:00', '+01:00').map((zone) => {
        const ahead = zone === '+01:00' ? 3_600_000 : 0;
        return new Date(date.getTime() + ahead).toISOString().replace('Z', zone);
      }),
    );
  fc.assert(
    fc.property(
      fc.oneof(number, fc.array(number, { maxLength: 33 }), fc.double(), fc.constant(null)),
      fc.option(iso, { nil: undefined }),
      fc.option(fc.string(), { nil: undefined }),
      (categories, timestamp, comment) => {
        const body = { ip: '8.8.8.8', categories, timestamp, comment };
        const read = readReport({ ...body, categories }, rules);
        assert.equal(v.is(reportBody, body), read.ok, JSON.stringify(body));
      },
    ),
    runs,
  );
});
