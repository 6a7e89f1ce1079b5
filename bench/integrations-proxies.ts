/**
 * What Debian's nginx and HAProxy still serve when they ask about each request, beside the same program that
 * asks nobody: nginx over HTTP, HAProxy over SPOE. Everybody gets in.
 */

import type { ChildProcess } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn, stopChild } from '../test/support/house/spawn.ts';
import { freePort } from '../test/support/server/free-port.ts';
import { startTestServer } from '../test/support/server/server.ts';
import { openLoad } from './http-load.ts';
import type { IntegrationsSize } from './integrations-http.ts';
import { type BenchRow, besidePeer, median, rowAtMost } from './row.ts';
import { cpuUsOf, inTurns } from './work.ts';

const nginx = '/usr/sbin/nginx';
const haproxy = '/usr/sbin/haproxy';
const goals = { nginx: 0.8, constant: 0.95, haproxy: 0.85, spoeUs: 6 } as const;
/** Everybody gets in: the load generator takes any other answer for a failure. */
export const openGate = '/gate/check?challenge=off&block=off';

/** A visitor from elsewhere: who is on the machine itself is not judged. */
const headers = { 'X-Forwarded-For': '8.8.8.8' };

/** Ports. `constant`: another nginx, which lets everybody in with a constant, as our gate does: no body. */
async function nginxPorts(gate: number) {
  const [alone, asking] = [await freePort(), await freePort()];
  return { alone, asking, askingConstant: await freePort(), constant: await freePort(), gate };
}

type NginxPorts = Awaited<ReturnType<typeof nginxPorts>>;

const start = (program: string, args: readonly string[]) =>
  spawn(program, args, { stdio: 'ignore' });

/** The sites are of one nginx with one worker; what answers a constant is another such. */
export async function behindNginx(
  size: IntegrationsSize,
  folder: string,
  gatePort: number,
): Promise<BenchRow[]> {
  const base = { name: 'gate: answers a second of nginx that asks it', unit: '1/s' };
  const goal = `≥ ${goals.nginx} × nginx alone`;
  if (!existsSync(nginx)) return [{ ...base, ours: 0, goal, note: 'nginx is not installed' }];
  const ports = await nginxPorts(gatePort);
  const child = startNginx(folder, 'nginx', sitesConfig(folder, ports));
  const letsIn = `server { listen 127.0.0.1:${ports.constant}; location / { return 204; } }`;
  const constant = startNginx(folder, 'constant', letsIn);
  try {
    const { alone, asking, askingConstant } = ports;
    const found = await compare(child, { alone, asking, askingConstant }, size);
    const note = 'a small file; one worker of nginx and one thread of ours, wrk beside them';
    const beside = (peer: string, peerValue: number, least: number) => {
      const row = besidePeer(base.name, base.unit, found.asking, peer, peerValue);
      return { ...row, goal: `≥ ${least} × ${peer}`, ok: row.ratio >= least, note };
    };
    return [
      beside('nginx alone', found.alone, goals.nginx),
      beside('nginx that asks an nginx for a constant', found.askingConstant, goals.constant),
    ];
  } finally {
    await Promise.all([stopChild(constant), stopChild(child)]);
  }
}

/** Both sites are of one HAProxy with one thread, before an nginx with a small file. */
export async function behindHaproxy(size: IntegrationsSize, folder: string): Promise<BenchRow[]> {
  const base = { name: 'SPOE: answers a second of HAProxy that asks', unit: '1/s' };
  const goal = `≥ ${goals.haproxy} × HAProxy alone`;
  const missing = [haproxy, nginx].find((program) => !existsSync(program));
  if (missing !== undefined) return [{ ...base, ours: 0, goal, note: `there is no ${missing}` }];
  const spoe = await freePort();
  const env = { SPOE_LISTEN: `127.0.0.1:${spoe}`, TRUSTED_PROXIES: '127.0.0.1' };
  await using server = await startTestServer({ threads: 1, demo: false, env });
  const ports = await nginxPorts(server.port);
  const sites = { alone: await freePort(), asking: await freePort() };
  const page = startNginx(folder, 'nginx', sitesConfig(folder, ports));
  writeFileSync(`${folder}/spoe.conf`, spoeConfig);
  const config = haproxyConfig(folder, { ...sites, spoe, backend: ports.alone });
  writeFileSync(`${folder}/haproxy.cfg`, config);
  const child = start(haproxy, ['-db', '-f', `${folder}/haproxy.cfg`]);
  try {
    await reachable(page, ports.alone);
    const { asking, alone, cpuUs } = await compare(child, sites, size, server);
    const row = besidePeer(base.name, base.unit, asking, 'HAProxy alone', alone);
    const note = 'before a small file of nginx; one thread each, wrk beside them';
    return [
      {
        ...rowAtMost('SPOE: CPU of a question', 'µs', cpuUs, goals.spoeUs, 'µs'),
        note: 'whole server',
      },
      { ...row, goal, ok: row.ratio >= goals.haproxy, note },
    ];
  } finally {
    await Promise.all([stopChild(child), stopChild(page)]);
  }
}

/** Medians of answers a second, and what the asked server's processor did for each, in microseconds. */
async function compare<Site extends string>(
  child: ChildProcess,
  sites: Readonly<Record<Site, number>>,
  { rounds, seconds }: IntegrationsSize,
  asked?: { readonly pid: number },
): Promise<Record<Site | 'cpuUs', number>> {
  using load = openLoad(['/page'], { Host: 'site.example', ...headers });
  for (const port of Object.values<number>(sites)) await reachable(child, port);
  const cpuUs: number[] = [];
  const rateOf = (name: string, port: number) => async () => {
    let answers = 0;
    const ask = async () => {
      answers = (await load.run(port, seconds)).answers;
      return answers;
    };
    if (asked !== undefined && name === 'asking') cpuUs.push(await cpuUsOf(asked, ask));
    else await ask();
    return answers / seconds;
  };
  const figures = Object.entries<number>(sites).map(([name, port]) => [name, rateOf(name, port)]);
  const found: Record<string, number[]> = await inTurns(rounds, Object.fromEntries(figures));
  const medians = Object.entries({ ...found, cpuUs }).map(([name, all]) => [name, median(all)]);
  return Object.fromEntries(medians) as Record<Site | 'cpuUs', number>;
}

/** @param servers what stands in its `http` */
function startNginx(folder: string, name: string, servers: string): ChildProcess {
  writeFileSync(`${folder}/page`, 'a page');
  writeFileSync(`${folder}/${name}.conf`, nginxConfig(folder, name, servers));
  return start(nginx, ['-p', folder, '-c', `${folder}/${name}.conf`]);
}

const spoeConfig = `[portcullis]
spoe-agent portcullis
    messages check-ip
    option var-prefix portcullis
    option set-on-error error
    timeout hello 1s
    timeout idle 2m
    timeout processing 500ms
    use-backend portcullis-spoe
spoe-message check-ip
    args ip=req.hdr_ip(x-forwarded-for) host=req.hdr(host) cookie=req.cook(portcullis_pass) policy=str("challenge=50&block=75")
    event on-frontend-http-request
`;

function haproxyConfig(
  folder: string,
  ports: Readonly<Record<'alone' | 'asking' | 'spoe' | 'backend', number>>,
): string {
  return `global
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend alone
    bind 127.0.0.1:${ports.alone}
    default_backend page
frontend asking
    bind 127.0.0.1:${ports.asking}
    filter spoe engine portcullis config ${folder}/spoe.conf
    http-request deny deny_status 403 unless { var(txn.portcullis.verdict) -m str allow }
    default_backend page
backend page
    http-reuse always
    server page 127.0.0.1:${ports.backend}
backend portcullis-spoe
    mode tcp
    timeout server 3m
    server portcullis 127.0.0.1:${ports.spoe}
`;
}

function nginxConfig(folder: string, name: string, servers: string): string {
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
user root;
worker_processes 1;
pid ${folder}/${name}.pid;
error_log ${folder}/${name}.log;
events { worker_connections 1024; }
http {
  access_log off;
  ${places.map((place) => `${place}_temp_path ${folder}/${place};`).join('\n  ')}
  keepalive_requests 1000000000;
  ${servers}
}
`;
}

function sitesConfig(folder: string, ports: NginxPorts): string {
  const asking = (listen: number, upstream: string, port: number) => `
  upstream ${upstream} { server 127.0.0.1:${port}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${listen};
    root ${folder};
    location / { auth_request /ask; }
    location = /ask {
      internal;
      proxy_pass http://${upstream}${openGate}&mode=nginx;
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
  }`;
  return `server { listen 127.0.0.1:${ports.alone}; root ${folder}; }
  ${asking(ports.asking, 'gate', ports.gate)}
  ${asking(ports.askingConstant, 'constant', ports.constant)}`;
}

async function reachable(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error('the proxy ended at once');
    const answer = await fetch(`http://127.0.0.1:${port}/page`, { headers }).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(50);
  }
}
