/** What HAProxy is answered, frame by frame: the protocol's table, and hostile bytes. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../../../src/core/random.ts';
import { parseQuery } from '../../../src/http/request/query.ts';
import { createPasses } from '../../../src/integrations/forward-auth/pass.ts';
import { createDecider } from '../../../src/integrations/forward-auth/policy.ts';
import {
  ackBytesMax,
  createAgent,
  createSession,
} from '../../../src/integrations/haproxy/session.ts';
import { WireWriter } from '../../../src/integrations/haproxy/wire.ts';
import { formatIp, parseIp } from '../../../src/ip/address.ts';
import {
  address,
  ask,
  disconnect,
  frame,
  hello,
  helloPairs,
  message,
  type Pairs,
  readFrames,
} from '../../support/integrations/spoe.ts';
import { manualClock } from '../../support/seeded.ts';

const clock = manualClock(1_800_000_000_000);
const passes = createPasses({ key: new Uint8Array(32), clock, random: systemRandom() });

/** What is said of some addresses; of others nothing. */
const known: Readonly<Record<string, { score: number; anonymousExit?: true }>> = {
  '45.10.0.60': { score: 60 },
  '45.10.0.90': { score: 90 },
  '45.10.0.1': { score: 1, anonymousExit: true },
  '2a10::90': { score: 90 },
  '10.0.0.90': { score: 90 },
  '::1': { score: 90 },
  '45.10.0.66': { score: Number.NaN },
};

function judge(family: 4 | 6, words: Uint32Array) {
  const found = known[formatIp(family, words)] ?? { score: 0 };
  if (Number.isNaN(found.score)) throw new Error('the index is damaged');
  return { anonymousExit: false, allowlisted: false, ...found };
}

function open(options: { isGreeted?: boolean; isDraining?: boolean } = {}) {
  const counted: string[] = [];
  const warned: string[] = [];
  const agent = createAgent({
    decider: createDecider({
      check: { judge },
      passes,
      clock,
      readParams: parseQuery,
      noteMark() {},
    }),
    count: (outcome) => counted.push(outcome),
    warn: (reason) => warned.push(reason),
    isDraining: () => options.isDraining === true,
  });
  const session = createSession(agent);
  const out = new WireWriter();
  const take = (...chunks: readonly Uint8Array[]) => {
    const ending = session.take(Buffer.concat(chunks), out);
    return { ending, frames: readFrames(out.take()) };
  };
  if (options.isGreeted !== false) take(hello());
  /** The variables that are set for this question. */
  const verdict = (args: Pairs) => take(ask(args)).frames[0]!.values;
  return { session, out, take, verdict, counted, warned };
}

it('HELLO is answered with version, frame size and what both can', () => {
  const { frames } = open({ isGreeted: false }).take(hello());
  const values = { version: '2.0', 'max-frame-size': 16_380, capabilities: 'pipelining' };
  assert.deepEqual(frames, [{ type: 101, stream: 0, id: 0, values }]);
  const least = open({ isGreeted: false }).take(
    hello({ 'supported-versions': '3.0, 2.1', 'max-frame-size': 256, capabilities: '' }),
  );
  assert.deepEqual(least.frames[0]!.values, { ...values, 'max-frame-size': 256, capabilities: '' });
  const large = open({ isGreeted: false }).take(hello({ 'max-frame-size': 65_532 }));
  assert.equal(large.frames[0]!.values['max-frame-size'], 16_380);
});

it('a HELLO that can’t be kept ends with its own status', () => {
  const refused: readonly [Pairs, number][] = [
    [{ 'supported-versions': null }, 5],
    [{ 'max-frame-size': null }, 6],
    [{ capabilities: null }, 7],
    [{ 'supported-versions': '1.0' }, 8],
    [{ 'max-frame-size': 255 }, 9],
  ];
  for (const [more, code] of refused) {
    const { ending, frames } = open({ isGreeted: false }).take(hello(more));
    assert.equal(ending, 'refused_hello');
    assert.deepEqual([frames.length, frames[0]!.type], [1, 102]);
    assert.equal(frames[0]!.values['status-code'], code, JSON.stringify(more));
  }
});

it('a check of health gets HELLO and the end; while the server drains, a goodbye', () => {
  const check = hello({ healthcheck: true });
  const well = open({ isGreeted: false }).take(check);
  assert.deepEqual([well.ending, well.frames[0]!.type], ['health_check', 101]);
  const leaving = open({ isGreeted: false, isDraining: true });
  const told = leaving.take(check);
  assert.deepEqual([told.ending, told.frames[0]!.type], ['draining', 102]);
  const served = open({ isDraining: true });
  assert.equal(served.verdict({ ip: address('45.10.0.90') }).verdict, 'block');
});

it('verdict and score are those of the gate, for both families', () => {
  const { verdict, counted } = open();
  const said = (ip: string, more: Pairs = {}) => verdict({ ip: address(ip), ...more });
  assert.deepEqual(said('45.10.0.2'), { verdict: 'allow', score: 0 });
  assert.deepEqual(said('45.10.0.60'), { verdict: 'challenge', score: 60 });
  assert.deepEqual(said('45.10.0.90'), { verdict: 'block', score: 90 });
  assert.deepEqual(said('2a10::90'), { verdict: 'block', score: 90 });
  assert.deepEqual(said('::ffff:2d0a:5a'), { verdict: 'block', score: 90 }, 'a mapped address');
  const policy = 'challenge=off&block=95&anon=challenge';
  assert.deepEqual(said('45.10.0.90', { policy }), { verdict: 'allow', score: 90 });
  assert.deepEqual(said('45.10.0.1', { policy }), { verdict: 'challenge', score: 1 });
  assert.equal(counted.filter((outcome) => outcome === 'block').length, 3);
});

it('a special-use address is never blocked, whatever the index says of it', () => {
  const { verdict } = open();
  for (const ip of ['10.0.0.90', '::1', '::ffff:a00:5a']) {
    assert.deepEqual(verdict({ ip: address(ip) }), { verdict: 'allow', score: 0 }, ip);
  }
});

it('a pass lets a suspect in, alone or in a Cookie header; forged or foreign it is not there', () => {
  const words = new Uint32Array(4);
  const family = parseIp('45.10.0.60', words) as 4;
  const pass = passes.issue({ host: 'site.example', family, words });
  const { verdict, counted } = open();
  const said = (cookie: string, host = 'site.example:443', ip = '45.10.0.60') =>
    verdict({ ip: address(ip), host, cookie }).verdict;
  assert.equal(said(pass), 'allow');
  assert.equal(said(`theme=dark; portcullis_pass=${pass}`), 'allow');
  assert.deepEqual(counted, ['pass', 'pass']);
  assert.equal(said(`${pass.slice(0, -2)}${pass.endsWith('AA') ? 'AE' : 'AA'}`), 'challenge');
  assert.equal(said(pass, 'other.example'), 'challenge');
  assert.equal(said(pass, 'site.example', '45.10.0.90'), 'block');
  assert.equal(said(''), 'challenge');
  assert.equal(
    verdict({ ip: address('45.10.0.60'), host: null, cookie: null }).verdict,
    'challenge',
  );
});

it('no address, a bad policy and a damaged index are refused, and end nothing', () => {
  const { verdict, counted, warned, take } = open();
  const refused = { verdict: 'refuse', score: 0 };
  assert.deepEqual(verdict({}), refused);
  assert.deepEqual(verdict({ ip: null }), refused);
  assert.deepEqual(verdict({ ip: '45.10.0.90' }), refused, 'a string');
  assert.deepEqual(verdict({ ip: address('45.10.0.90'), policy: 'chalenge=50' }), refused);
  assert.deepEqual(verdict({ ip: address('45.10.0.66') }), refused);
  const once = ['no_address', 'no_address', 'no_address', 'bad_policy', 'failed'];
  assert.deepEqual(counted, once);
  assert.match(warned[3]!, /There is no parameter chalenge/);
  const none = take(frame(3, [], { stream: 5, id: 6 }), frame(3, message('other', { ip: 7 })));
  assert.deepEqual(
    none.frames.map(({ values }) => values),
    [{}, {}],
  );
  assert.deepEqual(counted, once);
});

it('ids come back as they were, in the order of the questions, however the bytes are cut', () => {
  const ids = [0, 239, 240, 2_287, 2_288, 2 ** 31, 2 ** 52];
  const bytes = ids.map((id, i) => ask({ ip: address('45.10.0.60') }, { stream: id, id: i }));
  const { session, out } = open();
  for (const byte of Buffer.concat(bytes)) {
    assert.equal(session.take(Buffer.of(byte), out), undefined);
  }
  const frames = readFrames(out.take());
  assert.deepEqual(
    frames.map(({ type, stream, id }) => [type, stream, id]),
    ids.map((id, i) => [103, id, i]),
  );
  // As much as the rest of a frame, whole frames and the begin of one.
  const all = Buffer.concat([...bytes, ...bytes]);
  for (const cut of [1, 4, 5, 60, 61, all.length - 1]) {
    const { take } = open();
    const both = [...take(all.subarray(0, cut)).frames, ...take(all.subarray(cut)).frames];
    assert.deepEqual(both, [...frames, ...frames], `${cut}`);
  }
});

it('of several questions in one frame the first counts', () => {
  const two = ['45.10.0.60', '45.10.0.90'].flatMap((ip) =>
    message('check-ip', { ip: address(ip) }),
  );
  const { take, counted } = open();
  const { frames } = take(frame(3, [...message('other', { a: 'b', c: null }), ...two]));
  assert.deepEqual(frames[0]!.values, { verdict: 'challenge', score: 60 });
  assert.deepEqual(counted, ['challenge']);
});

it('what is no frame of the protocol ends the connection with its status', () => {
  const question = message('check-ip', { ip: address('45.10.0.60') });
  const long = Buffer.alloc(4);
  long.writeUInt32BE(16_381);
  const bad: readonly [string, Buffer, string, number][] = [
    ['a fragment', frame(3, question, { flags: 0 }), 'fragmented', 10],
    ['the rest of a fragment', frame(0, question), 'fragmented', 10],
    ['too long', long, 'too_big', 3],
    ['shorter than a head', Buffer.of(0, 0, 0, 6, 3, 0, 0, 0, 1, 0), 'malformed', 4],
    ['no end of an id', frame(3, []).fill(255, 9), 'malformed', 4],
    ['a second HELLO', hello(), 'malformed', 4],
    ['cut short', frame(3, question.slice(0, -1)), 'malformed', 4],
    ['an unknown type', frame(3, [...message('a', {}).slice(0, -1), 1, 1, 97, 10]), 'malformed', 4],
    ['HAProxy says goodbye', disconnect(), 'disconnected', 0],
  ];
  for (const [name, bytes, reason, code] of bad) {
    const { ending, frames } = open().take(bytes, ask({ ip: address('45.10.0.60') }));
    assert.equal(ending, reason, name);
    assert.deepEqual(
      frames.map(({ type, values }) => [type, values['status-code']]),
      [[102, code]],
      name,
    );
  }
  const early = open({ isGreeted: false }).take(ask({ ip: address('45.10.0.60') }));
  assert.equal(early.ending, 'malformed');
  const unknown = open().take(frame(42, [1, 2, 3]), ask({ ip: address('45.10.0.60') }));
  assert.deepEqual([unknown.ending, unknown.frames.length], [undefined, 1], 'skipped');
});

it('a frame longer than HAProxy itself takes is refused, too', () => {
  const { take } = open({ isGreeted: false });
  take(hello({ 'max-frame-size': 256 }));
  const cookie = 'x'.repeat(250);
  assert.equal(take(ask({ ip: address('45.10.0.60'), cookie })).ending, 'too_big');
});

/** A frame's own bytes with some of them changed, or rubbish. */
const hostile = fc.oneof(
  fc.uint8Array({ maxLength: 400 }),
  // A length that is right, around a payload that ends anywhere.
  fc
    .tuple(fc.constantFrom('45.10.0.90', '2a10::90'), fc.nat(60), fc.constantFrom(1, 3))
    .map(([ip, end, type]) => {
      const payload = message('check-ip', { host: 'site.example', ip: address(ip) });
      return frame(type, payload.slice(0, end));
    }),
  fc
    .tuple(
      fc.constantFrom(
        hello(),
        disconnect(),
        ask({ ip: address('45.10.0.90'), host: 'site.example', cookie: 'pcp1.a.b', policy: '' }),
        ask({ ip: address('2a10::90') }),
        frame(3, [...message('a', { b: true, c: 7 }), ...message('check-ip', { policy: 'x=y' })]),
      ),
      fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 3 }),
    )
    .map(([bytes, changes]) => {
      const changed = Buffer.from(bytes);
      for (const [at, value] of changes) changed[at % changed.length] = value;
      return changed;
    }),
);

it('no bytes throw, are answered by more than they may be, or are held without a bound', () => {
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 12 }), fc.boolean(), (chunks, isGreeted) => {
      const { session, out, counted } = open({ isGreeted });
      for (const chunk of chunks) {
        const before = session.frames;
        const ending = session.take(Buffer.from(chunk), out);
        const frames = session.frames - before + (ending === undefined ? 0 : 1);
        assert.ok(out.length <= frames * ackBytesMax, `${out.length} for ${frames}`);
        readFrames(out.take());
        if (ending !== undefined) break;
      }
      assert.ok(counted.length <= session.frames);
    }),
    { numRuns: 2_000 },
  );
});

it('an answer is at most twice as long as its question', () => {
  fc.assert(
    fc.property(
      fc.nat(2 ** 40),
      fc.nat(2 ** 40),
      fc.constantFrom(...Object.keys(known)),
      (stream, id, ip) => {
        const { session, out } = open();
        const question = ask({ ip: address(ip) }, { stream, id });
        session.take(question, out);
        assert.ok(out.length < 2 * question.length && out.length <= ackBytesMax);
      },
    ),
  );
});

it('every HELLO is answered without a throw', () => {
  const value = fc.oneof(fc.constant(null), fc.boolean(), fc.nat(), fc.string({ maxLength: 30 }));
  const pairs = fc.dictionary(
    fc.constantFrom(...Object.keys(helloPairs), 'healthcheck', 'x'),
    value,
  );
  fc.assert(
    fc.property(pairs, (more) => {
      const { frames } = open({ isGreeted: false }).take(hello(more as Pairs));
      assert.equal(frames.length, 1);
    }),
  );
});
