/**
 * A machine to paste the page's texts into: files below a directory of the test's, programs that a
 * test replaces, and, if wanted, a network of its own that reaches the server by `curl` alone.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type RecipeChoice,
  recipesFor,
  type Snippet,
} from '../../../src/reputation/blocklists/recipes.ts';
import { spawn } from '../house/spawn.ts';
import { makeTempDir } from '../server/temp-dir.ts';

/** Everything that the texts name outside of the tools' own files. */
const paths =
  /\/(?:usr\/local\/sbin|var\/lib\/(?:portcullis|unbound)|etc\/(?:cron\.d|portcullis\.nft|nginx|haproxy|firehol|unbound|default)|run\/portcullis-)/g;

export interface Machine extends AsyncDisposable {
  /** Where a path of the texts lies. */
  at(path: string): string;
  /** A program that is found before the system's. */
  replace(name: string, script: string): void;
  /** Carries out a text of the page: writes its file or runs it; the text as it was used. */
  paste(id: string): string;
  /** What cron would run, with cron's environment; the files of /etc/cron.d by name. */
  cron(name: string): string;
  run(script: string): string;
}

/**
 * @param options.network of its own; `choice`: what the reader of /connect chose; `snippets`: texts in
 *   place of those of the feeds, of which none is pasted yet
 */
export async function openMachine(
  feedsUrl: string,
  options: { network?: boolean; choice?: RecipeChoice; snippets?: readonly Snippet[] } = {},
): Promise<Machine> {
  const directory = makeTempDir('machine');
  chmodSync(directory.path, 0o755);
  const at = (path: string) => directory.path + path;
  for (const folder of ['bin', 'run', 'usr/local/sbin', 'etc/cron.d', 'etc/nginx/conf.d']) {
    mkdirSync(at(`/${folder}`), { recursive: true });
  }
  const snippets = new Map<string, Snippet>(
    (options.snippets ?? Object.values(recipesFor(feedsUrl, options.choice)).flat()).map((one) => [
      one.id,
      one,
    ]),
  );
  let holder: ChildProcess | undefined;
  if (options.network) {
    holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec sleep 900']);
    await once(holder.stdout!, 'data');
  }

  function execute(path: string, script: string): string {
    const inside = holder === undefined ? [] : ['nsenter', `--net=/proc/${holder.pid}/ns/net`];
    const [command, ...args] = [...inside, 'sh', '-c', script];
    const { status, stdout, stderr } = spawnSync(command!, args, {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      env: { PATH: `${at('/bin')}:${path}` },
    });
    assert.equal(status, 0, `${script}\n${stdout.slice(0, 2_000)}${stderr.slice(0, 2_000)}`);
    return stdout;
  }

  function replace(name: string, script: string): void {
    writeFileSync(at(`/bin/${name}`), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  const run = (script: string) => execute('/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin', script);
  if (holder !== undefined) {
    replace('curl', `exec nsenter --net=/proc/${process.pid}/ns/net /usr/bin/curl "$@"`);
  }
  const machine: Machine = {
    at,
    replace,
    run,
    paste(id) {
      const snippet = snippets.get(id);
      assert.ok(snippet, id);
      const text = snippet.code.replaceAll(paths, (path) => at(path));
      if (typeof snippet.destination === 'string') run(text);
      else {
        mkdirSync(dirname(at(snippet.destination.file)), { recursive: true });
        writeFileSync(at(snippet.destination.file), text);
      }
      return text;
    },
    cron(name) {
      const text = readFileSync(at(`/etc/cron.d/portcullis-${name}`), 'utf8');
      const line = /^(?:[\d*/-]+ ){5}root ([^%\n]+)\n$/.exec(text);
      assert.ok(line, text);
      return execute('/usr/bin:/bin', line[1]!);
    },
    async [Symbol.asyncDispose]() {
      holder?.kill('SIGKILL');
      directory.remove();
    },
  };
  if (options.snippets !== undefined) return machine;
  machine.paste('refresh-script');
  machine.paste('refresh-run');
  return machine;
}
