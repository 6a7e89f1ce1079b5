/**
 * Forms for products that read a list in their own way, by the public documentation of each. What has no
 * comments of its own gets none.
 */

import { createHash } from 'node:crypto';
import type { SliceScheduler } from '../../../core/scheduling.ts';
import { formatIp, type IpFamily } from '../../../ip/address.ts';
import {
  FEED_ROW,
  familyOf,
  feedRowCount,
  feedRowsInOrder,
  lengthOfRow,
  type Rows,
  reportsOfRow,
  scoreOf,
  splitFamilies,
} from '../builder/rows.ts';
import { TextSink } from '../pieces/lines.ts';
import { segmentsByScore } from '../pieces/records.ts';
import {
  builtAhead,
  type FeedSelection,
  type Form,
  formIdOf,
  inSlices,
  put,
  shownRows,
} from './forms.ts';

const plainText = 'text/plain; charset=utf-8';
const jsonText = 'application/json';
/** The most addresses that an IP set of AWS WAF takes. */
const wafEntriesMax = 10_000;

function addressOf(rows: Rows, at: number): string {
  return formatIp(familyOf(rows, at), rows.subarray(at, at + 4));
}

function isHost(rows: Rows, at: number): boolean {
  return lengthOfRow(rows, at) === (familyOf(rows, at) === 4 ? 32 : 128);
}

/** Returns the prefix with its length, a host's too. */
function cidrOf(rows: Rows, at: number): string {
  return `${addressOf(rows, at)}/${lengthOfRow(rows, at)}`;
}

export function plainOf(rows: Rows, at: number): string {
  return isHost(rows, at) ? addressOf(rows, at) : cidrOf(rows, at);
}

async function writeLines(
  parts: { readonly head?: string; readonly between?: string; readonly foot?: string },
  rows: Rows,
  scheduler: SliceScheduler,
  lineOf: (rows: Rows, at: number) => string,
): Promise<Uint8Array> {
  const { head = '', between = '', foot = '' } = parts;
  const sink = new TextSink();
  put(sink, head);
  await inSlices(rows, scheduler, (part, isFirst) => {
    let text = '';
    for (let at = 0; at < part.length; at += FEED_ROW) {
      text += `${isFirst && at === 0 ? '' : between}${lineOf(part, at)}`;
    }
    put(sink, text);
  });
  put(sink, foot);
  return sink.takeShared();
}

/** Keeps the worst, in address order. */
function worstOf(rows: Rows, max: number): Rows {
  if (feedRowCount(rows) <= max) return rows;
  const kept = new Uint32Array(max * FEED_ROW);
  let at = 0;
  for (const { rows: part } of segmentsByScore(rows, splitFamilies(rows).four.length, 0)) {
    const taken = part.subarray(0, kept.length - at);
    kept.set(taken, at);
    at += taken.length;
  }
  return feedRowsInOrder(kept);
}

/** The addresses of an IP set, for `aws wafv2 update-ip-set --addresses file://…`: each with its length, never /0. */
function wafForm(family: IpFamily): Form {
  return {
    extension: `waf${family}`,
    type: jsonText,
    write(selected, _, scheduler) {
      const { four, six } = splitFamilies(selected.rows);
      const rows = shownRows(selected, worstOf(family === 4 ? four : six, wafEntriesMax));
      return writeLines({ head: '[', between: ',', foot: '\n]\n' }, rows, scheduler, (part, at) => {
        return `\n"${cidrOf(part, at)}"`;
      });
    },
  };
}

function setName({ name }: FeedSelection): string {
  return name === 'blocklist' ? 'portcullis' : `portcullis-${name}`;
}

/** Entries of a part of the script for RouterOS, which has little room for files. */
export const routerPartEntries = 2_000;

function routerParts(selected: FeedSelection): number {
  return Math.ceil(feedRowCount(shownRows(selected, selected.rows)) / routerPartEntries);
}

/** The script for RouterOS: fills lists of other names part by part, and swaps them in when all are there. */
const routerScript: Form = {
  extension: 'ros',
  type: plainText,
  async write(selected, _, scheduler) {
    const list = setName(selected);
    const url = `${selected.operatorTexts.homeUrl}/${selected.name}.ros`;
    const mode = url.startsWith('https:') ? 'https check-certificate=yes' : 'http';
    const both = (line: string) =>
      ['ip', 'ipv6'].map((menu) => `  /${menu} firewall address-list ${line}`);
    const parts = routerParts(selected);
    const loop = [
      `  :for part from=1 to=${parts} do={`,
      `    /tool fetch mode=${mode} url=("${url}\\3Fof=${selected.state}&part=" . $part) dst-path=${list}-part.rsc`,
      `    /import file-name=${list}-part.rsc`,
      `    /file remove ${list}-part.rsc`,
      '  }',
    ];
    const text = [
      `# ${selected.title}, ${selected.changedAt}: loads the address list ${list} in parts, and swaps it in at the end.`,
      `# Licence: ${selected.operatorTexts.licence}`,
      ':do {',
      ...both(`remove [find list=${list}-next]`),
      ...(parts === 0 ? [] : loop),
      ...both(`set [find list=${list}] list=${list}-old`),
      ...both(`set [find list=${list}-next] list=${list}`),
      ...both(`remove [find list=${list}-old]`),
      '} on-error={',
      `  :log warning "${list} was not loaded: what was there stays"`,
      '}',
      '',
    ];
    return writeLines({ head: text.join('\n') }, new Uint32Array(), scheduler, () => '');
  },
};

/** Returns the form of one part of the script's list, 1 the first; undefined beyond the last. */
export function routerPart(selected: FeedSelection, number: number): Form | undefined {
  if (number < 1 || number > routerParts(selected)) return undefined;
  return {
    extension: `ros part ${number}`,
    type: plainText,
    write(of, _, scheduler) {
      const from = (number - 1) * routerPartEntries * FEED_ROW;
      const rows = shownRows(of, of.rows).subarray(from, from + routerPartEntries * FEED_ROW);
      const list = `${setName(of)}-next`;
      return writeLines({}, rows, scheduler, (part, at) => {
        const menu = familyOf(part, at) === 4 ? 'ip' : 'ipv6';
        return `/${menu} firewall address-list add list=${list} address=${plainOf(part, at)}\n`;
      });
    },
  };
}

const none = (_: FeedSelection): string => '';

const lines = (
  extension: string,
  lineOf: (selected: FeedSelection) => (rows: Rows, at: number) => string,
  { head = none, isEach = false } = {},
): Form => ({
  extension,
  type: plainText,
  write: (selected, _, scheduler) =>
    writeLines(
      { head: head(selected) },
      isEach ? selected.rows : shownRows(selected, selected.rows),
      scheduler,
      lineOf(selected),
    ),
});

const vendorForms: readonly Form[] = [
  // An external threat feed: an address or a subnet a line.
  lines('fortigate', () => (rows, at) => `${plainOf(rows, at)}\n`),
  // A feed server of SRX: a prefix a line.
  lines('srx', () => (rows, at) => `${cidrOf(rows, at)}\n`),
  // For `load set`: a prefix list in place of the former one, with the next commit.
  lines(
    'junos',
    (selected) => (rows, at) =>
      `set policy-options prefix-list ${setName(selected)} ${cidrOf(rows, at)}\n`,
    { head: (selected) => `delete policy-options prefix-list ${setName(selected)}\n` },
  ),
  // A feed file of BIG-IP AFM: address, mask, black or white, category (that of the feed list).
  lines('f5', () => (rows, at) => `${addressOf(rows, at)},${lengthOfRow(rows, at)},bl,\n`),
  wafForm(4),
  wafForm(6),
  // Suricata: address or network, category, reputation of 1 to 127.
  lines('iprep', () => (rows, at) => `${plainOf(rows, at)},1,${scoreOf(rows, at)}\n`, {
    isEach: true,
  }),
  {
    extension: 'iprep-categories',
    type: plainText,
    write: (selected, _, scheduler) =>
      writeLines(
        { head: `1,${setName(selected)},${selected.title}\n` },
        new Uint32Array(),
        scheduler,
        () => '',
      ),
  },
  // Zeek: fields are set apart by tabs, and none is empty.
  lines(
    'intel',
    (selected) => {
      const base = selected.operatorTexts.homeUrl.replace(/\/feeds$/, '/ip/');
      return (rows, at) => {
        const type = isHost(rows, at) ? 'ADDR' : 'SUBNET';
        const said = `score ${scoreOf(rows, at)}, reports ${reportsOfRow(rows, at)}`;
        const shown = plainOf(rows, at);
        return `${shown}\tIntel::${type}\t${setName(selected)}\t${said}\t${base}${shown}\n`;
      };
    },
    {
      isEach: true,
      head: () => '#fields\tindicator\tindicator_type\tmeta.source\tmeta.desc\tmeta.url\n',
    },
  ),
  routerScript,
];

// All forms of a feed: those that the blocklist is built ahead in, and those of products.

export const forms: readonly Form[] = [...builtAhead, ...vendorForms];
export const formByExtension = new Map(forms.map((form) => [form.extension, form]));

// A feed of MISP: a manifest, one event for each feed with an attribute for each entry, and the hashes by which
// MISP finds a value without loading the event (draft-dulaunoy-misp-core-format).

const json = 'application/json';
const noRows = new Uint32Array();

function mispEventId({ name, operatorTexts }: FeedSelection): string {
  return formIdOf(`${operatorTexts.homeUrl} event ${name}`);
}

function factsOf({ title, operatorTexts, changedAt, changedAtMs }: FeedSelection) {
  return {
    info: title,
    date: changedAt.slice(0, 10),
    // Complete, of medium threat.
    analysis: '2',
    threat_level_id: '2',
    timestamp: String(changedAtMs / 1_000),
    Orgc: {
      name: new URL(operatorTexts.homeUrl).host,
      uuid: formIdOf(`${operatorTexts.homeUrl} organisation`),
    },
    Tag: [{ name: 'tlp:clear', colour: '#ffffff' }],
  };
}

const manifest: Form = {
  extension: 'misp/manifest.json',
  type: json,
  write: (selected, _, scheduler) => {
    const head = JSON.stringify({ [mispEventId(selected)]: factsOf(selected) });
    return writeLines({ head }, noRows, scheduler, () => '');
  },
};

const hashes: Form = {
  extension: 'misp/hashes.csv',
  type: 'text/csv; charset=utf-8',
  write(selected, _, scheduler) {
    const id = mispEventId(selected);
    return writeLines({}, selected.rows, scheduler, (rows, at) => {
      return `${createHash('md5').update(plainOf(rows, at)).digest('hex')},${id}\n`;
    });
  },
};

const event: Form = {
  extension: 'misp/event',
  type: json,
  write(selected, _, scheduler) {
    const { operatorTexts } = selected;
    const facts = factsOf(selected);
    const { timestamp } = facts;
    const about = {
      uuid: mispEventId(selected),
      ...facts,
      publish_timestamp: timestamp,
      published: true,
    };
    const open = JSON.stringify({ Event: about }).slice(0, -2);
    const parts = { head: `${open},"Attribute":[`, between: ',', foot: '\n]}}\n' };
    return writeLines(parts, selected.rows, scheduler, (rows, at) => {
      const value = plainOf(rows, at);
      const attribute = {
        uuid: formIdOf(`${operatorTexts.homeUrl} attribute ${selected.name} ${value}`),
        type: 'ip-src',
        category: 'Network activity',
        value,
        to_ids: true,
        timestamp,
        comment: `score ${scoreOf(rows, at)}, reports ${reportsOfRow(rows, at)}`,
      };
      return `\n${JSON.stringify(attribute)}`;
    });
  },
};

/** Returns the form of a file in the folder `misp` of a feed; undefined: there is none. */
export function mispForm(selected: FeedSelection, file: string): Form | undefined {
  if (file === 'manifest.json') return manifest;
  if (file === 'hashes.csv') return hashes;
  return file === `${mispEventId(selected)}.json` ? event : undefined;
}
