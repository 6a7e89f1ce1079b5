/**
 * Records the walks of docs/ARCHITECTURE.md: which files' functions run for one check, report, exchange of a code and
 * answer of a CAPTCHA. Each thread writes its coverage before and after a request, and before and after the same time
 * without one; what ran there as well is left out. `npm run build && node scripts/walks.mjs`
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readGif } from '../dist/test/support/captcha/solver.js';
import { startTestServer } from '../dist/test/support/server/server.js';
import {
  allow,
  authorizePath,
  createAgent,
  openPeople,
} from '../dist/test/support/signon/visitor.js';

/** Runs in each thread of the server: SIGUSR2 has all of them write what ran since the last one. */
const inEachThread = `
import { takeCoverage } from 'node:v8';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';
const channel = new BroadcastChannel('coverage');
if (isMainThread) process.on('SIGUSR2', () => { channel.postMessage(0); takeCoverage(); });
else channel.onmessage = () => takeCoverage();
channel.unref();`;
const windowMs = 1_200;
const folder = mkdtempSync(join(tmpdir(), 'walks-'));
const server = await startTestServer({
  demo: false,
  withKey: true,
  threads: 1,
  nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(inEachThread)}`],
  env: { NODE_V8_COVERAGE: folder },
});
const people = openPeople(server);
await people.add('ada@mail.example', { givenName: 'Ada' });
const agent = createAgent(server, await people.signIn('ada@mail.example'));
const scope = 'openid profile';
await allow(agent, authorizePath({ scope }));

/** Returns the functions that ran since the last call, by file. */
async function ranSince() {
  const before = new Set(readdirSync(folder));
  process.kill(server.pid, 'SIGUSR2');
  await sleep(windowMs);
  const ran = new Map();
  for (const name of readdirSync(folder)) {
    if (before.has(name)) continue;
    for (const { url, functions } of JSON.parse(readFileSync(join(folder, name), 'utf8')).result) {
      const file = /\/dist\/src\/(.*)\.js$/.exec(url)?.[1];
      for (const { ranges } of file === undefined ? [] : functions) {
        const [{ count, startOffset }] = ranges;
        // At 0 stands the module itself.
        if (count === 0 || startOffset === 0) continue;
        ran.set(file, (ran.get(file) ?? new Set()).add(startOffset));
      }
    }
  }
  return ran;
}

async function solvedChallenge() {
  for (;;) {
    const { token, img } = (await server.fetch('/captcha/new')).json();
    const picture = await server.fetch(img);
    const answer = picture.status === 200 ? readGif(picture.bytes) : '';
    if (answer !== '') return JSON.stringify({ token, answer });
    await sleep(windowMs);
  }
}

const json = { 'Content-Type': 'application/json' };
let host = 1;
/** Each has what is made before the request, and the request. */
const walks = {
  check: [async () => `9.9.9.${host++}`, (ip) => server.check(ip)],
  report: [async () => `9.9.8.${host++}`, (ip) => server.report(ip)],
  exchange: [
    async () => {
      const { headers } = await agent.get(authorizePath({ scope, prompt: 'none' }));
      return new URL(headers.location).searchParams.get('code');
    },
    (code) => server.fetch(`/api.php?code=${code}`),
  ],
  captcha: [
    solvedChallenge,
    (body) => server.fetch('/captcha/verify', { method: 'POST', headers: json, body }),
  ],
};
for (const [name, [prepare, send]] of Object.entries(walks)) {
  await send(await prepare());
  const given = await prepare();
  await sleep(windowMs);
  await ranSince();
  const idle = await ranSince();
  await send(given);
  const ran = await ranSince();
  const files = [...ran].filter(([file, at]) => [...at].some((one) => !idle.get(file)?.has(one)));
  console.log(
    `${name}: ${files.length}\n${files
      .map(([file]) => `  ${file}`)
      .sort()
      .join('\n')}`,
  );
}
await server.kill();
rmSync(folder, { recursive: true });
process.exit(0);
