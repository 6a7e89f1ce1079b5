/** Commands as operators type them beside a running server: one of each kind, and who has the store open. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { treeOf } from '../house/processes.ts';

interface BesideCommand {
  /** As in the tree of commands. */
  readonly name: string;
  readonly args: readonly string[];
  /** It says no, in words. */
  readonly mayFail?: boolean;
}

interface BesidePlace {
  /** Where files may be written. */
  readonly folder: string;
  /** Path of a list. */
  readonly list: string;
  /** Different for each round: names and addresses are made of it. */
  readonly n: number;
  /** Of an account that stays. */
  readonly email: string;
}

/** Commands that want the server stopped, make settings, or are the server. */
export const notBeside: readonly string[] = [
  'serve',
  'init',
  'restore',
  'compact',
  'master-key replace',
];

/** All others, in an order in which each has what it needs. */
export function besideCommands({ folder, list, n, email }: BesidePlace): BesideCommand[] {
  const member = `member-${n}@portcullis.example`;
  const range = `44.${(n >> 8) & 255}.${n & 255}.0/24`;
  const address = `45.${(n >> 8) & 255}.${n & 255}.1`;
  const source = `https://lists.portcullis.example/${n}.txt`;
  const named = `source-${n}`;
  const of = (name: string, ...more: string[]): BesideCommand => ({
    name,
    args: [...name.split(' '), ...more],
  });
  const refused = (name: string, ...more: string[]): BesideCommand => ({
    ...of(name, ...more),
    mayFail: true,
  });
  return [
    of('account create', member),
    of('account list'),
    of('account set-role', member, 'member'),
    of('account show', member),
    of('account disable', member),
    of('account enable', member),
    of('account vouch', member, '--member'),
    refused('account set-plan', member, 'pro'),
    refused('account verify-identity', member),
    of('account send-reset', member),
    of('account invite', `invited-${n}@portcullis.example`),
    of('account invitations'),
    of('account withdraw', `invited-${n}@portcullis.example`),
    refused('account reset-factor', member),
    of('account export', member),
    of('account set-quotas', member, '--read-per-minute', '500'),
    of('account end-sessions', member),
    of('group add', `staff-${n}`, member),
    of('group list'),
    of('site set-access', 'a-site-of-a-group.com', `staff-${n}`),
    of('site set-access', 'a-site-of-a-group.com', 'all'),
    of('group remove', `staff-${n}`, member),
    of('key create', member),
    of('key create', member, '--name', 'second'),
    of('key list'),
    of('key rename', member, 'second', 'third'),
    refused('key revoke', 'k-unknown'),
    of('bouncer add', member, 'gate'),
    of('bouncer list'),
    of('bouncer remove', member, 'gate'),
    of('sitekey create', member, '--host', 'shop.example'),
    refused('sitekey set', 's-unknown', '--pass-clean', 'on'),
    of('sitekey list'),
    refused('sitekey revoke', 's-unknown'),
    of('account delete', member),
    of('seed', list, '--format', 'plain', '--source', 'beside'),
    of('anon', list, '--source', 'beside-anon'),
    of('known-good', list, '--source', 'beside-good'),
    of('source add', source, '--format', 'plain', '--source', named),
    of('source list'),
    refused('source refresh', named),
    refused('source accept', named),
    of('feed add', `feed-${n}`, '--category', '18,22', '--max-age', '24h'),
    of('federation key'),
    of('federation publish', 'on'),
    refused('federation rotate'),
    of('federation status'),
    of('federation publish', 'off'),
    of('feed list'),
    of('feed show', `feed-${n}`),
    of('feed remove', `feed-${n}`),
    of('source offers'),
    // One that is there would be fetched.
    refused('source on', 'none'),
    refused('source preview', 'ftp://lists.example/a'),
    of('source pause', named),
    of('source resume', named),
    of('source remove', named),
    refused('peer add', 'https://192.0.2.1', '--key', peerKey),
    of('peer list'),
    refused('peer show', 'b.example'),
    refused('peer set', 'b.example', '--weight', '1'),
    refused('peer pause', 'b.example'),
    refused('peer resume', 'b.example'),
    refused('peer accept', 'b.example'),
    refused('peer drop', 'b.example'),
    refused('peer rekey', 'b.example', '--key', peerKey),
    refused('peer remove', 'b.example'),
    of('entry add', range, '--score', '80'),
    of('entry list'),
    of('entry remove', range),
    of('allow add', range),
    of('allow list'),
    of('allow remove', range),
    of('check', address),
    of('report list', address),
    refused('report retract', '--account', email, '--since', '2020-01-01'),
    of('removals list'),
    refused('removals accept', address),
    refused('removals refuse', address),
    of('removals reopen', address, '--reason', 'it is ours now'),
    of('tips list'),
    refused('tips remove', address),
    refused('tips accept', address),
    of('tips reopen', address, '--categories', '18'),
    of('site list'),
    of('site notices'),
    of('site block', 'a-site-to-block.com'),
    of('site unblock', 'a-site-to-block.com'),
    of('mail test', email),
    of('log audit', '--days', '1'),
    of('log sign-ins'),
    of('audit', '--days', '1'),
    of('backup', `${folder}/backup-${n}`),
    of('verify'),
    of('stats'),
    of('routes'),
    of('reference', 'commands'),
    refused('doctor'),
    refused('cluster status'),
    refused('cluster upgrade'),
  ];
}

/** A key line of the documentation of signed notes. */
const peerKey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';

/** Processes of this test that have the store of the directory mapped or open, at this moment. */
export function openersOf(dataDir: string): number[] {
  const file = `${dataDir}/store/data.mdb`;
  return treeOf(process.pid).filter((pid) => pid !== process.pid && hasOpen(pid, file));
}

function hasOpen(pid: number, file: string): boolean {
  try {
    if (readFileSync(`/proc/${pid}/maps`, 'latin1').includes(file)) return true;
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === file);
  } catch {
    // It has ended.
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return basename(path);
  }
}
