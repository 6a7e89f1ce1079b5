/** Known good stops reports, not lists; check, page, feed, bouncers, gate and DNS list say the same. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { it } from 'node:test';
import {
  accuserKeys,
  accuserSettings,
  allAccusers,
  proveAgreement,
} from '../../support/integrations/accusers.ts';
import { startTestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const email = 'sensor@example.org';
const reportedGood = '45.20.0.7';
const listedGood = '45.20.0.9';
const reportedOther = '45.21.0.7';

const wanted = { [reportedGood]: '', [listedGood]: allAccusers, [reportedOther]: allAccusers };

it('reports of a service have no effect anywhere, lists have everywhere, also after a restart', async () => {
  const data = makeTempDir('known-good-data');
  const file = (name: string, text: string) => {
    writeFileSync(`${data.path}/${name}`, text);
    return `${data.path}/${name}`;
  };
  const start = () =>
    startTestServer({
      threads: 2,
      demo: false,
      dataDir: data.path,
      env: accuserSettings,
    });
  try {
    let keys = { api: '', bouncer: '' };
    {
      await using server = await start();
      await server.cliJson('account', 'create', email);
      keys = await accuserKeys(server, email);
      const bundle = '{"result":{"ipv4_cidrs":["45.20.0.0/24"]}}';
      const good = ['--known-good', '--format', 'cloudflare', '--source', 'edge-ranges'];
      const loaded = await server.cliJson('seed', file('good.json', bundle), ...good);
      assert.deepEqual([loaded.rows, loaded.rented], [1, 0]);
      const bad = ['--format', 'plain', '--confidence', '90', '--source', 'bad'];
      await server.cliJson('seed', file('bad.txt', `${listedGood}\n`), ...bad);
      for (const ip of [reportedGood, reportedOther]) {
        const answer = await server.report(ip, { key: keys.api });
        assert.equal(answer.status, 200, answer.body);
      }
      await proveAgreement(server, keys, wanted);
      const page = await server.fetch(`/ip/${reportedGood}`);
      for (const words of ['as known good', 'Content network', 'edge-ranges', '45.20.0.0/24']) {
        assert.ok(page.body.includes(words), words);
      }
      const french = await server.fetch(`/ip/${reportedGood}`, {
        headers: { 'Accept-Language': 'fr' },
      });
      assert.ok(french.body.includes('Réseau de diffusion'));
      await server.stop();
    }
    await using server = await start();
    await proveAgreement(server, keys, wanted);
  } finally {
    data.remove();
  }
});

it('the two kinds of lists have formats of their own', async () => {
  const data = makeTempDir('known-good-cli');
  try {
    await using server = await startTestServer({ threads: 1, demo: false, dataDir: data.path });
    const cases = [
      [['--format', 'google'], /--format google is of another kind of list: add --known-good/],
      [['--format', 'ipsum', '--known-good'], /with --known-good it is plain, google, amazon/],
      [['--format', 'plain', '--service', 'crawler'], /--service belongs to --known-good/],
      [['--format', 'plain', '--known-good', '--confidence', '5'], /does not go with --known-good/],
    ] as const;
    for (const [flags, said] of cases) {
      const { code, stderr } = await server.cli('seed', 'README.md', ...flags);
      assert.equal(code, 1);
      assert.match(stderr, said);
    }
  } finally {
    data.remove();
  }
});
