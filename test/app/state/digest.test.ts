/** The digest of the state: the same for the same journal, however memory came to be; another for any row. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { State } from '../../../src/app/state.ts';
import {
  contributionKinds,
  kindOf,
  reportDetail,
} from '../../../src/reputation/state/contributions.ts';
import {
  compareDigests,
  createDigestRing,
  decodeDigests,
  encodeDigests,
} from '../../../src/storage/nodes/digests.ts';
import { encodeEvent } from '../../support/reputation/events.ts';
import { seededRandom } from '../../support/seeded.ts';
import { within } from '../../support/server/server.ts';
import { makeState, type StateFixture } from './fixture.ts';

async function digestOf(state: State): Promise<string> {
  let digest: string | undefined;
  await within(() => {
    digest = state.digest!.latest().get(state.follower.appliedSeq());
    return digest !== undefined;
  });
  return digest!;
}

/** Reports of a few accounts on a few addresses, and what is taken back. */
function talkOf(fixture: StateFixture, seed: number) {
  const random = seededRandom(seed);
  const below = (n: number) => Math.floor(random.next() * n);
  let count = 0;
  const id = () => `t${count++}`;
  return {
    async begin() {
      for (const [i, vouched] of (
        ['none', 'none', 'member', 'member', 'staff'] as const
      ).entries()) {
        const account = `voice${i}`;
        const created = { kind: 'account.created', account, verified: true, slot: 'now' } as const;
        await fixture.commit(encodeEvent(id(), created));
        const event = { kind: 'account.vouched', account, vouched } as const;
        await fixture.commit(encodeEvent(id(), event));
      }
    },
    async go(events: number) {
      for (let i = 0; i < events; i++) {
        fixture.clock.advance(below(3_600_000));
        const now = Math.floor(fixture.clock.now() / 1_000);
        const family = below(2) === 0 ? 4 : 6;
        const last = below(6) + 1;
        const words = Uint32Array.from(
          family === 4 ? [0x0908_0700 + last, 0, 0, 0] : [0x2a00_0001, 5, 0, last],
        );
        const said = { account: `voice${below(5)}`, family, words } as const;
        const kind = below(8);
        await fixture.commit(
          encodeEvent(
            id(),
            kind === 0
              ? { kind: 'reports.withdrawn', ...said, penalty: below(2) === 0 }
              : kind === 1
                ? { kind: 'reports.expired', ...said, reports: 1 }
                : {
                    kind: 'report.added',
                    ...said,
                    reportedSecond: now,
                    network: below(9),
                    categories: 4,
                  },
          ),
        );
      }
    },
  };
}

for (const seed of [1, 2, 3]) {
  it(`after a restart, with the snapshot or without, the digest is that of who never stopped (seed ${seed})`, async () => {
    const fixture = makeState(seed);
    try {
      const reference = await fixture.openCaughtUp({ snapshot: false, isShared: true });
      const seen = new Set<string>();
      const talk = talkOf(fixture, seed);
      await talk.begin();
      for (let round = 0; round < 4; round++) {
        const options = { snapshot: round % 2 === 0, isShared: true };
        const state = await fixture.openCaughtUp(options);
        await fixture.work(50);
        // What was opened is in the sum; from here on few rows are left for each event.
        await Promise.all([state, reference].map(digestOf));
        await talk.go(100);
        const last = await fixture.store.lastSeq();
        await Promise.all([state.follower.catchUpTo(last), reference.follower.catchUpTo(last)]);
        const digest = await digestOf(reference);
        assert.equal(await digestOf(state), digest, `live, round ${round}`);
        const [ours, theirs] = [state, reference].map(({ digest: told }) => told!.latest());
        const round64 = [...ours!.keys()].filter((seq) => seq % 64n === 0n && theirs!.has(seq));
        assert.ok(round64.length > 0, 'at round events too');
        assert.equal(compareDigests(ours!, [theirs!]), 'agrees');
        await state.stop();
        const opened = await fixture.open(options);
        assert.equal(await digestOf(opened), digest, `opened again, round ${round}`);
        seen.add(digest);
      }
      assert.equal(seen.size, 4);
      await reference.stop();
    } finally {
      await fixture.close();
    }
  });
}

it('one report more in one row makes another digest, and a state alone on its store has none', async () => {
  const fixture = makeState(9);
  try {
    const state = await fixture.openCaughtUp({ isShared: true });
    const talk = talkOf(fixture, 9);
    await talk.begin();
    await talk.go(50);
    await state.follower.catchUpTo(await fixture.store.lastSeq());
    const digest = await digestOf(state);
    await state.stop();
    const broken = await fixture.open({ isShared: true });
    const { tag, detail, owner } = broken.entries.contributions;
    const node = tag.findIndex(
      (one, at) => owner[at] !== 0 && kindOf(one) === contributionKinds.reports,
    );
    assert.ok(node > 0);
    detail[node]! += reportDetail.report;
    assert.notEqual(await digestOf(broken), digest);
    const alone = await fixture.open();
    assert.equal(alone.digest, undefined);
  } finally {
    await fixture.close();
  }
});

it('a node is judged by the newest event that it shares, and a minority is outvoted', () => {
  const told = (...pairs: [number, string][]) => new Map(pairs.map(([seq, d]) => [BigInt(seq), d]));
  const own = told([64, 'a'], [128, 'b']);
  assert.equal(compareDigests(own, []), 'unknown');
  assert.equal(compareDigests(own, [told([65, 'a'])]), 'unknown');
  assert.equal(compareDigests(own, [told([64, 'a'])]), 'agrees');
  assert.equal(
    compareDigests(own, [told([64, 'x'], [128, 'b'])]),
    'agrees',
    'the newest one counts',
  );
  assert.equal(
    compareDigests(own, [told([128, 'x'])]),
    'differs',
    'of two nobody knows which one is right',
  );
  assert.equal(compareDigests(own, [told([128, 'x']), told([128, 'x'])]), 'outvoted');
  assert.equal(compareDigests(own, [told([128, 'x']), told([128, 'b'])]), 'differs');
  assert.equal(compareDigests(own, [told([128, 'x']), told([128, 'y'])]), 'differs');
  const ring = createDigestRing();
  for (let seq = 64n; seq <= 64n * 200n; seq += 64n) ring.add(seq, `d${seq}`);
  const kept = [...ring.kept().keys()].map(Number);
  assert.deepEqual(kept, [4_096, 8_192, 12_288, 12_608, 12_672, 12_736, 12_800]);
  assert.deepEqual(decodeDigests(encodeDigests(ring.kept())), ring.kept());
  assert.equal(decodeDigests(null).size, 0);
});
