/**
 * From the answer to a report, and from the end of an import, until Debian's firewall bouncer has the address
 * in the kernel's set: nftables in a network of their own, asked by the bouncer once a second.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isInstalled } from '../test/support/house/tools.ts';
import {
  bouncerConfig,
  elements,
  openNetwork,
  openWay,
  stopChild,
} from '../test/support/integrations/network.ts';
import { startTestServer, within } from '../test/support/server/server.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const rounds = { tiny: 1, full: 20 } as const;
const goalMs = 3_000;
/** The set is looked at so often. */
const lookMs = 20;
const owner = 'owner@example.org';
const list = ['nft', 'list', 'set', 'ip', 'crowdsec', 'crowdsec-blacklists'];
const programs = ['crowdsec-firewall-bouncer', 'nsenter', 'unshare', 'curl', 'ip', 'nft'];

export async function untilInKernel(size: 'tiny' | 'full', folder: string): Promise<BenchRow[]> {
  const names = { report: 'bouncers: from a report', row: 'bouncers: from a row of a list' };
  const base = { unit: 'ms', goal: `worst ≤ ${goalMs} ms` };
  const missing =
    spawnSync('unshare', ['--net', 'true']).status === 0
      ? programs.find((program) => !isInstalled(program))
      : 'a network of its own';
  if (missing !== undefined) {
    const note = `missing: ${missing}`;
    return Object.values(names).map((name) => ({ ...base, name, ours: 0, note }));
  }
  chmodSync(folder, 0o755);
  await using server = await startTestServer({
    threads: 1,
    demo: false,
    env: { CLIENT_LIMITS: 'off' },
  });
  await server.cliJson('account', 'create', owner, '--standing', 'staff');
  const reporter = (await server.cliJson('key', 'create', owner)).text as string;
  const key = (await server.cliJson('bouncer', 'add', owner, 'bench')).text as string;
  const socket = `${folder}/server.sock`;
  const way = await openWay(socket, () => server.port);
  const network = await openNetwork(socket);
  const config = `${folder}/firewall.yaml`;
  writeFileSync(config, bouncerConfig('nftables', key));
  const bouncer = network.spawn('crowdsec-firewall-bouncer', '-c', config);
  for (const stream of [bouncer.stdout, bouncer.stderr]) stream.resume();
  const holds = async (address: string) =>
    elements((await network.run(...list)).stdout).includes(address);
  async function msUntil(address: string): Promise<number> {
    const begun = performance.now();
    while (!(await holds(address))) {
      if (performance.now() - begun > 60_000) throw new Error(`${address} is not in the set`);
      await sleep(lookMs);
    }
    return performance.now() - begun;
  }
  async function report(ip: string): Promise<void> {
    const { status, body } = await server.fetch('/api/v2/report', {
      method: 'POST',
      headers: { Key: reporter, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ip, categories: '18,22', comment: 'bench' }).toString(),
    });
    if (status !== 200) throw new Error(body);
  }
  const found = { report: [] as number[], row: [] as number[] };
  try {
    await report('45.30.0.1');
    await within(() => holds('45.30.0.1'), 'the first address');
    for (let round = 0; round < rounds[size]; round++) {
      const [reported, listed] = [`45.31.0.${round + 1}`, `45.32.0.${round + 1}`];
      // Not in step with the bouncer's polls.
      await sleep((round * 370) % 1_000);
      await report(reported);
      found.report.push(await msUntil(reported));
      const file = `${folder}/row.txt`;
      writeFileSync(file, `${listed}\n`);
      const source = ['--format', 'plain', '--confidence', '90', '--source', `r${round}`];
      await server.cliJson('seed', file, ...source);
      found.row.push(await msUntil(listed));
    }
  } finally {
    await stopChild(bouncer);
    await network.close();
    way.close();
  }
  return (['report', 'row'] as const).map((which) => {
    const ours = Math.max(...found[which]);
    const p50 = Math.round(median(found[which]));
    const note = `until it is in the kernel’s set; worst of ${found[which].length}, half within ${p50} ms`;
    return { ...base, name: `${names[which]} to the kernel`, ours, ok: ours <= goalMs, note };
  });
}
