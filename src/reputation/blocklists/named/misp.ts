/**
 * A feed of MISP: a manifest, one event for each feed with an attribute for each entry, and the hashes by which
 * MISP finds a value without loading the event (draft-dulaunoy-misp-core-format).
 */

import { createHash } from 'node:crypto';
import { reportsOf, scoreOf } from '../builder/rows.ts';
import type { Form, Selected } from './forms.ts';
import { idOf } from './forms.ts';
import { plainOf, writeLines } from './vendors.ts';

const json = 'application/json';
const noRows = new Uint32Array();

function mispEventId({ name, operatorTexts }: Selected): string {
  return idOf(`${operatorTexts.homeUrl} event ${name}`);
}

function factsOf({ title, operatorTexts, changedAt, changedAtMs }: Selected) {
  return {
    info: title,
    date: changedAt.slice(0, 10),
    // Complete, of medium threat.
    analysis: '2',
    threat_level_id: '2',
    timestamp: String(changedAtMs / 1_000),
    Orgc: {
      name: new URL(operatorTexts.homeUrl).host,
      uuid: idOf(`${operatorTexts.homeUrl} organisation`),
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
        uuid: idOf(`${operatorTexts.homeUrl} attribute ${selected.name} ${value}`),
        type: 'ip-src',
        category: 'Network activity',
        value,
        to_ids: true,
        timestamp,
        comment: `score ${scoreOf(rows, at)}, reports ${reportsOf(rows, at)}`,
      };
      return `\n${JSON.stringify(attribute)}`;
    });
  },
};

/** Returns the form of a file in the folder `misp` of a feed; undefined: there is none. */
export function mispForm(selected: Selected, file: string): Form | undefined {
  if (file === 'manifest.json') return manifest;
  if (file === 'hashes.csv') return hashes;
  return file === `${mispEventId(selected)}.json` ? event : undefined;
}
