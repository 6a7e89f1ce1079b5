/** What the operator says of a person: a first password, the plan, a proof of the birth date. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createProfiles } from '../../../src/signon/people/profile/profile-store.ts';
import { runCli } from '../../support/server/server.ts';
import { openStoreBeside } from '../../support/server/shared-store.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const email = 'ada@portcullis.example';

it('plan, identity and first password are set, and shown', { timeout: 600_000 }, async () => {
  const directory = makeTempDir('cli-people');
  const env = { DATA_DIR: directory.path };
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli([...args, '--json'], env);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  try {
    const create = ['account', 'create', email, '--password-stdin'];
    const weak = await runCli(create, env, 'password1\n');
    assert.equal(weak.code, 1);
    assert.match(weak.stderr, /^portcullis: weak password\n$/);
    assert.equal((await runCli(create, env, 'short\n')).code, 1);
    assert.equal((await runCli(create, env, 'x'.repeat(5_000))).code, 1);
    assert.equal((await runCli(['account', 'show', email], env)).code, 1, 'none was made');
    const made = await runCli(create, env, 'violet-harbour-72\n');
    assert.equal(made.code, 0, made.stderr);
    assert.ok(!(made.stdout + made.stderr).includes('violet'));
    const { id } = await json('account', 'show', email);

    assert.deepEqual(await json('account', 'set-plan', email, 'plus'), { email, plan: 'plus' });
    const gold = await runCli(['account', 'set-plan', email, 'gold'], env);
    assert.equal(gold.code, 1);
    assert.match(gold.stderr, /plus/);
    const nobody = await runCli(['account', 'set-plan', 'no@portcullis.example', 'plus'], env);
    assert.match(nobody.stderr, /there is no account/);
    const unproved = await runCli(['account', 'verify-identity', email], env);
    assert.equal(unproved.code, 1);
    assert.match(unproved.stderr, /no birth date/);

    const store = openStoreBeside(directory.path);
    const profiles = createProfiles({ store, clock: systemClock(), random: systemRandom() });
    assert.equal((await profiles.edit(id, { birthdate: '1990-12-10' })).ok, true);
    await json('account', 'verify-identity', email);
    const profile = await profiles.load(id);
    await store.close();
    assert.equal(profile?.ageVerified, true);
    assert.equal(profile?.plan, 'plus');
    assert.equal(profile?.emailVerified, true);

    const exported = await runCli(['account', 'export', email], env);
    assert.equal(JSON.parse(exported.stdout).profile.birthdate, '1990-12-10');
    assert.equal((await runCli(['account', 'delete', email], env)).code, 0);
  } finally {
    directory.remove();
  }
});
