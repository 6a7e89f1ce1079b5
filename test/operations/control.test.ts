/** What a control socket does with whatever comes on it: places, deadlines, refusals, work nobody waits for. */

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { OperationCall } from '../../src/contracts/operation.ts';
import { OperatorError } from '../../src/core/errors.ts';
import { windowBytes } from '../../src/core/window.ts';
import { type Control, openControl } from '../../src/operations/control.ts';
import type { Order } from '../../src/operations/execute.ts';
import {
  encodeFrame,
  encodeJsonFrame,
  type FrameKind,
  frameBytesMax,
  frameKinds,
  type Greeting,
  jsonOfFrame,
  protocolVersion,
} from '../../src/operations/protocol.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { type RawControl, rawControl } from './raw-control.ts';

const places = 64;
const empty = Buffer.alloc(0);

interface Opened {
  readonly control: Control;
  readonly dataDir: string;
  readonly lines: readonly { readonly level: number; readonly msg: string }[];
  join(allowHalfOpen?: boolean): RawControl;
}

async function withControl(
  use: (opened: Opened) => Promise<void>,
  options: { readonly askMsMax?: number } = {},
): Promise<void> {
  const directory = makeTempDir('control');
  const { log, lines } = memoryLog();
  const control = await openControl(directory.path, log, options);
  const joined: RawControl[] = [];
  const join = (allowHalfOpen = false) => {
    const raw = rawControl(directory.path, allowHalfOpen);
    joined.push(raw);
    return raw;
  };
  try {
    await use({ control, dataDir: directory.path, lines, join });
  } finally {
    for (const raw of joined) raw.destroy();
    await control.close();
    directory.remove();
  }
}

/** Runs until it is aborted, and tells of it. */
function endless() {
  const begun: Order[] = [];
  const ended: string[] = [];
  return {
    begun,
    ended,
    run: (order: Order, { signal }: OperationCall) =>
      new Promise<never>((_, reject) => {
        begun.push(order);
        signal.addEventListener('abort', () => {
          ended.push((signal.reason as Error).message);
          reject(signal.reason);
        });
      }),
  };
}

const answering = async () => ({ ok: true });

it('greets with its version, and is for its owner alone', async () => {
  await withControl(async ({ dataDir, join }) => {
    const greeting = jsonOfFrame(await join().first(frameKinds.hello)) as Greeting;
    assert.deepEqual([greeting.protocol, greeting.pid], [protocolVersion, process.pid]);
    assert.match(greeting.version, /^\d+\.\d+\.\d+/);
    assert.equal(statSync(`${dataDir}/control.sock`).mode & 0o777, 0o600);
  });
});

const refused: readonly [what: string, bytes: Buffer, said: RegExp][] = [
  ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n'), /impossible length/],
  ['a frame without content', Buffer.alloc(16), /impossible length/],
  ['a frame that is too long', Buffer.from('7fffffff', 'hex'), /impossible length/],
  ['an unknown kind', encodeFrame(200 as FrameKind, 1, empty), /no known kind/],
  ['no JSON', encodeFrame(frameKinds.ask, 1, Buffer.from('{"operation":')), /no JSON/],
  ['bytes that are no text', encodeFrame(frameKinds.ask, 1, Buffer.of(0xff, 0xfe)), /no JSON/],
  ['a number', encodeJsonFrame(frameKinds.ask, 1, 7), /not understood/],
  ['nothing', encodeJsonFrame(frameKinds.ask, 1, null), /not understood/],
  ['no operation', encodeJsonFrame(frameKinds.ask, 1, { input: {}, user: '' }), /not understood/],
  [
    'a member too many',
    encodeJsonFrame(frameKinds.ask, 1, { operation: 'a', input: {}, user: '', more: 1 }),
    /not understood/,
  ],
  [
    'a name that is too long',
    encodeJsonFrame(frameKinds.ask, 1, { operation: 'a'.repeat(101), input: {}, user: '' }),
    /not understood/,
  ],
  [
    'a user that is too long',
    encodeJsonFrame(frameKinds.ask, 1, { operation: 'a', input: {}, user: 'u'.repeat(1_001) }),
    /not understood/,
  ],
  [
    'a deep value',
    encodeFrame(frameKinds.ask, 1, Buffer.from('['.repeat(100_000) + ']'.repeat(100_000))),
    /not understood/,
  ],
  ['input before the request', encodeFrame(frameKinds.input, 1, empty), /begins with/],
  ['a cancellation of nothing', encodeFrame(frameKinds.cancel, 1, empty), /begins with/],
  ['what only the server says', encodeFrame(frameKinds.done, 1, empty), /begins with/],
];

/** Each waits until the control has hung up, which takes a second: all wait at once. */
describe('what is no request', { concurrency: true }, () => {
  for (const [what, bytes, said] of refused) {
    it(`refuses ${what} in words, hangs up, and others are served`, async () => {
      await withControl(async ({ control, lines, join }) => {
        control.serve(answering);
        const hostile = join(true);
        hostile.send(bytes);
        assert.match(await hostile.failure(), said);
        // The other side keeps its half open, and goes on sending.
        const more = setInterval(() => hostile.send(Buffer.alloc(1_000)), 50);
        await within(() => control.table.used() === 0, 'its place is free');
        clearInterval(more);
        const other = join();
        other.ask('stats', {});
        assert.deepEqual(await other.result(), { ok: true });
        // No bug of ours: nothing is logged.
        assert.deepEqual(lines, []);
      });
    });
  }
});

it('takes one request a connection: a second ends both, and the work', async () => {
  await withControl(async ({ control, join }) => {
    const work = endless();
    control.serve(work.run);
    const raw = join();
    raw.ask('one', {});
    await within(() => work.begun.length === 1);
    raw.ask('two', {});
    assert.equal(await raw.failure(), 'one request a connection');
    await raw.closed;
    assert.deepEqual(work.ended, ['one request a connection']);
    assert.equal(work.begun.length, 1);
  });
});

it('what only a server says ends the work', async () => {
  await withControl(async ({ control, join }) => {
    const work = endless();
    control.serve(work.run);
    for (const kind of [frameKinds.hello, frameKinds.output, frameKinds.result, frameKinds.taken]) {
      const raw = join();
      const before = work.begun.length;
      raw.ask('one', {});
      await within(() => work.begun.length > before);
      raw.send(encodeFrame(kind, 1, empty));
      assert.equal(await raw.failure(), 'that is for the server to say');
      await raw.closed;
    }
    assert.equal(work.ended.length, 4);
  });
});

it('garbage behind a request ends its work', async () => {
  await withControl(async ({ control, join, lines }) => {
    const work = endless();
    control.serve(work.run);
    const raw = join();
    raw.ask('one', {});
    await within(() => work.begun.length === 1);
    raw.send(Buffer.alloc(100, 0xff));
    assert.match(await raw.failure(), /impossible length/);
    await raw.closed;
    assert.equal(work.ended.length, 1);
    assert.deepEqual(lines, []);
  });
});

it('who asks nothing is told so and hung up on, also when bytes trickle in', async () => {
  await withControl(
    async ({ control, join }) => {
      const silent = join(true);
      const slow = join(true);
      const frame = encodeJsonFrame(frameKinds.ask, 1, { operation: 'a', input: {}, user: '' });
      let at = 0;
      const trickle = setInterval(() => slow.send(frame.subarray(at, ++at)), 30);
      assert.equal(await silent.failure(), 'nothing was asked for');
      assert.equal(await slow.failure(), 'nothing was asked for');
      clearInterval(trickle);
      assert.ok(at < frame.length);
      await within(() => control.table.used() === 0, 'their places are free');
    },
    { askMsMax: 300 },
  );
});

it('a request that takes longer than the wait for it goes on', async () => {
  await withControl(
    async ({ control, join }) => {
      control.serve(async () => {
        await delay(1_200);
        return 'late';
      });
      const raw = join();
      raw.ask('one', {});
      assert.equal(await raw.result(), 'late');
    },
    { askMsMax: 1_000 },
  );
});

it('has so many places, tells who gets none, and takes them again', async () => {
  await withControl(async ({ control, join }) => {
    control.serve(answering);
    const first = Array.from({ length: places }, () => join());
    await Promise.all(first.map((raw) => raw.first(frameKinds.hello)));
    assert.deepEqual([control.table.used(), control.table.limit], [places, places]);
    const crowd = Array.from({ length: 40 }, () => join(true));
    for (const raw of crowd) {
      assert.equal(
        await raw.failure(),
        `${places} commands are under way in the server: try again`,
      );
      assert.equal(raw.frames.length, 1);
    }
    assert.equal(control.table.used(), places);
    first[0]!.destroy();
    await within(() => control.table.used() < places, 'a place is free');
    const next = join();
    next.ask('stats', {});
    assert.deepEqual(await next.result(), { ok: true });
  });
});

it('input beyond what was taken ends the work', async () => {
  await withControl(async ({ control, join }) => {
    const work = endless();
    control.serve(work.run);
    const raw = join();
    raw.ask('seed', {});
    const piece = encodeFrame(frameKinds.input, 1, Buffer.alloc(frameBytesMax));
    for (let sent = 0; sent <= 2 * windowBytes; sent += frameBytesMax) raw.send(piece);
    assert.equal(await raw.failure(), 'too much input at once');
    await raw.closed;
    assert.deepEqual(work.ended, ['too much input at once']);
  });
});

it('output waits for whoever reads it slowly', async () => {
  await withControl(async ({ control, join }) => {
    let written = 0;
    const piece = new Uint8Array(frameBytesMax);
    const total = 64 * frameBytesMax;
    control.serve(async (_, call) => {
      for (; written < total; written += piece.length) await call.write(piece);
      return written;
    });
    const raw = join();
    raw.ask('backup', {});
    await within(() => written >= windowBytes - frameBytesMax, 'the window is full');
    await delay(300);
    // Nobody said that any of it was taken.
    assert.ok(written <= windowBytes, `${written} bytes`);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(frameBytesMax);
    const came = () => raw.frames.filter(({ kind }) => kind === frameKinds.output).length;
    for (let taken = 0; taken < 64; taken++) {
      await within(() => came() > taken, `piece ${taken}`);
      assert.ok(written <= taken * frameBytesMax + windowBytes, `${written} bytes`);
      raw.send(encodeFrame(frameKinds.drained, 1, length));
    }
    assert.equal(await raw.result(), total);
    assert.equal(came(), 64);
  });
});

it('a cancellation, and a connection that is gone, end the work', async () => {
  await withControl(async ({ control, join }) => {
    const work = endless();
    control.serve(work.run);
    const cancelled = join();
    cancelled.ask('one', {});
    await within(() => work.begun.length === 1);
    cancelled.send(encodeFrame(frameKinds.cancel, 1, empty));
    assert.equal(await cancelled.failure(), 'it was cancelled');
    const gone = join();
    gone.ask('two', {});
    await within(() => work.begun.length === 2);
    gone.destroy();
    await within(() => work.ended.length === 2);
    assert.deepEqual(work.ended, ['it was cancelled', 'nobody waits for it any more']);
  });
});

it('what was asked for during the start waits; who left meanwhile changes nothing', async () => {
  await withControl(async ({ control, join }) => {
    const gone = join();
    gone.ask('account delete', {});
    const cancelled = join();
    cancelled.ask('key create', {});
    const patient = join();
    patient.ask('stats', {});
    await Promise.all([gone, cancelled, patient].map((raw) => raw.first(frameKinds.hello)));
    await delay(50);
    gone.destroy();
    cancelled.send(encodeFrame(frameKinds.cancel, 1, empty));
    await within(() => control.table.used() === 2);
    await delay(50);
    const run: string[] = [];
    control.serve(async ({ operation }) => {
      run.push(operation);
      return operation;
    });
    assert.equal(await patient.result(), 'stats');
    assert.equal(await cancelled.failure(), 'it was cancelled');
    assert.deepEqual(run, ['stats']);
  });
});

it('a stop tells all who wait, ends work, and does not hang on what goes on', async () => {
  await withControl(async ({ control, join }) => {
    const work = endless();
    let stuck = 0;
    control.serve((order, call) => {
      if (order.operation !== 'stuck') return work.run(order, call);
      stuck += 1;
      return new Promise(() => undefined);
    });
    const [silent, working, hanging] = [join(), join(), join()];
    working.ask('one', {});
    hanging.ask('stuck', {});
    await silent.first(frameKinds.hello);
    await within(() => work.begun.length === 1 && stuck === 1);
    const closing = control.close();
    assert.equal(await silent.failure(), 'the server is stopping');
    assert.equal(await working.failure(), 'the server is stopping');
    await Promise.all([closing, silent.closed, working.closed, hanging.closed]);
    await within(() => control.table.used() === 0, 'all places are free');
  });
});

it('a fault in an operation is told with its stack and logged; one of the operator is not', async () => {
  await withControl(async ({ control, join, lines }) => {
    control.serve(async ({ operation }) => {
      throw operation === 'bug' ? new TypeError('a fault') : new OperatorError('not so');
    });
    const bug = join();
    bug.ask('bug', {});
    const failed = jsonOfFrame(await bug.first(frameKinds.failed)) as {
      message: string;
      kind: string;
    };
    assert.equal(failed.kind, 'bug');
    assert.match(failed.message, /^TypeError: a fault\n\s+at /);
    const refusal = join();
    refusal.ask('other', {});
    assert.equal(await refusal.failure(), 'not so');
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['operation: failed'],
    );
  });
});

it('results of any size come whole', async () => {
  await withControl(async ({ control, join }) => {
    const text = 'é☃'.repeat(300_000);
    control.serve(async () => ({ text }));
    const raw = join();
    raw.ask('entry list', {});
    assert.deepEqual(await raw.result(), { text });
  });
});
