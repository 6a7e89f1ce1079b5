/**
 * Other versions of Node for the tests, with a C library that the newer build of the web server loads
 * on. Where this machine's glibc is too old, the one of Debian 13 is unpacked into a folder of its own
 * and a copy of the Node binary is pointed at it; nothing of the machine changes.
 */

import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { unpackDebian, unpackingTools } from './debian-packages.ts';
import { hasTool } from './tools.ts';

const glibcNeeded = [2, 38] as const;
const packages = ['libc6', 'libstdc++6', 'libgcc-s1'] as const;
/** Kept between runs. */
const folder = resolve('test/system/node_modules/.newer-glibc');

/** Where npm put the binary: of the running Node, or of the packages of `test/system`. */
export function plainNode(major: number): string {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  return resolve(`test/system/node_modules/node-${major}/bin/node`);
}

/** Undefined after a skip: a tool is missing and its absence is allowed. */
export function nodeWithNewerGlibc(context: TestContext, major: number): string | undefined {
  const plain = plainNode(major);
  if (!existsSync(plain)) throw new Error(`${plain} is missing: npm ci in test/system`);
  if (!hasOldGlibc()) return plain;
  const copy = join(folder, versionOf(plain), 'node');
  if (existsSync(copy)) return copy;
  for (const tool of [...unpackingTools, 'patchelf']) {
    if (!hasTool(context, tool)) return undefined;
  }
  const root = unpackDebian(folder, 'trixie', packages);
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu');
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(plain, `${copy}.new`);
  execFileSync('patchelf', [
    '--set-interpreter',
    join(libraries, 'ld-linux-x86-64.so.2'),
    // For what the binary's own libraries load too.
    '--force-rpath',
    '--set-rpath',
    libraries,
    `${copy}.new`,
  ]);
  renameSync(`${copy}.new`, copy);
  return copy;
}

export function hasOldGlibc(): boolean {
  const { header } = process.report.getReport() as unknown as {
    header: { glibcVersionRuntime?: string };
  };
  const [major = 0, minor = 0] = (header.glibcVersionRuntime ?? '').split('.').map(Number);
  return major < glibcNeeded[0] || (major === glibcNeeded[0] && minor < glibcNeeded[1]);
}

export function versionOf(node: string): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
}
