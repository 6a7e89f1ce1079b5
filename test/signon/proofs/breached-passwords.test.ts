/** Breached passwords: the lists that come along by name, and a range source that is told five digits. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { dictionary } from '@zxcvbn-ts/language-common';
import { ok } from '../../../src/core/result.ts';
import {
  createBreachedPasswords,
  createNewPasswords,
} from '../../../src/signon/proofs/new-password.ts';
import isStrong from '../../../src/signon/proofs/password-strength.worker.ts';
import { memoryLog } from '../../support/server/memory-log.ts';

const password = 'violet-harbour-72';
const hash = createHash('sha1').update(password).digest('hex').toUpperCase();

it('every password of the lists that a person could choose is refused, in capitals too', () => {
  const names = (dictionary['passwords-common'] as string[]).filter((name) => name.length >= 8);
  assert.ok(names.length > 15_000);
  const accepted = names.filter((name) => isStrong({ password: name, context: [] }));
  assert.deepEqual(accepted, []);
  const loud = names.slice(0, 500).map((name) => name.toUpperCase());
  assert.deepEqual(
    loud.filter((name) => isStrong({ password: name, context: [] })),
    [],
  );
  assert.ok(isStrong({ password, context: [] }));
});

type Answering = (request: IncomingMessage, response: ServerResponse) => void;

async function withSource(
  answer: Answering,
  use: (source: {
    has(password: string): Promise<boolean>;
    seen: IncomingMessage[];
    lines: () => string;
  }) => Promise<void>,
  /** A minute where an answer is expected: the machine may be busy. */
  timeoutMs = 60_000,
): Promise<void> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { log, lines } = memoryLog();
  const rangeUrl = `http://127.0.0.1:${port}/range`;
  const source = createBreachedPasswords({ rangeUrl, log, timeoutMs });
  try {
    await use({ has: source.has, seen, lines: () => JSON.stringify(lines) });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const padding = `${'0'.repeat(35)}:0\r\n${'F'.repeat(35)}:3\r\n`;

it('the source learns five digits of the hash, pads, and a hit refuses the password', async () => {
  const answer: Answering = (_request, response) => {
    response.end(`${padding}${hash.slice(5)}:42\r\n`);
  };
  await withSource(answer, async ({ has, seen }) => {
    assert.equal(await has(password), true);
    const [request] = seen;
    assert.equal(request!.url, `/range/${hash.slice(0, 5)}`);
    assert.equal(request!.headers['add-padding'], 'true');
    assert.equal(request!.headers.cookie ?? request!.headers.authorization, undefined);
    assert.ok(!JSON.stringify(request!.rawHeaders).includes(hash.slice(5, 12)));
    const newPasswords = createNewPasswords({
      passwords: { hash: async () => ok('phc') } as never,
      strength: { check: async () => ok(undefined), async close() {} },
      service: 'x',
      breached: { has },
    });
    const refused = await newPasswords.accept(password, 'a@b');
    assert.ok(!refused.ok && refused.error === 'weak_password' && refused.parameter === 'password');
  });
});

it('a padding line is no hit', async () => {
  const answer: Answering = (_request, response) => {
    response.end(`${padding}${hash.slice(5)}:0\r\n`);
  };
  await withSource(answer, async ({ has }) => assert.equal(await has(password), false));
});

it('a line alone is a hit, wherever it stands and however it ends', async () => {
  const rest = hash.slice(5);
  for (const [text, isHit] of [
    [`${'\n'.repeat(400_000)}${rest}:1`, true],
    [`${rest.toLowerCase()}:007 \r\n`, true],
    [`${rest}:0\n${rest}:2\n`, true],
    [`A${rest}:1\r\n`, false],
    [`${rest}\n:1\r\n`, false],
    [`${rest}:1x\r\n`, false],
    [`${rest}:\n1\r\n`, false],
  ] as const) {
    const answer: Answering = (_request, response) => void response.end(text);
    await withSource(answer, async ({ has }) => assert.equal(await has(password), isHit, text));
  }
});

it('a source that fails lets the password pass, with a line that holds nothing of it', async () => {
  const failing: readonly Answering[] = [
    (_request, response) => response.writeHead(500).end(`${hash.slice(5)}:1`),
    (_request, response) => response.writeHead(302, { Location: '/elsewhere' }).end(),
    (_request, response) => void response.writeHead(200).write('half'),
    (request) => request.socket.destroy(),
    (_request, response) => response.end('x'.repeat(600_000)),
    () => {},
  ];
  for (const answer of failing) {
    await withSource(
      answer,
      async ({ has, lines }) => {
        assert.equal(await has(password), false);
        assert.match(lines(), /breached passwords: not checked/);
        for (const part of [password, hash, hash.slice(0, 5)]) assert.ok(!lines().includes(part));
      },
      300,
    );
  }
});
