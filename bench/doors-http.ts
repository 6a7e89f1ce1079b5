/**
 * The doors that are asked over HTTP: processor time of a bouncer's look-up and of a question of the gate beside
 * that of a check, over one table, and what nginx still serves when it asks the gate about each request.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCheckTable } from './check-table.ts';
import { type HttpContender, startContender } from './http-contender.ts';
import { type Load, openLoad } from './http-load.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const nginx = '/usr/sbin/nginx';
const goals = { live: 1.2, gate: 1.25, nginx: 0.8 } as const;
/** Everybody gets in: the load generator takes any other answer for a failure. */
const gatePath = '/gate/check?challenge=off&block=off';

export interface DoorsSize {
  readonly rounds: number;
  readonly seconds: number;
  readonly entries: number;
}

export async function askOverHttp(size: DoorsSize, folder: string): Promise<BenchRow[]> {
  const { key, hits } = makeCheckTable(size.entries);
  const server = await startContender('check', size.entries);
  try {
    using check = await openLoad(
      hits.map((ip) => `/api/v2/check?ipAddress=${ip}`),
      { Key: key },
    );
    using live = await openLoad(
      hits.map((ip) => `/v1/decisions?ip=${ip}`),
      { 'X-Api-Key': key },
    );
    using gate = await openLoad([gatePath], {
      'X-Forwarded-For': hits[0]!,
      'X-Forwarded-Host': 'site.example',
    });
    const found = { check: [] as number[], live: [] as number[], gate: [] as number[] };
    for (let round = size.rounds > 1 ? -1 : 0; round < size.rounds; round++) {
      for (const [name, load] of Object.entries({ check, live, gate })) {
        const us = await cpuUs(server, load, size.seconds);
        if (round >= 0) found[name as keyof typeof found].push(us);
      }
    }
    const peerValue = median(found.check);
    const row = (name: string, values: readonly number[], max: number): BenchRow => {
      const [ours, note] = [median(values), 'the same server and hosts; 64 connections'];
      const ratio = ours / peerValue;
      const facts = { peer: 'a check', peerValue, ratio, goal: `≤ ${max} × a check` };
      return { name, unit: 'µs', ours, ...facts, ok: ratio <= max, note };
    };
    return [
      row('bouncers: CPU of a look-up', found.live, goals.live),
      row('gate: CPU of a question', found.gate, goals.gate),
      await behindNginx(size, folder, server.port),
    ];
  } finally {
    server.stop();
  }
}

async function cpuUs(server: HttpContender, load: Load, seconds: number): Promise<number> {
  const before = await server.cpuUs();
  const { answers } = await load.run(server.port, seconds);
  return ((await server.cpuUs()) - before) / answers;
}

/** Both sites are of one nginx, with one worker. */
async function behindNginx(size: DoorsSize, folder: string, gatePort: number): Promise<BenchRow> {
  const base = { name: 'gate: answers a second of nginx that asks it', unit: '1/s' };
  const goal = `≥ ${goals.nginx} × nginx alone`;
  if (!existsSync(nginx)) return { ...base, ours: 0, goal, note: 'nginx is not installed' };
  const [alone, asking] = [await freePort(), await freePort()];
  writeFileSync(`${folder}/page`, 'a page');
  writeFileSync(`${folder}/nginx.conf`, configOf(folder, { alone, asking, gatePort }));
  const child = spawn(nginx, ['-p', folder, '-c', `${folder}/nginx.conf`], { stdio: 'ignore' });
  using load = await openLoad(['/page'], { Host: 'site.example' });
  const found = { alone: [] as number[], asking: [] as number[] };
  try {
    await reachable(child, alone);
    for (let round = 0; round < size.rounds; round++) {
      found.alone.push((await load.run(alone, size.seconds)).answers / size.seconds);
      found.asking.push((await load.run(asking, size.seconds)).answers / size.seconds);
    }
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  const [ours, peerValue] = [median(found.asking), median(found.alone)];
  const ratio = ours / peerValue;
  const facts = { peer: 'nginx alone', peerValue, ratio, goal, ok: ratio >= goals.nginx };
  const note = 'a small file; one worker of nginx and one thread of ours, wrk beside them';
  return { ...base, ours, ...facts, note };
}

function configOf(
  folder: string,
  { alone, asking, gatePort }: { alone: number; asking: number; gatePort: number },
): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
user root;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log;
events { worker_connections 1024; }
http {
  access_log off;
  ${places.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  keepalive_requests 1000000000;
  upstream gate { server 127.0.0.1:${gatePort}; keepalive 64; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${alone}; root ${folder}; }
  server {
    listen 127.0.0.1:${asking};
    root ${folder};
    location / { auth_request /ask; }
    location = /ask {
      internal;
      proxy_pass http://gate${gatePath}&mode=nginx;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_pass_request_headers off;
      proxy_set_header X-Forwarded-For 8.8.8.8;
      proxy_set_header X-Forwarded-Host $host;
      proxy_set_header X-Forwarded-Method $request_method;
      proxy_set_header X-Forwarded-Uri $request_uri;
    }
  }
}
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function reachable(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error('nginx ended at once');
    const answer = await fetch(`http://127.0.0.1:${port}/page`).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(50);
  }
}
