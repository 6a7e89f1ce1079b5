/**
 * Debian packages unpacked into a folder, beside the machine and without their install scripts. Fetched
 * by apt, which checks Debian's signatures, with lists and settings of its own.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
export const unpackingTools = ['apt-get', 'dpkg-deb'] as const;

/**
 * @param folder kept between runs
 * @param suite Debian's name of a release, such as `trixie`
 * @returns where the packages' files are
 */
export function unpackDebian(folder: string, suite: string, packages: readonly string[]): string {
  const root = join(folder, 'root');
  if (existsSync(join(root, 'unpacked'))) return root;
  const downloads = join(folder, 'debs');
  rmSync(folder, { recursive: true, force: true });
  for (const part of ['apt/lists/partial', 'apt/cache/archives/partial', 'debs', 'root']) {
    mkdirSync(join(folder, part), { recursive: true });
  }
  const sources = join(folder, 'apt/sources.list');
  const options = `[arch=amd64 signed-by=${keyring}]`;
  writeFileSync(sources, `deb ${options} http://deb.debian.org/debian ${suite} main\n`);
  writeFileSync(join(folder, 'apt/status'), '');
  const own = [
    `Dir::Etc::sourcelist=${sources}`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::lists=${join(folder, 'apt/lists')}`,
    `Dir::State::status=${join(folder, 'apt/status')}`,
    `Dir::Cache=${join(folder, 'apt/cache')}`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option]);
  execFileSync('apt-get', [...own, '-qq', 'update'], { stdio: 'inherit' });
  execFileSync('apt-get', [...own, '-qq', 'download', ...packages], {
    cwd: downloads,
    stdio: 'inherit',
  });
  for (const file of readdirSync(downloads)) {
    execFileSync('dpkg-deb', ['-x', join(downloads, file), root]);
  }
  writeFileSync(join(root, 'unpacked'), '');
  return root;
}
