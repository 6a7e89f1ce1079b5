/** What the screens of /connect change in the texts of the feeds: one family, loaded by the tools. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { openMachine } from '../support/docs/paste.ts';
import { hasNetworkNamespace, hasTool } from '../support/house/tools.ts';
import { startTestServer, within } from '../support/server/server.ts';

const server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
const feedsUrl = `${server.baseUrl}/feeds`;
const isThere = async () => (await server.fetch('/feeds/blocklist.nft')).status === 200;
await within(isThere, 'the first list');
after(async () => {
  await server?.stop();
});

for (const [family, other] of [
  ['4', '6'],
  ['6', '4'],
] as const) {
  it(`nftables and ipset with IPv${family} alone`, async (context) => {
    const tools = ['nft', 'ipset', 'iptables'];
    if (!tools.every((tool) => hasTool(context, tool)) || !hasNetworkNamespace(context)) return;
    await using machine = await openMachine(feedsUrl, { network: true, choice: { family } });
    machine.paste('nftables-rules');
    machine.paste('nftables-run');
    const rules = machine.run('nft list chain inet portcullis input').match(/@blocklist[46] drop/g);
    assert.deepEqual(rules, [`@blocklist${family} drop`]);
    const listed = readFileSync(machine.at('/var/lib/portcullis/blocklist.nft'), 'utf8');
    const entries = listed.match(/^[0-9a-f.:/]+,$/gm) ?? [];
    assert.ok(entries.length > 0);
    for (const entry of entries) assert.equal(entry.includes(':'), family === '6', entry);

    machine.paste('ipset-load');
    machine.paste('ipset-run');
    const sets = machine.run('ipset list -n');
    assert.match(sets, new RegExp(`portcullis${family}`));
    const drops = (v: string) =>
      machine.run(`${v === '4' ? 'iptables' : 'ip6tables'} -S INPUT`).match(/--match-set \S+/g);
    assert.deepEqual(drops(family), [`--match-set portcullis${family}`]);
    assert.equal(drops(other), null);
  });
}
