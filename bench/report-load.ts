/**
 * Reports over HTTP: as fast as 128 connections go, or so many a second beside other work. Each
 * report names an address that none before it did.
 */

import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { sendReport } from '../test/support/reputation/reporters.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { runWrk } from './http-load.ts';

export const comment = 'Failed password for invalid user admin from 192.0.2.77 port 41022 ssh2';

export interface ReportLoad extends Disposable {
  rate(seconds: number): Promise<number>;
  /** Sends `perSecond` reports, evenly, until `stop`, which gives how many were acknowledged. */
  pace(perSecond: number): { stop(): Promise<number> };
  /** The same bytes from the same sender, refused before it is read: what the sending alone costs. */
  paceRefused(perSecond: number): { stop(): Promise<number> };
}

const inFlight = 128;
/** Addresses set apart for one run: more than it can send. */
const addressesPerRun = 2 ** 18;
const tickMs = 1;

/** 32.0.0.0 and on, neighbours far apart as they are in life. */
function addressAt(n: number): string {
  const word = 0x2000_0000 + (Math.imul(n, 0x9e37_79b1) & 0x1fff_ffff);
  return [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255].join('.');
}

const lua = `
local n = 0
init = function(args)
  n = tonumber(args[1])
  wrk.headers["Key"] = args[2]
  wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
end
local bit = require("bit")
request = function()
  n = n + 1
  local word = bit.band(bit.tobit(n * 2654435761 % 4294967296), 0x1fffffff)
  local ip = (32 + bit.rshift(word, 24)) .. "." .. bit.band(bit.rshift(word, 16), 255) .. "." ..
    bit.band(bit.rshift(word, 8), 255) .. "." .. bit.band(word, 255)
  return wrk.format("POST", "/api/v2/report", nil, "ip=" .. ip .. "&categories=18,22&comment=${encodeURIComponent(comment).replaceAll('%', '%%')}")
end
`.replaceAll('%%', '%');

/** @param firstRun runs that another load has begun on the same server: their addresses are used */
export function openReportLoad(port: number, key: string, firstRun = 0): ReportLoad {
  const folder = makeTempDir('bench-reports');
  const script = `${folder.path}/reports.lua`;
  writeFileSync(script, lua);
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  let runs = firstRun;

  async function one(n: number, wanted: 200 | 401 = 200): Promise<void> {
    const fields = new URLSearchParams({ ip: addressAt(n), categories: '18,22', comment });
    const sentKey = wanted === 200 ? key : 'nobody';
    const { status } = await sendReport(port, agent, sentKey, fields);
    if (status !== wanted) throw new Error(`a report was answered with ${status}`);
  }

  function pace(perSecond: number, wanted: 200 | 401) {
    const first = runs++ * addressesPerRun;
    const startMs = performance.now();
    const sent: Promise<void>[] = [];
    const timer = setInterval(() => {
      const due = ((performance.now() - startMs) * perSecond) / 1_000;
      while (sent.length < due) sent.push(one(first + sent.length + 1, wanted));
    }, tickMs);
    return {
      async stop() {
        clearInterval(timer);
        await Promise.all(sent);
        return sent.length;
      },
    };
  }

  return {
    async rate(seconds) {
      const url = `http://127.0.0.1:${port}/`;
      const first = String(runs++ * addressesPerRun);
      const args = [`-c${inFlight}`, `-d${seconds}s`, '-s', script, url, '--', first, key];
      const answers = /(\d+) requests in ([\d.]+)s/.exec(await runWrk(args))!;
      return Number(answers[1]) / Number(answers[2]);
    },
    pace: (perSecond) => pace(perSecond, 200),
    paceRefused: (perSecond) => pace(perSecond, 401),
    [Symbol.dispose]() {
      agent.destroy();
      folder.remove();
    },
  };
}
