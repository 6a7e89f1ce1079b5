/**
 * What Debian's nginx and HAProxy still serve when they ask about each request, beside the same program that
 * asks nobody: nginx over HTTP, HAProxy over SPOE. Everybody gets in.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from '../test/support/house/spawn.ts';
import { freePort } from '../test/support/server/free-port.ts';
import { startTestServer } from '../test/support/server/server.ts';
import { openLoad } from './http-load.ts';
import type { IntegrationsSize } from './integrations-http.ts';
import { cpuSeconds } from './rbldnsd-peer.ts';
import { type BenchRow, median } from './row.ts';
import { inTurns } from './work.ts';

const nginx = '/usr/sbin/nginx';
const haproxy = '/usr/sbin/haproxy';
const goals = { nginx: 0.8, constant: 0.95, haproxy: 0.85, spoeUs: 6 } as const;
/** Everybody gets in: the load generator takes any other answer for a failure. */
export const openGate = '/gate/check?challenge=off&block=off';

/** A visitor from elsewhere: who is on the machine itself is not judged. */
const headers = { 'X-Forwarded-For': '8.8.8.8' };

/** Ports of the sites of one program. */
interface Sites {
  readonly alone: number;
  readonly asking: number;
}

interface NginxSites extends Sites {
  /** Asks another nginx, which lets everybody in with a constant. */
  readonly askingConstant: number;
}

/** The sites are of one nginx with one worker; what answers a constant is another such. */
export async function behindNginx(
  size: IntegrationsSize,
  folder: string,
  gatePort: number,
): Promise<BenchRow[]> {
  const base = { name: 'gate: answers a second of nginx that asks it', unit: '1/s' };
  const goal = `≥ ${goals.nginx} × nginx alone`;
  if (!existsSync(nginx)) return [{ ...base, ours: 0, goal, note: 'nginx is not installed' }];
  const ports = { alone: await freePort(), asking: await freePort() };
  const sites: NginxSites = { ...ports, askingConstant: await freePort() };
  const constantPort = await freePort();
  writeFileSync(`${folder}/constant.conf`, constantConfig(folder, constantPort));
  const child = startNginx(folder, sites, gatePort, constantPort);
  const constant = spawn(nginx, ['-p', folder, '-c', `${folder}/constant.conf`], {
    stdio: 'ignore',
  });
  try {
    const { asking, alone, askingConstant } = await compare(child, sites, size);
    const note = 'a small file; one worker of nginx and one thread of ours, wrk beside them';
    const beside = (peer: string, peerValue: number, least: number) => {
      const ratio = asking / peerValue;
      const facts = { peer, peerValue, ratio, goal: `≥ ${least} × ${peer}`, ok: ratio >= least };
      return { ...base, ours: asking, ...facts, note };
    };
    return [
      beside('nginx alone', alone, goals.nginx),
      beside('nginx that asks an nginx for a constant', askingConstant, goals.constant),
    ];
  } finally {
    await stop(constant);
    await stop(child);
  }
}

/** Both sites are of one HAProxy with one thread, before an nginx with a small file. */
export async function behindHaproxy(size: IntegrationsSize, folder: string): Promise<BenchRow[]> {
  const base = { name: 'SPOE: answers a second of HAProxy that asks', unit: '1/s' };
  const goal = `≥ ${goals.haproxy} × HAProxy alone`;
  const missing = [haproxy, nginx].find((program) => !existsSync(program));
  if (missing !== undefined) return [{ ...base, ours: 0, goal, note: `there is no ${missing}` }];
  const [spoe, backend] = [await freePort(), await freePort()];
  await using server = await startTestServer({
    threads: 1,
    demo: false,
    env: { SPOE_LISTEN: `127.0.0.1:${spoe}`, TRUSTED_PROXIES: '127.0.0.1' },
  });
  const sites = { alone: await freePort(), asking: await freePort() };
  const [asking, askingConstant] = [await freePort(), await freePort()];
  const page = startNginx(folder, { alone: backend, asking, askingConstant }, server.port, backend);
  writeFileSync(`${folder}/spoe.conf`, spoeConfig);
  writeFileSync(`${folder}/haproxy.cfg`, haproxyConfig(folder, sites, { spoe, backend }));
  const child = spawn(haproxy, ['-db', '-f', `${folder}/haproxy.cfg`], { stdio: 'ignore' });
  try {
    await reachable(page, backend);
    const { asking: ours, alone: peerValue, cpuUs } = await compare(child, sites, size, server);
    const ratio = ours / peerValue;
    const facts = { peer: 'HAProxy alone', peerValue, ratio, goal, ok: ratio >= goals.haproxy };
    const note = 'before a small file of nginx; one thread each, wrk beside them';
    const name = 'SPOE: CPU of a question';
    const ok = cpuUs <= goals.spoeUs;
    return [
      { name, unit: 'µs', ours: cpuUs, goal: `≤ ${goals.spoeUs} µs`, ok, note: 'whole server' },
      { ...base, ours, ...facts, note },
    ];
  } finally {
    await Promise.all([stop(child), stop(page)]);
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
    const before = asked === undefined ? 0 : cpuSeconds(asked);
    const { answers } = await load.run(port, seconds);
    if (asked !== undefined && name === 'asking') {
      cpuUs.push(((cpuSeconds(asked) - before) * 1e6) / answers);
    }
    return answers / seconds;
  };
  const figures = Object.entries<number>(sites).map(([name, port]) => [name, rateOf(name, port)]);
  const found: Record<string, number[]> = await inTurns(rounds, Object.fromEntries(figures));
  const medians = Object.entries({ ...found, cpuUs }).map(([name, all]) => [name, median(all)]);
  return Object.fromEntries(medians) as Record<Site | 'cpuUs', number>;
}

function startNginx(
  folder: string,
  sites: NginxSites,
  gatePort: number,
  constantPort: number,
): ChildProcess {
  writeFileSync(`${folder}/page`, 'a page');
  writeFileSync(`${folder}/nginx.conf`, nginxConfig(folder, { ...sites, gatePort, constantPort }));
  return spawn(nginx, ['-p', folder, '-c', `${folder}/nginx.conf`], { stdio: 'ignore' });
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
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
  { alone, asking }: Sites,
  { spoe, backend }: { spoe: number; backend: number },
): string {
  return `global
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend alone
    bind 127.0.0.1:${alone}
    default_backend page
frontend asking
    bind 127.0.0.1:${asking}
    filter spoe engine portcullis config ${folder}/spoe.conf
    http-request deny deny_status 403 unless { var(txn.portcullis.verdict) -m str allow }
    default_backend page
backend page
    http-reuse always
    server page 127.0.0.1:${backend}
backend portcullis-spoe
    mode tcp
    timeout server 3m
    server portcullis 127.0.0.1:${spoe}
`;
}

const nginxHead = (folder: string, name: string): string => {
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
`;
};

/** As our gate lets somebody in: no body. */
function constantConfig(folder: string, port: number): string {
  return `${nginxHead(folder, 'constant')}
  server { listen 127.0.0.1:${port}; location / { return 204; } }
}
`;
}

function nginxConfig(
  folder: string,
  ports: NginxSites & { readonly gatePort: number; readonly constantPort: number },
): string {
  const asking = (listen: number, upstream: string) => `
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
  const upstream = (name: string, port: number) =>
    `upstream ${name} { server 127.0.0.1:${port}; keepalive 64; keepalive_requests 1000000000; }`;
  return `${nginxHead(folder, 'nginx')}
  ${upstream('gate', ports.gatePort)}
  ${upstream('constant', ports.constantPort)}
  server { listen 127.0.0.1:${ports.alone}; root ${folder}; }
  ${asking(ports.asking, 'gate')}
  ${asking(ports.askingConstant, 'constant')}
}
`;
}

async function reachable(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error('the proxy ended at once');
    const answer = await fetch(`http://127.0.0.1:${port}/page`, { headers }).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(50);
  }
}
