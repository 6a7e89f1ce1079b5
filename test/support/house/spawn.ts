/**
 * Starts processes that never outlive the one that started them, however that one ends: a shell beside each of
 * them reads a pipe that closes with the parent, also where the parent has no moment left, as after SIGKILL.
 */

import { fork as bareFork, spawn as bareSpawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

const name = 'ends-with-its-parent';
/**
 * `$1` a process, which is killed with all below it, or nothing; `$2` a directory, or nothing. Other watchers
 * below it stay: they end by themselves, and may have a directory to remove.
 */
const watcher = `
tree() {
  grep -q ${name} /proc/$1/cmdline && return
  for child in $(cat /proc/$1/task/*/children); do tree "$child"; done
  echo "$1"
}
read -r done && exit
[ -z "$1" ] || kill -KILL $(tree "$1")
[ -z "$2" ] || rm -rf "$2"
`;

interface Left {
  /** With all that it started. */
  readonly pid?: number;
  readonly directory?: string;
}

/** What is to be killed or removed when this process ends. @returns to be called when that is done */
export function atEnd({ pid, directory }: Left): () => void {
  const args = ['-c', watcher, name, pid === undefined ? '' : String(pid), directory ?? ''];
  const child = bareSpawn('/bin/sh', args, {
    // A session of its own: what ends this process by a signal to all of its group leaves the watcher.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  const pipe = child.stdin as Socket;
  pipe.unref();
  pipe.on('error', () => {});
  return () => void pipe.end('done\n');
}

export const spawn = ((...given: Parameters<typeof bareSpawn>) =>
  watched(bareSpawn(...given))) as typeof bareSpawn;

export const fork = ((...given: Parameters<typeof bareFork>) =>
  watched(bareFork(...given))) as typeof bareFork;

function watched(child: ChildProcess): ChildProcess {
  // None: it could not be started, which the caller hears of.
  if (child.pid !== undefined) child.once('exit', atEnd({ pid: child.pid }));
  return child;
}

/** Ends it, unless it has ended, and waits until it is gone. */
export async function stopChild(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}
